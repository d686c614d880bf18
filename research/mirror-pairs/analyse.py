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


def final(base: str) -> None:
    designs = plan.PARTS[base]["designs"]
    errors = {design: {} for design in designs}
    for row in stats.rows(HERE, f"{base}-final"):
        errors[Path(row["model"]).stem][int(row["seed"])] = float(row["error"])
    planned, done = len(plan.SEEDS) * len(designs), sum(len(by) for by in errors.values())
    print(f"  final: {done} of {planned} runs, {stats.count_failed(HERE, f'{base}-final')} with a loss that is not finite")
    if done < planned:
        print("  no verdict before the planned number")
        return
    pairs = list(zip(designs[::2], designs[1::2]))
    for design in designs:
        values = list(errors[design].values())
        print(f"  {design}: {stats.mean(values):.3f} %, one run scatters by {stats.variance(values) ** 0.5:.2f}")
    for one, two in pairs:
        value, low, high = stats.t_interval([errors[two][s] - errors[one][s] for s in plan.SEEDS])
        print(f"  {two} - {one}: {value:.3f} points ({low:.3f} to {high:.3f}), secondary")
    pooled = [stats.mean([errors[two][s] - errors[one][s] for one, two in pairs]) for s in plan.SEEDS]
    value, low, high = stats.t_interval(pooled)
    print(f"  PRIMARY: {value:.3f} points ({low:.3f} to {high:.3f}): {stats.sign_verdict(low, high, 'held', 'contradicted')}")
    if base == "cifar10":
        for name, size in SIZES.items():
            verdict = "compatible" if low <= size <= high else "too large" if size > high else "too small"
            print(f"  size by {name}, {size:.2f}: {verdict}")


for part in plan.PARTS:
    print(part)
    show_rates(part)
    final(part)
