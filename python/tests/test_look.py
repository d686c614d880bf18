"""Plots have the colours and marks of the program's own figures."""

import re
from pathlib import Path

import matplotlib
import pytest

import collegial
from collegial import _look

matplotlib.use("Agg")
PALETTE = Path(__file__).resolve().parents[2] / "crates/report/look/palette.css"


def test_the_palette_is_the_programs():
    light = next(line for line in PALETTE.read_text(encoding="utf-8").splitlines() if line.startswith(":root"))
    colours = dict(re.findall(r"--([a-z]+):(#[0-9a-f]{6})", light))
    assert {name: colours[name] for name in _look.PALETTE} == _look.PALETTE


@pytest.mark.parametrize("problem, tone", [("primal", "cost"), ("dual", "variance")])
def test_a_search_shows_the_baseline_whole_members_and_the_optimum(problem, tone):
    found = collegial.search("resnext29-1x128d")
    axes = found.plot(problem=problem)
    labels = axes.get_legend_handles_labels()[1]
    assert labels == ["within 1 %", "real-valued m", "whole members", "baseline"]
    assert {text.get_text() for text in axes.texts} == {found.baseline, getattr(found, problem).design}
    curve = axes.get_lines()[0]
    assert curve.get_color() == _look.PALETTE[tone]
    with pytest.raises(ValueError, match="'primal' or 'dual'"):
        found.plot(problem="both")
