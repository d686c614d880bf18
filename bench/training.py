"""Training from end to end, data loading included, against PyTorch with its DataLoader: the section of `side_by_side.py` about runs.

Images per second of one epoch without its test. The images are noise in CIFAR-10's and MNIST's files, which costs as much as any.
"""

import os
import pathlib
import struct
import tempfile

from runner import THREADS, lines, ours_built, rival, table

# Network, data set and how many images an epoch has.
WORK = [("fc6-30x48", "mnist", 12800), ("resnext29-10x10d", "cifar", 512), ("resnext29-4x4d", "cifar", 1024)]


def write_data(folder):
    """Noise in both formats; the test sets are small, since they are not timed."""
    cifar, mnist = folder / "cifar", folder / "mnist"
    cifar.mkdir()
    mnist.mkdir()
    record = lambda index: bytes([index % 10]) + os.urandom(3072)
    for number in range(1, 6):
        (cifar / f"data_batch_{number}.bin").write_bytes(b"".join(map(record, range(1024 if number == 1 else 10))))
    (cifar / "test_batch.bin").write_bytes(b"".join(map(record, range(128))))
    for name, count in (("train", 12800), ("t10k", 128)):
        (mnist / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x0803, count, 28, 28) + os.urandom(784 * count))
        labels = bytes(index % 10 for index in range(count))
        (mnist / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x0801, count) + labels)


def epoch(model, data, images):
    """Ours: the JSON line of an epoch."""
    with tempfile.TemporaryDirectory() as run:
        words = ["train", model, "--data", data, "--limit", images, "--epochs", 1, "--threads", THREADS, "--out", run]
        return lines([ours_built(), *map(str, words), "--json", "--quiet"])[0]


def train():
    """One epoch at batch 128 from files, PyTorch in its better layout and with its best number of workers."""
    speed = lambda line: line["images_per_second"]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        write_data(pathlib.Path(folder))
        for model, kind, images in WORK:
            data = pathlib.Path(folder) / kind
            mine = [epoch(model, data, images)]
            answers = rival("train_torch", "--data", str(data), "--limit", str(images), "--only", model)
            theirs = [line for line in answers if "images_per_second" in line]
            mine.append(epoch(model, data, images))
            best, other = max(mine, key=speed), max(theirs, key=speed)
            waited = f"{100 * best['waited'] * speed(best) / images:.2f} %"
            form = f"{other['form']}, {other['workers']}"
            rows.append((model, f"{speed(best):,.0f}", waited, f"{speed(other):,.0f}", form, f"{speed(best) / speed(other):.2f}"))
    table(("network", "ours, images/s", "waiting for data", "PyTorch, images/s", "its form, workers", "ratio"), rows)
