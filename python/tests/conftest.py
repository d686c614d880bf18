"""What several tests need."""

import gzip
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def wait_until_at_work():
    """Waits until a process catches SIGINT and has computed for half a second since."""

    def wait(process):
        def catches():
            status = Path(f"/proc/{process.pid}/status").read_text()
            mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
            return int(mask, 16) >> (2 - 1) & 1

        def computed():
            # User time is the 14th field, the 12th after the name in brackets.
            ticks = Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[11]
            return int(ticks) / os.sysconf("SC_CLK_TCK")

        deadline, begun = time.monotonic() + 120, None
        while begun is None or computed() < begun + 0.5:
            assert time.monotonic() < deadline, "it did not begin to compute in two minutes"
            assert process.poll() is None, "it has ended"
            if begun is None and catches():
                begun = computed()
            time.sleep(0.01)

    return wait


@pytest.fixture(scope="session")
def installed():
    """The program that the wheel installed, beside the interpreter."""
    program = shutil.which("collegial", path=os.path.dirname(sys.executable))
    assert program, "the wheel is not installed in this environment"
    return program


@pytest.fixture(scope="session")
def run(installed):
    """Runs the installed program on words and gives the finished process."""

    def run(*words):
        return subprocess.run([installed, *map(str, words)], capture_output=True, text=True)

    return run


@pytest.fixture(scope="session")
def program():
    """The binary that Cargo built: COLLEGIAL, or the release or debug one of this tree."""
    candidates = [os.environ.get("COLLEGIAL"), ROOT / "target/release/collegial", ROOT / "target/debug/collegial"]
    found = next((str(path) for path in candidates if path and Path(path).is_file()), None)
    assert found, "no binary to compare with; build one with: cargo build --release"
    return found


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """Two hundred MNIST-like images whose class is where they are bright."""
    root = tmp_path_factory.mktemp("data")
    chance = numpy.random.default_rng(0)
    for name, count in (("train", 200), ("t10k", 100)):
        labels = numpy.arange(count) % 10
        images = chance.integers(0, 60, (count, 28, 28))
        images[numpy.arange(count), 2 * labels, :] = 255
        header = struct.pack(">4sIII", b"\x00\x00\x08\x03", count, 28, 28)
        (root / f"{name}-images-idx3-ubyte.gz").write_bytes(gzip.compress(header + images.astype("u1").tobytes()))
        header = struct.pack(">4sI", b"\x00\x00\x08\x01", count)
        (root / f"{name}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(header + labels.astype("u1").tobytes()))
    return root
