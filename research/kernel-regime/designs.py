"""The designs of every cell, their cost, and what each predictor says; written to designs.csv.

    python research/kernel-regime/designs.py --program collegial
"""

import argparse
import csv
import json
import math
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
NETWORKS = {
    "mnist/fc3": "250x1 125x2 83x3 50x5 31x8 21x12 12x20 5x47 3x75 2x110 1x200",
    "mnist/fc6": "399x1 199x2 132x3 78x5 48x8 32x12 15x24 7x45 4x72 2x125 1x200",
    "cifar10/fc3": "213x1 106x2 71x3 43x5 27x8 18x12 13x16 9x24 4x52 2x103 1x200",
    "cifar10/fc6": "252x1 126x2 84x3 50x5 31x8 21x12 12x20 6x40 3x77 2x110 1x200",
    "cifar10/bottleneck": "118x1 54x2 33x3 23x4 14x6 11x7 9x8 5x12 3x17 2x21 1x32",
}
INPUTS = {"mnist": 784, "cifar10": 3072}
ALPHA = {"fc": 3.03, "bottleneck": 1.6}


def model(network: str, design: str) -> str:
    """A name, or the path of a spec relative to `research`."""
    kind = network.split("/")[1]
    return f"kernel-regime/specs/{design}d.toml" if kind == "bottleneck" else f"{kind}-{design}"


def ask(program: str, *args: str) -> dict:
    run = subprocess.run([program, *args, "--json"], check=True, capture_output=True, cwd=HERE.parent)
    return json.loads(run.stdout)


def dense(program: str, network: str, design: str) -> dict:
    data, kind = network.split("/")
    m, n = map(int, design.split("x"))
    info = ask(program, "info", model(network, design), "--inputs", str(INPUTS[data]))
    variance = ask(program, "moments", model(network, design))["variance"]
    inverse = 1 / INPUTS[data] + (int(kind[2:]) - 1) / n
    return {"variance": variance, "white": variance, "law": math.expm1(ALPHA["fc"] * inverse) / m, **counts(info)}


def counts(info: dict) -> dict:
    return {key: info[key] for key in ("parameters", "flops", "activations")}


def bottleneck(program: str, network: str, design: str) -> dict:
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        table.write(f"model\n{HERE.parent / model(network, design)}\n")
        table.flush()
        row = ask(program, "score", table.name)["rows"][0]
    info = ask(program, "info", model(network, design))
    return {"variance": row["score"], "white": row["white_score"], "law": row["law"], **counts(info)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="collegial")
    program = parser.parse_args().program
    with (HERE / "designs.csv").open("w", newline="") as file:
        writer = None
        for network, designs in NETWORKS.items():
            kind = bottleneck if network.endswith("bottleneck") else dense
            for design in designs.split():
                m, n = map(int, design.split("x"))
                found = {"network": network, "design": design, "inverse_inner_width": f"{1 / (m * n):.6g}"}
                found |= {k: f"{v:.6g}" if isinstance(v, float) else v for k, v in kind(program, network, design).items()}
                writer = writer or csv.DictWriter(file, found.keys(), lineterminator="\n")
                if file.tell() == 0:
                    writer.writeheader()
                writer.writerow(found)


if __name__ == "__main__":
    main()
