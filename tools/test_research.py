"""What the studies of research/ claim about their designs and figures."""

import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PROGRAM = os.environ.get("COLLEGIAL", str(ROOT / "target" / "release" / "collegial"))
sys.path.insert(0, str(ROOT / "research"))
import figures  # noqa: E402


def test_mirror_pairs_have_equal_counts():
    check = [sys.executable, ROOT / "research" / "mirror-pairs" / "check.py", "--program", PROGRAM]
    done = subprocess.run(check, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path, drawn", figures.all_figures().items(), ids=lambda value: getattr(value, "name", ""))
def test_figures_show_the_runs(path, drawn):
    assert path.read_text() == drawn
