"""The page's rule on the finished runs: python research/mirror-pairs/analyse.py"""

import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
import stats  # noqa: E402

found = importlib.util.spec_from_file_location("mirror_plan", HERE / "plan.py")
plan = importlib.util.module_from_spec(found)
found.loader.exec_module(plan)

SIZES = {"parameters, FLOPs, activations, m n": 0.0, "network score": 0.19, "white score": 1.05, "the paper's law": 1.41}


def show_rates(base: str) -> bool:
    """The validation errors, and whether every design has its rate."""
    rows = [{"part": f"{base}-rates", **row} for row in stats.rows(HERE, f"{base}-rates")]
    _, chosen = plan.rates(rows, base)
    for design in plan.PARTS[base]["designs"]:
        errors = plan_errors(rows, design)
        table = ", ".join(f"{rate:g}: {stats.mean(by):.2f} ({len(by)})" for rate, by in errors)
        print(f"  {design}: rate {chosen[design] or 'open'}; mean validation error by rate (runs): {table}")
    return all(chosen.values())


def plan_errors(rows: list[dict], design: str) -> list[tuple[float, list[float]]]:
    mine = [row for row in rows if row["model"].endswith(f"/{design}.toml")]
    rates = sorted({float(row["rate"]) for row in mine})
    return [(rate, [float(row["error"]) for row in mine if float(row["rate"]) == rate]) for rate in rates]


def final_errors(base: str) -> dict[str, dict[int, float]]:
    """design -> seed -> test error."""
    errors = {design: {} for design in plan.PARTS[base]["designs"]}
    for row in stats.rows(HERE, f"{base}-final"):
        errors[Path(row["model"]).stem][int(row["seed"])] = float(row["error"])
    return errors


def contrasts(base: str) -> tuple[list, tuple[float, float, float]]:
    """((lower, higher variance), value and interval) of every pair, and the mean over pairs."""
    designs, errors = plan.PARTS[base]["designs"], final_errors(base)
    pairs = list(zip(designs[::2], designs[1::2]))
    found = [(pair, stats.t_interval([errors[pair[1]][s] - errors[pair[0]][s] for s in plan.SEEDS])) for pair in pairs]
    pooled = [stats.mean([errors[two][s] - errors[one][s] for one, two in pairs]) for s in plan.SEEDS]
    return found, stats.t_interval(pooled)


def final(base: str) -> None:
    errors = final_errors(base)
    planned, done = len(plan.SEEDS) * len(errors), sum(len(by) for by in errors.values())
    print(f"  final: {done} of {planned} runs, {stats.count_failed(HERE, f'{base}-final')} with a loss that is not finite")
    if done < planned:
        print("  no verdict before the planned number")
        return
    for design, by in errors.items():
        values = list(by.values())
        print(f"  {design}: {stats.mean(values):.3f} %, one run scatters by {stats.variance(values) ** 0.5:.2f}")
    pairs, (value, low, high) = contrasts(base)
    for (one, two), (difference, least, most) in pairs:
        print(f"  {two} - {one}: {difference:.3f} points ({least:.3f} to {most:.3f}), secondary")
    print(f"  PRIMARY: {value:.3f} points ({low:.3f} to {high:.3f}): {stats.sign_verdict(low, high, 'held', 'contradicted')}")
    if base == "cifar10":
        for name, size in SIZES.items():
            verdict = "compatible" if low <= size <= high else "too large" if size > high else "too small"
            print(f"  size by {name}, {size:.2f}: {verdict}")


if __name__ == "__main__":
    for part in plan.PARTS:
        print(part)
        show_rates(part)
        final(part)
