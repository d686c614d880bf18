"""The curve of a module's search: what members of every width cost, and how much they vary."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Union

import torch
from torch import nn

from .._collegial import CollegialError
from .ensembles import TWO_SIDED_95
from .flops import count_flops
from .kernels import Inputs, Make, Moments

Cost = Union[Literal["params", "flops"], Callable[[int, nn.Module], float]]
# Costs in words.
UNITS = {"params": "parameters", "flops": "FLOPs"}


def without_values(make: Make, width: int) -> nn.Module:
    """The module on the meta device, where it can be made there."""
    try:
        with torch.device("meta"):
            return make(width).eval()
    except Exception:  # noqa: BLE001: a few modules compute with values while they are built
        return make(width).eval()


def inverse_fan_ins(make: Make) -> Callable[[int], float]:
    """The sum of inverse fan-ins over the weights with two dimensions or more, a member's share
    where they are in groups."""

    def total(width: int) -> float:
        return sum(1.0 / math.prod(weight.shape[1:]) for weight in without_values(make, width).parameters() if weight.dim() > 1)

    return total


class Price:
    """The cost beta(n) of one member."""

    def __init__(self, make: Make, cost: Cost, inputs: Inputs):
        self.make, self.cost, self.inputs = make, cost, inputs
        self.name = cost if isinstance(cost, str) else getattr(cost, "__name__", "cost")
        if isinstance(cost, str) and cost not in UNITS:
            raise CollegialError(f"the cost is {cost!r}; take 'params', 'flops' or a function of the width and the module")

    def of(self, width: int) -> float:
        """The cost of a member of a width."""
        module = without_values(self.make, width)
        if callable(self.cost):
            return float(self.cost(width, module))
        if self.cost == "params":
            return float(sum(parameter.numel() for parameter in module.parameters()))
        device = next((parameter.device for parameter in module.parameters()), self.inputs[0].device)
        with torch.no_grad():
            return float(count_flops(lambda: module(*(tensor[:1].to(device) for tensor in self.inputs))))


class Law:
    """ln(E[K^2] / E[K]^2) = intercept + alpha S(n) by least squares; the interval of alpha has the
    sampling error only."""

    def __init__(self, sums: dict[int, float], measured: dict[int, Moments]):
        xs = list(sums.values())
        ys = [math.log(measured[width].ratio) for width in sums]
        errors = [measured[width].standard_error / measured[width].ratio for width in sums]
        centre, height = sum(xs) / len(xs), sum(ys) / len(ys)
        spread = sum((x - centre) ** 2 for x in xs)
        self.alpha = sum((x - centre) * (y - height) for x, y in zip(xs, ys)) / spread
        self.intercept = height - self.alpha * centre
        self.error = math.sqrt(sum(((x - centre) * error) ** 2 for x, error in zip(xs, errors))) / spread
        residual = sum((y - self.intercept - self.alpha * x) ** 2 for x, y in zip(xs, ys))
        total = sum((y - height) ** 2 for y in ys)
        self.r_squared = 1.0 - residual / total if total > 0.0 else 1.0

    def misfit(self, sums: dict[int, float], measured: dict[int, Moments]) -> float:
        """The largest error of its ratios of two variances among widths that were drawn, in
        logarithms: no other width is better known."""
        errors = [math.log(self.variance(sums[width])[0] / measured[width].variance) for width in sums]
        return max(errors) - min(errors)

    def variance(self, inverse_fan_ins: float) -> tuple[float, float]:
        """Algorithm 2's e^{alpha S} - 1, and what an error of alpha makes of it."""
        exponent = self.alpha * inverse_fan_ins
        return math.expm1(exponent), self.error * inverse_fan_ins * math.exp(exponent)

    def document(self) -> dict[str, Any]:
        """As JSON."""
        half = TWO_SIDED_95 * self.error
        interval = [self.alpha - half, self.alpha + half]
        return {"alpha": self.alpha, "alpha_ci": interval, "intercept": self.intercept, "r_squared": self.r_squared}


@dataclass(frozen=True)
class Curve:
    """Variances, their standard errors and costs of members of every width. Errors are independent,
    or all come from one alpha, beside a misfit that all widths share."""

    variances: dict[int, tuple[float, float]]
    costs: dict[int, float]
    reference: int
    misfit: float | None = None

    def points(self) -> list[dict[str, Any]]:
        """Both objectives with a real-valued m (Algorithm 2)."""
        (before, before_error), budget = self.variances[self.reference], self.costs[self.reference]
        points = []
        for width, (variance, error) in self.variances.items():
            primal, dual = budget / self.costs[width], variance / before
            efficiency = before * budget / (variance * self.costs[width])
            own, other = error / variance, before_error / before
            relative = math.hypot(own, other) if self.misfit is None else math.hypot(own - other, self.misfit)
            points.append({
                "width": width, "cost_of_member": self.costs[width], "variance": variance, "primal_multiplicity": primal,
                "primal_objective": variance / primal, "dual_multiplicity": dual, "efficiency": efficiency,
                "efficiency_error": 0.0 if width == self.reference else efficiency * relative,
            })
        return points
