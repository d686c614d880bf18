"""Errors are the command line's sentences, as exceptions."""

import numpy
import pytest

import collegial

MISTAKES = [
    (lambda: collegial.search("resnxt29-1x128d"), ["search", "resnxt29-1x128d"]),
    (lambda: collegial.search("wrn28-10"), ["search", "wrn28-10"]),
    (lambda: collegial.search("resnext29-1x128d", alpha=-1), ["search", "resnext29-1x128d", "--alpha=-1"]),
    (lambda: collegial.search("fc6-500", cost="money"), ["search", "fc6-500", "--cost=money"]),
    (
        lambda: collegial.search("fc6-500", alpha=1.6, variance="exact"),
        ["search", "fc6-500", "--alpha=1.6", "--variance=exact"],
    ),
    (lambda: collegial.fit("bottleneck-128", trials=1), ["fit", "bottleneck-128", "--trials=1"]),
    (lambda: collegial.fit("bottleneck-128", widths=[4]), ["fit", "bottleneck-128", "--widths=4"]),
    (lambda: collegial.moments(), ["moments"]),
    (lambda: collegial.moments("resnext29-1x128d"), ["moments", "resnext29-1x128d"]),
    (lambda: collegial.ntk("fc3-8", weights="missing.safetensors"), ["ntk", "fc3-8", "--weights=missing.safetensors"]),
    (lambda: collegial.ntk("fc3-8", output=99), ["ntk", "fc3-8", "--output=99"]),
    (lambda: collegial.info("no-such-file.toml"), ["info", "no-such-file.toml"]),
    (lambda: collegial.info("fc3-8", batch=0), ["info", "fc3-8", "--batch=0"]),
]


@pytest.mark.parametrize("mistake, words", MISTAKES, ids=[" ".join(words) for _, words in MISTAKES])
def test_the_sentence_is_that_of_the_command_line(mistake, words, run):
    with pytest.raises(collegial.CollegialError) as raised:
        mistake()
    said = run(*words)
    assert said.returncode == 2 and said.stdout == ""
    assert said.stderr == f"error: {raised.value}\n"


def test_what_only_python_can_get_wrong():
    assert issubclass(collegial.CollegialError, ValueError)
    with pytest.raises(collegial.CollegialError, match="leave one of them out"):
        collegial.ntk("fc3-8", numpy.ones((2, 784)), count=3)
    with pytest.raises(collegial.CollegialError, match=r"shape \[7\], but the network takes \[784, 1, 1\]"):
        collegial.ntk("fc3-8", numpy.ones((2, 7)))
    with pytest.raises(collegial.CollegialError, match="finite|NaN"):
        collegial.ntk("fc3-8", numpy.full((2, 784), numpy.nan))
    with pytest.raises(collegial.CollegialError, match="missing"):
        collegial.forward("fc3-8", "missing.safetensors", numpy.ones((2, 784)))
    with pytest.raises(TypeError, match="a name, a path, a dict or a Spec, not int"):
        collegial.info(7)
    with pytest.raises(AttributeError, match="primal"):
        collegial.search("fc3-100", alpha=1.6).prime
