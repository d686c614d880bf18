"""Trainings as jobs on executors that need nothing but the standard library: whatever runs them, the numbers are those of one process."""

import os
import shutil
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

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


def test_a_killed_worker_s_job_is_run_again(data, tmp_path):
    """A process of the pool is killed while it trains; the sweep ends with the same numbers."""
    settings = dict(runs=2, epochs=150, set={"batch": 20})
    whole = collegial.sweep(["fc3-32"], data, out=tmp_path / "whole", **settings)
    out, killed = tmp_path / "killed", []

    def kill_one():
        deadline = time.monotonic() + 120
        while not killed and time.monotonic() < deadline:
            for lock in out.glob("parts/*.run/lock"):
                owner = lock.read_text().strip()
                if owner.isdigit() and list(lock.parent.glob("checkpoint-*")):
                    os.kill(int(owner), signal.SIGKILL)
                    killed.append(owner)
                    return
            time.sleep(0.005)

    thread = threading.Thread(target=kill_one)
    thread.start()
    found = collegial.sweep(["fc3-32"], data, out=out, executor=2, **settings)
    thread.join()
    assert killed, "no worker could be killed"
    assert found == whole


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
