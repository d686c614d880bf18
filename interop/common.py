"""What the comparisons share: our programs, synthetic data sets, and the measure of agreement.

The programs are built with Cargo unless COLLEGIAL_TARGET names a directory that holds `collegial` and `examples/`, such as
target/release.
"""

import functools
import os
import pathlib
import subprocess

import numpy

ROOT = pathlib.Path(__file__).resolve().parent.parent


@functools.cache
def built():
    """The directory of the release build."""
    if "COLLEGIAL_TARGET" in os.environ:
        return pathlib.Path(os.environ["COLLEGIAL_TARGET"])
    packages = ["-p", "collegial", "-p", "collegial-train", "-p", "collegial-ntk"]
    subprocess.run(["cargo", "build", "--quiet", "--release", *packages, "--bins", "--examples"], cwd=ROOT, check=True)
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"


def run(program, *words):
    """Runs a program; what it says on stderr is passed on."""
    subprocess.run([str(built() / program), *map(str, words)], check=True, stdout=subprocess.DEVNULL)


def difference(ours, theirs):
    """The relative error of an array: its largest difference in units of the largest entry of `theirs`."""
    ours, theirs = (numpy.asarray(array, dtype=numpy.float64) for array in (ours, theirs))
    assert ours.shape == theirs.shape
    return float(numpy.max(numpy.abs(ours - theirs)) / numpy.max(numpy.abs(theirs)))


def drawn(folder, words, count, seed):
    """Inputs and weights as `collegial ntk` draws them, written by it to `folder`; the kernel's path comes last."""
    weights, inputs, kernel = folder / "weights.safetensors", folder / "inputs.npy", folder / "kernel.npy"
    run("collegial", "ntk", *words, "--count", count, "--seed", seed,
        "--save-weights", weights, "--save-input", inputs, "--out", kernel)
    return weights, inputs, kernel


def write_cifar(folder, images, seed):
    """A data set in the files of CIFAR-10: noise around a pattern of its class, so that there is something to learn."""
    folder.mkdir()
    random = numpy.random.default_rng(seed)
    patterns = random.integers(64, 192, (10, 3072))
    names = [f"data_batch_{number}.bin" for number in range(1, 6)] + ["test_batch.bin"]
    for name in names:
        labels = random.integers(0, 10, images // 5)
        pixels = numpy.clip(patterns[labels] + random.normal(0, 40, (len(labels), 3072)), 0, 255)
        (folder / name).write_bytes(numpy.column_stack([labels, pixels]).astype(numpy.uint8).tobytes())
    return folder


def write_mnist(folder, images, seed):
    """The same in the files of MNIST."""
    folder.mkdir()
    random = numpy.random.default_rng(seed)
    patterns = random.integers(0, 160, (10, 784))
    for name, count in (("train", images), ("t10k", 100)):
        labels = random.integers(0, 10, count)
        pixels = numpy.clip(patterns[labels] + random.normal(0, 40, (count, 784)), 0, 255).astype(numpy.uint8)
        head = lambda *numbers: numpy.array(numbers, dtype=">u4").tobytes()
        (folder / f"{name}-images-idx3-ubyte").write_bytes(head(0x0803, count, 28, 28) + pixels.tobytes())
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(head(0x0801, count) + labels.astype(numpy.uint8).tobytes())
    return folder
