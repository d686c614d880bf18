"""The runs of the mirror pairs, in the page's order."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from rates import rate_text, wanted  # noqa: E402

KEYS = ["model", "rate", "seed"]
SEEDS = range(1001, 1061)
PARTS = {
    "cifar10": {
        "designs": ["32x2_16d", "32x16_2d", "16x4_16d", "16x16_4d", "64x1_8d", "64x8_1d"],
        "set": ["epochs=3", "limit=20000", "schedule.milestones=[1.5, 2.25]"],
        "seeds": [1, 2], "start": [0.05, 0.1, 0.2], "low": 0.0125, "high": 1.6,
    },
    "mnist": {
        "designs": ["fc4-20x16_8_28", "fc4-20x16_34_2", "fc4-30x12_6_18", "fc4-30x12_20_4",
                    "fc4-12x24_20_28", "fc4-12x24_42_6"],
        "set": ["epochs=12", "limit=10000", "schedule.milestones=[6, 9]"],
        "seeds": [1, 2, 3], "start": [1e-3, 2e-3, 4e-3], "low": 1.25e-4, "high": 3.2e-2,
    },
}


def job(part: str, data: str, design: str, rate: float, seed: int) -> dict:
    base = part.split("-")[0]
    return {"part": part, "data": data, "name": design, "model": f"mirror-pairs/specs/{design}.toml",
            "rate": rate_text(rate), "seed": seed, "set": PARTS[base]["set"]}


def rates(done: list[dict], base: str) -> tuple[list[dict], dict[str, float | None]]:
    """Validation runs of a part, seed by seed, and the chosen rate of every design."""
    part, rows = PARTS[base], [row for row in done if row["part"] == f"{base}-rates"]
    jobs, chosen = [], {}
    for design in part["designs"]:
        model = f"mirror-pairs/specs/{design}.toml"
        grid, chosen[design] = wanted(rows, model, part["seeds"], part["start"], part["low"], part["high"])
        jobs += [job(f"{base}-rates", f"{base}-validation", design, rate, seed)
                 for rate in grid for seed in part["seeds"]]
    return sorted(jobs, key=lambda one: one["seed"]), chosen


def jobs(done: list[dict]) -> list[dict]:
    found = []
    for base in PARTS:
        validation, chosen = rates(done, base)
        found += validation
        if all(chosen.values()):
            found += [job(f"{base}-final", base, design, chosen[design], seed)
                      for seed in SEEDS for design in PARTS[base]["designs"]]
    return found
