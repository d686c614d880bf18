"""Networks timed by ONNX Runtime and PyTorch, from Python and from the program."""

import os
import subprocess
import sys

import pytest

import collegial
from collegial import CollegialError


@pytest.mark.parametrize("runtime", ["onnx", "torch"])
def test_designs_are_timed_in_turn_with_the_baseline(runtime):
    """Every time has an interval around it, and the answer says how it was measured."""
    found = collegial.search("resnext29-1x8d", cost="time", runtime=runtime, batch=3, widths="2,4", image=8).to_dict()
    timings = found["timings"]
    how = {"runtime": runtime, "pass": "inference", "batch": 3, "device": "cpu"}
    assert timings["measurement"] == how
    assert {timing["design"] for timing in timings["designs"]} >= {found["dual"]["design"]} - {found["baseline_design"]}
    for timing in timings["designs"]:
        low, high = timing["ratio_ci"]
        assert 0 < low <= timing["ratio"] <= high and timing["steps"] >= 8 and timing["seconds"] > 0


def test_another_runtime_means_time():
    """Whoever names a runtime asks for times."""
    assert collegial.search("fc3-16", runtime="onnx", widths=[4]).to_dict()["cost"] == "time"


@pytest.mark.parametrize(
    "words, sentence",
    [
        (dict(runtime="onnx", device="abacus"), "ONNX Runtime cannot be timed: it has no device abacus; here it runs on cpu"),
        (dict(runtime="torch", device="abacus"), "PyTorch cannot be timed: "),
        (dict(cost="time", device="cuda"), "the native engine runs on CPUs and not on cuda"),
        (dict(batch=4), "batch"),
        (dict(cost="flops", runtime="torch"), "runtime"),
    ],
)  # fmt: skip
def test_what_cannot_be_timed_is_said(words, sentence):
    with pytest.raises(CollegialError, match=sentence):
        collegial.search("fc3-16", widths=[4], **words)


def test_the_program_goes_on_in_python(program):
    """The program has no Python, and hands the same words to the package."""
    words = ["search", "fc3-16", "--runtime", "onnx", "--widths", "4", "--json"]
    environment = {**os.environ, "COLLEGIAL_PYTHON": sys.executable}
    found = subprocess.run([program, *words], capture_output=True, text=True, env=environment)
    assert found.returncode == 0, found.stderr
    assert '"runtime": "onnx"' in found.stdout and "in Python: collegial" in found.stderr
