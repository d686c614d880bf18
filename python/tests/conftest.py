"""What several tests need."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


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
