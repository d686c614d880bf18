"""The best number and width of members for any module: Algorithms 1 and 2 on PyTorch."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Union

import torch
from torch import nn

from .. import _collegial, _look
from .._collegial import CollegialError
from .._progress import watching
from .._results import Kept, Record, Result, _columns
from .._types import Progress
from .ensembles import TWO_SIDED_95, checked
from .family import Rule, rounded
from .kernels import Make, Moments, Output, Parametrisation, central_unit, moments

Cost = Union[Literal["params", "flops"], Callable[[int, nn.Module], float]]
Source = Literal["measured", "law"]
# Where variances come from, in words.
SOURCES = {"measured": "measured", "law": "the fitted law"}


class ModuleSearch(Result):
    """Algorithm 2's answer for a module of the user's; `points` are what Algorithm 1 measured."""

    _main = "curve"
    baseline: str
    cost: str
    variance_source: str
    alpha: float
    alpha_ci: list[float]
    intercept: float
    r_squared: float
    trials: int
    points: list[Record]
    curve: list[Record]
    primal: Record
    dual: Record
    check: list[Record] | None
    seconds: float

    def plot(self, ax: Any = None) -> Any:
        """The efficiency of every width with two standard errors, and the optimum."""
        ax = _look.axes(ax, f"Efficiency of members of {self.baseline}", "width n of a member", "efficiency ρ", xscale="log")
        widths, efficiencies, errors = _columns(self.curve, "width", "efficiency", "efficiency_error")
        ax.errorbar(widths, efficiencies, [2 * error for error in errors], fmt="none", color=_look.PALETTE["variance"], linewidth=1.4)
        _look.line(ax, widths, efficiencies, "variance")
        _look.dots(ax, widths, efficiencies, "variance", f"{SOURCES[self.variance_source]}, two standard errors", size=5)
        _look.optimum(ax, self.dual.width, self.dual.efficiency, "variance", self.dual.design)
        _look.plain_ticks(ax)
        _look.legend(ax)
        return ax


def search(
    make: Make,
    widths: Iterable[int],
    inputs: torch.Tensor | Sequence[int],
    cost: Cost = "params",
    variance: Source = "measured",
    rule: Rule = "nearest",
    *,
    baseline: int | None = None,
    check: bool = False,
    draws: int = 200,
    trials: int = 1000,
    seed: int = 0,
    output: Output = central_unit,
    fan_in_sum: Callable[[int], float] | None = None,
    parametrisation: Parametrisation = "ntk",
    device: torch.device | str | None = None,
    progress: Progress = None,
) -> ModuleSearch:
    """The best number m and width n of copies of a module in place of a wide one.

    Modules run in evaluation mode; the inputs stay the same in all draws.

    Args:
        make: A function from the width n to the module, its weights drawn as it draws them.
        widths: The widths to draw, at least two.
        inputs: What the module takes, a batch of one or more, or the shape of one, which is then
            drawn from the standard normal law.
        cost: What a member is charged for: "params", "flops" (two per multiply-accumulate), or a
            function of the width and the module.
        variance: Where a member's variance comes from: "measured", so that the widths given are
            those compared, or the fitted "law", which knows all integers between.
        rule: How the primal meets the baseline's cost: "nearest" to it, or "under" it.
        baseline: The width of the module that is split; by default the widest of `widths`.
        check: Draw the baseline and both optima with all their members, and set the measured
            variances beside the predicted ones; needs a module that gives one tensor.
        draws: Initialisations of each in a check.
        trials: Draws per width.
        seed: Seed of weights and inputs that are drawn.
        output: Picks the scalar whose kernel is meant; by default the first channel at the centre.
        fan_in_sum: The law's abscissa as a function of the width; by default the sum of inverse
            fan-ins of all weights with two dimensions or more.
        parametrisation: Gradients by the N(0, 1) weights ("ntk") or by the actual ones ("standard").
        device: Where it runs; by default on the CPU, or where the inputs are.
        progress: True for a bar, or a function of what is done and the total.
    """
    started = time.monotonic()
    grid = sorted(set(widths))
    reference = max(grid) if baseline is None else baseline
    if len(grid) < 2 or grid[0] < 1 or trials < 2:
        raise CollegialError(f"there are widths {grid} and {trials} trials; give at least two widths from 1 on, and two trials")
    if variance not in ("measured", "law"):
        raise CollegialError(f"the variance is {variance!r}; take 'measured' or 'law'")
    if variance == "measured" and reference not in grid:
        raise CollegialError(f"the baseline of width {reference} is not among the widths {grid}; add it, or take variance='law'")
    examples = _inputs(inputs, seed, device)
    options: dict[str, Any] = dict(trials=trials, seed=seed, output=output, parametrisation=parametrisation)
    with watching(progress) as callback:
        counter = _Counter(callback, len(grid) * trials + (3 * draws if check else 0))
        measured = {width: moments(make, width, examples, step=counter, **options) for width in grid}
        sums = {width: (fan_in_sum or _fan_in_sum(make))(width) for width in grid}
        law = _Law(grid, sums, measured)
        price = _Price(make, cost, examples)
        if variance == "law":
            compared = range(grid[0], max(grid[-1], reference) + 1)
            found = {n: law.variance((fan_in_sum or _fan_in_sum(make))(n)) for n in compared}
        else:
            found = {width: (measured[width].variance, measured[width].standard_error) for width in grid}
        document = {
            "baseline": f"1x{reference}d",
            "cost": price.name,
            "variance_source": variance,
            **law.document(),
            "trials": trials,
            "points": [_point(width, sums[width], measured[width]) for width in grid],
            **_optimum(found, {width: price.of(width) for width in found}, reference, rule, one_error=variance == "law"),
            "check": None,
        }
        if check:
            options.update(trials=draws, seed=seed + 1, step=counter)
            document["check"] = _check(make, document, examples, options)
            counter.end()
    document["seconds"] = time.monotonic() - started
    return ModuleSearch(Kept(json.dumps(document), *_show(document)))


def _point(width: int, inverse_fan_ins: float, measured: Moments) -> dict[str, Any]:
    return {
        "width": width, "inverse_fan_in_sum": inverse_fan_ins, "second_moment_ratio": measured.ratio,
        "standard_error": measured.standard_error, "trials": measured.trials,
    }  # fmt: skip


def _check(make: Make, document: dict[str, Any], inputs: torch.Tensor, options: dict[str, Any]) -> list[dict[str, Any]]:
    """The baseline and both optima, drawn with all their members."""
    predicted = {document["baseline"]: document["baseline_variance"]}
    for problem in ("primal", "dual"):
        predicted.setdefault(document[problem]["design"], document[problem]["variance"])
    designs = [tuple(map(int, design.rstrip("d").split("x"))) for design in predicted]
    return checked(make, [(m, n) for m, n in designs], list(predicted.values()), inputs, **options)


def _inputs(inputs: torch.Tensor | Sequence[int], seed: int, device: torch.device | str | None) -> torch.Tensor:
    if isinstance(inputs, torch.Tensor):
        return inputs.detach().to(device) if device is not None else inputs.detach()
    drawn = torch.randn(1, *inputs, generator=torch.Generator().manual_seed(seed))
    return drawn.to(device) if device is not None else drawn


def _fan_in_sum(make: Make) -> Callable[[int], float]:
    """The sum of inverse fan-ins over the weights with two dimensions or more, a member's share
    where they are in groups."""

    def total(width: int) -> float:
        return sum(1.0 / math.prod(weight.shape[1:]) for weight in _shapes(make, width).parameters() if weight.dim() > 1)

    return total


def _shapes(make: Make, width: int) -> nn.Module:
    """The module without values, where it can be made so."""
    try:
        with torch.device("meta"):
            return make(width).eval()
    except Exception:  # noqa: BLE001: a few modules compute with values while they are built
        return make(width).eval()


class _Counter:
    """The share of the draws that is done, for whoever watches."""

    def __init__(self, callback: Callable[[float, float], object] | None, total: int):
        self.callback, self.total, self.done = callback, total, 0

    def __call__(self, more: int) -> None:
        self.done += more
        if self.callback is not None:
            self.callback(self.done / self.total, 1.0)

    def end(self) -> None:
        """All is done, even where designs were the same and drawn once."""
        if self.done < self.total:
            self(self.total - self.done)


class _Law:
    """ln(E[K^2] / E[K]^2) = intercept + alpha S(n) by least squares; the interval of alpha has the
    sampling error only."""

    def __init__(self, grid: list[int], sums: dict[int, float], measured: dict[int, Moments]):
        xs = [sums[width] for width in grid]
        ys = [math.log(measured[width].ratio) for width in grid]
        errors = [measured[width].standard_error / measured[width].ratio for width in grid]
        centre, height = sum(xs) / len(xs), sum(ys) / len(ys)
        spread = sum((x - centre) ** 2 for x in xs)
        if spread == 0.0:
            raise CollegialError(f"the sum of inverse fan-ins is {xs[0]} at all widths; give fan_in_sum=, a function of the width")
        self.alpha = sum((x - centre) * (y - height) for x, y in zip(xs, ys)) / spread
        self.intercept = height - self.alpha * centre
        self.error = math.sqrt(sum(((x - centre) * error) ** 2 for x, error in zip(xs, errors))) / spread
        residual = sum((y - self.intercept - self.alpha * x) ** 2 for x, y in zip(xs, ys))
        total = sum((y - height) ** 2 for y in ys)
        self.r_squared = 1.0 - residual / total if total > 0.0 else 1.0

    def variance(self, inverse_fan_ins: float) -> tuple[float, float]:
        """Algorithm 2's e^{alpha S} - 1, and what an error of alpha makes of it."""
        exponent = self.alpha * inverse_fan_ins
        return math.expm1(exponent), self.error * inverse_fan_ins * math.exp(exponent)

    def document(self) -> dict[str, Any]:
        half = TWO_SIDED_95 * self.error
        interval = [self.alpha - half, self.alpha + half]
        return {"alpha": self.alpha, "alpha_ci": interval, "intercept": self.intercept, "r_squared": self.r_squared}


class _Price:
    """The cost beta(n) of one member."""

    def __init__(self, make: Make, cost: Cost, inputs: torch.Tensor):
        self.make, self.cost, self.inputs = make, cost, inputs
        self.name = cost if isinstance(cost, str) else getattr(cost, "__name__", "cost")
        if isinstance(cost, str) and cost not in ("params", "flops"):
            raise CollegialError(f"the cost is {cost!r}; take 'params', 'flops' or a function of the width and the module")

    def of(self, width: int) -> float:
        module = _shapes(self.make, width)
        if callable(self.cost):
            return float(self.cost(width, module))
        if self.cost == "params":
            return float(sum(parameter.numel() for parameter in module.parameters()))
        from torch.utils.flop_counter import FlopCounterMode

        device = next((parameter.device for parameter in module.parameters()), self.inputs.device)
        with torch.no_grad(), FlopCounterMode(display=False) as counter:
            module(self.inputs[:1].to(device))
        return float(counter.get_total_flops())


def _optimum(
    found: dict[int, tuple[float, float]], costs: dict[int, float], reference: int, rule: Rule, *, one_error: bool
) -> dict[str, Any]:
    """Algorithm 2: the width with the least product of variance and cost is the best of both
    problems. Errors of variances are independent, or all come from one, that of alpha."""
    (before, before_error), budget = found[reference], costs[reference]
    curve = []
    for width, (variance, error) in found.items():
        primal, dual = budget / costs[width], variance / before
        efficiency = before * budget / (variance * costs[width])
        own, other = error / variance, before_error / before
        relative = 0.0 if width == reference else abs(own - other) if one_error else math.hypot(own, other)
        curve.append({
            "width": width, "cost_of_member": costs[width], "variance": variance, "primal_multiplicity": primal,
            "primal_objective": variance / primal, "dual_multiplicity": dual, "efficiency": efficiency,
            "efficiency_error": efficiency * relative,
        })
    best = max(curve, key=lambda point: point["efficiency"])

    def design(problem: str) -> dict[str, Any]:
        real = best[f"{problem}_multiplicity"]
        members = max(1, math.floor(real) if rule == "under" and problem == "primal" else rounded(real))
        return {
            "width": best["width"], "multiplicity": real, "design": f"{members}x{best['width']}d", "cost": members * best["cost_of_member"],
            "variance": best["variance"] / members, "efficiency": best["efficiency"], "efficiency_error": best["efficiency_error"],
        }

    return {"baseline_cost": budget, "baseline_variance": before, "curve": curve, "primal": design("primal"), "dual": design("dual")}


def _show(document: dict[str, Any]) -> tuple[str, str]:
    """As text and HTML."""
    primal, dual = document["primal"], document["dual"]
    rows = [
        [f"{point['width']}", f"{point['cost_of_member']:,.0f}", f"{point['variance']:.4g}", f"{point['primal_multiplicity']:.2f}",
         f"{point['dual_multiplicity']:.2f}", f"{point['efficiency']:.3f} +- {2 * point['efficiency_error']:.3f}"]
        for point in document["curve"]
    ]
    sentences = [
        f"primal {primal['design']}: {document['baseline_variance'] / primal['variance']:.2f} times less kernel variance than "
        f"{document['baseline']} at {primal['cost'] / document['baseline_cost']:.1%} of its {document['cost']}",
        f"dual {dual['design']}: {document['baseline_cost'] / dual['cost']:.2f} times fewer {document['cost']} at "
        f"{dual['variance'] / document['baseline_variance']:.1%} of its kernel variance",
        f"alpha = {document['alpha']:.3f} on these widths, r^2 = {document['r_squared']:.3f}, {document['trials']} draws each",
    ]
    if primal["width"] == int(document["baseline"][2:-1]):
        sentences[:2] = [f"There is nothing to gain: {document['baseline']} is the best of these widths."]
    elif primal["efficiency"] - 2 * primal["efficiency_error"] <= 1.0:
        sentences.insert(2, "That is within two standard errors of no gain at all: take more trials.")
    for row in (document["check"] or [])[1:]:
        low, high = row["ratio_ci"]
        expected = document["baseline_variance"] / row["predicted_variance"]
        sentences.append(
            f"{row['design']} drawn whole, {row['draws']} times: {row['ratio']:.2f} times less kernel variance ({low:.2f} to {high:.2f}), "
            f"{expected:.2f} times by the search"
        )
    headings = ["width", document["cost"], "variance", "m primal", "m dual", "efficiency"]
    return _collegial.table(sentences, headings, rows)
