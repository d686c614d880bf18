"""Trainings as jobs on any executor.

A plan's jobs are pure functions of their settings, and what they leave is in the plan's directory, which all workers must see. So a
job that was lost is just run again: it goes on with its checkpoint, or finds itself finished.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from concurrent import futures
from typing import Union

from . import _collegial
from ._collegial import CollegialError
from ._request import request
from ._results import GatherResult, Result, StatusResult

Path = Union[str, "os.PathLike[str]"]

#: How often a job is begun whose worker was lost, and how often in a row an executor is made anew before a job is done.
TRIES = 3


def worked(directory: Path, indices: Iterable[int | str], threads: int | None = None) -> Result:
    """Runs jobs of a plan one after the other."""
    return Result(_collegial.ask("job", request(directory=directory, jobs=indices), threads))


def gathered(directory: Path) -> GatherResult:
    """What the jobs of a plan have finished, with its pages."""
    return GatherResult(_collegial.ask("gather", request(directory=directory)))


def looked(directory: Path) -> StatusResult:
    """How far the jobs of a plan are."""
    return StatusResult(_collegial.ask("status", request(directory=directory)))


def plan(verb: str, question: str, directory: Path) -> list[int]:
    """Writes a request's trainings as jobs into a directory; gives those that are not finished."""
    task = {"verb": verb, "request": json.loads(question)}
    # Whoever has an executor does not ask beforehand what it takes.
    _collegial.ask("plan", json.dumps({"task": task, "directory": os.fspath(directory), "seconds_per_step": 1.0}))
    return looked(directory).missing


def run_all(executor, verb: str, question: str, directory: Path, threads: int | None, progress) -> None:
    """Has all trainings of a request done by an executor, or by so many processes of this machine."""
    with renewed(executor) as pool:
        before = None
        # A validation plans anew when its pilot is finished.
        while (missing := plan(verb, question, directory)) and missing != before:
            run_calls(pool, _work, [(os.path.abspath(directory), index, 1 if threads is None else threads) for index in missing], progress)
            before = missing
    if missing:
        raise CollegialError(f"jobs {missing} of {os.fspath(directory)} were run and are not finished")


def run_calls(pool: _Renewed, function, calls: list, progress=None) -> list:
    """What a function gives for every call, in order; a call whose worker was lost is made again.

    All other calls end before an error of ours is raised, so that what can be done is done.
    """
    results, tries = [None] * len(calls), [0] * len(calls)
    running, done, failed, breaks, broken = {}, 0, None, 0, -1

    def begin(index):
        future, made = pool.submit(function, *calls[index])
        running[future] = index, made

    for index in range(len(calls)):
        begin(index)
    while running:
        finished, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
        for future in finished:
            index, made = running.pop(future)
            try:
                results[index] = future.result()
            except CollegialError as error:
                failed = failed or error
            except futures.BrokenExecutor as error:
                # All that it had come back like this, begun or not: that is one loss, and none of theirs.
                breaks, broken = breaks + (made > broken), max(made, broken)
                if not pool.can_be_renewed or breaks == TRIES:
                    raise _lost(error, "make a new executor, and the same call with it goes on from there") from error
                begin(index)
                continue
            except Exception as error:  # the executor's own words for a worker that is gone
                tries[index] += 1
                if tries[index] == TRIES:
                    raise _lost(error, "the same call goes on from there") from error
                begin(index)
                continue
            done, breaks = done + 1, 0
            if progress is not None:
                progress(done, len(calls))
    if failed is not None:
        raise failed
    return results


def _lost(error, advice):
    words = f"{type(error).__name__}: {error}".rstrip(": ")
    return CollegialError(f"the executor lost a worker ({words}); what is finished is kept: {advice}")


def _work(directory, index, threads):
    """What a worker does."""
    worked(directory, [index], threads)


def renewed(executor) -> _Renewed:
    """Any executor, a function that makes one, or a number of processes of this machine."""
    if isinstance(executor, int):
        from multiprocessing import get_context

        # A process that forked after threads were started would hang.
        context = get_context("spawn")
        return _Renewed(lambda: futures.ProcessPoolExecutor(executor, mp_context=context), True)
    if callable(executor):
        return _Renewed(executor, True)
    return _Renewed(lambda: executor, False)


class _Renewed:
    """An executor that is made anew when a process of it was killed; one that was given can only be used until then."""

    def __init__(self, make, can_be_renewed):
        self._make, self.can_be_renewed = make, can_be_renewed
        self._pool, self._made = make(), 0

    def submit(self, *call):
        """Submits a call; gives its future, and by which of the executors."""
        try:
            return self._pool.submit(*call), self._made
        except futures.BrokenExecutor as error:
            if not self.can_be_renewed:
                raise _lost(error, "make a new executor, and the same call with it goes on from there") from error
            self._pool.shutdown(wait=False)
            self._pool, self._made = self._make(), self._made + 1
            return self._pool.submit(*call), self._made

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.can_be_renewed:
            self._pool.shutdown(cancel_futures=True)
