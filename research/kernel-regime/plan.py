"""Ridge regressions with drawn kernels, in the page's order: few images first, draw by draw."""

import importlib.util
import json
import math
import time
from pathlib import Path

found = importlib.util.spec_from_file_location("kernel_designs", Path(__file__).parent / "designs.py")
designs = importlib.util.module_from_spec(found)
found.loader.exec_module(designs)

KEYS = ["network", "design", "images", "seed"]
IMAGES = [250, 1000, 4000]
SEEDS = range(1, 21)
TEST = 2000
CLASSES = 10


def jobs(_done: list[dict]) -> list[dict]:
    return [{"part": f"images-{images}", "network": network, "design": design, "images": images, "seed": seed}
            for images in IMAGES for seed in SEEDS
            for network, names in designs.NETWORKS.items() for design in names.split()]


def labels(machine, data: str, train: int) -> tuple:
    """Labels of the first training and test images."""
    import gzip

    import numpy as np

    folder = Path(machine.dataset(data))
    if data == "mnist":
        read = lambda name: np.frombuffer(gzip.decompress((folder / name).read_bytes()), np.uint8)[8:]
        return read("train-labels-idx1-ubyte.gz")[:train], read("t10k-labels-idx1-ubyte.gz")[:TEST]
    read = lambda name: np.fromfile(folder / name, np.uint8).reshape(-1, 3073)[:, 0]
    return read("data_batch_1.bin")[:train], read("test_batch.bin")[:TEST]


def targets(classes):
    import numpy as np

    return np.eye(CLASSES)[classes] - 1 / CLASSES


def run(machine, job: dict, slot: int) -> dict:
    """One draw: the program's kernel and leave-one-out errors; the test mse at the best ridge here."""
    import numpy as np

    data, images = job["network"].split("/")[0], job["images"]
    kernel = machine.work / f"kernel-{machine.mark}-{slot}.npy"
    begun = time.time()
    command = [machine.program, "ntk", designs.model(job["network"], job["design"]), "--data", machine.dataset(data),
               "--count", str(images), "--test-count", str(TEST), "--regress", "--seed", str(job["seed"]),
               "--threads", "1", "--quiet", "--json", "--out", str(kernel)]
    try:
        answer = json.loads(machine.run(command))
        both = np.load(kernel)
    finally:
        kernel.unlink(missing_ok=True)
        tiles = kernel.with_name(kernel.name + ".tiles")
        for file in tiles.glob("*"):
            file.unlink()
        if tiles.exists():
            tiles.rmdir()
    best = min(answer["ridges"], key=lambda one: one["squared_error"])
    known, asked = labels(machine, data, images)
    train, test = both[:images].astype(float), both[images:].astype(float)
    ridged = train + best["ridge"] * np.eye(images)
    weights = np.linalg.solve(ridged, targets(known))
    assert np.abs(ridged @ weights - targets(known)).max() < 1e-6, "the solution does not solve"
    guess = test @ weights
    mse = float(((guess - targets(asked)) ** 2).sum(axis=1).mean())
    error = float((guess.argmax(axis=1) != asked).mean())
    assert math.isfinite(mse)
    return {"ridge": f"{best['ridge']:.6g}", "loo_squared_error": f"{best['squared_error']:.6f}",
            "test_mse": f"{mse:.6f}", "test_error": f"{100 * error:.2f}",
            "program_test_error": f"{100 * answer['test_error']:.2f}", "seconds": f"{time.time() - begun:.1f}"}
