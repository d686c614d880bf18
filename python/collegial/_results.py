"""What the functions return: the document that the command line prints with --json, as attributes."""

from __future__ import annotations

import json
import math

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
        """A table as a DataFrame: the main one, or the one of this name (`tables()` lists them)."""
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
            rows.append({"role": "optimum", "problem": problem, **_numbered(document[problem])})
            near = [row for row in document["nearby"] if row["problem"] == problem]
            rows += [{"role": "nearby", **_numbered(row)} for row in near]
        return rows

    def _rows(self, table):
        return self.designs if table == "designs" else super()._rows(table)

    def plot(self, ax=None):
        """The efficiency of every width, with the optimum."""
        ax = _axes(ax)
        widths, efficiencies = _columns(self.curve, "width", "efficiency")
        ax.plot(widths, efficiencies)
        ax.plot([self.dual.width], [self.dual.efficiency], "o", label=f"{self.primal.design} primal, {self.dual.design} dual")
        ax.set(xlabel="width n of a member", ylabel="efficiency rho", title=self.baseline, xscale="log")
        ax.legend()
        return ax


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
    points: list[Record]
    seconds: float

    def plot(self, ax=None):
        """The measured ratios with two standard errors, and the line."""
        ax = _axes(ax)
        sums, ratios, errors = _columns(self.points, "inverse_fan_in_sum", "second_moment_ratio", "standard_error")
        logarithms = [math.log(ratio) for ratio in ratios]
        ax.errorbar(sums, logarithms, [2 * error / ratio for error, ratio in zip(errors, ratios)], fmt="o", markersize=3)
        ends = [min(sums), max(sums)]
        ax.plot(ends, [self.intercept + self.alpha * end for end in ends], label=f"alpha = {self.alpha:.3f}")
        ax.set(xlabel="sum of inverse fan-ins", ylabel="ln(E[K^2] / E[K]^2)", title=self.module)
        ax.legend()
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
        ax = _axes(ax)
        members = range(1, max(2 * self.members, 10) + 1)
        ax.plot(members, [self.member_variance / count for count in members])
        ax.plot([self.members], [self.variance], "o")
        ax.set(xlabel="members m", ylabel="Var[K] / E[K]^2", title=",".join(map(str, self.widths)), yscale="log")
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
        ax = _axes(ax)
        layers = [layer for layer in self.layers if layer.parameters > 0]
        ax.barh([layer.name for layer in layers], [layer.parameters for layer in layers])
        ax.invert_yaxis()
        ax.set(xlabel="parameters", title=self.model)
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
        ax = _axes(ax)
        for run in self.runs:
            own = [epoch for epoch in self.epochs if epoch.seed == run.seed]
            numbers, test, train = _columns(own, "epoch", "test_error", "train_error")
            ax.plot(numbers, [100 * error for error in test], label=f"test, seed {run.seed}")
            ax.plot(numbers, [100 * error for error in train], "--", label=f"training, seed {run.seed}")
        ax.set(xlabel="epoch", ylabel="error, %", title=self.model)
        ax.legend()
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
        ax = _axes(ax)
        ax.imshow(self.confusion)
        ax.set(xlabel="guess", ylabel="true class", title=f"{self.model}: {100 * self.test_error:.2f} % error")
        return ax


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


class ReproduceResult(Result):
    """Published and obtained, item by item."""

    _main = "items"
    scale: str
    fails: bool
    items: list[Record]


def _axes(ax):
    return need("matplotlib.pyplot", "plot", "plot").subplots()[1] if ax is None else ax


def _columns(records, *names):
    return [[record[name] for record in records] for name in names]


def _numbered(row):
    """A design's row with m and n as numbers of their own."""
    members, _, width = row["design"].removesuffix("d").partition("x")
    whole = {"members": int(members), "width": int(width)} if members.isdigit() and width.isdigit() else {}
    return {**row, **whole}
