"""Executors for schedulers whose own form is another: wherever `executor=` is taken, these can be given.

Anything that is a `concurrent.futures.Executor` needs none of this: the standard process pool, `dask.distributed`'s
`Client.get_executor()`, `mpi4py.futures.MPIPoolExecutor`, executorlib's.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import Executor, Future

__all__ = ["PoolExecutor", "SubmititExecutor"]


class SubmititExecutor(Executor):
    """An executor on top of submitit's (`submitit.AutoExecutor`, for Slurm or for local processes).

    Args:
        executor: One of submitit's, with its parameters set.
        every: Seconds between looks at a job.
    """

    def __init__(self, executor, every: float = 1.0):
        self._executor, self._every = executor, every

    def submit(self, function, /, *args, **kwargs) -> Future:
        """Submits a job; its future is set by a thread that looks at it now and then."""
        future: Future = Future()
        job = self._executor.submit(function, *args, **kwargs)
        future.set_running_or_notify_cancel()
        threading.Thread(target=self._watch, args=(job, future), daemon=True).start()
        return future

    def _watch(self, job, future):
        while not job.done():
            time.sleep(self._every)
        error = job.exception()
        if error is None:
            future.set_result(job.result())
        else:
            future.set_exception(error)


class PoolExecutor(Executor):
    """An executor on top of a pool with `apply_async`: `ray.util.multiprocessing.Pool`, or the standard library's.

    Args:
        pool: The pool; whoever made it closes it.
    """

    def __init__(self, pool):
        self._pool = pool

    def submit(self, function, /, *args, **kwargs) -> Future:
        """Submits a call; its future is set by a thread that waits for it."""
        future: Future = Future()
        result = self._pool.apply_async(function, args, kwargs)
        future.set_running_or_notify_cancel()
        threading.Thread(target=self._wait, args=(result, future), daemon=True).start()
        return future

    @staticmethod
    def _wait(result, future):
        try:
            future.set_result(result.get())
        except BaseException as error:
            future.set_exception(error)
