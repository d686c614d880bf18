"""The page's rule on the finished groups: python research/gap/analyse.py"""

import math
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import stats  # noqa: E402

DENSE = ["fc-2000", "fc-10000", "fc-60000", "fc-norm"]
SMALL = ["small-2000", "small-10000", "small-50000"]
PAIRS = ([(recipe, "1x200", "7x45", 1.367) for recipe in DENSE]
         + [(recipe, "1x200", "15x24", 1.331) for recipe in DENSE]
         + [(recipe, "1x32d", "23x4d", 2.232) for recipe in SMALL]
         + [("mirror", "32x16_2d", "32x2_16d", 1.284), ("mirror", "64x8_1d", "64x1_8d", 1.243)])


def design(model: str) -> str:
    return Path(model).name.removeprefix("fc6-").removesuffix(".toml").removesuffix("-bn")


def numbers(text: str) -> list[float]:
    return [float(piece) for piece in text.split()]


def gap(errors: list[float], averaged: float) -> float:
    k = len(errors)
    return k / (k - 1) * (stats.mean(errors) - averaged)


def pair(base: dict, split: dict, ratio: float) -> tuple[float, float, float]:
    """(gain, bound, standard error of gain - bound)."""
    errors, others = numbers(base["errors"]), numbers(split["errors"])
    k, share = len(errors), 1 - 1 / ratio
    without = numbers(base["averaged_without_one"])
    rest = [errors[:i] + errors[i + 1:] for i in range(k)]
    left = [stats.mean(rest[i]) - share * gap(rest[i], without[i]) for i in range(k)]
    centre = stats.mean(left)
    jackknife = (k - 1) / k * math.fsum((value - centre) ** 2 for value in left)
    gain, bound = stats.mean(errors) - stats.mean(others), share * gap(errors, float(base["averaged"]))
    return gain, bound, math.sqrt(jackknife + stats.variance(others) / len(others))


def slope(found: list[tuple[float, float, float]]) -> float:
    return (math.fsum(g * b / se**2 for g, b, se in found) / math.fsum(b * b / se**2 for _, b, se in found))


def main() -> None:
    rows = {(row["recipe"], design(row["model"])): row for row in stats.rows(HERE, "groups")}
    found = []
    for recipe, base, split, ratio in PAIRS:
        if (recipe, base) in rows and (recipe, split) in rows:
            gain, bound, se = pair(rows[recipe, base], rows[recipe, split], ratio)
            found.append((gain, bound, se))
            print(f"{recipe} {base} -> {split}: gain {gain:.3f}, bound {bound:.3f}, standard error {se:.3f}: "
                  f"{'within' if gain <= bound + 2 * se else 'ABOVE'}")
    print(f"{10 * len(rows)} of 220 runs, {len(found)} of {len(PAIRS)} pairs")
    if len(found) < len(PAIRS):
        print("no verdict before all pairs are complete")
        return
    within = sum(gain <= bound + 2 * se for gain, bound, se in found)
    print(f"BOUND: within in {within} of 13: {'held' if within >= 12 else 'did not hold'}")
    value, k = slope(found), len(found)
    left = [slope(found[:i] + found[i + 1:]) for i in range(k)]
    se = math.sqrt((k - 1) / k * math.fsum((one - stats.mean(left)) ** 2 for one in left))
    half = stats.t_quantile(k - 1) * se
    print(f"SLOPE of gain on bound: {value:.2f} ({value - half:.2f} to {value + half:.2f}): "
          f"{'the gain follows the bound' if value - half > 0 else 'not shown to follow'}")


main()
