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

    _main: str | None = None

    def __init__(self, document: str, text: str, html: str):
        self._json, self._text, self._html = document, text, html
        self._record = json.loads(document, object_hook=Record)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._record, name)

    def __dir__(self):
        return [*super().__dir__(), *self._record]

    def __repr__(self):
        return self._text.rstrip()

    def _repr_html_(self):
        return self._html

    def __eq__(self, other):
        return type(self) is type(other) and self._record == other._record

    def to_dict(self) -> dict:
        """The whole document as plain dicts and lists."""
        return json.loads(self._json)

    def to_pandas(self):
        """The main table as a DataFrame."""
        pandas = need("pandas", "to_pandas", "pandas")
        document = self.to_dict()
        return pandas.DataFrame([document] if self._main is None else document[self._main])


class SearchResult(Result):
    """Algorithm 2's answer."""

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

    def plot(self, ax=None):
        """The efficiency of every width, with the optimum."""
        ax = _axes(ax)
        widths, efficiencies = _columns(self.curve, "width", "efficiency")
        ax.plot(widths, efficiencies)
        ax.plot([self.dual.width], [self.dual.efficiency], "o", label=f"{self.primal.design} primal, {self.dual.design} dual")
        ax.set(xlabel="width n of a member", ylabel="efficiency rho", title=self.baseline, xscale="log")
        ax.legend()
        return ax


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


def _axes(ax):
    return need("matplotlib.pyplot", "plot", "plot").subplots()[1] if ax is None else ax


def _columns(records, *names):
    return [[record[name] for record in records] for name in names]
