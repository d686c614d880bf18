"""The verbs as functions. Each asks the question that the command line would ask, in the same words."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, Union

from . import _collegial
from ._progress import watching
from ._results import FitResult, InfoResult, MomentsResult, SearchResult
from ._spec import Spec
from ._words import command, model_word

if TYPE_CHECKING:
    import numpy

Model = Union[str, "os.PathLike[str]", dict, Spec]
Path = Union[str, "os.PathLike[str]"]
Progress = Union[bool, Callable[[float, float], object], None]


def search(
    model: Model,
    alpha: float | None = None,
    cost: Literal["params", "flops", "activations", "time"] = "params",
    variance: Literal["law", "measured", "exact"] | None = None,
    rule: Literal["nearest", "under"] | None = None,
    *,
    paper: bool = False,
    block_inputs: Literal["network", "white"] = "network",
    budget: int | None = None,
    widths: Iterable[int] | str | None = None,
    multiple_of: int | None = None,
    max_multiplicity: int | None = None,
    free_widths: bool = False,
    per_stage: bool = False,
    trials: int | None = None,
    precision: float | None = None,
    report: Path | None = None,
    figures: Path | None = None,
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
) -> SearchResult:
    """The best integer designs m x n in place of a baseline: same cost and least variance, or same variance and least cost.

    The variance is the mean kernel variance of the network's blocks at initialisation, computed exactly. `paper=True` is Algorithm 2 as
    printed, on one block with a fitted law; alpha, trials, variance="law" or "measured", free_widths, per_stage and cost="time" imply it. `report` writes a self-contained page, `figures` a directory of SVG files.
    """
    words = command(
        "search", model, alpha=alpha, cost=cost, variance=variance, rule=rule, paper=paper, block_inputs=block_inputs,
        budget=budget, widths=widths,
        multiple_of=multiple_of, max_multiplicity=max_multiplicity, free_widths=free_widths, per_stage=per_stage,
        trials=trials, precision=precision, report=report, figures=figures, classes=classes, inputs=inputs,
        outputs=outputs, image=image, seed=seed, threads=threads,
    )
    with watching(progress) as callback:
        return SearchResult(*_collegial.ask(words, callback))


def fit(
    module: Model,
    widths: Iterable[int] | str | None = None,
    trials: int = 2000,
    seed: int = 0,
    *,
    precision: float | None = None,
    pooled: bool = False,
    weighted: bool = False,
    intercept: bool = True,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> FitResult:
    """alpha of a module's variance law, by drawing its kernel at several widths (Algorithm 1)."""
    words = command(
        "fit", module, widths=widths, trials=trials, seed=seed, precision=precision, pooled=pooled, weighted=weighted,
        no_intercept=not intercept, inputs=inputs, outputs=outputs, image=image, threads=threads,
    )
    with watching(progress) as callback:
        return FitResult(*_collegial.ask(words, callback))


def moments(model: Model | None = None, *, widths: Iterable[int] | str | None = None) -> MomentsResult:
    """Exact mean and variance of the kernel of a fully connected ReLU network, or of `widths`, the input's first."""
    return MomentsResult(*_collegial.ask(command("moments", model, widths=widths)))


def info(
    model: Model,
    *,
    batch: int | None = None,
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
) -> InfoResult:
    """Parameters, FLOPs and activations, per layer and in all."""
    words = command("info", model, batch=batch, classes=classes, inputs=inputs, outputs=outputs, image=image)
    return InfoResult(*_collegial.ask(words))


def ntk(
    model: Model,
    inputs: numpy.ndarray | None = None,
    count: int | None = None,
    seed: int = 0,
    weights: Path | None = None,
    *,
    parametrisation: Literal["ntk", "standard"] | None = None,
    norms: Literal["none", "frozen"] | None = None,
    output: int | None = None,
    trace: bool = False,
    pooled: bool = False,
    threads: int | None = None,
) -> numpy.ndarray:
    """The empirical tangent kernel, N x N, between N inputs (or `count` standard normal ones), at drawn weights or at those of
    a safetensors file. Give the model as `Spec(name, classes=...)` where its name leaves something open."""
    if inputs is not None and count is not None:
        raise _collegial.CollegialError("both inputs and a count of inputs to draw were given; leave one of them out")
    words = command(
        "ntk", model, count=count, seed=seed, weights=weights, parametrisation=parametrisation, norms=norms, output=output,
        trace=trace, pooled=pooled, threads=threads,
    )
    return _from_npy(_collegial.kernel(words, None if inputs is None else _to_npy(inputs)))


def forward(
    model: Model, weights: Path | None, inputs: numpy.ndarray, *, seed: int = 0, threads: int | None = None
) -> numpy.ndarray:
    """The outputs (logits) of a network, inputs x outputs, computed by our engine: with the weights of a checkpoint, or, where that is
    None, with those that training from `seed` starts with. Norms use their running statistics."""
    return _from_npy(_collegial.forward(model_word(model), weights, _to_npy(inputs), seed, threads))


def _to_npy(array):
    import numpy

    file = io.BytesIO()
    numpy.save(file, numpy.ascontiguousarray(array, dtype="<f4"))
    return file.getvalue()


def _from_npy(content):
    import numpy

    return numpy.load(io.BytesIO(content))
