"""The program that the wheel installs is the one that Cargo builds."""

import json
import os
import re
import signal
import subprocess
import sys

import pytest

import collegial

QUESTIONS = [
    ["search", "resnext29-1x128d", "--alpha", "1.6"],
    ["search", "resnext50-1x64d", "--cost", "flops", "--rule", "under", "--alpha", "1.6", "--per-stage"],
    ["search", "fc6-500", "--variance", "exact", "--free-widths"],
    ["search", "bottleneck-64", "--seed", "5", "--trials", "400"],
    ["fit", "bottleneck-64", "--trials", "300", "--widths", "1,8,64", "--weighted"],
    ["moments", "--widths", "784,48,48"],
    ["moments", "fc6-30x48"],
    ["info", "wrn28-10", "--classes", "100"],
]
ANSWERS = [
    lambda: collegial.search("resnext29-1x128d", 1.6),
    lambda: collegial.search("resnext50-1x64d", cost="flops", rule="under", alpha=1.6, per_stage=True),
    lambda: collegial.search("fc6-500", variance="exact", free_widths=True),
    lambda: collegial.search("bottleneck-64", seed=5, trials=400),
    lambda: collegial.fit("bottleneck-64", trials=300, widths=[1, 8, 64], weighted=True),
    lambda: collegial.moments(widths=[784, 48, 48]),
    lambda: collegial.moments("fc6-30x48"),
    lambda: collegial.info("wrn28-10", classes=100),
]


def timeless(document):
    return {key: value for key, value in document.items() if key != "seconds"}


@pytest.mark.parametrize("words, answer", list(zip(QUESTIONS, ANSWERS)), ids=map(" ".join, QUESTIONS))
def test_the_same_numbers_everywhere(words, answer, run, program):
    """Python, the wheel's program and Cargo's give the same document, to the last bit."""
    cargo = subprocess.run([program, *words, "--json"], capture_output=True, text=True, check=True)
    documents = [json.loads(cargo.stdout), json.loads(run(*words, "--json").stdout), answer().to_dict()]
    assert timeless(documents[0]) == timeless(documents[1]) == timeless(documents[2])


def test_the_text_is_the_same(run):
    timeless = lambda text: re.sub(r"[0-9.]+ s$", "", text.strip())
    assert timeless(run("moments", "fc6-30x48").stdout) == timeless(repr(collegial.moments("fc6-30x48")))
    printed = run("fit", "bottleneck-64", "--trials", "100", "--widths", "1,8,64").stdout
    assert timeless(printed) == timeless(repr(collegial.fit("bottleneck-64", [1, 8, 64], 100)))


LONG_SENTENCES = ["search resnext29-1x128d --budget 10", "search wrn28-10", "export bottleneck-8 --to pytorch", "info resnext29-1x128d --classes 99999999999",
                  "reproduce fig9", "fit fc3-8 --no-such-flag", "train fc3-8 --data nowhere"]


@pytest.mark.parametrize("line", LONG_SENTENCES)
def test_sentences_fit_a_terminal_and_are_one_line_elsewhere(line, installed):
    """COLUMNS is set in both: Python's readline sets it for every process, whatever reads the output."""
    words, environment = [installed, *line.split(), "--quiet"], {**os.environ, "COLUMNS": "60", "NO_COLOR": "1"}
    reader, terminal = os.openpty()
    shown = subprocess.run(words, stdout=subprocess.DEVNULL, stderr=terminal, env=environment)
    os.close(terminal)
    lines = os.read(reader, 65536).decode().splitlines()
    os.close(reader)
    piped = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert shown.returncode == piped.returncode == 2
    assert all(len(line) <= 60 and not line.startswith("%") for line in lines)
    assert len(piped.stderr.splitlines()) == 1 and " ".join(" ".join(lines).split()) == " ".join(piped.stderr.split())


def test_exit_codes_and_streams(run, tmp_path):
    version = run("--version")
    assert (version.returncode, version.stdout) == (0, f"collegial {collegial.__version__}\n")
    wrong = run("search")
    assert wrong.returncode == 2 and wrong.stdout == "" and wrong.stderr.startswith("error: ")
    module = subprocess.run([sys.executable, "-m", "collegial", "info", "nothing"], capture_output=True, text=True)
    assert module.returncode == 2 and "nothing" in module.stderr
    page = tmp_path / "page.html"
    assert run("search", "fc6-500", "--variance", "exact", "--report", page).returncode == 0
    assert "collegial search fc6-500 --variance exact" in re.sub("</?span>", "", page.read_text())


def test_ctrl_c_ends_the_program_with_130(installed, wait_until_at_work):
    process = subprocess.Popen(
        [installed, "fit", "bottleneck-256", "--widths", "4,8,16", "--trials", "1000000000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    wait_until_at_work(process)
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"alpha" in stdout and b"interrupted: going on with the draws made so far" in stderr


def test_a_reader_that_leaves_is_no_error(installed):
    shell = f"set -o pipefail; '{installed}' info resnext101-1x64d | head -n 1"
    assert subprocess.run(["bash", "-c", shell], capture_output=True).returncode == 0
