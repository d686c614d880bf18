"""The rate of every design, by the rule that the studies' pages share.

Rates are a grid in factors of two. Three are run first; as long as the lowest mean validation error
is at an end of what was run, the next rate beyond that end is added, within limits.
"""

from collections import defaultdict


def rate_text(rate: float) -> str:
    return f"{rate:.6g}"


def errors_by_rate(rows: list[dict], model: str, seeds: list[int]) -> dict[str, list[float]]:
    found = defaultdict(dict)
    for row in rows:
        if row["model"] == model and int(row["seed"]) in seeds:
            found[row["rate"]][int(row["seed"])] = float(row["error"])
    return {rate: list(by.values()) for rate, by in found.items()}


def wanted(rows: list[dict], model: str, seeds: list[int], start: list[float], low: float, high: float):
    """(rates that must be run next, chosen rate or None while any of them is unfinished)."""
    errors = errors_by_rate(rows, model, seeds)
    grid = sorted(start)
    while True:
        if any(len(errors.get(rate_text(rate), [])) < len(seeds) for rate in grid):
            return grid, None
        means = [sum(errors[rate_text(rate)]) / len(seeds) for rate in grid]
        best = means.index(min(means))
        if best == 0 and grid[0] / 2 >= low * 0.999:
            grid.insert(0, grid[0] / 2)
        elif best == len(grid) - 1 and grid[-1] * 2 <= high * 1.001:
            grid.append(grid[-1] * 2)
        else:
            return grid, grid[best]
