"""The torch engine beside the native one: the same losses to rounding, the same files, the same jobs; alone and under torchrun."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import collegial
import numpy
import pytest
from collegial import CollegialError
from safetensors.numpy import load_file

# Norms, strides, groups and a projection, in a network that trains in moments.
RESNEXT = """
kind = "resnext"
blocks = [1, 1]
design = "2x4d"
stem = "small"
stem_channels = 8
outputs = 16
classes = 10
image = 32
"""

# What rounding grows into is a matter of luck: within this factor it is the same.
LUCK = 3


@pytest.fixture(scope="module")
def cifar(tmp_path_factory):
    """Eighty images in the files of CIFAR-10, noise around a pattern of their class, and sixteen to test on."""
    root, chance = tmp_path_factory.mktemp("cifar"), numpy.random.default_rng(1)
    patterns = chance.integers(64, 192, (10, 3072))
    for name in [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]:
        labels = chance.integers(0, 10, 16)
        pixels = numpy.clip(patterns[labels] + chance.normal(0, 40, (16, 3072)), 0, 255)
        (root / name).write_bytes(numpy.column_stack([labels, pixels]).astype("u1").tobytes())
    return root


@pytest.fixture(scope="module")
def resnext(tmp_path_factory):
    path = tmp_path_factory.mktemp("spec") / "small.toml"
    path.write_text(RESNEXT)
    return str(path)


def losses(result):
    return numpy.array([epoch["loss"] for epoch in result.epochs])


def gap(ours, theirs):
    return float(numpy.max(numpy.abs(ours - theirs) / theirs))


def weights(result):
    return load_file(result.checkpoint)


# Epochs of one step each, so that the losses of all steps are seen; every epoch shuffles and augments anew.
CASES = {
    "ensemble": ("fc4-3x16", "data", {"batch": 40, "learning_rate": 3e-4, "limit": 40}),
    "resnext": (RESNEXT, "cifar", {"batch": 16, "learning_rate": 5e-3, "limit": 16, "schedule.milestones": [30]}),
}


@pytest.mark.parametrize("case", CASES)
def test_fifty_losses_are_within_pytorch_s_own_rounding(case, request, tmp_path, monkeypatch):
    model, data, changes = CASES[case]
    data = request.getfixturevalue(data)

    def fifty(name, **words):
        return losses(collegial.train(model, data, out=tmp_path / name, set=changes, epochs=50, threads=1, **words))

    native, single = fifty("native"), fifty("single", engine="torch")
    monkeypatch.setenv("COLLEGIAL_TORCH_PRECISION", "f64")
    double = fifty("double", engine="torch")
    assert len(native) == len(single) == len(double) == 50
    # It learns, and rounding has not yet made other trainings of them.
    assert double[-5:].mean() < 0.9 * double[:5].mean()
    assert 0 < gap(single, double) < 1e-2
    for steps in (10, 20, 30, 40, 50):
        rounding = gap(single[:steps], double[:steps])
        assert gap(native[:steps], double[:steps]) <= LUCK * rounding, steps
        assert gap(native[:steps], single[:steps]) <= (1 + LUCK) * rounding, steps


@pytest.mark.parametrize(
    "model, directory, changes",
    [
        ("fc3-2x8", "data", {"loss": "l2", "parametrisation": "ntk", "optimiser.kind": "sgd", "optimiser.momentum": 0.0,
                             "optimiser.weight_decay": 0.0, "learning_rate": 0.1}),
        ("fc4-3x5", "data", {"rates_by_fan_in": 20, "learning_rate": 1e-3}),
        ("fc3-8", "data", {"optimiser.kind": "adamw", "optimiser.weight_decay": 0.1, "schedule.warm_up": 2}),
        (RESNEXT, "cifar", {"batch": 40, "micro_batch": 20, "learning_rate": 1e-3, "optimiser.nesterov": True}),
    ],
)  # fmt: skip
def test_all_of_a_recipe_is_followed(model, directory, changes, request, tmp_path):
    """NTK factors, rates per layer, both losses, all rules, warm-up, micro-batches: three epochs of several steps as the native engine has them."""
    data = request.getfixturevalue(directory)
    words = dict(set={"batch": 40, **changes}, epochs=3, threads=1)
    native = collegial.train(model, data, out=tmp_path / "native", **words)
    torch = collegial.train(model, data, out=tmp_path / "torch", engine="torch", **words)
    assert gap(losses(torch), losses(native)) < 1e-4
    assert abs(native.epochs[-1]["test_loss"] / torch.epochs[-1]["test_loss"] - 1) < 1e-3
    ours, theirs = weights(native), weights(torch)
    assert ours.keys() == theirs.keys()
    for name, values in ours.items():
        assert numpy.abs(values - theirs[name]).max() <= 1e-3 * numpy.abs(values).max(), name
    # Neither goes on with the other's run.
    with pytest.raises(CollegialError, match="engine"):
        collegial.train(model, data, out=tmp_path / "torch", resume=True, **words)


@pytest.mark.parametrize(
    "precision, model, directory, rate", [("f32", RESNEXT, "cifar", 0.05), ("f16", "fc3-8", "data", 1e-3)], ids=["f32", "f16"]
)
def test_a_resumed_run_ends_with_the_same_bits(precision, model, directory, rate, request, tmp_path, monkeypatch):
    """Weights, running statistics, momentum, Adam's moments, and the scale of the losses of f16."""
    monkeypatch.setenv("COLLEGIAL_TORCH_PRECISION", precision)
    words = dict(data=request.getfixturevalue(directory), set={"batch": 20, "learning_rate": rate}, engine="torch", threads=1)
    whole = collegial.train(model, out=tmp_path / "whole", epochs=4, **words)
    collegial.train(model, out=tmp_path / "parts", epochs=1, **words)
    parts = collegial.train(model, out=tmp_path / "parts", epochs=4, resume=True, **words)
    assert (losses(parts) == losses(whole)).all()
    ours, theirs = weights(parts), weights(whole)
    assert ours.keys() == theirs.keys() and all((ours[name] == theirs[name]).all() for name in ours)


def test_jobs_name_their_engine_and_are_done_once(data, tmp_path, monkeypatch, program):
    from collegial.torch import engine

    words = dict(runs=3, epochs=1, set={"batch": 40}, threads=1)
    out = tmp_path / "plan"
    plan = ["sweep", "fc3-8", "--data", data, "--runs", 3, "--epochs", 1, "--set", "batch=40", "--plan", out, "--seconds-per-step", 0.01]
    planned = subprocess.run([program, *map(str, plan), "--engine", "torch"], capture_output=True, text=True)
    assert planned.returncode == 0, planned.stderr
    # One by this process, one by the program, which has no Python and goes on in one, and one by an executor's.
    collegial.job(out, 0, threads=1)
    assert collegial.status(out).missing == [1, 2]
    environment = {**os.environ, "COLLEGIAL_PYTHON": sys.executable}
    job = subprocess.run([program, "job", str(out), "1", "--threads", "1"], capture_output=True, text=True, env=environment)
    assert job.returncode == 0, job.stderr
    swept = collegial.sweep(["fc3-8"], data, out=out, engine="torch", executor=1, **words)
    gathered = collegial.gather(out)
    assert gathered.complete
    parts = {path: path.read_bytes() for path in (out / "parts").glob("*.json")}
    assert len(parts) == 3 and all(json.loads(text)["settings"][1]["engine"] == "torch" for text in parts.values())
    # Again, nothing is computed.
    monkeypatch.setattr(engine, "start", lambda document: pytest.fail("it was computed before"))
    assert collegial.sweep(["fc3-8"], data, out=out, engine="torch", **words) == swept
    collegial.job(out, 0, 1, 2)
    assert {path: path.read_bytes() for path in (out / "parts").glob("*.json")} == parts
    # The native engine's are others, whose settings are as they were before there were two.
    native = collegial.sweep(["fc3-8"], data, out=out, **words)
    new = [path for path in (out / "parts").glob("*.json") if path not in parts]
    assert len(new) == 3 and all("engine" not in json.loads(path.read_text())["settings"][1] for path in new)
    ours, theirs = (numpy.array(answer.networks[0]["test_errors"]) for answer in (swept, native))
    # A hundred test images; two of them may change sides by rounding.
    assert numpy.abs(ours - theirs).max() <= 0.02 + 1e-12


def test_the_bill_of_a_plan_is_that_of_its_engine(data, tmp_path, program):
    words = [program, "sweep", "fc3-8", "--data", str(data), "--runs", "2", "--epochs", "1", "--engine", "torch", "--json"]

    def planned(name, *more, python=sys.executable):
        environment = {**os.environ, "COLLEGIAL_PYTHON": python}
        return subprocess.run([*words, "--plan", str(tmp_path / name), *more], capture_output=True, text=True, env=environment)

    timed = planned("timed")
    bill = json.loads(timed.stdout)["bill"]
    assert (bill["hours"], bill["jobs"]) == ("torch-core", 2) and bill["seconds"] > 0, timed.stderr
    # Of another machine's workers, and then nothing is timed.
    bill = json.loads(planned("given", "--seconds-per-step", "3", python="no-python").stdout)["bill"]
    assert (bill["hours"], bill["lines"][0]["seconds_per_step"]) == ("worker", 3)
    refused = planned("neither", python="no-python")
    assert refused.returncode == 2 and "--seconds-per-step needs no Python" in refused.stderr
    assert not (tmp_path / "neither" / "plan.json").exists()


def torchrun(processes, *words):
    """The epochs that the program prints under torchrun."""
    program = shutil.which("collegial", path=os.path.dirname(sys.executable))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={processes}", "--no-python", program]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run([*command, *map(str, words)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("micro_batch", [40, 20], ids=["norms over both processes", "whole micro-batches each"])
def test_two_processes_of_torchrun_compute_what_one_does(micro_batch, cifar, resnext, tmp_path):
    changes = ["batch=40", f"micro_batch={micro_batch}", "learning_rate=1e-3"]
    alone = collegial.train(resnext, cifar, out=tmp_path / "one", set=changes, epochs=3, engine="torch", threads=1)
    words = ["train", resnext, "--data", cifar, "--engine", "torch", "--epochs", 3, "--threads", 2, "--json"]
    words += [word for change in changes for word in ("--set", change)]
    *epochs, last = torchrun(2, *words, "--out", tmp_path / "two")
    assert gap(numpy.array([epoch["loss"] for epoch in epochs]), losses(alone)) < 1e-5
    assert [epoch["test_error"] for epoch in epochs] == [epoch["test_error"] for epoch in alone.epochs]
    ours, theirs = weights(alone), load_file(last["checkpoint"])
    for name, values in ours.items():
        # Running statistics too: those of both processes are those of one that saw all.
        assert numpy.abs(values - theirs[name]).max() <= 1e-3 * numpy.abs(values).max(), name


def test_shares_are_of_equal_size():
    from collegial.torch.engine import padded
    from collegial.torch.sharing import Sharing

    import torch

    batch = torch.arange(12)
    whole, part = Sharing.of(12, 3, 2), Sharing.of(12, 6, 3)
    assert whole.shares(batch).tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert part.shares(batch).tolist() == [[0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]]
    assert padded(batch[:5], 2).tolist() == [[0, 1, 2], [3, 4, 0]]
    with pytest.raises(CollegialError, match="5 processes cannot share a batch of 12 images in micro-batches of 6"):
        Sharing.of(12, 6, 5)


def test_what_cannot_be_done_is_said_in_a_sentence(data, tmp_path, program, monkeypatch):
    with pytest.raises(CollegialError, match="engine= cannot be \"jax\".*native.*torch"):
        collegial.train("fc3-8", data, out=tmp_path / "a", engine="jax")
    monkeypatch.setenv("COLLEGIAL_TORCH_PRECISION", "f8")
    with pytest.raises(CollegialError, match="COLLEGIAL_TORCH_PRECISION is f8; it must be f64, f32, bf16, f16"):
        collegial.train("fc3-8", data, out=tmp_path / "b", engine="torch")
    monkeypatch.delenv("COLLEGIAL_TORCH_PRECISION")
    monkeypatch.setenv("COLLEGIAL_TORCH_DEVICE", "tpu")
    with pytest.raises(CollegialError, match="COLLEGIAL_TORCH_DEVICE is tpu; this machine takes cpu"):
        collegial.train("fc3-8", data, out=tmp_path / "c", engine="torch")
    monkeypatch.delenv("COLLEGIAL_TORCH_DEVICE")
    words = [program, "train", "fc3-8", "--data", str(data), "--out", str(tmp_path / "d"), "--engine", "torch", "--quiet"]

    def refused(**environment):
        done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **environment})
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        return done.stderr

    assert "cannot be run" in refused(COLLEGIAL_PYTHON=str(tmp_path / "nothing"))
    bare = tmp_path / "bare"
    bare.write_text("#!/bin/sh\nexit 1\n")
    bare.chmod(0o755)
    assert "has no package collegial; install it with" in refused(COLLEGIAL_PYTHON=str(bare))
    old = tmp_path / "old"
    old.write_text("#!/bin/sh\necho 0.1.0\n")
    old.chmod(0o755)
    assert "has collegial 0.1.0; this program is" in refused(COLLEGIAL_PYTHON=str(old))
    without = tmp_path / "without"
    without.mkdir()
    (without / "torch.py").write_text("raise ImportError('no torch here')")
    path = os.pathsep.join([str(without), *filter(None, [os.environ.get("PYTHONPATH")])])
    said = refused(COLLEGIAL_PYTHON=sys.executable, PYTHONPATH=path)
    assert "collegial.torch needs torch; install it with: pip install 'collegial[torch]'" in said
    assert not Path(tmp_path / "d" / "recipe.toml").exists()
