"""Copies of a module side by side: what a search says of a design is checked by drawing it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import nn

from .kernels import Inputs, Make, Moments, moments

# Of the normal law.
TWO_SIDED_95 = 1.959964


class Ensemble(nn.Module):
    """m modules of width n with weights of their own, added up and divided by sqrt(m) (Eq. 2)."""

    def __init__(self, make: Make, members: int, width: int):
        super().__init__()
        self.members = nn.ModuleList(make(width) for _ in range(members))

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        outputs = [member(*inputs) for member in self.members]
        return sum(outputs[1:], outputs[0]) / math.sqrt(len(outputs))


def checked(
    make: Make, designs: Sequence[tuple[int, int]], predicted: Sequence[float], inputs: Inputs, **options: Any
) -> list[dict[str, Any]]:
    """The drawn variance of each design (m, n), the baseline's first, beside the one predicted, and
    how many times less it is than the baseline's, with a 95 % interval."""
    drawn = [moments(partial(Ensemble, make, m), n, inputs, **options) for m, n in designs]
    return [
        {
            "design": f"{m}x{n}d", "members": m, "width": n, "draws": found.trials, "variance": found.variance, "standard_error": found.standard_error,
            "predicted_variance": prediction, **_ratio(drawn[0], found),
        }
        for (m, n), prediction, found in zip(designs, predicted, drawn)
    ]  # fmt: skip


def _ratio(before: Moments, after: Moments) -> dict[str, Any]:
    """Variances are positive and their errors relative, so that the interval is one of logarithms."""
    if after is before:
        return {"ratio": 1.0, "ratio_ci": [1.0, 1.0]}
    ratio = before.variance / after.variance
    half = TWO_SIDED_95 * math.hypot(before.standard_error / before.variance, after.standard_error / after.variance)
    return {"ratio": ratio, "ratio_ci": [ratio * math.exp(-half), ratio * math.exp(half)]}
