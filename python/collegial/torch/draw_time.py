"""How long draws of variances take, foretold by a few of them.

The error of a drawn variance falls with the root of the draws, so the time grows like the inverse
square of the precision.
"""

from __future__ import annotations

import json
import math
import sys
import time
from collections.abc import Callable
from typing import Any

from .._types import Progress

# The first precision that is tried, and how long a trial takes at least to foretell others.
COARSE = 0.2
LONG_ENOUGH = 0.25
# What a question was answered with before: a suggestion and its conversion have the same design.
CHOSEN: dict[str, tuple[float, float]] = {}


def affordable(draw: Callable[[float], object], question: Any, precision: float, seconds: float | None) -> tuple[float, float]:
    """The precision wanted, or the best that fits into the seconds, and about how many it takes;
    `draw` draws to a precision."""
    key = json.dumps([question, precision, seconds], sort_keys=True, default=repr)
    if key not in CHOSEN:
        CHOSEN[key] = _affordable(draw, precision, math.inf if seconds is None else seconds)
    return CHOSEN[key]


def _affordable(draw: Callable[[float], object], precision: float, seconds: float) -> tuple[float, float]:
    begun, coarse = time.monotonic(), max(COARSE, precision)
    while True:
        started = time.monotonic()
        draw(coarse)
        took = time.monotonic() - started
        left = seconds - (time.monotonic() - begun)
        if coarse <= 2 * precision or took >= LONG_ENOUGH or 4 * took > left:
            break
        coarse /= 2
    about = lambda finer: took * (coarse / finer) ** 2
    if about(precision) <= left:
        return precision, about(precision)
    # Not even draws like these fit once more: their answer is kept.
    best = coarse if took > left else max(precision, coarse * math.sqrt(took / left))
    return best, about(best)


def announced(progress: Progress, seconds: float) -> Progress:
    """Says how long it will take, and then passes on what is done and the total, in seconds."""
    if not progress:
        return progress
    if not callable(progress):
        print(f"drawing variances: about {max(1, round(seconds))} s", file=sys.stderr)
        return progress
    tell = progress
    tell(0.0, seconds)
    return lambda done, total: tell(seconds * done / total, seconds)
