"""Trainings as jobs on any executor.

A plan's jobs are pure functions of their settings, and what they leave is in the plan's directory, which all workers must see. So a
job that was lost is just run again: it goes on with its checkpoint, or finds itself finished.
"""

from __future__ import annotations

import json
import os
from concurrent import futures
from typing import Union

from . import _collegial
from ._collegial import CollegialError
from ._results import GatherResult, Result, StatusResult

Path = Union[str, "os.PathLike[str]"]

#: How often a job is begun whose worker was lost.
TRIES = 3


def job(directory: Path, *indices: int, threads: int | None = None) -> Result:
    """Runs trainings of a plan, one after the other; one that is finished is left alone, one that was begun goes on.

    Args:
        directory: The plan's directory.
        indices: Which of its jobs, from 0.
        threads: Number of threads; one per core by default. Results do not depend on it.
    """
    question = json.dumps({"directory": os.fspath(directory), "jobs": list(indices)})
    return Result(_collegial.ask("job", question, threads))


def gather(directory: Path) -> GatherResult:
    """Makes pages and tables of what the jobs of a plan have finished, and lists what is missing.

    Args:
        directory: The plan's directory.
    """
    return GatherResult(_collegial.ask("gather", json.dumps({"directory": os.fspath(directory)})))


def status(directory: Path) -> StatusResult:
    """How far the jobs of a plan are: done, running, stopped, failed (and why), waiting.

    Args:
        directory: The plan's directory.
    """
    return StatusResult(_collegial.ask("status", json.dumps({"directory": os.fspath(directory)})))


def plan(verb: str, question: str, directory: Path) -> list[int]:
    """Writes a request's trainings as jobs into a directory; gives those that are not finished."""
    task = {"verb": verb, "request": json.loads(question)}
    # Whoever has an executor does not ask beforehand what it takes.
    _collegial.ask("plan", json.dumps({"task": task, "directory": os.fspath(directory), "seconds_per_step": 1.0}))
    return status(directory).missing


def run_all(executor, verb: str, question: str, directory: Path, threads: int | None, progress) -> None:
    """Has all trainings of a request done by an executor, or by so many processes of this machine."""
    if isinstance(executor, int):
        from multiprocessing import get_context

        # A process that forked after threads were started would hang.
        context = get_context("spawn")
        with _Renewed(lambda: futures.ProcessPoolExecutor(executor, mp_context=context)) as pool:
            return _run_all(pool, verb, question, directory, threads or 1, progress)
    return _run_all(executor, verb, question, directory, threads or 1, progress)


def _run_all(executor, verb, question, directory, threads, progress):
    before = None
    # A validation plans anew when its pilot is finished.
    while (missing := plan(verb, question, directory)) and missing != before:
        _run(executor, os.path.abspath(directory), missing, threads, progress)
        before = missing
    if missing:
        raise CollegialError(f"jobs {missing} of {os.fspath(directory)} were run and are not finished")


def _run(executor, directory, indices, threads, progress):
    """Runs some jobs; one whose worker was lost is run again."""
    tries = dict.fromkeys(indices, 0)
    running, done, failed = {}, 0, None

    def begin(index):
        tries[index] += 1
        running[executor.submit(_work, directory, index, threads)] = index

    for index in indices:
        begin(index)
    while running:
        finished, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
        for future in finished:
            index = running.pop(future)
            try:
                future.result()
            except CollegialError as error:
                failed = failed or error
            except Exception as error:  # the executor's own words for a worker that is gone
                if tries[index] == TRIES or (isinstance(error, futures.BrokenExecutor) and not isinstance(executor, _Renewed)):
                    raise CollegialError(
                        f"the executor lost job {index} ({type(error).__name__}: {error}); what is finished is kept, and the same call "
                        "goes on from there"
                    ) from error
                begin(index)
                continue
            done += 1
            if progress is not None:
                progress(done, len(indices))
    if failed is not None:
        raise failed


def _work(directory, index, threads):
    """What a worker does."""
    job(directory, index, threads=threads)


class _Renewed:
    """A pool that is made anew when a process of it was killed."""

    def __init__(self, make):
        self._make, self._pool = make, make()

    def submit(self, *call):
        try:
            return self._pool.submit(*call)
        except futures.BrokenExecutor:
            self._pool.shutdown(wait=False)
            self._pool = self._make()
            return self._pool.submit(*call)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._pool.shutdown(cancel_futures=True)
