"""The chosen width of a module's search, judged by draws of its own.

The best of several noisy widths looks better than it is. So the width is chosen by one set of draws,
and its gain is measured by another, of the chosen width and of the baseline: the intervals hold for
the width that was chosen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

from .. import _collegial
from .ensembles import TWO_SIDED_95
from .kernels import Moments

Rule = Literal["nearest", "under"]
Gain = Literal["better", "undecided", "baseline-is-best"]

# More members than any budget pays for.
MANY = 1 << 40


def rounded(value: float) -> int:
    """The nearest integer, halves upwards."""
    return math.floor(value + 0.5)


def chosen_width(points: list[dict[str, Any]], reference: int) -> int:
    """The width with the least product of variance and cost, the best of both problems, among those
    of which the baseline's cost pays for one member."""
    affordable = [point for point in points if point["primal_multiplicity"] >= 1.0]
    return max(affordable, key=lambda point: (point["efficiency"], point["width"] == reference))["width"]


def alike(points: list[dict[str, Any]], width: int) -> list[int]:
    """The widths that the draws do not tell from the chosen one, by simultaneous 95 % intervals."""
    best = next(point for point in points if point["width"] == width)
    z = NormalDist().inv_cdf(1 - 0.025 / max(1, len(points) - 1))

    def undecided(point: dict[str, Any]) -> bool:
        errors = [each["efficiency_error"] / each["efficiency"] for each in (point, best)]
        return math.log(best["efficiency"] / point["efficiency"]) <= z * math.hypot(*errors)

    return [point["width"] for point in points if point is best or undecided(point)]


@dataclass(frozen=True)
class Choice:
    """One width against the baseline, each with its cost and with draws that did not choose it."""

    width: int
    cost: float
    own: Moments
    budget: float
    before: Moments
    is_baseline: bool

    def variance_ratio(self) -> tuple[float, float, float]:
        """A member's variance over the baseline's, with its 95 % interval: of logarithms, since
        variances are positive and their errors relative."""
        if self.is_baseline:
            return 1.0, 1.0, 1.0
        ratio = self.own.variance / self.before.variance
        errors = [each.standard_error / each.variance for each in (self.own, self.before)]
        factor = math.exp(TWO_SIDED_95 * math.hypot(*errors))
        return ratio, ratio / factor, ratio * factor

    def _record(self, members: int, real: float, gain: Gain) -> dict[str, Any]:
        ratio, low, high = self.variance_ratio()
        share = self.budget / self.cost
        return {
            "width": self.width, "multiplicity": real, "members": members, "design": f"{members}x{self.width}d", "cost": members * self.cost,
            "cost_ratio": share / members, "variance": self.own.variance / members, "variance_ratio": members / ratio,
            "variance_ratio_ci": [members / high, members / low], "efficiency": share / ratio, "efficiency_ci": [share / high, share / low],
            "gain": gain,
        }  # fmt: skip

    def _gain(self, surely: bool) -> Gain:
        return "baseline-is-best" if self.is_baseline else "better" if surely else "undecided"

    def primal(self, rule: Rule) -> dict[str, Any]:
        """As many members as the baseline's cost pays for. More of them than that would have less
        variance too, so a gain is one of the efficiency as well."""
        real = self.budget / self.cost
        members = max(1, _collegial.members_within(lambda members: members * self.cost, self.budget, rule, MANY))
        high = self.variance_ratio()[2]
        return self._record(members, real, self._gain(high * self.cost < self.budget and high < members))

    def dual(self) -> dict[str, Any]:
        """The fewest members of no more than the baseline's variance; how many by both ends of the
        interval too."""
        ratio, low, high = self.variance_ratio()
        members, fewest, most = (max(1, math.ceil(value - 1e-9)) for value in (ratio, low, high))
        record = self._record(members, ratio, self._gain(most * self.cost < self.budget))
        return {**record, "members_ci": [fewest, most]}
