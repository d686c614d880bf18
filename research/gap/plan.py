"""The runs of the gap: rates of the small ResNeXt, then groups of ten seeds whose outputs are averaged."""

import importlib.util
import json
import shutil
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from rates import rate_text, wanted  # noqa: E402


def sibling(study: str):
    found = importlib.util.spec_from_file_location(f"gap_{study.replace('-', '_')}", HERE.parent / study / "plan.py")
    plan = importlib.util.module_from_spec(found)
    found.loader.exec_module(plan)
    return plan


fair, mirror = sibling("fair-rates"), sibling("mirror-pairs")
KEYS = ["recipe", "model", "rate", "seed"]
SEEDS = range(2001, 2011)
RESNEXT = {"small-2000": (2000, 15), "small-10000": (10000, 6), "small-50000": (50000, 3)}
DENSE = {"fc-2000": (2000, 60, "standard"), "fc-10000": (10000, 24, "standard"),
         "fc-60000": (60000, 12, "standard"), "fc-norm": (60000, 12, "norm")}
MIRRORS = ["32x16_2d", "32x2_16d", "64x8_1d", "64x1_8d"]


def recipe(images: int, epochs: int) -> list[str]:
    """The rate is divided by 10 after 1/2 and 3/4 of the epochs."""
    return [f"epochs={epochs}", f"limit={images}", f"schedule.milestones=[{epochs / 2:g}, {epochs * 3 / 4:g}]"]


def rows_of(study: str, part: str) -> list[dict]:
    import stats

    return [{"part": part, **row} for row in stats.rows(HERE.parent / study, part)]


def group(recipe_name: str, data: str, model: str, rate: float, changes: list[str]) -> dict:
    return {"part": "groups", "recipe": recipe_name, "model": model, "rate": rate_text(rate), "data": data,
            "seed": f"{SEEDS[0]}-{SEEDS[-1]}", "set": changes}


def jobs(done: list[dict]) -> list[dict]:
    found = []
    for name, (images, epochs, setting) in DENSE.items():
        _, chosen = fair.rates(rows_of("fair-rates", f"{setting}-rates"), setting)
        for design in ("1x200", "7x45", "15x24"):
            if chosen[design]:
                model = fair.SETTINGS[setting]["model"].format(design)
                found.append(group(name, "mnist", model, chosen[design], recipe(images, epochs)))
    _, chosen = mirror.rates(rows_of("mirror-pairs", "cifar10-rates"), "cifar10")
    for design in MIRRORS:
        if chosen[design]:
            model, changes = f"mirror-pairs/specs/{design}.toml", mirror.PARTS["cifar10"]["set"]
            found.append(group("mirror", "cifar10", model, chosen[design], changes))
    for name, (images, epochs) in RESNEXT.items():
        mine = [row for row in done if row["part"] == "rates" and row["recipe"] == name]
        for design in ("1x32d", "23x4d"):
            model = f"gap/specs/{design}.toml"
            changes = recipe(min(images, 40000), epochs)
            grid, best = wanted(mine, model, [1, 2], [0.05, 0.1, 0.2], 0.0125, 1.6)
            found += [{"part": "rates", "recipe": name, "model": model, "rate": rate_text(rate), "seed": seed,
                       "data": "cifar10-validation", "set": changes} for rate in grid for seed in (1, 2)]
            if best:
                found.append(group(name, "cifar10", model, best, recipe(images, epochs)))
    return found


def run(machine, job: dict, slot: int) -> dict:
    from run import train

    return train(machine, job, slot) if job["part"] == "rates" else average(machine, job, slot)


def average(machine, job: dict, slot: int) -> dict:
    """Ten trainings; errors of each, of the averaged outputs, and of these with one seed left out."""
    import numpy as np
    import outputs

    begun = time.time()
    images, labels = outputs.test_set(Path(machine.dataset(job["data"])), job["data"])
    values, errors = [], []
    for seed in SEEDS:
        found, said = one(machine, job, slot, seed, images)
        computed = outputs.error(found, labels)
        if round(computed, 2) != round(said, 2):
            raise RuntimeError(f"seed {seed}: error {computed:.2f} by ONNX Runtime, {said:.2f} by the program")
        values.append(found)
        errors.append(said)
    chances = np.stack([outputs.softmax(v) for v in values])
    left_out = [outputs.error(np.delete(chances, i, 0).mean(axis=0), labels) for i in range(len(SEEDS))]
    join = lambda numbers: " ".join(f"{number:.2f}" for number in numbers)
    return {"errors": join(errors), "averaged": f"{outputs.error(chances.mean(axis=0), labels):.2f}",
            "averaged_without_one": join(left_out),
            "averaged_logits": f"{outputs.error(np.stack(values).mean(axis=0), labels):.2f}",
            "seconds": f"{time.time() - begun:.1f}"}


def one(machine, job: dict, slot: int, seed: int, images) -> tuple:
    """Logits on the test set of one seed's network, and the error that the program says."""
    import outputs

    out = machine.work / f"gap-{machine.mark}-{slot}"
    shutil.rmtree(out, ignore_errors=True)
    changes = [piece for change in [f"learning_rate={job['rate']}", *job["set"]] for piece in ("--set", change)]
    lines = machine.run([machine.program, "train", job["model"], "--data", machine.dataset(job["data"]), "--seed",
                         str(seed), "--threads", "1", "--quiet", "--json", "--out", str(out), *changes]).splitlines()
    network = out / "network.onnx"
    machine.run([machine.program, "export", str(out), "--to", "onnx", "--out", str(network), "--quiet"])
    found = outputs.logits(network, images)
    shutil.rmtree(out, ignore_errors=True)
    return found, 100 * json.loads(lines[-2])["test_error"]


sys.path.insert(0, str(HERE))
