"""What every benchmark script shares and no framework is needed for: arguments, timing, JSON lines."""

import argparse
import json
import math
import time


def parser(description):
    """The command line every script has; a script may add its own flags."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--threads", type=int, default=2, help="threads the rival may use (default 2)")
    arguments.add_argument("--only", metavar="WORD", action="append", default=[],
                           help="run only what WORD names (see README.md); repeat to narrow further")
    arguments.add_argument("--seconds", type=float, help="start no further turn of a case after so many seconds")
    return arguments


def wanted(options, *words):
    """Whether every `--only` word is among `words`, which describe a measurement."""
    return set(options.only) <= set(words)


def emit(**fields):
    """One result, one JSON line; numbers to six significant digits."""
    rounded = {key: float(f"{value:.6g}") if isinstance(value, float) else value for key, value in fields.items()}
    print(json.dumps(rounded), flush=True)


def fastest(tasks, repetitions=7, warmups=2, seconds=20.0, least=3):
    """Best time in seconds of each task of a dictionary.

    The tasks take turns, so that a slow moment of the machine hits all of them alike. After `seconds` no further
    turn is started, but each task has at least `least`.
    """
    for _ in range(warmups):
        for task in tasks.values():
            task()
    best = dict.fromkeys(tasks, math.inf)
    start = time.perf_counter()
    for turn in range(repetitions):
        if turn >= least and time.perf_counter() - start > seconds:
            break
        for name, task in tasks.items():
            begin = time.perf_counter()
            task()
            best[name] = min(best[name], time.perf_counter() - begin)
    return best


def seconds_per_call(task, repetitions, seconds):
    """Best mean time of one call, over repetitions that last about `seconds` each; for calls of a few milliseconds."""
    begin = time.perf_counter()
    task()
    calls = max(1, round(seconds / (time.perf_counter() - begin)))
    best = math.inf
    for _ in range(repetitions):
        begin = time.perf_counter()
        for _ in range(calls):
            task()
        best = min(best, (time.perf_counter() - begin) / calls)
    return best


def failure(error):
    """The first line of an exception, to be printed where a rival cannot do a task."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error).strip() else ''}"[:200]
