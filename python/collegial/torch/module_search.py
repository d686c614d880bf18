"""The best number and width of members for any module: Algorithms 1 and 2 on PyTorch."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import Any, Literal

import torch

from .. import _look
from .._collegial import CollegialError
from .._progress import watching
from .._results import Kept, Record, Result, _columns
from .._types import Progress
from .ensembles import checked
from .kernels import Inputs, Make, Moments, Output, Parametrisation, central_unit, drawn, moments, placed
from .module_choice import Choice, Rule, alike, chosen_width
from .module_curve import Cost, Curve, Law, Price, inverse_fan_ins
from .module_report import shown

Source = Literal["measured", "law"]
# Where variances come from, in words.
SOURCES = {"measured": "measured", "law": "the fitted law"}


class ModuleSearch(Result):
    """Algorithm 2's answer for a module of the user's; `points` are what Algorithm 1 measured.

    `primal` has the baseline's cost and less variance, `dual` its variance and a lower cost. Their
    variances, efficiencies and 95 % intervals come from draws of their own, which did not choose the
    width; `gain` is "better" where these intervals show one, else "undecided" or "baseline-is-best".
    `alike` are the widths that the draws do not tell from the chosen one.
    """

    _main = "curve"
    baseline: str
    baseline_width: int
    cost: str
    variance_source: str
    alpha: float
    alpha_ci: list[float]
    intercept: float
    r_squared: float
    trials: int
    points: list[Record]
    curve: list[Record]
    alike: list[int]
    primal: Record
    dual: Record
    check: list[Record] | None
    seconds: float

    def plot(self, ax: Any = None) -> Any:
        """The efficiency of every width with two standard errors, and the optimum by its own draws."""
        ax = _look.axes(ax, f"Efficiency of members of {self.baseline}", "width n of a member", "efficiency ρ", xscale="log")
        widths, efficiencies, errors = _columns(self.curve, "width", "efficiency", "efficiency_error")
        ax.errorbar(widths, efficiencies, [2 * error for error in errors], fmt="none", color=_look.PALETTE["variance"], linewidth=1.4)
        _look.line(ax, widths, efficiencies, "variance")
        _look.dots(ax, widths, efficiencies, "variance", f"{SOURCES[self.variance_source]}, two standard errors", size=5)
        _look.optimum(ax, self.dual.width, self.dual.efficiency, "variance", f"width {self.dual.width}, drawn again")
        _look.plain_ticks(ax)
        _look.legend(ax)
        return ax


def search(
    make: Make,
    widths: Iterable[int],
    inputs: torch.Tensor | tuple[torch.Tensor, ...] | Sequence[int],
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

    The width is chosen by one set of draws and judged by another, so that intervals hold for the
    width that was chosen. Modules run in evaluation mode; the inputs stay the same in all draws.

    Args:
        make: A function from the width n to the module, its weights drawn as it draws them.
        widths: The widths to draw, at least two.
        inputs: What the module takes, a batch of one or more: a tensor (ids of tokens too), a tuple
            of tensors where it takes several, or the shape of one, drawn from the standard normal law.
        cost: What a member is charged for: "params", "flops" (two per multiply-accumulate), or a
            function of the width and the module.
        variance: Where a member's variance comes from: "measured", so that the widths given are
            those compared, or the fitted "law", which knows all integers between.
        rule: How the primal meets the baseline's cost: "nearest" to it, or "under" it.
        baseline: The width of the module that is split; by default the widest of `widths`.
        check: Draw the baseline and both optima with all their members, and set the measured
            variances beside the predicted ones; needs a module that gives one tensor.
        draws: Initialisations of each in a check.
        trials: Draws per width, and as many again of the chosen width and of the baseline.
        seed: Seed of weights and inputs that are drawn.
        output: Picks the scalar whose kernel is meant; by default the first channel at the centre.
        fan_in_sum: The law's abscissa as a function of the width; by default the sum of inverse
            fan-ins of all weights with two dimensions or more.
        parametrisation: Gradients by the N(0, 1) weights ("ntk") or by the actual ones ("standard").
        device: Where it runs; by default on the CPU, or where the inputs are.
        progress: True for a bar, or a function of what is done and the total.
    """
    started = time.monotonic()
    # Generators can be read once only.
    widths = list(widths) if isinstance(widths, Iterable) else widths
    _check_types(make, widths, trials)
    grid = sorted(set(widths))
    reference = max(grid) if baseline is None else baseline
    if len(grid) < 2 or grid[0] < 1 or trials < 2:
        raise CollegialError(f"there are widths {grid} and {trials} trials; give at least two widths from 1 on, and two trials")
    if variance not in SOURCES:
        raise CollegialError(f"the variance is {variance!r}; take 'measured' or 'law'")
    if variance == "measured" and reference not in grid:
        raise CollegialError(f"the baseline of width {reference} is not among the widths {grid}; add it, or take variance='law'")
    examples = _inputs(inputs, seed, device)
    price, abscissa = Price(make, cost, examples), fan_in_sum or inverse_fan_ins(make)
    compared = grid if variance == "measured" else list(range(grid[0], max(grid[-1], reference) + 1))
    for width in grid:
        _try(make, width, examples, output, seed)
    costs = {width: price.of(width) for width in compared}
    sums = {width: abscissa(width) for width in compared}
    _refuse_constant(costs, {width: sums[width] for width in grid})
    options: dict[str, Any] = dict(trials=trials, seed=seed, output=output, parametrisation=parametrisation)
    with watching(progress) as callback:
        counter = _Counter(callback, (len(grid) + 2) * trials + (3 * draws if check else 0))
        measured = {width: _varying(width, moments(make, width, examples, step=counter, **options)) for width in grid}
        drawn_sums = {width: sums[width] for width in grid}
        law = Law(drawn_sums, measured)
        curve = _curve(variance, law, sums, drawn_sums, measured, costs, reference)
        points = curve.points()
        best = chosen_width(points, reference)
        again = lambda width: _varying(width, moments(make, width, examples, step=counter, first=trials, **options))
        before = again(reference)
        own = before if best == reference else again(best)
        choice = Choice(best, costs[best], own, costs[reference], before, best == reference)
        document = {
            "baseline": f"1x{reference}d",
            "baseline_width": reference,
            "cost": price.name,
            "variance_source": variance,
            **law.document(),
            "trials": trials,
            "points": [_point(width, sums[width], measured[width]) for width in grid],
            "baseline_cost": costs[reference],
            "baseline_variance": before.variance,
            "curve": points,
            "alike": alike(points, best),
            "primal": choice.primal(rule),
            "dual": choice.dual(),
            "check": None,
        }
        if check:
            options.update(trials=draws, seed=seed + 1, step=counter)
            document["check"] = _check(make, document, examples, options)
        counter.end()
    document["seconds"] = time.monotonic() - started
    return ModuleSearch(Kept(json.dumps(document), *shown(document)))


def _try(make: Make, width: int, inputs: Inputs, output: Output, seed: int) -> None:
    """One forward pass, so that what does not run is refused before anything is drawn."""
    shapes = ", ".join(str(tuple(tensor.shape)) for tensor in inputs)
    try:
        with torch.no_grad():
            unit = output(placed(drawn(make, width, seed, 0), inputs)(*(tensor[:1] for tensor in inputs)))
    except Exception as error:  # noqa: BLE001: a module may raise anything
        said = " ".join(str(error).split())[:160] or type(error).__name__
        raise CollegialError(
            f"the module of width {width} does not run on inputs of shape {shapes}: {said}; give inputs=, a tensor, or a tuple of "
            f"tensors where it takes several"
        ) from error
    if not isinstance(unit, torch.Tensor) or unit.dim() > 0 or not unit.is_floating_point():
        what = f"a tensor of shape {tuple(unit.shape)}" if isinstance(unit, torch.Tensor) else type(unit).__name__
        raise CollegialError(f"the output of the module of width {width} is {what}; give output=, which picks one number")


def _refuse_constant(costs: dict[int, float], sums: dict[int, float]) -> None:
    """A module that is the same at all widths is a whole layer, not one member of it."""
    if len(set(costs.values())) == 1:
        raise CollegialError(
            f"the module costs {next(iter(costs.values())):,.0f} at all widths; make one member of width n, such as one head of attention"
        )
    if len(set(sums.values())) == 1:
        raise CollegialError(f"the sum of inverse fan-ins is {next(iter(sums.values()))} at all widths; give fan_in_sum=, a function of the width")


def _varying(width: int, found: Moments) -> Moments:
    if not found.variance > 0.0:
        raise CollegialError(f"the kernel of the module of width {width} does not vary over its initialisations: there is nothing to compare")
    return found


def _curve(
    source: Source, law: Law, sums: dict[int, float], drawn_sums: dict[int, float], measured: dict[int, Moments],
    costs: dict[int, float], reference: int,
) -> Curve:  # fmt: skip
    if source == "measured":
        return Curve({width: (found.variance, found.standard_error) for width, found in measured.items()}, costs, reference)
    if law.alpha <= 0.0:
        raise CollegialError(f"the fitted law has alpha = {law.alpha:.3g}, so that variances do not fall with the width; take variance='measured'")
    return Curve({width: law.variance(total) for width, total in sums.items()}, costs, reference, law.misfit(drawn_sums, measured))


def _point(width: int, inverse_fan_ins: float, measured: Moments) -> dict[str, Any]:
    return {
        "width": width, "inverse_fan_in_sum": inverse_fan_ins, "second_moment_ratio": measured.ratio,
        "standard_error": measured.standard_error, "trials": measured.trials,
    }  # fmt: skip


def _check(make: Make, document: dict[str, Any], inputs: Inputs, options: dict[str, Any]) -> list[dict[str, Any]]:
    """The baseline and both optima, drawn with all their members."""
    predicted = {(1, document["baseline_width"]): document["baseline_variance"]}
    for problem in ("primal", "dual"):
        found = document[problem]
        predicted.setdefault((found["members"], found["width"]), found["variance"])
    return checked(make, list(predicted), list(predicted.values()), inputs, **options)


def _check_types(make: Any, widths: Any, trials: Any) -> None:
    """A sentence for what no search can begin with."""
    if isinstance(make, torch.nn.Module) or not callable(make):
        raise CollegialError(f"make is {make!r:.80}; give a function from the width to the module, whose weights it draws")
    if not isinstance(widths, list) or not all(isinstance(width, Integral) for width in widths):
        raise CollegialError(f"the widths are {widths!r:.80}; give whole numbers, such as [4, 8, 16]")
    if not isinstance(trials, Integral):
        raise CollegialError(f"there are {trials!r:.80} trials; give a whole number of at least 2")


def _inputs(inputs: Any, seed: int, device: torch.device | str | None) -> Inputs:
    if isinstance(inputs, torch.Tensor):
        inputs = (inputs,)
    elif isinstance(inputs, Iterable) and all(isinstance(length, int) for length in inputs):
        inputs = (torch.randn(1, *inputs, generator=torch.Generator().manual_seed(seed)),)
    if not isinstance(inputs, Sequence) or not inputs or not all(isinstance(tensor, torch.Tensor) and tensor.dim() > 0 for tensor in inputs):
        raise CollegialError(f"the inputs are {inputs!r:.80}; give a tensor, a tuple of tensors, or the shape of one")
    if len({tensor.shape[0] for tensor in inputs}) > 1:
        raise CollegialError(f"the inputs are batches of {[tensor.shape[0] for tensor in inputs]}; give as many of each")
    return tuple(tensor.detach() if device is None else tensor.detach().to(device) for tensor in inputs)


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
