"""What the functions return: the document that the command line prints with --json, as attributes."""

from __future__ import annotations

import itertools
import json
import math

from . import _look
from ._optional import need


class Record(dict):
    """A JSON object whose keys are attributes too."""

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"there is no {name!r} here; there are {', '.join(self)}") from None


class Result:
    """A document with the same names as the command line's JSON; prints as a table."""

    #: The key of the main table, or None where the document is one row.
    _main: str | None = None

    def __init__(self, answer):
        self._answer = answer
        self._json = answer.json()
        self._record = json.loads(self._json, object_hook=Record)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        # A key first: a document may have one that dicts have a method for.
        return self._record[name] if name in self._record else getattr(self._record, name)

    def __dir__(self):
        return [*super().__dir__(), *self._record]

    def __repr__(self):
        return self._answer.text().rstrip()

    def _repr_html_(self):
        return self._answer.html()

    def __eq__(self, other):
        return type(self) is type(other) and self._record == other._record

    def __reduce__(self):
        return type(self), (Kept(self._json, self._answer.text(), self._answer.html()),)

    def to_dict(self) -> dict:
        """The whole document as plain dicts and lists."""
        return json.loads(self._json)

    def tables(self) -> list[str]:
        """What `to_pandas` can be asked for."""
        return [key for key, value in self.to_dict().items() if value and isinstance(value, list) and isinstance(value[0], dict)]

    def to_pandas(self, table: str | None = None):
        """A table as a DataFrame.

        Args:
            table: Its name, one of `tables()`; by default the main one.
        """
        pandas = need("pandas", "to_pandas", "pandas")
        table = self._main if table is None else table
        if table is None:
            return pandas.DataFrame([self.to_dict()])
        if table not in self.tables():
            raise ValueError(f"there is no table {table!r} here; there are {', '.join(self.tables())}")
        return pandas.DataFrame(self._rows(table))

    def _rows(self, table):
        return self.to_dict()[table]


class Kept:
    """An answer that was pickled or copied: what it showed."""

    def __init__(self, document, text, html):
        self._forms = document, text, html

    def json(self):
        return self._forms[0]

    def text(self):
        return self._forms[1]

    def html(self):
        return self._forms[2]


class SearchResult(Result):
    """The best designs. `to_pandas()` gives the curve, `to_pandas("designs")` the baseline, both optima and their neighbours."""

    _main = "curve"
    baseline: str
    cost: str
    variance_source: str
    alpha: float | None
    primal: Record
    dual: Record
    nearby: list[Record]
    flat: Record | None
    evidence: Record | None
    curve: list[Record]
    seconds: float

    def tables(self) -> list[str]:
        """What `to_pandas` can be asked for."""
        return ["designs", *super().tables()]

    @property
    def designs(self) -> list[dict]:
        """The baseline, both optima and their neighbours, one dict each."""
        document = self.to_dict()
        prefix = "baseline_"
        baseline = {key.removeprefix(prefix): value for key, value in document.items() if key.startswith(prefix)}
        rows = [{"role": "baseline", "design": document["baseline"], **baseline}]
        for problem in ("primal", "dual"):
            rows.append({"role": "optimum", "problem": problem, **document[problem]})
            rows += [{"role": "nearby", **row} for row in document["nearby"] if row["problem"] == problem]
        return rows

    def pareto(self, frame: bool = False):
        """Designs that nothing allowed beats: whatever has less variance costs more.

        Every row says by which costs (`fronts`), and whether it is one of the optima (`primal`, `dual`).

        Args:
            frame: Whether to give a pandas DataFrame instead of a list of dicts.
        """
        if "pareto" not in self._record:
            raise ValueError("there are no such designs here: Algorithm 2 as printed gives one curve")
        return self.to_pandas("pareto") if frame else self.to_dict()["pareto"]

    def _rows(self, table):
        return self.designs if table == "designs" else super()._rows(table)

    def plot(self, ax=None, problem=None):
        """Both objectives over the width, as on the program's pages: the curve with a real-valued m, the region within
        one per cent of the best, designs with whole members, the baseline (a ring) and the optimum.

        `problem="dual"` shows only how many times cheaper designs of the baseline's variance are, which is also what given
        axes get, `"primal"` only the variance at its cost. Returns the last axes; both are in its figure.
        """
        if problem not in (None, "primal", "dual"):
            raise ValueError(f"problem is {problem!r}; it is 'primal' or 'dual', or None for both")
        if problem is None and ax is None:
            first, ax = _look.pair()
            self.plot(first, "primal")
        problem = problem or "dual"
        cost = self.cost.split(",")[0]
        unit = {"params": "parameters", "flops": "FLOPs"}.get(cost, cost)
        fewer = "less" if cost == "time" else "fewer"
        tone, key, title, name, scales = {
            "primal": ("cost", "primal_objective", "Kernel variance at the same cost", "kernel variance", {"yscale": "log"}),
            "dual": ("variance", "efficiency", f"Times {fewer} {unit} at the same variance", f"the baseline's {unit} over the design's", {}),
        }[problem]
        ax = _look.axes(ax, title, "width n of a member", name, xscale="log", **scales)
        flat = self._record.get("flat")
        if flat and flat.low < flat.high:
            ax.axvspan(flat.low, flat.high, color=_look.PALETTE["base"], alpha=0.12, linewidth=0, label=f"within {100 * flat.tolerance:.0f} %")
        points = [point for point in self.curve if problem == "dual" or point.primal_multiplicity >= 1]
        widths, values = _columns(points, "width", key)
        _look.line(ax, widths, values, tone, "real-valued m")
        best, value = self._record[problem], self._value(problem)
        others = [row for row in self.nearby if row.problem == problem]
        _look.dots(ax, [row.width for row in others], [value(row) for row in others], tone, "whole members")
        width = self._baseline_width()
        if width is not None:
            _look.ring(ax, width, self.baseline_variance if problem == "primal" else 1.0, "baseline", self.baseline)
        _look.optimum(ax, best.width, value(best), tone, best.design, lowest=problem == "primal")
        _look.plain_ticks(ax)
        _look.legend(ax)
        return ax

    def _value(self, problem):
        """A design's place on the vertical axis; with Algorithm 2 as printed rho is the block's."""
        if problem == "primal":
            return lambda row: row.variance
        at = {point.width: point for point in self.curve}

        def value(row):
            if "cost_ratio" in row:
                return row.cost_ratio
            point = at[row.width]
            return point.efficiency * point.dual_multiplicity / row.members

        return value

    def _baseline_width(self):
        """The width of the baseline's members, where one design is all of it."""
        return self._record.get("baseline_width")


class ScoreResult(Result):
    """A table of designs with their scores. `to_pandas()` gives one row per design, `to_pandas("correlations")` how scores rank errors."""

    _main = "rows"
    rows: list[Record]
    refused: list[Record]
    correlations: list[Record]
    slopes: list[Record]
    not_compared: list[Record]


class DrawsResult(Result):
    """Mean and variance over initialisations of a network's kernel; variances are over the mean squared."""

    model: str
    inputs: int
    norm: str
    readout: str
    draws: int
    mean: float
    mean_standard_error: float
    variance: float
    standard_error: float
    off_diagonal: Record | None
    seconds: float


class ModelsResult(Result):
    """Every name, by family. `to_pandas()` gives one row per model."""

    _main = "models"
    families: list[Record]
    models: list[Record]


class FitResult(Result):
    """Algorithm 1's result."""

    _main = "points"
    module: str
    alpha: float
    alpha_ci: list[float]
    intercept: float
    r_squared: float
    trials: int
    inputs: int
    points: list[Record]
    seconds: float

    def plot(self, ax=None):
        """The measured ratios with 95 % intervals, and the line."""
        title = f"Second moment of the kernel of {self.module}"
        ax = _look.axes(ax, title, "sum of inverse fan-ins S(n)", "ln(E[K²] / E[K]²)", xscale="log", yscale="log")
        sums, ratios, errors = _columns(self.points, "inverse_fan_in_sum", "second_moment_ratio", "standard_error")
        logarithms = [math.log(ratio) for ratio in ratios]
        bars = [1.96 * error / ratio for error, ratio in zip(errors, ratios)]
        ax.errorbar(sums, logarithms, bars, fmt="none", color=_look.PALETTE["drawn"], linewidth=1.4)
        _look.dots(ax, sums, logarithms, "drawn", "points, 95 %" if any(bars) else "exact")
        drawn = [total for total in sums if self.intercept + self.alpha * total > 0]
        _look.line(ax, drawn, [self.intercept + self.alpha * total for total in drawn], "law", f"fitted line, alpha = {self.alpha:.3f}", "--")
        _look.plain_ticks(ax)
        _look.legend(ax)
        return ax


class MomentsResult(Result):
    """Exact moments."""

    widths: list[int]
    members: int
    mean: float
    second_moment_ratio: float
    variance: float
    member_variance: float

    def plot(self, ax=None):
        """The variance over the number of members."""
        ax = _look.axes(ax, f"Kernel variance of members of widths {', '.join(map(str, self.widths))}", "members m", "Var[K] / E[K]²", yscale="log")
        members = range(1, max(2 * self.members, 10) + 1)
        _look.line(ax, members, [self.member_variance / count for count in members], "cost")
        _look.optimum(ax, self.members, self.variance, "cost", f"m = {self.members}")
        return ax


class InfoResult(Result):
    """Counts."""

    _main = "layers"
    model: str
    parameters: int
    flops: int
    activations: int
    layers: list[Record]
    spec: Record

    def plot(self, ax=None):
        """The parameters of every layer that has some."""
        ax = _look.axes(ax, f"Parameters of {self.model}", "parameters", "")
        layers = [layer for layer in self.layers if layer.parameters > 0]
        ax.barh([layer.name for layer in layers], [layer.parameters for layer in layers], color=_look.PALETTE["cost"])
        ax.invert_yaxis()
        return ax


class TrainResult(Result):
    """What training brought: every epoch of every run."""

    _main = "epochs"
    checkpoint: str
    model: str
    test_error: float | None
    runs: list[Record]
    summary: Record | None
    epochs: list[Record]

    def plot(self, ax=None):
        """Test and training error over the epochs, in per cent."""
        ax = _look.axes(ax, f"Error of {self.model}", "epoch", "error, %")
        tones = ["cost", "law", "variance", "drawn", "other", "base"]
        for run, tone in zip(self.runs, itertools.cycle(tones)):
            own = [epoch for epoch in self.epochs if epoch.seed == run.seed]
            numbers, test, train = _columns(own, "epoch", "test_error", "train_error")
            _look.line(ax, numbers, [100 * error for error in test], tone, f"test, seed {run.seed}")
            _look.line(ax, numbers, [100 * error for error in train], tone, f"training, seed {run.seed}", "--")
        _look.legend(ax)
        return ax


class EvaluateResult(Result):
    """Errors in all and by class."""

    _main = "classes"
    checkpoint: str
    model: str
    images: int
    loss: float
    test_error: float
    top5_error: float
    classes: list[Record]
    confusion: list[list[int]]

    def plot(self, ax=None):
        """The confusion matrix."""
        ax = _look.axes(ax, f"{self.model}: {100 * self.test_error:.2f} % test error", "guess", "true class")
        ax.imshow(self.confusion, cmap="Blues")
        ax.grid(False)
        return ax


class RegressResult(Result):
    """Errors of kernel regression. `to_pandas()` gives the ridges that were tried."""

    _main = "ridges"
    model: str
    inputs: int
    test_inputs: int
    readout: str
    ridge: float
    leave_one_out_error: float
    test_error: float
    test_error_ci: list[float]
    ridges: list[Record]
    seconds: float


class ExportResult(Result):
    """What was written."""

    model: str
    format: str
    path: str
    parameters: int
    bytes: int


class ValidateResult(Result):
    """Predicted variance and measured error of designs of equal cost."""

    model: str
    verdict: str
    sentence: str
    correlation: Record | None


class SweepResult(Result):
    """Mean test errors of networks. `to_pandas()` gives one row per network."""

    _main = "networks"
    data: str
    epochs: int
    networks: list[Record]


class StatusResult(Result):
    """How far the jobs of a plan are."""

    jobs: int
    done: int
    running: int
    stopped: int
    waiting: int
    failed: list[Record]
    missing: list[int]
    remaining_core_seconds: float | None
    remaining_seconds: float | None


class GatherResult(Result):
    """What the finished jobs of a plan come to: `answer` is that of the request, None where some network has no finished training."""

    complete: bool
    status: Record
    answer: Record | None


class ReproduceResult(Result):
    """Published and obtained, item by item."""

    _main = "items"
    scale: str
    fails: bool
    items: list[Record]


def _columns(records, *names):
    return [[record[name] for record in records] for name in names]
