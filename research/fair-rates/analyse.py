"""The page's rule on the finished runs: python research/fair-rates/analyse.py"""

import importlib.util
import random
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import stats  # noqa: E402

found = importlib.util.spec_from_file_location("fair_plan", HERE / "plan.py")
plan = importlib.util.module_from_spec(found)
found.loader.exec_module(plan)

PRIMAL = ["1x200", "2x110", "7x45", "15x24", "31x12", "78x5", "132x3"]
VARIANCE = dict(zip(PRIMAL, [0.0897, 0.0843, 0.0656, 0.0674, 0.0917, 0.2135, 0.5053]))
POWER = {"standard": 0.5, "ntk": 0.25, "norm": 0.0, "layers": 0.0}
SLACK = 1.0001  # a factor of exactly two counts as within


def members(design: str) -> tuple[int, int]:
    m, n = design.split("x")
    return int(m), int(n)


def rates(setting: str) -> dict[str, float | None]:
    rows = [{"part": part, **row} for part in sorted({f"{setting}-rates", "standard-rates"})
            for row in stats.rows(HERE, part)]
    _, chosen = plan.rates(rows, setting)
    for design in plan.DESIGNS:
        model, part = plan.SETTINGS[setting]["model"].format(design), f"{plan.source(setting, design)}-rates"
        mine = [row for row in rows if row["model"] == model and row["part"] == part]
        by = {rate: [float(r["error"]) for r in mine if float(r["rate"]) == rate] for rate in sorted({float(r["rate"]) for r in mine})}
        table = ", ".join(f"{rate:g}: {stats.mean(errors):.2f} ({len(errors)})" for rate, errors in by.items())
        print(f"  {design}: rate {chosen[design] or 'open'}; mean validation error by rate (runs): {table}")
    return chosen


def rule(setting: str, chosen: dict[str, float | None]) -> None:
    if not all(chosen[design] for design in PRIMAL):
        print("  rate rule: rates are not all chosen, no verdict")
        return
    ratios = {d: chosen[d] / (chosen["1x200"] * (200 / members(d)[1]) ** POWER[setting]) for d in PRIMAL}
    within = sum(1 / (2 * SLACK) <= ratio <= 2 * SLACK for ratio in ratios.values())
    print("  chosen rate over the rule's: " + ", ".join(f"{d} {r:.2f}" for d, r in ratios.items()))
    print(f"  RATE RULE r0 (200/n)^{POWER[setting]:g}: within a factor of two in {within} of 7: "
          f"{'holds' if within >= 6 else 'withdrawn'}")
    same = sum(0.5 / SLACK <= chosen[d] / chosen["1x200"] <= 2 * SLACK for d in PRIMAL)
    print(f"  within a factor of two of the rate of 1x200: {same} of 7")
    if setting == "norm":
        print(f"  NORMS: the need of other rates {'goes away' if same == 7 else 'stays'}")


def final_errors(setting: str) -> dict[str, list[float]]:
    """Test errors of the final runs of every design."""
    errors = {}
    for design in plan.DESIGNS:
        model = plan.SETTINGS[setting]["model"].format(design)
        rows = stats.rows(HERE, f"{plan.source(setting, design)}-final")
        errors[design] = [float(row["error"]) for row in rows if row["model"] == model]
    return errors


def final(setting: str) -> None:
    errors = final_errors(setting)
    done = sum(map(len, errors.values()))
    print(f"  final: {done} of 300 runs, {stats.count_failed(HERE, f'{setting}-final')} with a loss that is not finite")
    if done < 300:
        print("  no verdict before the planned number")
        return
    for design, values in errors.items():
        print(f"  {design}: {stats.mean(values):.3f} %, one run scatters by {stats.variance(values) ** 0.5:.3f}, {len(values)} runs")
    for one, two in (("7x45", "132x3"), ("7x45", "1x200")):
        value, low, high = stats.welch(errors[one], errors[two])
        print(f"  PRIMARY {one} - {two}: {value:.3f} ({low:.3f} to {high:.3f}), half-width {(high - low) / 2:.3f}: "
              f"{stats.sign_verdict(low, high, 'contradicted', 'held')}")
    value, low, high = stats.welch(errors["186x5"], errors["5x45"])
    word = "equal" if low >= -0.1 and high <= 0.1 else "the larger cost helps" if high < 0 else "undecided"
    print(f"  DUAL 186x5 - 5x45: {value:.3f} ({low:.3f} to {high:.3f}): {word}")
    rank(errors)
    if setting == "layers":
        use(final_errors("standard"), errors)


def use(standard: dict[str, list[float]], layers: dict[str, list[float]]) -> None:
    """Do rates per layer lower the errors of the split designs of equal cost?"""
    if sum(map(len, standard.values())) < 300:
        print("  use of rates per layer: no verdict before the runs of the setting standard")
        return
    split = [design for design in PRIMAL if design != plan.BASELINE]
    for design in split:
        value, low, high = stats.welch(standard[design], layers[design])
        print(f"  standard - layers, {design}: {value:.3f} ({low:.3f} to {high:.3f})")
    # Of the mean of independent differences: the errors of the designs' means add up in squares.
    value = stats.mean([stats.mean(standard[d]) - stats.mean(layers[d]) for d in split])
    square = sum(stats.variance(errors[d]) / len(errors[d]) for errors in (standard, layers) for d in split)
    half = 1.96 * square**0.5 / len(split)
    word = "help" if value - half > 0 else "do harm" if value + half < 0 else "undecided"
    print(f"  USE: rates per layer lower the mean error of six designs by {value:.3f} "
          f"({value - half:.3f} to {value + half:.3f}): {word}")


def rank(errors: dict[str, list[float]]) -> None:
    generator = random.Random(0)
    predictors = {"exact variance": [VARIANCE[d] for d in PRIMAL],
                  "1/(m n)": [1 / (members(d)[0] * members(d)[1]) for d in PRIMAL]}
    for name, predicted in predictors.items():
        value = stats.spearman(predicted, [stats.mean(errors[d]) for d in PRIMAL])
        spread = [stats.spearman(predicted, [stats.mean(generator.choices(errors[d], k=len(errors[d]))) for d in PRIMAL])
                  for _ in range(2000)]
        low, high = stats.percentile_interval(spread)
        print(f"  rank correlation of {name} with mean test error over seven designs: {value:.2f} ({low:.2f} to {high:.2f})")


for name in plan.SETTINGS:
    print(name)
    rule(name, rates(name))
    final(name)
