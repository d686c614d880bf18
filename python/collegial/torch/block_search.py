"""The best designs of a model by the variance of one of its blocks, to which the others keep their
proportions; costs are the whole model's."""

from __future__ import annotations

import json
import math
from functools import cache
from statistics import NormalDist
from typing import Any

from .._collegial import CollegialError
from .._functions import search
from .._results import SearchResult
from .._types import Progress
from .draw_time import affordable, announced
from .family import Family
from .module_choice import Rule, rounded

# Members that are drawn are no wider than this, unless the model's own are.
WIDEST = 128
# Standard error of drawn variances by default, as a share of each.
PRECISION = 0.01
# Steps of widths that suit hardware.
FRIENDLY = (8, 16)
# What was searched before in this process, by the block and the options: of a suggestion and its
# conversion, or of models with the same block.
SEARCHED: dict[str, SearchResult] = {}


def of_block(family: Family, rule: Rule | None, most: float, options: dict[str, Any]) -> dict[str, Any]:
    """The baseline and both optima. Variances of members are those of `collegial.search`; with
    `alpha` or `trials` its widths are too, as Algorithm 2 is printed."""
    analysed, spec = family.analysed, family.analysed.spec()
    options = dict(options)
    seconds = options.pop("seconds", None)
    law = any(options.get(name) is not None for name in ("alpha", "trials"))
    if law and analysed.depthwise:
        raise CollegialError(
            f"alpha= and trials= ask for the law, by which a wide network is split, but {analysed.name} is depthwise; leave them out"
        )
    # Where theory has no closed form variances are drawn, which is not done for every width.
    drawn = analysed.sampled and not law
    widths = ladder(analysed.members * analysed.width, analysed.width) if drawn else None
    options.update(rule=rule, widths=widths, max_multiplicity=None if most == math.inf else int(most))
    # A suggestion names its defaults and a conversion does not: both are one question.
    options = {name: value for name, value in options.items() if value is not None}
    precision = (options.get("precision") or PRECISION) if drawn else 0.0
    progress = options.pop("progress", None)
    if precision > 0 and (seconds is not None or progress):
        draw = lambda coarse: _searched(spec, **{**options, "precision": coarse})
        precision, about = affordable(draw, [spec, options], precision, seconds)
        options["precision"], progress = precision, announced(progress, about)
    found = _searched(spec, progress, **options)
    if callable(progress):
        # Also where the answer was there already.
        progress(1.0, 1.0)
    variances = {point.width: point.variance for point in found.curve}
    own = (analysed.members, analysed.width)
    choice = _Choice(family, variances, found.baseline_variance, rule or ("nearest" if law else "under"), most, precision)
    if law:
        primal = max(1, family.fitted(found.primal.width, rule or "nearest", most))
        dual = (found.dual.members, found.dual.width)
        cheaper = family.parameters(family.proportional(*dual)) < family.total
        optima = {"primal": (primal, found.primal.width), "dual": dual if cheaper else own}
    else:
        optima = {"primal": choice.primal(), "dual": choice.dual()}
    curve = [{"width": width, "variance": variances[width] / members} for width, members in choice.fitted.items()]

    @cache
    def record(members: int, width: int) -> dict[str, Any]:
        variance = found.baseline_variance if (members, width) == own else variances[width] / members
        return family.record(family.proportional(members, width), (members, width), variance, found.baseline_variance)

    records = {}
    for problem, design in {"baseline": own, **optima}.items():
        known = choice.known(problem, *design) if not law and design != own else {}
        records[problem] = {**record(*design), **known}
    friendly = [
        {"multiple_of": step, "problem": problem, **_other(record(*design), record(*best), problem, family.total), **choice.interval(*design)}
        for problem, best in optima.items()
        for design, step in choice.friendly(problem, best).items()
    ]
    return {
        "alpha": found.alpha, "alpha_ci": found.to_dict().get("alpha_ci"), "precision": precision or None, "curve": curve,
        "friendly": friendly, **records,
    }  # fmt: skip


def _other(record: dict[str, Any], best: dict[str, Any], problem: str, total: int) -> dict[str, Any]:
    """A design beside the best as `collegial.search` describes it."""
    objective = "variance" if problem == "primal" else "parameters"
    return {
        "design": record["design"], "members": record["multiplicity"], "width": record["width"], "parameters": record["parameters"],
        "flops": record["flops"], "activations": record["activations"], "score": record["variance"], "variance": record["variance"],
        "score_ratio": record["variance_reduction"], "cost_ratio": total / record["parameters"],
        "distance": record[objective] / best[objective] - 1,
    }  # fmt: skip


def _searched(spec: dict[str, Any], progress: Progress = None, **options: Any) -> SearchResult:
    """The answer of `collegial.search`, kept: the same question draws the same numbers."""
    key = json.dumps([spec, options], sort_keys=True, default=repr)
    if key not in SEARCHED:
        SEARCHED[key] = search(spec, progress=progress, **options)
    return SEARCHED[key]


class _Choice:
    """Every width with the members of both problems, and how well drawn variances tell them apart."""

    def __init__(self, family: Family, variances: dict[int, float], before: float, rule: Rule, most: float, precision: float):
        self.family, self.variances, self.before, self.most = family, variances, before, most
        self.own = (family.analysed.members, family.analysed.width)
        fitted = {width: family.fitted(width, rule, most) for width in variances}
        self.fitted = {width: members for width, members in fitted.items() if members > 0}
        # Intervals that hold at all widths at once, since the best of them is chosen.
        self.half = NormalDist().inv_cdf(1 - 0.025 / len(variances)) * precision

    def _cost(self, members: int, width: int) -> int:
        return self.family.parameters(self.family.proportional(members, width))

    def _least(self, width: int, factor: float = 1.0) -> int:
        """The fewest members of no more than the baseline's variance, theirs taken times a factor."""
        return max(1, math.ceil(factor * self.variances[width] / self.before * (1 - 1e-12)))

    def primal(self) -> tuple[int, int]:
        """The least variance for the model's parameters; the baseline where nothing has less."""
        width = min(self.fitted, key=lambda width: self.variances[width] / self.fitted[width], default=None)
        if width is None or self.variances[width] / self.fitted[width] >= self.before:
            return self.own
        return self.fitted[width], width

    def dual(self) -> tuple[int, int]:
        """The fewest parameters for its variance; the baseline where nothing has fewer."""
        least = {width: self._least(width) for width in self.variances}
        allowed = [width for width in least if least[width] <= self.most]
        width = min(allowed, key=lambda width: self._cost(least[width], width), default=None)
        if width is None or self._cost(least[width], width) >= self.family.total:
            return self.own
        return least[width], width

    def friendly(self, problem: str, best: tuple[int, int]) -> dict[tuple[int, int], int]:
        """The best designs whose widths are a multiple of 8 and of 16 in all blocks, by what they are a
        multiple of, where the best of all is none."""
        if problem == "primal":
            members = self.fitted
            objective = lambda width: self.variances[width] / members[width]
        else:
            members = {width: least for width in self.variances if (least := self._least(width)) <= self.most}
            objective = lambda width: self._cost(members[width], width)
        found: dict[tuple[int, int], int] = {}
        for step in FRIENDLY:
            fitting = [width for width in members if self.family.is_multiple_of(width, step)]
            if fitting and not self.family.is_multiple_of(best[1], step):
                width = min(fitting, key=objective)
                # The best multiple of 8 may be one of 16.
                found.pop((members[width], width), None)
                found[members[width], width] = step
        return found

    def interval(self, members: int, width: int) -> dict[str, Any]:
        """That of a design's gain in variance, where variances were drawn."""
        reduction = self.before * members / self.variances[width]
        # Of a quotient of two variances, the baseline's and the design's.
        factor = math.exp(math.sqrt(2.0) * self.half)
        return {"variance_reduction_ci": [reduction / factor, reduction * factor]}

    def known(self, problem: str, members: int, width: int) -> dict[str, Any]:
        """The intervals that variances which were drawn leave, and the widths that are as good within
        them. The dual's members follow from the variance, so its parameters have an interval."""
        factor = math.exp(math.sqrt(2.0) * self.half)
        parameters = [self._cost(members, width)] * 2
        if problem == "primal":
            objective = {each: self.variances[each] / self.fitted[each] for each in self.fitted}
            alike = [each for each in objective if objective[each] <= objective[width] * factor]
        else:
            parameters = [self._cost(self._least(width, times), width) for times in (1.0 / factor, factor)]
            dearest = self._cost(self._least(width, math.exp(self.half)), width)
            alike = [each for each in self.variances if self._cost(self._least(each, math.exp(-self.half)), each) <= dearest]
        return {
            **self.interval(members, width),
            "parameters_ci": parameters,
            "alike": alike if self.half > 0.0 else [width],
        }


def ladder(most: int, own: int) -> list[int]:
    """Widths up to the largest, about four to every doubling, the own one among them."""
    widths = {rounded(2 ** (step / 4)) for step in range(4 * most.bit_length())}
    return sorted({width for width in widths if width <= min(most, WIDEST)} | {own})
