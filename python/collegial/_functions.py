"""The verbs as functions: requests go in as data, answers come out."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, Union

from . import _collegial
from ._progress import every_epoch, watching
from ._request import call, request
from ._results import (
    EvaluateResult,
    ExportResult,
    FitResult,
    InfoResult,
    ModelsResult,
    MomentsResult,
    ReproduceResult,
    SearchResult,
    TrainResult,
    ValidateResult,
)
from ._spec import Spec

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
        alpha=alpha, cost=cost, variance=variance, rule=rule, paper=paper, block_inputs=block_inputs, data=data, budget=budget, timings=timings, widths=_list(widths), multiple_of=multiple_of,
        max_multiplicity=max_multiplicity, free_widths=free_widths, per_stage=per_stage, check=check, draws=draws, norm=norm, trials=trials,
        precision=precision, classes=classes, inputs=inputs, outputs=outputs, image=image, seed=seed,
    )  # fmt: skip
    with watching(progress) as callback:
        answer = _collegial.ask("search", request(model, **fields), threads, callback)
    if report is not None:
        answer.write_page(os.fspath(report), call("search", model, fields, _defaults(search)))
    if figures is not None:
        answer.write_figures(os.fspath(figures))
    return SearchResult(answer)


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
        threads: Number of threads; one per core by default. Results do not depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    question = request(
        module, widths=_list(widths), trials=trials, seed=seed, precision=precision, pooled=pooled, weighted=weighted,
        no_intercept=not intercept, inputs=inputs, outputs=outputs, image=image,
    )  # fmt: skip
    with watching(progress) as callback:
        answer = _collegial.ask("fit", question, threads, callback)
    if figures is not None:
        answer.write_figures(os.fspath(figures))
    return FitResult(answer)


def moments(model: Model | None = None, *, widths: Iterable[int] | str | None = None) -> MomentsResult:
    """Exact mean and variance of the kernel of a fully connected ReLU network, without sampling.

    Args:
        model: A fully connected model such as "fc6-500" or "fc6-30x48".
        widths: Widths in place of a model, the input's first.
    """
    return MomentsResult(_collegial.ask("moments", request(model, widths=_list(widths))))


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
    data: Path | None = None,
    split: Literal["test", "train"] | None = None,
    threads: int | None = None,
) -> numpy.ndarray:
    """The empirical tangent kernel, N x N, between N inputs, at drawn weights or at those of a file.

    Args:
        model: A name, the path or text of a spec, a dict, a `Spec`, or a checkpoint. Give it as
            `Spec(name, classes=...)` where its name leaves something open.
        inputs: N x channels x height x width, or N x anything of that many values.
        count: How many standard normal inputs to draw in their place (4 by default), or how many images of `data`.
        seed: Seed of weights and inputs that are drawn.
        weights: A safetensors file or a checkpoint; drawn where it is not given.
        parametrisation: Gradients by the N(0, 1) weights or by the actual ones. By default the first; of given
            weights those they were trained by.
        norms: What becomes of batch norms: removed, or frozen at their running statistics. By default the first; of
            given weights the second.
        output: Which output, from 0.
        trace: The sum of the kernels of all outputs.
        pooled: Outputs averaged over all positions instead of one position's.
        data: Directory of a data set whose first images are the inputs.
        split: Which images of `data`.
        threads: Number of threads; one per core by default. Results do not depend on it.
    """
    question = request(
        model, count=count, seed=seed, weights=weights, parametrisation=parametrisation, norms=norms, output=output,
        trace=trace, pooled=pooled, data=data, split=split,
    )  # fmt: skip
    return _collegial.ntk(question, None if inputs is None else _floats(inputs), threads)


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
    return _collegial.forward(request(model, weights=weights, seed=seed), _floats(inputs), threads)


def train(
    model: Model,
    data: Path,
    *,
    out: Path | None = None,
    resume: bool = False,
    recipe: str | None = None,
    set: dict[str, object] | Iterable[str] = (),
    epochs: int | None = None,
    limit: int | None = None,
    runs: int = 1,
    save_every: int | None = None,
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
    on_epoch: Callable[[dict], object] | None = None,
) -> TrainResult:
    """Trains a network on a data set and tests it after every epoch.

    Ctrl-C saves a checkpoint and raises KeyboardInterrupt; the same call with `resume=True` goes on and ends with the same
    weights to the bit. What is going on is told to the logger "collegial".

    Args:
        model: A name, the path or text of a spec, a dict or a `Spec`. Classes and image size are the data set's.
        data: Directory of the data set (MNIST, CIFAR binary version, downsampled ImageNet, class folders).
        out: Directory of the run: checkpoints, recipe, results, TensorBoard events ("runs/MODEL-DATA" by default).
        resume: Go on from the newest checkpoint of `out`, or begin if there is none.
        recipe: "cifar10", "cifar100", "mnist", "imagenet32", "imagenet64", "imagenet", or a TOML file; the data set's
            by default.
        set: Changes to the recipe: {"learning_rate": 0.05, "schedule.milestones": [5, 8]}, or "key=value" texts.
        epochs: Epochs in all; the recipe's by default.
        limit: Train on the first images only.
        runs: Train several times, with seeds from `seed` on.
        save_every: Save a checkpoint every so many steps too, not only every ten minutes and after every epoch.
        classes: Number of classes; must be the data set's.
        inputs: Inputs of a fully connected network; must be the data set's.
        outputs: Outputs of a fully connected network; must be the data set's.
        image: Side of the square images; must be the data set's.
        seed: Seed of weights, order and augmentation.
        threads: Number of threads; one per core by default. Results do not depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
        on_epoch: Called with the results of every epoch as soon as it is done.
    """
    question = request(
        model, data=data, out=out, resume=resume, recipe=recipe, set=_changes(set), epochs=epochs, limit=limit,
        runs=runs, save_every=save_every, classes=classes, inputs=inputs, outputs=outputs, image=image, seed=seed,
    )  # fmt: skip
    with watching(progress) as callback:
        return TrainResult(_collegial.ask("train", question, threads, callback, every_epoch(on_epoch)))


def evaluate(
    checkpoint: Path,
    data: Path,
    *,
    model: Model | None = None,
    class_list: Path | None = None,
    batch: int = 128,
    threads: int | None = None,
    progress: Progress = None,
) -> EvaluateResult:
    """Tests a checkpoint: error, top-5 error, errors per class and the confusion matrix.

    Args:
        checkpoint: A .safetensors or .onnx file, the directory of a checkpoint, or that of a run.
        data: Directory of the data set.
        model: The network; what the file says or its tensors tell by default.
        class_list: File with the classes of the network's outputs, one name per line, for a data set that has some of them.
        batch: Images computed at once.
        threads: Number of threads; one per core by default.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    question = request(model, checkpoint=checkpoint, data=data, class_list=class_list, batch=batch)
    with watching(progress) as callback:
        return EvaluateResult(_collegial.ask("evaluate", question, threads, callback))


def export(
    model: Model,
    to: Literal["safetensors", "onnx", "pytorch"],
    out: Path | None = None,
    *,
    fold: bool = False,
    external_data: bool = False,
    recipe: str | None = None,
    set: dict[str, object] | Iterable[str] = (),
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    seed: int = 0,
) -> ExportResult:
    """Writes a network for other programs: safetensors, ONNX, or a PyTorch training script.

    Args:
        model: A name, the path or text of a spec, a dict or a `Spec`, whose weights are drawn; or a checkpoint, whose
            weights are its own.
        to: What to write.
        out: Where to write it; a file that is there is replaced. By default MODEL.safetensors, MODEL.onnx or MODEL.py.
        fold: ONNX: fold batch norms into the convolutions before them.
        external_data: ONNX: put the weights into a file of their own.
        recipe: PyTorch: "cifar10", "cifar100", "mnist", "imagenet", or a TOML file.
        set: PyTorch: changes to the recipe, {"epochs": 5}, or "key=value" texts.
        classes: Number of classes, where the name leaves it open.
        inputs: Inputs of a fully connected network, or input channels of a block.
        outputs: Outputs of a fully connected network, or output channels of a block.
        image: Side of the square images.
        seed: Seed of drawn weights.
    """
    question = request(
        model, to=to, out=out, fold=fold, external_data=external_data, recipe=recipe, set=_changes(set),
        classes=classes, inputs=inputs, outputs=outputs, image=image, seed=seed,
    )  # fmt: skip
    return ExportResult(_collegial.ask("export", question))


def validate(
    model: Model,
    data: Path,
    *,
    designs: int = 8,
    runs: int = 5,
    epochs: int | None = None,
    limit: int | None = None,
    cost: Literal["params", "flops", "activations"] = "params",
    dual: bool = False,
    set: dict[str, object] | Iterable[str] = (),
    out: Path | None = None,
    report: Path | None = None,
    figures: Path | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
) -> ValidateResult:
    """Trains designs of equal cost and sees whether the predicted variance ranks their test errors.

    An interrupted validation goes on with the same call.

    Args:
        model: The baseline. Classes and image size are the data set's.
        data: Directory of the data set.
        designs: Designs to train, the baseline included.
        runs: Trainings of every design.
        epochs: Epochs of every training; the recipe's by default.
        limit: Train on the first images only.
        cost: What is kept equal.
        dual: Also train designs of equal variance, on the dual curve.
        set: Changes to the recipe: {"learning_rate": 0.05}, or "key=value" texts.
        out: Where finished runs are kept ("runs/validate-MODEL-DATA" by default).
        report: Write a self-contained HTML page to this path.
        figures: Write the figures as SVG files, with their data as CSV, into this directory.
        seed: Seed of everything random.
        threads: Number of threads; one per core by default. Results do not depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    fields = dict(
        data=data, designs=designs, runs=runs, epochs=epochs, limit=limit, cost=cost, dual=dual, set=_changes(set),
        out=out, seed=seed,
    )  # fmt: skip
    with watching(progress) as callback:
        answer = _collegial.ask("validate", request(model, **fields), threads, callback)
    if report is not None:
        answer.write_page(os.fspath(report), call("validate", model, fields, _defaults(validate)))
    if figures is not None:
        answer.write_figures(os.fspath(figures))
    return ValidateResult(answer)


def reproduce(
    items: str | Iterable[str],
    *,
    scale: Literal["smoke", "laptop", "paper"] = "laptop",
    data: Path | None = None,
    out: Path = "reproduction",
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
) -> ReproduceResult:
    """Computes figures and tables of the paper again and sets them beside the published ones.

    Args:
        items: "fig3", ["fig3", "table1"], or "all".
        scale: How much to compute: seconds, minutes on two cores, or the recipe as printed.
        data: Directory under which the data sets are (MNIST, CIFAR-10, ...).
        out: Where pages, figures, data and finished parts go.
        seed: Seed of everything random.
        threads: Number of threads; one per core by default. Results do not depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    names = [items] if isinstance(items, str) else list(items)
    fields = dict(scale=scale, data=data, out=out, seed=seed)
    command = call("reproduce", items, fields, _defaults(reproduce))
    with watching(progress) as callback:
        answer = _collegial.ask("reproduce", request(items=names, command=command, **fields), threads, callback)
    return ReproduceResult(answer)


def _list(widths):
    """Widths as they are: text, or a list of numbers."""
    return widths if widths is None or isinstance(widths, str) else list(widths)


def _changes(changes):
    """Changes to a recipe as "key=value" texts."""
    return [f"{key}={value}" for key, value in changes.items()] if isinstance(changes, dict) else list(changes)


def _floats(array):
    import numpy

    return numpy.ascontiguousarray(array, dtype=numpy.float32)


def _defaults(function):
    return {name: parameter.default for name, parameter in inspect.signature(function).parameters.items()}
