"""How draws of the kernel are timed, whatever the rival: pick the best batch, time it, report with the moments."""

import numpy

from measure import emit, seconds_per_call
from reference_kernel import moments, normals_per_draw


def batches(n):
    """Batch sizes worth trying: from weights that fit a core's cache to weights of 32 MB."""
    return sorted({max(1, normals // normals_per_draw(n)) for normals in (2**17, 2**19, 2**21, 2**23)})


def time_draws(rival, form, n, task_of_batch, candidates, **setting):
    """Print one JSON line for `task_of_batch(batch)`, a function without arguments that returns `batch` kernel entries.

    The first call of a task, which may compile, is not timed. Every draw made while timing enters the moments.
    `setting` is printed too. Returns the best batch.
    """
    values = []
    tasks, probes = {}, {}
    for batch in candidates:
        run = task_of_batch(batch)

        def task(run=run):
            values.append(run())

        task()
        tasks[batch] = task
        probes[batch] = seconds_per_call(task, repetitions=3, seconds=0.05) / batch
    best = min(probes, key=probes.get)
    seconds = seconds_per_call(tasks[best], repetitions=7, seconds=0.2) / best
    while sum(len(value) for value in values) < 2000:
        tasks[best]()
    emit(rival=rival, form=form, width=n, draws_per_second=1 / seconds, batch=best, **moments(numpy.concatenate(values)),
         **setting)
    return best
