"""The runs of the fair rates, in the page's order."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from rates import rate_text, wanted  # noqa: E402

KEYS = ["model", "rate", "seed"]
MANY = ["1x200", "7x45", "132x3"]
DESIGNS = ["1x200", "7x45", "132x3", "2x110", "15x24", "31x12", "78x5", "5x45", "186x5"]
RATE_SEEDS = [1, 2, 3]
USUAL = {"start": [1e-3, 2e-3, 4e-3], "low": 1.25e-4, "high": 6.4e-2}
SETTINGS = {
    "standard": {"model": "fc6-{}", "set": [], **USUAL},
    "norm": {"model": "fair-rates/specs/fc6-{}-bn.toml", "set": [], **USUAL},
    "ntk": {"model": "fc6-{}", "set": ["parametrisation=ntk"], "start": [8e-3, 1.6e-2, 3.2e-2],
            "low": 5e-4, "high": 0.512},
    "layers": {"model": "fc6-{}", "set": ["rates_by_fan_in=200"], **USUAL},
}
# 1x200 has the same rate in all layers: its runs are those of the setting standard.
BASELINE = "1x200"
SCHEDULE = ["epochs=12", "schedule.milestones=[6, 9]"]


def job(setting: str, part: str, data: str, design: str, rate: float, seed: int) -> dict:
    return {"part": f"{setting}-{part}", "data": data, "name": design, "rate": rate_text(rate), "seed": seed,
            "model": SETTINGS[setting]["model"].format(design), "set": SCHEDULE + SETTINGS[setting]["set"]}


def source(setting: str, design: str) -> str:
    """The setting whose runs of a design count for this one."""
    return "standard" if setting == "layers" and design == BASELINE else setting


def rates(done: list[dict], setting: str) -> tuple[list[dict], dict[str, float | None]]:
    """Validation runs of a setting, seed by seed, and the chosen rate of every design."""
    about, jobs, chosen = SETTINGS[setting], [], {}
    for design in DESIGNS:
        owner = source(setting, design)
        rows = [row for row in done if row["part"] == f"{owner}-rates"]
        grid, chosen[design] = wanted(rows, about["model"].format(design), RATE_SEEDS, about["start"],
                                      about["low"], about["high"])
        if owner == setting:
            jobs += [job(setting, "rates", "mnist-validation", design, rate, seed)
                     for rate in grid for seed in RATE_SEEDS]
    return sorted(jobs, key=lambda one: one["seed"]), chosen


def jobs(done: list[dict]) -> list[dict]:
    validation, final = [], []
    for setting in SETTINGS:
        found, chosen = rates(done, setting)
        validation += found
        if all(chosen.values()):
            final += [job(setting, "final", "mnist", design, chosen[design], seed)
                      for seed in range(1001, 1061) for design in DESIGNS
                      if (design in MANY or seed <= 1020) and source(setting, design) == setting]
    return validation + final
