"""The script that `collegial export --to pytorch` writes: killed and resumed, by one process and by
two, in 16 bits, averaged, compiled."""

import json
import os
import subprocess
import sys

import numpy
import pytest
import torch
from safetensors.torch import load_file

EPOCHS = 4

# What a process says when PyTorch's own threads are still there at its end.
ABORTED = "terminate called without an active exception"


@pytest.fixture(scope="module")
def digits(tmp_path_factory):
    """A data set in the files of MNIST: noise around a pattern of its class."""
    folder = tmp_path_factory.mktemp("digits")
    random = numpy.random.default_rng(0)
    patterns = random.integers(0, 160, (10, 784))
    for name, count in (("train", 128), ("t10k", 64)):
        labels = random.integers(0, 10, count)
        pixels = numpy.clip(patterns[labels] + random.normal(0, 40, (count, 784)), 0, 255).astype(numpy.uint8)
        head = lambda *numbers: numpy.array(numbers, dtype=">u4").tobytes()
        (folder / f"{name}-images-idx3-ubyte").write_bytes(head(0x0803, count, 28, 28) + pixels.tobytes())
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(head(0x0801, count) + labels.astype(numpy.uint8).tobytes())
    return folder


@pytest.fixture(scope="module")
def script(tmp_path_factory, program):
    """An ensemble of small networks, with a mirror among its augmentations, so that chance plays a
    part in every step; its processes kill themselves where the environment says so."""
    path = tmp_path_factory.mktemp("script") / "net.py"
    words = [program, "export", "fc3-4x8", "--to", "pytorch", "--out", path, "--set", f"epochs={EPOCHS}", "--set", "batch=32"]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    text = path.read_text()
    # oneDNN does not multiply in bf16 on every CPU; PyTorch's own kernels do.
    changes = {
        "FLIP = False": "FLIP = True",
        "PAD = 0": "PAD = 2",
        "def main():\n": "def main():\n    torch.backends.mkldnn.set_flags(_enabled=False)\n",
        "        optimiser.zero_grad()\n": "        optimiser.zero_grad()\n        if os.environ.get('DIE_AT') == f'{epoch}.{step}': os.kill(os.getpid(), 9)\n",
    }
    for old, new in changes.items():
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    path.write_text(text)
    return path


def run(script, *words, processes=1, die_at=""):
    launcher = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"] if processes > 1 else []
    command = [sys.executable, *launcher, str(script), *map(str, words)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "DIE_AT": die_at}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if processes > 1 and not die_at and ABORTED in done.stderr:
        # Seen once in some fifty runs, behind the last line and the last file, which the tests
        # compare all the same.
        print("a process of PyTorch aborted when it ended", file=sys.stderr)
        done.returncode = 0
    return done


def finished(script, *words, processes=1):
    done = run(script, *words, processes=processes)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("processes", [1, 2])
def test_a_killed_run_goes_on_as_if_nothing_had_happened(tmp_path, script, digits, processes):
    words = ["--data", digits, "--ema", 0.9, "--micro-batch", 8]
    whole, killed = tmp_path / "whole.safetensors", tmp_path / "killed.safetensors"
    expected = finished(script, *words, "--out", whole, processes=processes)
    # In the middle of the third epoch: what it did since the second is lost and done again.
    died = run(script, *words, "--out", killed, processes=processes, die_at="2.1")
    assert died.returncode != 0 and [json.loads(line) for line in died.stdout.splitlines()] == expected[:2]
    rest = finished(script, *words, "--out", killed, "--resume", processes=processes)
    assert len(expected) == EPOCHS and rest == expected[2:]
    ours, theirs = load_file(killed), load_file(whole)
    assert all(torch.equal(tensor, theirs[name]) for name, tensor in ours.items())


def test_the_loss_is_that_of_all_processes(tmp_path, program, digits):
    """With weights that do not move, one process and two see the same losses."""
    path = tmp_path / "still.py"
    words = [program, "export", "fc3-4x8", "--to", "pytorch", "--out", path, "--set", "epochs=1", "--set", "batch=32", "--set", "learning_rate=1e-9"]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    (one,), (two,) = (finished(path, "--data", digits, "--out", tmp_path / "w.safetensors", processes=count) for count in (1, 2))
    assert two["loss"] == pytest.approx(one["loss"], rel=1e-5)


def test_errors_are_the_first_guess_and_the_first_five(tmp_path, script, digits):
    (*_, last) = finished(script, "--data", digits, "--out", tmp_path / "w.safetensors")
    assert 0 <= last["top5_error"] <= last["test_error"] <= 1
    (again,) = finished(script, "--data", digits, "--weights", tmp_path / "w.safetensors", "--test-only")
    assert again == {key: last[key] for key in ("test_error", "top5_error")}


WAYS = {"bf16": ["--amp", "bf16", "--channels-last"], "fp16": ["--amp", "fp16"], "compiled": ["--compile", "aot_eager", "--ema", "0.5"]}


@pytest.mark.parametrize("words", WAYS.values(), ids=WAYS)
def test_other_ways_of_computing_learn_too(tmp_path, script, digits, words):
    epochs = finished(script, "--data", digits, "--out", tmp_path / "w.safetensors", *words)
    assert len(epochs) == EPOCHS and epochs[-1]["loss"] < epochs[0]["loss"]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """A data set in the files of CIFAR-10: noise around a colour of its class."""
    folder = tmp_path_factory.mktemp("pictures")
    random = numpy.random.default_rng(1)
    colours = random.integers(30, 220, (10, 3, 1))
    for name, count in [*((f"data_batch_{number}", 20) for number in range(1, 6)), ("test_batch", 64)]:
        labels = random.integers(0, 10, count)
        pixels = numpy.clip(colours[labels] + random.normal(0, 20, (count, 3, 1024)), 0, 255).astype(numpy.uint8)
        records = numpy.concatenate([labels[:, None].astype(numpy.uint8), pixels.reshape(count, -1)], axis=1)
        (folder / f"{name}.bin").write_bytes(records.tobytes())
    return folder


def test_a_convolutional_network_is_killed_resumed_and_read_back(tmp_path, program, pictures):
    """Groups, batch norms, crops and flips: the script of a small ResNeXt, whose weights the program
    reads, with the same errors."""
    spec, path, weights = tmp_path / "small.toml", tmp_path / "small.py", tmp_path / "w.safetensors"
    spec.write_text('kind = "resnext"\nstem = "small"\nblocks = [1, 1]\ndesign = "2x4d"\nclasses = 10\nimage = 32\nstem_channels = 8\noutputs = 16\n')
    words = [program, "export", spec, "--to", "pytorch", "--recipe", "cifar10", "--out", path, "--set", "epochs=3", "--set", "batch=32"]
    subprocess.run(list(map(str, words)), check=True, capture_output=True)
    text = path.read_text()
    dying = "        optimiser.zero_grad()\n        if os.environ.get('DIE_AT') == f'{epoch}.{step}': os.kill(os.getpid(), 9)\n"
    path.write_text(text.replace("        optimiser.zero_grad()\n", dying, 1))
    words = ["--data", pictures, "--channels-last", "--out"]
    whole = finished(path, *words, tmp_path / "whole.safetensors")
    assert len(whole) == 3 and whole[-1]["loss"] < whole[0]["loss"]
    assert run(path, *words, weights, die_at="2.1").returncode != 0
    assert finished(path, *words, weights, "--resume") == whole[2:]
    words = [program, "evaluate", weights, "--data", pictures, "--json"]
    found = json.loads(subprocess.run(list(map(str, words)), check=True, capture_output=True).stdout)
    assert found["test_error"] == pytest.approx(whole[-1]["test_error"], abs=1.01 / 64)


def test_another_run_is_not_resumed(tmp_path, script, digits):
    words = ["--data", digits, "--out", tmp_path / "w.safetensors", "--epochs"]
    finished(script, *words, 1, processes=2)
    for changed, sentence in (([], "of 2 processes, not of 1"), (["--batch", 64], "--batch 32, not 64")):
        refused = run(script, *words, 2, "--resume", *changed)
        assert sentence in refused.stderr and refused.returncode == 1
