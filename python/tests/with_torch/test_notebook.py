"""The notebook on a model of torchvision runs from its first cell to its last."""

import sys
from pathlib import Path

import matplotlib

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from notebooks import run  # noqa: E402

matplotlib.use("Agg")


def test_from_a_model_to_a_better_one():
    names = run("better_model.ipynb")
    assert names["count"] < names["suggestion"].baseline.parameters
