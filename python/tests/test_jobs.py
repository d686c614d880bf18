"""Trainings as jobs on executors that need nothing but the standard library: whatever runs them, the numbers are those of one process."""

import os
import shutil
import signal
import threading
import time
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context

import numpy
import pytest

import collegial
from collegial.executors import PoolExecutor

MODELS = ["fc3-8", "fc3-2x4"]


@pytest.fixture(scope="module")
def whole(data, tmp_path_factory):
    return collegial.sweep(MODELS, data, runs=2, epochs=2, out=tmp_path_factory.mktemp("whole"))


def test_the_standard_process_pool(data, whole, tmp_path):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        assert collegial.sweep(MODELS, data, runs=2, epochs=2, out=tmp_path / "pool", executor=pool) == whole
    status = collegial.status(tmp_path / "pool")
    assert (status.done, status.missing) == (4, [])
    assert collegial.gather(tmp_path / "pool").answer == whole.to_dict()


def test_so_many_processes(data, whole, tmp_path):
    seen = []
    found = collegial.sweep(
        MODELS, data, runs=2, epochs=2, out=tmp_path, executor=2, progress=lambda done, total: seen.append((done, total))
    )
    assert found == whole
    assert seen[:4] == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert len(found.to_pandas()) == 2


def test_a_pool_with_apply_async(data, whole, tmp_path):
    with get_context("spawn").Pool(2) as pool:
        assert collegial.sweep(MODELS, data, runs=2, epochs=2, out=tmp_path, executor=PoolExecutor(pool)) == whole


class KillOne(threading.Thread):
    """Kills the first worker that has a checkpoint."""

    def __init__(self, out):
        super().__init__()
        self.out, self.killed = out, None

    def run(self):
        deadline = time.monotonic() + 120
        while self.killed is None and time.monotonic() < deadline:
            for lock in self.out.glob("parts/*.run/lock"):
                owner = lock.read_text().partition("@")[0]
                if owner.isdigit() and list(lock.parent.glob("checkpoint-*")):
                    os.kill(int(owner), signal.SIGKILL)
                    self.killed = owner
                    return
            time.sleep(0.005)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.join()
        assert self.killed, "no worker could be killed"


LONG = dict(runs=2, epochs=150, set={"batch": 20})


@pytest.fixture(scope="module")
def long(data, tmp_path_factory):
    return collegial.sweep(["fc3-32"], data, out=tmp_path_factory.mktemp("long"), **LONG)


def pool():
    return ProcessPoolExecutor(2, mp_context=get_context("spawn"))


@pytest.mark.parametrize("executor", [2, pool], ids=["so many processes", "a function that makes an executor"])
def test_a_killed_worker_s_job_is_run_again(data, long, tmp_path, executor):
    """A process of the pool is killed while it trains; the sweep ends with the same numbers."""
    with KillOne(tmp_path):
        assert collegial.sweep(["fc3-32"], data, out=tmp_path, executor=executor, **LONG) == long


def test_a_broken_executor_of_yours_is_said_and_a_new_one_goes_on(data, long, tmp_path):
    with pool() as broken:
        with KillOne(tmp_path), pytest.raises(collegial.CollegialError, match="make a new executor") as raised:
            collegial.sweep(["fc3-32"], data, out=tmp_path, executor=broken, **LONG)
        assert "\n" not in str(raised.value)
        # It stays broken.
        with pytest.raises(collegial.CollegialError, match="make a new executor"):
            collegial.sweep(["fc3-32"], data, out=tmp_path, executor=broken, **LONG)
    with pool() as another:
        assert collegial.sweep(["fc3-32"], data, out=tmp_path, executor=another, **LONG) == long


class Unsteady(Executor):
    """Loses the first worker of every call."""

    def __init__(self):
        self.lost = set()

    def submit(self, function, *arguments):
        future = Future()
        if arguments not in self.lost:
            self.lost.add(arguments)
            future.set_exception(RuntimeError("a worker is gone"))
        else:
            future.set_result(function(*arguments))
        return future


def test_a_lost_worker_s_job_is_run_again_on_any_executor(data, whole, tmp_path):
    executor = Unsteady()
    assert collegial.sweep(MODELS, data, runs=2, epochs=2, out=tmp_path, executor=executor) == whole
    assert len(executor.lost) == 4


class Hopeless(Executor):
    """Every worker is lost."""

    def submit(self, function, *arguments):
        future = Future()
        future.set_exception(RuntimeError("a worker is gone"))
        return future


def test_an_executor_that_loses_everything_is_given_up(data, tmp_path):
    with pytest.raises(collegial.CollegialError, match="lost a worker .RuntimeError: a worker is gone.*the same call goes on"):
        collegial.sweep(MODELS, data, runs=1, epochs=1, out=tmp_path, executor=Hopeless())


@pytest.mark.parametrize("executor", [3, pool], ids=["so many processes", "a function that makes an executor"])
def test_fit_on_an_executor_has_the_bits_of_one_process(executor):
    settings = dict(trials=640, widths=[1, 4, 16], seed=5, weighted=True)
    whole = collegial.fit("bottleneck-16", **settings).to_dict()
    shared = collegial.fit("bottleneck-16", executor=executor, **settings).to_dict()
    assert shared.pop("seconds") >= 0 and whole.pop("seconds") >= 0
    assert shared == whole


def test_fit_on_an_executor_needs_draws_to_share():
    with pytest.raises(collegial.CollegialError, match="needs trials="):
        collegial.fit("bottleneck-16", executor=2)


def test_errors_come_back_as_ours(data, tmp_path):
    """The data disappears between the plan and the job."""
    moved = tmp_path / "data"
    shutil.copytree(data, moved)

    class Unlucky(ProcessPoolExecutor):
        def submit(self, *call):
            shutil.rmtree(moved, ignore_errors=True)
            return super().submit(*call)

    with Unlucky(1, mp_context=get_context("spawn")) as pool:
        with pytest.raises(collegial.CollegialError, match="data"):
            collegial.sweep(MODELS, moved, runs=1, epochs=1, out=tmp_path / "out", executor=pool)
    failed = collegial.status(tmp_path / "out").failed
    assert [failure.index for failure in failed] == [0, 1] and "data" in failed[0].sentence


def test_an_executor_needs_a_directory(data):
    with pytest.raises(collegial.CollegialError, match="needs out="):
        collegial.sweep(MODELS, data, executor=2)


def test_validate_plans_anew_after_its_pilot(data, tmp_path):
    settings = dict(designs=3, decide=0.001, max_runs=4, epochs=1)
    whole = collegial.validate("fc3-12", data, out=tmp_path / "serial", **settings)
    assert whole.runs == 4
    assert collegial.validate("fc3-12", data, out=tmp_path / "jobs", executor=2, **settings) == whole


def test_a_kernel_s_tiles_on_two_processes(tmp_path):
    spec = collegial.Spec("fc3-6", inputs=3)
    inputs = numpy.random.default_rng(1).standard_normal((1100, 3))
    whole = collegial.ntk(spec, inputs, out=tmp_path / "whole.npy", memory="1G")
    assert whole.shape == (1100, 1100) and isinstance(whole, numpy.memmap)
    numpy.testing.assert_allclose(whole, collegial.ntk(spec, inputs), rtol=1e-5, atol=1e-5 * whole.max())
    collegial.ntk(spec, inputs, out=tmp_path / "spread.npy", executor=2)
    assert (tmp_path / "spread.npy").read_bytes() == (tmp_path / "whole.npy").read_bytes()
    assert len(list((tmp_path / "spread.npy.tiles").glob("*.journal"))) > 1
    diagonal = collegial.ntk(spec, inputs, diagonal=True)
    numpy.testing.assert_allclose(diagonal, whole.diagonal(), rtol=1e-5)
    assert collegial.ntk(spec, inputs[:2], full=True).shape == (20, 20)
    with pytest.raises(collegial.CollegialError, match="another kernel .not the same: outputs."):
        collegial.ntk(spec, inputs, out=tmp_path / "whole.npy", trace=True)
    with pytest.raises(collegial.CollegialError, match="give out="):
        collegial.ntk(spec, inputs, executor=2)


def _row_sums(inputs):
    return collegial.forward("fc3-8", None, inputs, threads=1).sum(axis=1)


def test_large_arrays_pass_to_spawned_processes():
    inputs = numpy.random.default_rng(1).standard_normal((20_000, 784), dtype=numpy.float32)
    with get_context("spawn").Pool(2) as pool:
        found = pool.map(_row_sums, [inputs[:10_000], inputs[10_000:]])
    assert (numpy.concatenate(found) == _row_sums(inputs)).all()
