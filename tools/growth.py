#!/usr/bin/env python3
"""How time and memory of the program grow with the size of the question: fitted exponents beside theory's.

    python3 tools/growth.py                   # measures everything (a quarter of an hour) and updates docs/growth.md
    python3 tools/growth.py search loading    # measures some operations again; the others keep their runs
    python3 tools/growth.py --table           # only writes the table of docs/growth.md again
    python3 tools/growth.py --check           # the smallest size of each, once; writes nothing

Needs GNU time (Debian's package `time`): the peak memory that the system counts for a child of Python includes Python's.
"""

import argparse
import csv
import math
import os
import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
RUNS = ROOT / "docs" / "figures" / "growth.csv"
PAGE = ROOT / "docs" / "growth.md"
COLUMNS = ["operation", "size", "run", "seconds", "peak_bytes", "machine"]
#: The table of the page stands between these lines.
BEGIN, END = "<!-- table: tools/growth.py -->\n", "<!-- end of table -->\n"


def images(count, place):
    """Random images of 28x28 in MNIST's files: `count` to train on, a tenth as many to test."""
    for name, number in [("train", count), ("t10k", min(max(count // 10, 100), 10_000))]:
        with open(place / f"{name}-images-idx3-ubyte", "wb") as file:
            file.write(struct.pack(">4I", 0x803, number, 28, 28))
            noise = os.urandom(784 * 1000)
            for begin in range(0, number, 1000):
                file.write(noise[: 784 * min(1000, number - begin)])
        labels = bytes(index % 10 for index in range(number))
        (place / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x801, number) + labels)


def designs(count, place):
    """A table of designs, no two alike."""
    rows = (f"resnext29-{1 + index % 60}x{1 + index // 60}d\n" for index in range(count))
    (place / "designs.csv").write_text("model\n" + "".join(rows))


def mlp_parameters(n):
    """Weights and biases of fc4-n on images of 28x28 with ten classes."""
    return 785 * n + 2 * (n + 1) * n + (n + 1) * 10


#: Name: (unit of the size, sizes, command line at a size, writer of its input, theory's exponents of time and memory).
OPERATIONS = {
    "search": ("width of the baseline", [128, 512, 2048, 8192, 16384, 32768, 65536],
               "search resnext29-1x{n}d --json", None, 1, 1),
    "scoring": ("rows of the table", [100, 316, 1000, 2154, 4642, 10000], "score DATA/designs.csv --format csv", designs, 1, 1),
    "moments": ("weight matrices", [100, 316, 1000, 3162, 5623, 7500, 10000], "moments fc{n}-1000000 --json", None, 1, 1),
    "draws": ("draws per width", [3000, 10000, 30000, 100000, 300000, 1000000],
              "fit bottleneck-128 --widths 64,128 --trials {n} --json", None, 1, 0),
    "sampler-width": ("width n", [256, 1024, 4096, 8192, 16384, 32768, 65536],
                      "fit bottleneck-128 --widths {less},{n} --trials 1000 --json", None, 1, 0),
    "weights-width": ("width n", [40, 125, 400, 1000, 1600, 2500, 4000],
                      "ntk fc4-{n} --inputs 10 --draws 20 --json", None, 2, 2),
    "kernels": ("inputs N", [100, 316, 1000, 2154, 4642, 10000],
                "ntk fc4-64 --inputs 64 --count {n} --memory 100M --out OUT/k.npy", None, 2, 0),
    "training-images": ("training images", [3000, 10000, 30000, 55000, 100000, 175000, 300000],
                        "train fc4-64 --data DATA --epochs 1 --out OUT/run", images, 1, 1),
    "training-parameters": ("parameters", [30, 100, 300, 1000, 1400, 2000, 3000],
                            "train fc4-{n} --data DATA --epochs 1 --out OUT/run", lambda n, place: images(1280, place), 1, 1),
    "loading": ("images", [1000, 10000, 30000, 100000, 300000, 1000000],
                "ntk fc2-2 --data DATA --split train --count 2 --json", images, 1, 1),
}  # fmt: skip


def machine():
    """The number of cores and the CPU's name."""
    told = pathlib.Path("/proc/cpuinfo").read_text()
    name = next((line.split(": ")[1] for line in told.splitlines() if line.startswith("model name")), os.uname().machine)
    return f"{os.cpu_count()} cores of {name.replace(',', ' ')}"


def run(program, words, directory):
    """Seconds and peak bytes of one process, from its start to its end."""
    peak = directory / "peak"
    start = time.perf_counter()
    command = ["/usr/bin/time", "--format=%M", f"--output={peak}", program, *words, "--quiet"]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"growth: `collegial {' '.join(words)}` ended with {done.returncode}: {done.stderr.strip()}")
    return seconds, 1024 * int(peak.read_text())


def measure(program, name, sizes, repeats):
    """The runs of one operation as rows of the file of runs."""
    _, _, line, prepare, _, _ = OPERATIONS[name]
    for n in sizes:
        with tempfile.TemporaryDirectory(prefix="collegial-growth-") as folder:
            place = pathlib.Path(folder)
            if prepare:
                prepare(n, place)
            text = line.format(n=n, less=n - 1).replace("DATA", folder)
            size = mlp_parameters(n) if name == "training-parameters" else n
            for number in range(1, repeats + 1):
                out = place / "out"
                shutil.rmtree(out, ignore_errors=True)
                out.mkdir()
                seconds, peak = run(program, text.replace("OUT", str(out)).split(), place)
                print(f"growth: {name} {size}: {seconds:.3f} s, {peak / 1e6:.1f} MB", file=sys.stderr)
                yield dict(zip(COLUMNS, [name, size, number, f"{seconds:.4f}", peak, machine()]))


def exponent(costs):
    """cost ~ size^exponent by least squares in logarithms: (exponent, standard error, whether enough sizes are clear).

    Fitted are the sizes that cost at least ten times the smallest, so that fixed costs are a tenth at most; where fewer
    than three do, the largest three.
    """
    clear = 0
    while clear < len(costs) and costs[-1 - clear][1] >= 10 * costs[0][1]:
        clear += 1
    points = [(math.log(size), math.log(cost)) for size, cost in costs[-max(clear, 3) :]]
    x, y = (sum(values) / len(points) for values in zip(*points))
    spread = sum((a - x) ** 2 for a, _ in points)
    slope = sum((a - x) * (b - y) for a, b in points) / spread
    residuals = sum((b - y - slope * (a - x)) ** 2 for a, b in points)
    return slope, math.sqrt(residuals / (len(points) - 2) / spread), clear >= 3


def significant(value):
    """Three digits, without an exponent."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}"


def table(runs):
    """The Markdown table; of repeated runs the least counts, since other processes only add to it."""
    lines = ["| operation | size | from | to | seconds | time ~ size^ | theory | MB | memory ~ size^ | theory |",
             "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]  # fmt: skip
    for name, (axis, _, _, _, *theory) in OPERATIONS.items():
        rows = [row for row in runs if row["operation"] == name]
        sizes = sorted({int(row["size"]) for row in rows})
        if len(sizes) < 3:
            continue
        cells = [f"[{name}](#{name})", axis, f"{sizes[0]:,}", f"{sizes[-1]:,}"]
        for column, unit, expected in zip(["seconds", "peak_bytes"], [1, 1e6], theory):
            least = [(size, min(float(row[column]) for row in rows if int(row["size"]) == size) / unit) for size in sizes]
            slope, error, clear = exponent(least)
            cells += [significant(least[-1][1]), f"{round(slope, 2) + 0:.2f} ± {error:.2f}{'' if clear else '*'}", str(expected)]
        lines.append("| " + " | ".join(cells).replace("*", r"\*") + " |")
    machines = dict.fromkeys(row["machine"] for row in runs)
    return "\n".join(lines) + f"\n\nMeasured on {'; '.join(machines)}.\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operations", nargs="*", metavar="OPERATION", help=", ".join(OPERATIONS))
    parser.add_argument("--program", default=ROOT / "target" / "release" / "collegial")
    parser.add_argument("--table", action="store_true", help="only write the table again")
    parser.add_argument("--check", action="store_true", help="only run the smallest size of each")
    options = parser.parse_args()
    if unknown := set(options.operations) - set(OPERATIONS):
        parser.error(f"unknown operation {', '.join(sorted(unknown))}; there are {', '.join(OPERATIONS)}")
    names = options.operations or list(OPERATIONS)
    if options.check:
        for name in names:
            list(measure(options.program, name, OPERATIONS[name][1][:1], 1))
        return
    with open(RUNS, newline="") as file:
        runs = list(csv.DictReader(file))
    for name in [] if options.table else names:
        new = list(measure(options.program, name, OPERATIONS[name][1], 3))
        runs = [row for row in runs if row["operation"] != name] + new
        with open(RUNS, "w", newline="") as file:  # After each operation: a failure costs no other one.
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(runs)
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + "\n" + table(runs) + "\n" + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
