"""The annotations hold, and the public names of `collegial.torch` have them."""

import inspect
import subprocess
import sys
from pathlib import Path

import collegial.torch

ROOT = Path(__file__).resolve().parents[3]


def test_mypy_finds_nothing(tmp_path):
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml", "--cache-dir", tmp_path, ROOT / "python/collegial"]
    result = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


def test_what_is_public_is_annotated_and_documented():
    for name in collegial.torch.__all__:
        thing = getattr(collegial.torch, name)
        assert inspect.getdoc(thing), name
        if inspect.isfunction(thing):
            signature = inspect.signature(thing)
            parts = [parameter.annotation for parameter in signature.parameters.values()] + [signature.return_annotation]
            assert inspect.Parameter.empty not in parts, name
