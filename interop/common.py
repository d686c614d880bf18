"""Runs `collegial ntk` on a case and compares its kernel with another library's on the same weights and inputs."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy

TOLERANCE = 1e-4


def options(description):
    parser = argparse.ArgumentParser(description=description)
    root = pathlib.Path(__file__).resolve().parent.parent
    parser.add_argument("--collegial", default=root / "target/release/collegial", help="the program [default: the release build]")
    return parser.parse_args()


def collegial(program, *words):
    """Runs the program; what it says on stderr is passed on."""
    subprocess.run([str(program), *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def drawn(program, folder, words, count, seed):
    """Inputs and weights as `collegial ntk` draws them, written by it to `folder`; the kernel's path comes last."""
    weights, inputs, kernel = folder / "weights.safetensors", folder / "inputs.npy", folder / "kernel.npy"
    collegial(program, "ntk", *words, "--count", count, "--seed", seed,
              "--save-weights", weights, "--save-input", inputs, "--out", kernel)
    return weights, inputs, kernel


def difference(kernel, expected):
    """The largest difference of two kernels in units of the largest entry."""
    expected = numpy.asarray(expected, dtype=numpy.float64)
    return float(numpy.max(numpy.abs(numpy.load(kernel) - expected)) / numpy.max(numpy.abs(expected)))


def report(cases):
    """Runs (name, function of a folder) pairs, prints a JSON line for each, and exits 1 where a kernel differs."""
    worst = 0.0
    for name, case in cases:
        with tempfile.TemporaryDirectory() as folder:
            gap = case(pathlib.Path(folder))
        worst = max(worst, gap)
        print(json.dumps({"case": name, "largest_relative_difference": gap, "agrees": gap <= TOLERANCE}), flush=True)
    sys.exit(0 if worst <= TOLERANCE else 1)
