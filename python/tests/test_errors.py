"""Errors are the command line's sentences, as exceptions."""

import numpy
import pytest

import collegial

#: What both doors say in the same words.
MISTAKES = [
    (lambda: collegial.search("resnxt29-1x128d"), ["search", "resnxt29-1x128d"]),
    (lambda: collegial.search("wrn28-10"), ["search", "wrn28-10"]),
    (lambda: collegial.search("resnext29-1x128d", alpha=-1), ["search", "resnext29-1x128d", "--alpha=-1"]),
    (lambda: collegial.fit("bottleneck-128", trials=1), ["fit", "bottleneck-128", "--trials=1"]),
    (lambda: collegial.fit("bottleneck-128", widths=[4]), ["fit", "bottleneck-128", "--widths=4"]),
    (lambda: collegial.ntk("fc3-8", weights="missing.safetensors"), ["ntk", "fc3-8", "--weights=missing.safetensors"]),
    (lambda: collegial.ntk("fc3-8", output=99), ["ntk", "fc3-8", "--output=99"]),
    (lambda: collegial.ntk("fc3-8", draws=1), ["ntk", "fc3-8", "--draws=1"]),
    (lambda: collegial.score("missing.csv"), ["score", "missing.csv"]),
    (lambda: collegial.info("no-such-file.toml"), ["info", "no-such-file.toml"]),
    (lambda: collegial.train("fc3-8", "nowhere"), ["train", "fc3-8", "--data=nowhere"]),
]

#: Where a field is named, Python names its keyword.
KEYWORDS = [
    (lambda: collegial.search("fc6-500", cost="money"), r'^cost= cannot be "money": "money" is not a cost; take params,'),
    (lambda: collegial.search("fc6-500", alpha=1.6, variance="exact"), r'^alpha= belongs to variance="law"; leave'),
    (lambda: collegial.search("fc6-500", alpha=float("nan")), "^alpha= is nan; it must be a finite number"),
    (lambda: collegial.moments(), "^give a model or widths=$"),
    (lambda: collegial.info("fc3-8", batch=0), "^batch= is 0; it must be"),
    (lambda: collegial.export("fc3-8", "safetensors", fold=True), r'^fold= does not apply to to="safetensors"; it is for to="onnx"'),
    (lambda: collegial.train("fc3-8", "nowhere", epochs=0), "^epochs= cannot be 0: "),
]


@pytest.mark.parametrize("mistake, words", MISTAKES, ids=[" ".join(words) for _, words in MISTAKES])
def test_the_sentence_is_that_of_the_command_line(mistake, words, run):
    with pytest.raises(collegial.CollegialError) as raised:
        mistake()
    said = run(*words)
    assert said.returncode == 2 and said.stdout == ""
    assert said.stderr == f"error: {raised.value}\n"


@pytest.mark.parametrize("mistake, sentence", KEYWORDS, ids=[sentence for _, sentence in KEYWORDS])
def test_fields_are_keywords(mistake, sentence):
    with pytest.raises(collegial.CollegialError, match=sentence) as raised:
        mistake()
    assert "--" not in str(raised.value)


def test_what_only_python_can_get_wrong():
    assert issubclass(collegial.CollegialError, ValueError)
    with pytest.raises(collegial.CollegialError, match="leave one of them out"):
        collegial.ntk("fc3-8", numpy.ones((2, 784)), count=3)
    with pytest.raises(collegial.CollegialError, match=r"shape \[7\], but the network takes \[784, 1, 1\]"):
        collegial.ntk("fc3-8", numpy.ones((2, 7)))
    with pytest.raises(collegial.CollegialError, match="finite|NaN"):
        collegial.ntk("fc3-8", numpy.full((2, 784), numpy.nan))
    with pytest.raises(collegial.CollegialError, match="draws= gives a mean and a variance, not a kernel"):
        collegial.ntk("fc3-8", draws=3, full=True)
    with pytest.raises(collegial.CollegialError, match="give draws= as well"):
        collegial.ntk("fc3-8", batch=3)
    with pytest.raises(collegial.CollegialError, match="not draws="):
        collegial.ntk("fc3-8", draws=3, executor=2)
    with pytest.raises(collegial.CollegialError, match="missing"):
        collegial.forward("fc3-8", "missing.safetensors", numpy.ones((2, 784)))
    with pytest.raises(TypeError, match="a name, a path, a dict or a Spec, not int"):
        collegial.info(7)
    with pytest.raises(AttributeError, match="primal"):
        collegial.search("fc3-100", alpha=1.6).prime


@pytest.mark.parametrize("threads", [0, -1, 257, 2**70, 1.5, "many"])
def test_threads_have_the_limits_of_the_program(threads, run):
    calls = [
        lambda: collegial.search("fc6-500", threads=threads),
        lambda: collegial.ntk("fc3-8", count=2, threads=threads),
        lambda: collegial.ntk("fc3-8", draws=3, threads=threads),
        lambda: collegial.forward("fc3-8", None, numpy.zeros((1, 784)), threads=threads),
    ]
    for call in calls:
        with pytest.raises(collegial.CollegialError, match=f"^threads= is {threads}; it must be a number between 1 and 256$"):
            call()
    assert run("info", "fc3-8", f"--threads={threads}").returncode == 2


def test_unknown_environment_variables_are_refused(monkeypatch):
    monkeypatch.setenv("COLLEGIAL_INSTRUCTION", "avx2")
    with pytest.raises(collegial.CollegialError, match="^COLLEGIAL_INSTRUCTION is not an environment variable of collegial"):
        collegial.info("fc3-8")


def test_control_characters_do_not_reach_a_traceback():
    with pytest.raises(collegial.CollegialError) as raised:
        collegial.info("a\x1b[2J\x7f\x9b.toml")
    assert str(raised.value).isprintable()


def test_an_array_that_is_too_large_is_refused():
    huge = numpy.broadcast_to(numpy.float32(0), (2**40, 784))
    with pytest.raises((MemoryError, collegial.CollegialError), match="allocate|memory"):
        collegial.forward("fc3-8", None, huge)
