"""What can be asked of a network as it stands, as functions: its best designs, variances, counts,
kernels and outputs."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from . import _collegial
from ._collegial import CollegialError
from ._jobs import renewed, run_calls
from ._progress import watching
from ._request import call, defaults, floats, model_text, request, widths_of
from ._results import (
    DrawsResult,
    FitResult,
    InfoResult,
    ModelsResult,
    MomentsResult,
    RegressResult,
    ScoreResult,
    SearchResult,
)
from ._types import Executor, Model, Path, Progress

if TYPE_CHECKING:
    import numpy
    from typing_extensions import Unpack


def search(
    model: Model,
    alpha: float | None = None,
    cost: Literal["params", "flops", "activations", "time"] = "params",
    variance: Literal["law", "measured", "exact"] | None = None,
    rule: Literal["nearest", "under"] | None = None,
    *,
    paper: bool = False,
    block_inputs: Literal["network", "white"] = "network",
    data: Path | None = None,
    budget: int | str | None = None,
    timings: Path | None = None,
    widths: Iterable[int] | str | None = None,
    multiple_of: int | None = None,
    max_multiplicity: int | None = None,
    free_widths: bool = False,
    per_stage: bool = False,
    check: bool = False,
    draws: int | None = None,
    norm: Literal["none", "frozen", "batch"] | None = None,
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

    The variance is the mean kernel variance of the network's blocks at initialisation, computed exactly. `paper=True` is
    Algorithm 2 as printed, on one block with a fitted law; `alpha`, `trials` and `variance="law"` or `"measured"` imply it.

    Args:
        model: The baseline: a name, the path or text of a spec, a dict, a `Spec`, or a checkpoint.
        alpha: Alpha of the variance law; fitted on the spot where it is not given.
        cost: What is charged for: trainable parameters, floating-point operations, activations, or the measured time of a
            training step of the whole network on this machine.
        variance: Where the variance comes from: the fitted law, a measurement at every width, or theory. By default
            theory where it has a closed form, else draws.
        rule: How the primal meets the budget. By default it stays under it, and is the nearest to it as printed.
        paper: Algorithm 2 as printed: the law on one block, real-valued m, then the integer correction.
        block_inputs: What the blocks of a network see: what the network really passes on, or white patches.
        data: Directory of a data set whose images come in, in place of natural ones; class count and image size are the data
            set's.
        budget: What the whole network may cost, a number or text such as "25.6M"; what the baseline costs where it is
            not given.
        timings: A CSV file of times measured elsewhere, for `cost="time"`, with columns `model` (the baseline and other designs)
            and `seconds`.
        widths: Widths to look at, as numbers or as text such as "8..128:8"; all up to the baseline's by default.
        multiple_of: Only widths that are a multiple of this, such as 8 for hardware.
        max_multiplicity: At most this many members.
        free_widths: Also look at members with two widths, into and out of their middle convolution.
        per_stage: Also look at one design per stage, each stage keeping its cost, and with cost moved between stages.
        check: Draw the whole network's kernel for the baseline and both optima, beside what the score says.
        draws: Initialisations of every network in a check (100 by default).
        norm: What becomes of batch norms in a check; by default they are removed.
        trials: Draws per width when alpha is fitted (2000 by default).
        precision: Standard error of every measured variance, as a share of it (0.01 by default).
        report: Write a self-contained HTML page to this path.
        figures: Write the figures as SVG files, with their data as CSV, into this directory.
        classes: Number of classes, where the name leaves it open.
        inputs: Inputs of a fully connected network, or input channels of a block.
        outputs: Outputs of a fully connected network, or output channels of a block.
        image: Side of the square images.
        seed: Seed of everything random.
        threads: Number of threads; one per core by default. Results do not depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    fields = dict(
        alpha=alpha, cost=cost, variance=variance, rule=rule, paper=paper, block_inputs=block_inputs, data=data, budget=budget, timings=timings, widths=widths_of(widths), multiple_of=multiple_of,
        max_multiplicity=max_multiplicity, free_widths=free_widths, per_stage=per_stage, check=check, draws=draws, norm=norm, trials=trials,
        precision=precision, classes=classes, inputs=inputs, outputs=outputs, image=image, seed=seed,
    )  # fmt: skip
    with watching(progress) as callback:
        answer = _collegial.ask("search", request(model, **fields), threads, callback)
    if report is not None:
        answer.write_page(os.fspath(report), call("search", model, fields, defaults(search)))
    if figures is not None:
        answer.write_figures(os.fspath(figures))
    return SearchResult(answer)


def score(
    table: Path,
    target: str | Iterable[str] = (),
    group: str | Iterable[str] = (),
    *,
    report: Path | None = None,
    figures: Path | None = None,
    seed: int = 0,
) -> ScoreResult:
    """Scores a table of designs, and says how the scores rank its columns of errors.

    Every row gets its exact score (the mean kernel variance of its blocks at initialisation, with what the blocks see and with white
    inputs), the paper's law, parameters, FLOPs and inner width m n.

    Args:
        table: A CSV file with one network per row, in a column `model` (a name, a spec, a run, a checkpoint, a safetensors or ONNX
            file), in columns `depth`, `m`, `n`, or in columns `blocks`, `outputs`, `m`, `n` with one number per stage joined by
            hyphens; or a JSON file of sampled models. A row whose column `left_out` gives a reason is listed, not scored.
        target: Columns of errors: rank correlations of every predictor with each of them, with bootstrap intervals.
        group: Columns whose values together part the rows into groups, such as a training recipe; correlations are within groups.
        report: Write a self-contained HTML page to this path.
        figures: Write the figures as SVG files, with their data as CSV, into this directory.
        seed: Seed of the bootstrap.
    """
    fields = dict(target=_listed(target), group=_listed(group), seed=seed)
    answer = _collegial.ask("score", request(table=table, **fields))
    if report is not None:
        answer.write_page(os.fspath(report), call("score", table, fields, defaults(score)))
    if figures is not None:
        answer.write_figures(os.fspath(figures))
    return ScoreResult(answer)


def _listed(names):
    return [names] if isinstance(names, str) else list(names)


def fit(
    module: Model,
    widths: Iterable[int] | str | None = None,
    trials: int | None = None,
    seed: int = 0,
    *,
    precision: float | None = None,
    pooled: bool = False,
    weighted: bool = False,
    intercept: bool = True,
    figures: Path | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> FitResult:
    """Alpha of a module's variance law, fitted to its kernel at several widths (Algorithm 1).

    Args:
        module: A name, the path or text of a spec, a dict or a `Spec`; of a network the block of its first stage is taken.
        widths: Widths to measure, as numbers or as text such as "1,16..256:16".
        trials: Draws per width (T), as the paper prints it. By default moments are exact where there is a closed form, and half a
            second of draws is taken elsewhere.
        seed: Seed of the input and of all weights.
        precision: Draw until alpha's 95 % interval is within this share of alpha, such as 0.02.
        pooled: The kernel of the output averaged over all positions instead of one position's.
        weighted: Weigh points by their standard errors (the paper weighs all alike).
        intercept: Whether the line has an intercept (the paper's has).
        figures: Write the figures as SVG files, with their data as CSV, into this directory.
        inputs: Inputs of a fully connected network, or input channels of a block.
        outputs: Outputs of a fully connected network, or output channels of a block.
        image: Side of the square images.
        executor: Who draws `trials`: a number of processes, any `concurrent.futures.Executor`, or a function that makes one and is called
            again when it breaks; the result is that of one process to the bit. By default this process.
        threads: Number of threads; one per core by default, and one on an executor. Results do not depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    line = dict(weighted=weighted, no_intercept=not intercept)
    fields = dict(
        widths=widths_of(widths), trials=trials, seed=seed, precision=precision, pooled=pooled, inputs=inputs, outputs=outputs, image=image,
    )  # fmt: skip
    with watching(progress) as callback:
        if executor is None:
            answer = _collegial.ask("fit", request(module, **fields, **line), threads, callback)
        else:
            answer = _fit_on(executor, module, fields, line, threads, callback)
    if figures is not None:
        answer.write_figures(os.fspath(figures))
    return FitResult(answer)


#: Shares of a fit on an executor whose number of workers is not known.
FIT_SHARES = 32


def _fit_on(executor, module, fields, line, threads, progress):
    """Draws in shares, one call each, and joins them."""
    if fields["trials"] is None or fields["precision"] is not None:
        raise CollegialError("fit on an executor needs trials=, the draws to be shared out, and no precision=")
    count = executor if isinstance(executor, int) else FIT_SHARES
    shares = [(request(module, **fields, shard=f"{index}/{count}"), threads or 1) for index in range(1, count + 1)]
    with renewed(executor) as pool:
        drawn = run_calls(pool, _collegial.shard, shares, progress)
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, f"{index}.json") for index in range(count)]
        for path, share in zip(files, drawn):
            with open(path, "w", encoding="utf-8") as file:
                file.write(share)
        return _collegial.ask("merge", request(files=files, **line))


def moments(model: Model | None = None, *, widths: Iterable[int] | str | None = None) -> MomentsResult:
    """Exact mean and variance of the kernel of a fully connected ReLU network, without sampling.

    Args:
        model: A fully connected model such as "fc6-500" or "fc6-30x48".
        widths: Widths in place of a model, the input's first.
    """
    return MomentsResult(_collegial.ask("moments", request(model, widths=widths_of(widths))))


def models() -> ModelsResult:
    """Every model that is known by name, by family, with its counts."""
    return ModelsResult(_collegial.ask("models", request(None)))


def info(
    model: Model,
    *,
    batch: int | None = None,
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
) -> InfoResult:
    """Parameters, FLOPs and activations, per layer and in all.

    Args:
        model: A name, the path or text of a spec, a dict, a `Spec`, or a checkpoint.
        batch: Images per training step, for the bytes it needs (128 by default).
        classes: Number of classes, where the name leaves it open.
        inputs: Inputs of a fully connected network, or input channels of a block.
        outputs: Outputs of a fully connected network, or output channels of a block.
        image: Side of the square images.
    """
    question = request(model, batch=batch, classes=classes, inputs=inputs, outputs=outputs, image=image)
    return InfoResult(_collegial.ask("info", question))


class KernelOptions(TypedDict, total=False):
    """The options of `ntk`, which explains them."""

    parametrisation: Literal["ntk", "standard"] | None
    norms: Literal["none", "frozen", "batch"] | None
    output: int | None
    trace: bool
    pooled: bool
    data: Path | None
    split: Literal["test", "train"] | None
    batch: int | None
    full: bool
    diagonal: bool
    out: Path | None
    memory: int | str | None
    executor: Executor
    threads: int | None
    progress: Progress


@overload
def ntk(
    model: Model, inputs: numpy.ndarray | None = None, count: int | None = None, seed: int = 0, weights: Path | None = None, *,
    draws: None = None, **options: Unpack[KernelOptions],
) -> numpy.ndarray: ...  # fmt: skip


@overload
def ntk(
    model: Model, inputs: numpy.ndarray | None = None, count: int | None = None, seed: int = 0, weights: Path | None = None, *,
    draws: int, **options: Unpack[KernelOptions],
) -> DrawsResult: ...  # fmt: skip


def ntk(
    model: Model,
    inputs: numpy.ndarray | None = None,
    count: int | None = None,
    seed: int = 0,
    weights: Path | None = None,
    *,
    parametrisation: Literal["ntk", "standard"] | None = None,
    norms: Literal["none", "frozen", "batch"] | None = None,
    output: int | None = None,
    trace: bool = False,
    pooled: bool = False,
    data: Path | None = None,
    split: Literal["test", "train"] | None = None,
    draws: int | None = None,
    batch: int | None = None,
    full: bool = False,
    diagonal: bool = False,
    out: Path | None = None,
    memory: int | str | None = None,
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> numpy.ndarray | DrawsResult:
    """The empirical tangent kernel, N x N, between N inputs, at drawn weights or at those of a file.

    With `draws` it is drawn anew so many times, and a `DrawsResult` has the mean and the variance of its entries, with standard errors.
    With `out` it is computed in tiles that go to a .npy file, which is returned as a memory map; the same call goes on
    where it was stopped or killed.

    Args:
        model: A name, the path or text of a spec, a dict, a `Spec`, or a checkpoint. Give it as
            `Spec(name, classes=...)` where its name leaves something open.
        inputs: N x channels x height x width, or N x anything of that many values.
        count: How many standard normal inputs to draw in their place (4 by default, 2 with `draws`), or how many images of `data`.
        seed: Seed of weights and inputs that are drawn.
        weights: A safetensors file or a checkpoint; drawn where it is not given.
        parametrisation: Gradients by the N(0, 1) weights or by the actual ones. By default the first; of given
            weights those they were trained by.
        norms: What becomes of batch norms: removed, frozen at their running statistics, or (with `draws`) over the batch of inputs.
            By default the first; of given weights the second.
        output: Which output, from 0.
        trace: The sum of the kernels of all outputs.
        pooled: Outputs averaged over all positions instead of one position's.
        data: Directory of a data set whose first images are the inputs.
        split: Which images of `data`.
        draws: Mean and variance over this many initialisations, with seeds from `seed` on, instead of one kernel.
        batch: Images of the batch that norms see in each of `draws`, the inputs first; by default the inputs alone.
        full: Every output with every output: N C x N C, rows ordered by input and then by output.
        diagonal: K(x, x) only.
        out: A .npy file for the kernel. `out` + ".tiles" keeps a journal of its finished tiles.
        memory: Bytes that tiles may take, or text such as "4G"; by default half of what is free.
        executor: Who computes the tiles of `out`: a number of processes, or any `concurrent.futures.Executor` whose workers
            see the same files.
        threads: Number of threads; one per core by default, one of each worker's. Results do not depend on it.
        progress: Of `draws`: True for a bar, or a callable that is given how much is done and of how much.
    """
    fields: dict[str, Any] = dict(
        count=count, seed=seed, weights=weights, parametrisation=parametrisation, norms=norms, output=output, trace=trace,
        pooled=pooled, data=data, split=split, draws=draws, batch=batch, full=full, diagonal=diagonal, out=out, memory=memory,
    )  # fmt: skip
    array = None if inputs is None else floats(inputs)
    if draws is not None:
        if executor is not None:
            raise CollegialError("executor= computes the tiles of a file, not draws=: leave one of them out")
        with watching(progress) as callback:
            return DrawsResult(_collegial.draws(request(model, **fields), array, threads, callback))
    if batch is not None:
        raise CollegialError("batch= is that of draws=: give draws= as well")
    if executor is not None:
        if out is None:
            raise CollegialError("executor= computes the tiles of a file: give out=")
        # A worker may be in another directory.
        files = {name: os.path.abspath(fields[name]) for name in ("out", "data", "weights") if fields[name] is not None}
        calls = [(model_text(model), fields | files, array, threads or 1, number) for number in range(1, TILE_SHARES + 1)]
        with renewed(executor) as pool:
            run_calls(pool, _share, calls)
    # After others' work it checks every tile, and computes what is missing.
    kernel = _collegial.ntk(request(model, **fields), array, threads)
    if kernel is not None:
        return kernel
    import numpy

    return numpy.load(fields["out"], mmap_mode="r")


def regress(
    model: Model,
    data: Path,
    count: int | None = None,
    *,
    test_count: int | None = None,
    seed: int = 0,
    weights: Path | None = None,
    parametrisation: Literal["ntk", "standard"] | None = None,
    norms: Literal["none", "frozen"] | None = None,
    output: int | None = None,
    trace: bool = False,
    out: Path | None = None,
    memory: int | str | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> RegressResult:
    """How well the tangent kernel itself predicts the classes of a data set, by kernel ridge regression.

    The ridge is chosen by leave-one-out in closed form.

    Args:
        model: A name, the path or text of a spec, a dict, a `Spec`, or a checkpoint. Classes and image size are the data set's.
        data: Directory of the data set.
        count: Training images, the first ones (1000 by default).
        test_count: Test images, the first ones; as many by default, or all that there are.
        seed: Seed of weights that are drawn.
        weights: A safetensors file or a checkpoint; drawn where it is not given.
        parametrisation: Gradients by the N(0, 1) weights or by the actual ones. By default the first; of given
            weights those they were trained by.
        norms: What becomes of batch norms: removed, or frozen at their running statistics. By default the first; of
            given weights the second.
        output: Whose kernel it is: which output's, from 0.
        trace: The sum of the kernels of all outputs.
        out: A .npy file for the kernel: a row per image, training images first, a column per training image.
        memory: Bytes that tiles may take, or text such as "4G"; by default half of what is free.
        threads: Number of threads; one per core by default. Results do not depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    question = request(
        model, regress=True, data=data, count=count, test_count=test_count, seed=seed, weights=weights,
        parametrisation=parametrisation, norms=norms, output=output, trace=trace, out=out, memory=memory,
    )  # fmt: skip
    with watching(progress) as callback:
        return RegressResult(_collegial.ask("regress", question, threads, callback))


#: Tasks that an executor is given for a kernel's tiles.
TILE_SHARES = 16


def _share(model, fields, inputs, threads, number):
    """What a worker does: a share of the tiles."""
    _collegial.ntk(request(model, tiles=f"{number}/{TILE_SHARES}", **fields), inputs, threads)


def forward(
    model: Model, weights: Path | None, inputs: numpy.ndarray, *, seed: int = 0, threads: int | None = None
) -> numpy.ndarray:
    """The outputs (logits) of a network, inputs x outputs, computed by our engine. Norms use their running statistics.

    Args:
        model: A name, the path or text of a spec, a dict, a `Spec`, or a checkpoint.
        weights: A checkpoint, or None for the weights that training from `seed` starts with.
        inputs: N x channels x height x width, or N x anything of that many values.
        seed: Seed of the weights.
        threads: Number of threads; one per core by default.
    """
    return _collegial.forward(request(model, weights=weights, seed=seed), floats(inputs), threads)
