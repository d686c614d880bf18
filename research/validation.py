"""Makes data sets whose "test set" is a held-out part of the training images.

    python research/validation.py DATA OUT

DATA holds `mnist` and `cifar-10-batches-bin`. Written are OUT/mnist-validation (trains on the first
50,000 images, validates on the last 10,000) and OUT/cifar10-validation (trains on batches 1 to 4,
validates on batch 5). The test sets are not read.
"""

import gzip
import struct
import sys
from pathlib import Path

VALIDATION = 10_000


def mnist(source: Path, out: Path) -> None:
    """IDX files: a header of big-endian u32 (magic, counts), then the bytes."""
    out.mkdir(parents=True, exist_ok=True)
    for what, dimensions in (("images-idx3", 3), ("labels-idx1", 1)):
        raw = gzip.decompress((source / f"train-{what}-ubyte.gz").read_bytes())
        header = 4 * (1 + dimensions)
        magic, count, *rest = struct.unpack(f">{1 + dimensions}I", raw[:header])
        record = (len(raw) - header) // count
        cut = header + (count - VALIDATION) * record
        parts = {"train": (count - VALIDATION, raw[header:cut]), "t10k": (VALIDATION, raw[cut:])}
        for name, (records, body) in parts.items():
            head = struct.pack(f">{1 + dimensions}I", magic, records, *rest)
            (out / f"{name}-{what}-ubyte").write_bytes(head + body)


def cifar10(source: Path, out: Path) -> None:
    """Five training files of one size are expected: 40,000 images in their order, 8,000 in each."""
    out.mkdir(parents=True, exist_ok=True)
    train = b"".join((source / f"data_batch_{batch}.bin").read_bytes() for batch in (1, 2, 3, 4))
    fifth = len(train) // 5
    for batch in range(5):
        body = train[batch * fifth : (batch + 1) * fifth]
        (out / f"data_batch_{batch + 1}.bin").write_bytes(body)
    (out / "test_batch.bin").write_bytes((source / "data_batch_5.bin").read_bytes())
    (out / "batches.meta.txt").write_bytes((source / "batches.meta.txt").read_bytes())


if __name__ == "__main__":
    data, made = Path(sys.argv[1]), Path(sys.argv[2])
    mnist(data / "mnist", made / "mnist-validation")
    cifar10(data / "cifar-10-batches-bin", made / "cifar10-validation")
