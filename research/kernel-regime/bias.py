"""The bias term of the second part: how far the mean kernel off the diagonal is from its wide limit.

    python research/kernel-regime/bias.py --program collegial --data DATA --work WORK    # writes bias.csv
    python research/kernel-regime/bias.py --judge

K_ij of a design is the mean over draws of its kernel at the first training images, divided by
sqrt(K_ii K_jj). The limit of wide members is exact for fully connected networks, and drawn with
members of width 256 for the bottleneck network. b^2 is the mean over pairs of images of the product
of two differences from the limit, each from one half of the draws, so that noise has mean 0.
"""

import argparse
import csv
import io
import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))
IMAGES, SEEDS, WIDE_SEEDS = 24, range(1001, 1101), range(2001, 2101)
FOLDERS = {"mnist": "mnist", "cifar10": "cifar-10-batches-bin"}
WIDE = """kind = "resnext"
stem = "imagenet"
blocks = [1, 1]
design = "1x256d"
classes = 10
image = 32
outputs = 64
stem_channels = 16
"""
CONSTANTS = [0.0, *(2.0**power for power in range(-4, 15))]


def normalised(kernel):
    import numpy as np

    root = np.sqrt(np.diag(kernel))
    return kernel / np.outer(root, root)


def infinite(images, layers: int):
    """The tangent kernel of a wide ReLU network with so many weight matrices, normalised."""
    import numpy as np

    covariance = images @ images.T / images.shape[1]
    kernel = covariance.copy()
    for layer in range(layers - 1):
        root = np.sqrt(np.diag(covariance))
        cosine = np.clip(covariance / np.outer(root, root), -1, 1)
        angle = np.arccos(cosine)
        # Gain 2 keeps the diagonal; derivatives of the output's layer have none.
        covariance = np.outer(root, root) * (np.sin(angle) + (np.pi - angle) * cosine) / np.pi
        kernel = covariance + kernel * (np.pi - angle) / np.pi
    return normalised(kernel)


def draws(program: str, model: str, data: Path, seeds) -> list:
    import numpy as np

    found = []
    for seed in seeds:
        command = [program, "ntk", model, "--data", str(data), "--split", "train", "--count", str(IMAGES),
                   "--seed", str(seed), "--threads", "1", "--quiet", "--json"]
        answer = subprocess.run(command, check=True, capture_output=True, text=True, cwd=HERE.parent).stdout
        found.append(np.array(json.loads(answer)["kernel"]))
    return found


def compute(options: argparse.Namespace) -> None:
    import numpy as np

    import plan

    work = Path(options.work)
    table = HERE / "bias.csv"
    with table.open(newline="") if table.exists() else io.StringIO() as file:
        rows = list(csv.DictReader(file))
    for network, names in plan.designs.NETWORKS.items():
        data, kind = network.split("/")
        images = first_images(Path(options.data), data)
        folder = Path(options.data) / FOLDERS[data]
        if kind == "bottleneck":
            wide = work / "bias-wide.toml"
            wide.write_text(WIDE)
            limit = normalised(np.mean(draws(options.program, str(wide), folder, WIDE_SEEDS), axis=0))
        else:
            limit = infinite(images.reshape(IMAGES, -1).astype(float), int(kind.removeprefix("fc")))
        pairs = np.triu_indices(IMAGES, 1)
        for design in names.split():
            if any((row["network"], row["design"]) == (network, design) for row in rows):
                continue
            found = draws(options.program, plan.designs.model(network, design), folder, SEEDS)
            half = len(found) // 2
            one, two = (normalised(np.mean(part, axis=0))[pairs] - limit[pairs] for part in (found[:half], found[half:]))
            rows.append({"network": network, "design": design, "bias_squared": f"{float(np.mean(one * two)):.8g}"})
            with table.open("w", newline="") as file:
                writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
                writer.writeheader()
                writer.writerows(rows)


def first_images(data: Path, name: str):
    """The first training images, normalised as the program does."""
    import gzip

    import numpy as np

    if name == "mnist":
        pixels = np.frombuffer(gzip.decompress((data / "mnist/train-images-idx3-ubyte.gz").read_bytes()), np.uint8)
        pixels, mean, deviation = pixels[16:].reshape(-1, 1, 28, 28), [0.1307], [0.3081]
    else:
        records = np.fromfile(data / "cifar-10-batches-bin/data_batch_1.bin", np.uint8).reshape(-1, 3073)
        pixels = records[:, 1:].reshape(-1, 3, 32, 32)
        mean, deviation = [0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]
    shape = (1, -1, 1, 1)
    pixels = pixels[:IMAGES].astype(np.float32) / 255
    return (pixels - np.array(mean, np.float32).reshape(shape)) / np.array(deviation, np.float32).reshape(shape)


def judge() -> None:
    """c from the MNIST cells, verdict by the CIFAR-10 cells."""
    import analyse
    import stats

    known, cells = analyse.predictors(), analyse.load("test_mse")
    cells = {key: cell for key, cell in cells.items() if key[1] <= 1000}
    with (HERE / "bias.csv").open(newline="") as file:
        bias = {(row["network"], row["design"]): max(0.0, float(row["bias_squared"])) for row in csv.DictReader(file)}
    everything = list(range(11)), list(range(analyse.DRAWS))

    def mean(data: str, c: float) -> float:
        found = []
        for (network, _), cell in cells.items():
            if network.startswith(data):
                names = analyse.plan.designs.NETWORKS[network].split()
                score = [v + c * bias[network, name] for v, name in zip(known[network]["variance"], names)]
                found.append(analyse.correlation(cell, score, *everything))
        return stats.mean(found)

    if len(cells) < 10:
        print("no verdict: cells of 250 and 1000 are not complete")
        return
    table = {c: mean("mnist", c) for c in CONSTANTS}
    best = max(CONSTANTS, key=lambda c: table[c])
    print("mean rank correlation on the MNIST cells by c: " + ", ".join(f"{c:g}: {r:.2f}" for c, r in table.items()))
    without, with_bias = mean("cifar10", 0.0), mean("cifar10", best)
    print(f"c = {best:g}; on the CIFAR-10 cells {without:.2f} without and {with_bias:.2f} with the bias term: "
          f"{'KEPT' if with_bias - without >= 0.1 else 'NOT KEPT'}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--program")
    parser.add_argument("--data")
    parser.add_argument("--work")
    parser.add_argument("--judge", action="store_true")
    given = parser.parse_args()
    judge() if given.judge else compute(given)
