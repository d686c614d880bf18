"""The functions of the package, one per verb.

Made from the declarations of the options in Rust, see CONTRIBUTING.md:
`UPDATE_REFERENCE=1 cargo test -p collegial --test reference` writes it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Literal, overload

from . import _calls
from ._results import (
    DrawsResult,
    EvaluateResult,
    ExportResult,
    FitResult,
    GatherResult,
    InfoResult,
    ModelsResult,
    MomentsResult,
    RegressResult,
    ReproduceResult,
    Result,
    ScoreResult,
    SearchResult,
    StatusResult,
    SweepResult,
    TrainResult,
    ValidateResult,
)
from ._types import Executor, Model, Path, Progress

if TYPE_CHECKING:
    import numpy


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
    """Test a checkpoint: error, top-5 error, errors per class and the confusion matrix.

    `checkpoint` is a checkpoint of `collegial train`, or a file of `collegial export` (safetensors
    or ONNX). Safetensors files of torchvision's and timm's ResNets and ResNeXts are read too; their
    tensors tell the design.

    Args:
        checkpoint: A .safetensors or .onnx file, the directory of a checkpoint, or that of a run.
        data: Directory of the data set.
        model: The network, by name or TOML spec. By default what the file says or its tensors tell.
        class_list: The classes of the network's outputs, one name per line, for a data set that has
            some of them.
        batch: Images computed at once.
        threads: Number of threads; one per core by default. Results of the native engine do not
            depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    return _calls.evaluate(locals())


def export(
    model: Model,
    to: Literal["safetensors", "onnx", "pytorch"],
    out: Path | None = None,
    *,
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    names: Literal["torchvision", "timm"] = "torchvision",
    fold: bool = False,
    external_data: bool = False,
    recipe: Path | None = None,
    set: dict[str, object] | Iterable[str] = (),
    seed: int = 0,
) -> ExportResult:
    """Write a network for other programs: safetensors, ONNX, or a PyTorch training script.

    A model's weights are drawn from `seed`, as at the start of a training; a checkpoint has its
    own. Safetensors files load into torchvision's and timm's networks. ONNX files hold plain
    operators and take batches of any size. The script holds module and recipe, and trains on one
    device or, through torchrun, on many. `evaluate` and `info` read the first two back.

    `model` can also be the path of a checkpoint, of a run's directory, or of an exported ONNX file.

    Args:
        model: The network; of a model the weights are drawn, those of a checkpoint are its own. A
            name, the path or text of a spec, a dict, a `Spec`, or a checkpoint.
        to: What to write.
        out: Where to write it; a file that is there is replaced. By default MODEL.safetensors,
            MODEL.onnx or MODEL.py.
        classes: Number of classes of a network.
        inputs: Inputs of a fully connected network, or input channels of a block.
        outputs: Outputs of a fully connected network, or output channels of a block.
        image: Side of the square images.
        names: Safetensors: whose names the layers have; they differ for RegNets.
        fold: ONNX: fold batch norms into the convolutions before them.
        external_data: ONNX: put the weights into FILE.data; done in any case where they exceed the
            2 GB of one file.
        recipe: PyTorch: cifar10, cifar100, mnist, imagenet, or a TOML file. By default the
            checkpoint's own, or by model.
        set: PyTorch: change the recipe: epochs=5, learning_rate=0.05; a dict, or texts like these.
        seed: Seed of drawn weights.
    """
    return _calls.export(locals())


def fit(
    model: Model,
    widths: Iterable[int] | str | None = None,
    trials: int | None = None,
    seed: int = 0,
    *,
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    precision: float | None = None,
    pooled: bool = False,
    weighted: bool = False,
    no_intercept: bool = False,
    figures: Path | None = None,
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> FitResult:
    """Fit alpha of a module's variance law to its kernel at several widths (Algorithm 1).

    Alpha is the slope of a straight line through ln(E[K^2]/E[K]^2) against S(n), for K(x, x) of one
    output unit. For convolutions S(n) is the sum of inverse fan-ins over all layers. For fully
    connected networks it is L/n, as in the paper's Fig. 3: one term for each of the L weight
    matrices.

    Moments are exact where there is a closed form, averaged over standard normal inputs. Elsewhere
    half a second of draws is taken, at many inputs. With `trials` they are drawn as printed in the
    paper, at one input.

    The law is an approximation, and alpha depends on the widths it is fitted to. So points,
    residuals and a verdict come with it. Of a network the block of the first stage is taken.

    Args:
        model: The module; of a network the block of its first stage is taken. A name, the path or
            text of a spec, a dict, a `Spec`, or a checkpoint.
        widths: Widths to measure: 4,10,16 or 1..256 or 16..256:16. By default 1,16..256:16 for a
            bottleneck, else sixteenths of the width.
        trials: Draws per width at one input (T; the paper takes 2000). By default none where
            moments are exact, else half a second of draws at many inputs.
        seed: Seed of everything random.
        classes: Number of classes of a network.
        inputs: Inputs of a fully connected network, or input channels of a block.
        outputs: Outputs of a fully connected network, or output channels of a block.
        image: Side of the square images.
        precision: Draw until alpha's 95 % interval is within this share of alpha, such as 0.02; at
            many inputs unless `trials` says how many at a time.
        pooled: The kernel of the output averaged over all positions instead of one position's.
        weighted: Weigh points by their standard errors (the paper weighs all alike).
        no_intercept: Force the line through the origin (the paper's has an intercept).
        figures: Write the figures as SVG files, with their data as CSV, into this directory.
        executor: Who draws `trials`: a number of processes, any `concurrent.futures.Executor`, or a
            function that makes one and is called again when it breaks. The result is that of one
            process to the bit. By default this process.
        threads: Number of threads; one per core by default. Results of the native engine do not
            depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    return _calls.fit(locals())


def forward(
    model: Model,
    weights: Path | None,
    inputs: numpy.ndarray,
    *,
    seed: int = 0,
    threads: int | None = None,
) -> numpy.ndarray:
    """The outputs (logits) of a network, inputs x outputs; norms use their running statistics.

    Args:
        model: The network; a checkpoint in its place brings its weights. A name, the path or text
            of a spec, a dict, a `Spec`, or a checkpoint.
        weights: A checkpoint. By default the weights that training from `seed` starts with.
        inputs: N x channels x height x width, or N x anything of that many values.
        seed: Seed of the weights.
        threads: Number of threads; one per core by default. Results of the native engine do not
            depend on it.
    """
    return _calls.forward(locals())


def gather(directory: Path) -> GatherResult:
    """Make pages and tables of what the jobs of a plan have finished.

    With every job finished, the results are those of one process, to the last bit. Before that, as
    many repetitions count as all designs have, pages say so, and what is missing is listed.

    Args:
        directory: The plan's directory.
    """
    return _calls.gather(locals())


def info(
    model: Model,
    *,
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    batch: int = 128,
    macs: bool = False,
    depth: int | None = None,
) -> InfoResult:
    """Count a network's parameters, FLOPs and activations, per layer and in all.

    FLOPs are 2 per multiply-add, and 1 per element of a batch norm's output or of a residual sum.
    `macs` shows multiply-adds instead, as timm and fvcore count: 2 per element of a batch norm, 1
    per element that a global average reads, none of a sum. Activations are the elements that
    convolutions and dense layers put out.

    `model` can also be the path of a checkpoint, of a run's directory, or of an exported ONNX file.

    Args:
        model: The network. A name, the path or text of a spec, a dict, a `Spec`, or a checkpoint.
        classes: Number of classes of a network.
        inputs: Inputs of a fully connected network, or input channels of a block.
        outputs: Outputs of a fully connected network, or output channels of a block.
        image: Side of the square images.
        batch: Images per training step, for the bytes it needs.
        macs: Show multiply-adds in place of FLOPs, as timm and fvcore count.
        depth: Sum layers whose names begin with the same so many parts: 1 for stages, 2 for blocks.
    """
    return _calls.info(locals())


def job(
    directory: Path,
    *jobs: int | str,
    threads: int | None = None,
) -> Result:
    """Run trainings of a plan, one after the other.

    A job that is finished is left alone, and one that was begun continues from its checkpoint.

    Args:
        directory: The plan's directory.
        jobs: Which jobs, from 0: 7, or 0-9 one after the other.
        threads: Number of threads; one per core by default. Results of the native engine do not
            depend on it.
    """
    return _calls.job(locals())


def models() -> ModelsResult:
    """List every model it knows by name, by family, with its counts."""
    return _calls.models(locals())


def moments(
    model: Model | None = None,
    *,
    widths: Iterable[int] | str | None = None,
    input: Path | None = None,
    parametrisation: Literal["standard", "ntk"] = "ntk",
    draws: int | None = None,
    seed: int = 0,
) -> MomentsResult:
    """Exact mean and variance of the kernel of a fully connected network or a bottleneck block,
    without sampling.

    The kernel is K(x, x) of the empirical tangent kernel at initialisation, for one output unit and
    without biases. Where the output is a map, the unit is its middle position.

    There is a closed form for chains of ReLU and linear layers that are seen at one position behind
    their first layer. These are fully connected networks, 1x1 - k x k - 1x1 blocks of any stride,
    and TOML modules of that kind.

    The variance is relative to the squared mean and averaged over standard normal inputs. Its
    standard deviation over inputs stands beside it; `input` fixes one input. At white patches the
    variance is that of `search` with `block_inputs` white: the patches that the unit sees are
    orthogonal and of equal length. The effective alpha is ln(1 + variance) over the sum of inverse
    fan-ins: with it the paper's law would give this variance of a member.

    Of a transformer, an attention layer or a feed-forward layer: the variance of every kind of
    layer, at the first and the last layer of every stage. Heads are drawn from their law (`draws`),
    and standard errors are given.

    Args:
        model: A module: fc6-500, fc6-30x48, bottleneck-128, a TOML spec of a chain; or a
            transformer, such as vit_b_16.
        widths: Widths of a fully connected network in place of a module, the input's first:
            784,48,48.
        input: One input from a .npy file of f4 or f8: channels x height x width of the module's
            input, 256 x 32 x 32 for bottleneck-128; or the n_0 values for a fully connected
            network.
        parametrisation: By which weights gradients are taken; with standard, a layer counts in
            proportion to the inverse variance of its initial weights.
        draws: Draws of what has no closed form: attention heads, and feed-forward layers with
            matrices inside. By default fewer for more tokens.
        seed: Seed of the draws.
    """
    return _calls.moments(locals())


@overload
def ntk(
    model: Model,
    inputs: numpy.ndarray | None = None,
    count: int | None = None,
    seed: int = 0,
    weights: Path | None = None,
    *,
    data: Path | None = None,
    split: Literal["test", "train"] = "test",
    parametrisation: Literal["standard", "ntk"] | None = None,
    norm: Literal["none", "frozen", "batch"] | None = None,
    draws: None = None,
    batch: int | None = None,
    output: int = 0,
    trace: bool = False,
    pooled: bool = False,
    full: bool = False,
    diagonal: bool = False,
    out: Path | None = None,
    memory: int | str | None = None,
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> numpy.ndarray: ...


@overload
def ntk(
    model: Model,
    inputs: numpy.ndarray | None = None,
    count: int | None = None,
    seed: int = 0,
    weights: Path | None = None,
    *,
    data: Path | None = None,
    split: Literal["test", "train"] = "test",
    parametrisation: Literal["standard", "ntk"] | None = None,
    norm: Literal["none", "frozen", "batch"] | None = None,
    draws: int,
    batch: int | None = None,
    output: int = 0,
    trace: bool = False,
    pooled: bool = False,
    full: bool = False,
    diagonal: bool = False,
    out: Path | None = None,
    memory: int | str | None = None,
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> DrawsResult: ...


def ntk(
    model: Model,
    inputs: numpy.ndarray | None = None,
    count: int | None = None,
    seed: int = 0,
    weights: Path | None = None,
    *,
    data: Path | None = None,
    split: Literal["test", "train"] = "test",
    parametrisation: Literal["standard", "ntk"] | None = None,
    norm: Literal["none", "frozen", "batch"] | None = None,
    draws: int | None = None,
    batch: int | None = None,
    output: int = 0,
    trace: bool = False,
    pooled: bool = False,
    full: bool = False,
    diagonal: bool = False,
    out: Path | None = None,
    memory: int | str | None = None,
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> numpy.ndarray | DrawsResult:
    """Compute the empirical tangent kernel between inputs, at drawn or given weights.

    K(x, x') is the sum over all parameters of df(x)/dw df(x')/dw. Here f is one output unit;
    `trace` sums over all outputs. Where the output is a map, the unit is its middle position, or
    with `pooled` its mean over positions.

    Batch norms are removed for drawn weights and frozen at their running statistics for given ones,
    unless `norm` says otherwise. A drawn network has the weights that training from the same seed
    starts with. `model` may also be a checkpoint of `collegial train`: a .safetensors file, or the
    directory of a checkpoint or of a run.

    With `out` the kernel is computed in tiles within `memory`, so it may be larger than memory. The
    directory FILE.npy.tiles records finished tiles, and the same call goes on where it was stopped.

    The kernel is returned as an N x N array; with `draws` a `DrawsResult` has its mean and
    variance, and with `out` it is a memory map of the file. Give `model` as `Spec(name,
    classes=...)` where its name leaves something open.

    Args:
        model: The network; a checkpoint in its place brings its weights. A name, the path or text
            of a spec, a dict, a `Spec`, or a checkpoint.
        inputs: N x channels x height x width, or N x anything of that many values.
        count: Number of inputs: standard normal ones drawn from the seed, or images of `data`. By
            default 4; with `draws` 2.
        seed: Seed of everything random.
        weights: Weights from a safetensors file with torchvision's names, or from a checkpoint,
            instead of a draw.
        data: The first images of a data set as inputs, normalised as in training.
        split: Which images of `data`.
        parametrisation: By which weights gradients are taken. By default ntk; of given weights
            those they were trained by.
        norm: Treatment of batch norms. By default none; of given weights frozen.
        draws: Mean and variance of the kernel over this many initialisations, seeds from `seed` on,
            instead of one kernel.
        batch: Images of the batch that norms see in each of `draws`, the inputs first. By default
            the inputs alone.
        output: Which output, from 0.
        trace: The sum of the kernels of all outputs.
        pooled: Outputs averaged over all positions instead of one position's.
        full: Every output with every output: a row and a column per input and output, by input
            first.
        diagonal: K(x, x) only, one number per input.
        out: Write the kernel to this .npy file, tile by tile.
        memory: Memory that tiles may take: 4G, 800M. By default half of what is free.
        executor: Who computes the tiles of `out`: a number of processes, or any
            `concurrent.futures.Executor` whose workers see the same files.
        threads: Number of threads; one per core by default. Results of the native engine do not
            depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    return _calls.ntk(locals())


def regress(
    model: Model,
    data: Path,
    count: int | None = None,
    *,
    weights: Path | None = None,
    parametrisation: Literal["standard", "ntk"] | None = None,
    norm: Literal["none", "frozen", "batch"] | None = None,
    output: int = 0,
    trace: bool = False,
    out: Path | None = None,
    memory: int | str | None = None,
    test_count: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
) -> RegressResult:
    """Predict the classes of a data set by kernel ridge regression with the tangent kernel.

    The ridge is chosen by leave-one-out in closed form.

    Args:
        model: The network; a checkpoint in its place brings its weights. A name, the path or text
            of a spec, a dict, a `Spec`, or a checkpoint.
        data: Directory of the data set.
        count: Training images, the first ones. By default 1000.
        weights: Weights from a safetensors file with torchvision's names, or from a checkpoint,
            instead of a draw.
        parametrisation: By which weights gradients are taken. By default ntk; of given weights
            those they were trained by.
        norm: Treatment of batch norms. By default none; of given weights frozen.
        output: Which output, from 0.
        trace: The sum of the kernels of all outputs.
        out: A .npy file for the kernel: a row per image, training images first, a column per
            training image.
        memory: Memory that tiles may take: 4G, 800M. By default half of what is free.
        test_count: Test images, the first ones. By default `count`, or all that there are.
        seed: Seed of everything random.
        threads: Number of threads; one per core by default. Results of the native engine do not
            depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    return _calls.regress(locals())


def reproduce(
    items: str | Iterable[str],
    *,
    scale: Literal["smoke", "laptop", "paper"] = "laptop",
    data: Path | None = None,
    records: Path | None = None,
    out: Path | None = None,
    seed: int = 0,
    engine: Literal["native", "torch"] = "native",
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> ReproduceResult:
    """Compute a figure or table of the paper again and set it beside the published one.

    Writes a page (HTML and Markdown) with figure, data, published and obtained values and a verdict
    for every item. Designs, counts and efficiencies are exact at every scale; what is drawn or
    trained depends on it. A run that was interrupted goes on where it was.

    Args:
        items: fig2, fig3, ..., table5, network, group-widths, fig4-recorded, prediction, evidence,
            or all.
        scale: How much to compute: smoke (seconds), laptop (minutes on two cores) or paper (the
            recipe as printed).
        data: Directory under which the data sets are (MNIST, CIFAR-10, ...).
        records: Directory of studies for fig4-recorded, prediction and evidence, which judge kept
            records: research in the repository.
        out: Where pages, figures, data and finished parts go. By default reproduction.
        seed: Seed of everything random.
        engine: Who computes the trainings.
        executor: Who trains: a number of processes, any `concurrent.futures.Executor` whose workers
            see `out`, or a function that makes one and is called again when it breaks. Each
            training then has one thread, or `threads`. By default this process.
        threads: Number of threads; one per core by default. Results of the native engine do not
            depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    return _calls.reproduce(locals())


def score(
    table: Path,
    target: str | Iterable[str] = (),
    group: str | Iterable[str] = (),
    *,
    parametrisation: Literal["standard", "ntk"] = "ntk",
    seed: int = 0,
    report: Path | None = None,
    figures: Path | None = None,
) -> ScoreResult:
    """Score a table of designs, and say how the scores rank a column of errors.

    `table` is a CSV file with one network per row, in one of three forms. A column `model` holds
    what MODEL is elsewhere: a name, a spec, a run, a checkpoint, a safetensors or ONNX file.
    Columns `depth`, `m`, `n` describe a ResNeXt. Columns `blocks`, `outputs`, `m`, `n` have one
    number per stage, joined by hyphens, with `stem` (small, imagenet, c, d or simple), `classes`
    and `image` if wanted.

    `table` may also be a JSON file of sampled models of "On Network Design Spaces"; `_in` in its
    name means ImageNet. A row whose column `left_out` gives a reason is listed, not scored.

    Every row gets its exact score: the mean kernel variance of its blocks at initialisation, with
    the inputs that blocks see and with white ones. It also gets the paper's law, parameters, FLOPs
    and inner width m n. With `target` their rank correlations with that column follow, within the
    groups of `group`, with bootstrap intervals, and partial ones given parameters and FLOPs.

    Args:
        table: A CSV file with one design per row, or a JSON file of sampled models.
        target: A column of errors to correlate with, or several.
        group: A column whose values part the rows into groups, such as a training recipe, or
            several.
        parametrisation: By which weights gradients are taken: with standard, those that people
            train with, a layer counts in proportion to the inverse variance of its initial weights.
        seed: Seed of the bootstrap.
        report: Write a self-contained HTML page.
        figures: Write the figures as SVG files, with their data as CSV, into this directory.
    """
    return _calls.score(locals())


def search(
    model: Model,
    alpha: float | None = None,
    cost: str | Iterable[str] = "params",
    variance: Literal["law", "measured", "exact"] | None = None,
    rule: Literal["nearest", "under"] | None = None,
    *,
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    paper: bool = False,
    tolerance: float = 0,
    block_inputs: Literal["white", "network"] = "network",
    parametrisation: Literal["standard", "ntk"] = "ntk",
    data: Path | None = None,
    budget: int | str | None = None,
    timings: Path | None = None,
    runtime: Literal["native", "onnx", "torch"] = "native",
    batch: int | None = None,
    device: str | None = None,
    widths: Iterable[int] | str | None = None,
    multiple_of: int = 1,
    max_multiplicity: int | None = None,
    free_widths: bool = False,
    per_stage: bool = False,
    check: bool = False,
    draws: int | None = None,
    norm: Literal["none", "frozen", "batch"] | None = None,
    trials: int | None = None,
    precision: float | None = None,
    seed: int = 0,
    report: Path | None = None,
    figures: Path | None = None,
    threads: int | None = None,
    progress: Progress = None,
) -> SearchResult:
    """Find the best number m and width n of members for a baseline, without training.

    Same cost (primal): the design of least variance whose network costs no more than the baseline.
    The variance is that of the tangent kernel of its blocks at initialisation, on average over the
    blocks. Same variance (dual): the cheapest design whose variance is not above the baseline's.

    Every integer design m x n of the whole network is compared, with exact variances. FLOPs are 2
    per multiply-add. `check` draws the kernels of whole networks.

    `paper` is Algorithm 2 as printed, on one block with a fitted law. `alpha`, `trials`, `variance`
    law and `variance` measured imply it.

    Layers of a transformer get a verdict instead: whether splitting them is a question of variance,
    of speed alone (split-neutral), or of something that the theory does not cover.

    Args:
        model: The baseline. A name, the path or text of a spec, a dict, a `Spec`, or a checkpoint.
        alpha: Alpha of the variance law. By default fitted on the spot.
        cost: Costs that may not rise: params, flops, activations or time, or several as
            params,flops; `budget` limits the first, and the dual saves it.
        variance: Source of the variance. By default exact where it has a closed form, else
            measured.
        rule: How the primal meets the budget. By default under; nearest with `paper`.
        classes: Number of classes of a network.
        inputs: Inputs of a fully connected network, or input channels of a block.
        outputs: Outputs of a fully connected network, or output channels of a block.
        image: Side of the square images.
        paper: Algorithm 2 as printed.
        tolerance: Share by which a design may cost more: 0.02 is two per cent.
        block_inputs: Inputs of a network's blocks.
        parametrisation: By which weights gradients are taken: with standard, those that people
            train with, a layer counts in proportion to the inverse variance of its initial weights.
        data: A data set whose images come in; class count and image size are the data set's. By
            default natural images, by two constants.
        budget: The most that the whole network may cost: 13775178, 25.6M, 1.2G. By default the
            baseline's cost.
        timings: Times measured elsewhere, for `cost` time: a CSV file with columns model (the
            baseline and other designs) and seconds.
        runtime: Which program runs the networks that `cost` time measures.
        batch: Images per pass that `cost` time measures. By default 2.
        device: Device of `runtime` torch or onnx, by its own name: cpu, cuda, mps. By default cpu.
        widths: Widths to look at: 4,10,16 or 1..64 or 8..128:8. By default all up to the
            baseline's.
        multiple_of: Only widths that are a multiple of this, such as 8 for hardware.
        max_multiplicity: At most this many members.
        free_widths: Also look at members with two widths, into and out of their middle convolution.
        per_stage: Also look at one design per stage, each stage keeping its cost, and with cost
            moved between stages.
        check: Draw the kernels of the whole networks of the baseline and both optima, and compare
            with the score.
        draws: Initialisations of every network in `check`, at least 20. By default 100.
        norm: Treatment of batch norms in `check`. By default none.
        trials: Draws per width when alpha is fitted. By default 2000.
        precision: Standard error of every measured variance, as a share of it. By default 0.01.
        seed: Seed of everything random.
        report: Write a self-contained HTML page.
        figures: Write the figures as SVG files, with their data as CSV, into this directory.
        threads: Number of threads; one per core by default. Results of the native engine do not
            depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    return _calls.search(locals())


def status(directory: Path) -> StatusResult:
    """Say how far the jobs of a plan are, which failed and why, and how long the rest takes.

    Args:
        directory: The plan's directory.
    """
    return _calls.status(locals())


def sweep(
    models: Iterable[Model],
    data: Path,
    *,
    epochs: int | None = None,
    limit: int | None = None,
    set: dict[str, object] | Iterable[str] = (),
    engine: Literal["native", "torch"] = "native",
    runs: int = 5,
    out: Path | None = None,
    seed: int = 0,
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> SweepResult:
    """Train any networks several times each, and give their mean test errors.

    An interrupted sweep goes on with the same call. `validate` chooses the designs itself and asks
    whether the variance ranks them.

    Args:
        models: Names, or paths of specs.
        data: Directory of the data set.
        epochs: Epochs of every training. By default the recipe's.
        limit: Train on the first images only.
        set: Change the recipe: learning_rate=0.05, micro_batch=32, schedule.milestones=[5,8],
            optimiser.kind=adam; a dict, or texts like these.
        engine: The backend that trains.
        runs: Trainings of every network, with seeds from `seed` on.
        out: Where finished runs are kept. By default runs/sweep-DATA.
        seed: Seed of everything random.
        executor: Who trains: a number of processes, any `concurrent.futures.Executor` whose workers
            see `out`, or a function that makes one and is called again when it breaks. Each
            training then has one thread, or `threads`. By default this process.
        threads: Number of threads; one per core by default. Results of the native engine do not
            depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    return _calls.sweep(locals())


def train(
    model: Model,
    data: Path,
    *,
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    epochs: int | None = None,
    limit: int | None = None,
    set: dict[str, object] | Iterable[str] = (),
    engine: Literal["native", "torch"] = "native",
    out: Path | None = None,
    resume: bool = False,
    recipe: Path | None = None,
    test_limit: int | None = None,
    runs: int = 1,
    save_every: int | None = None,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress = None,
    on_epoch: Callable[[dict], object] | None = None,
) -> TrainResult:
    """Train a network on a data set and test it after every epoch.

    The data set is recognised by its files: MNIST, CIFAR (binary version), downsampled ImageNet, or
    class folders. Its recipe is the paper's; `set` changes it. Checkpoints are safetensors files
    under torchvision's names. A run that was stopped at any moment goes on with `resume`. It ends
    with the same weights to the bit, on any number of threads.

    Ctrl-C saves a checkpoint and raises KeyboardInterrupt; the same call with `resume=True` goes
    on. Notes go to the logger "collegial".

    Args:
        model: The network; class count and image size are the data set's. A name, the path or text
            of a spec, a dict, a `Spec`, or a checkpoint.
        data: Directory of the data set.
        classes: Number of classes of a network.
        inputs: Inputs of a fully connected network, or input channels of a block.
        outputs: Outputs of a fully connected network, or output channels of a block.
        image: Side of the square images.
        epochs: Epochs of every training. By default the recipe's.
        limit: Train on the first images only.
        set: Change the recipe: learning_rate=0.05, micro_batch=32, schedule.milestones=[5,8],
            optimiser.kind=adam; a dict, or texts like these.
        engine: The backend that trains.
        out: Directory of the run: checkpoints, recipe, results, TensorBoard events. By default
            runs/MODEL-DATA.
        resume: Go on from the newest checkpoint of `out`, or begin if there is none; `epochs` may
            be more than before.
        recipe: cifar10, cifar100, mnist, imagenet32, imagenet64, imagenet, or a TOML file. By
            default by data set.
        test_limit: Test on so many images only, spread evenly over the test images.
        runs: Train several times, with seeds from `seed` on, and give mean and standard error.
        save_every: Save a checkpoint every so many steps too, not only every ten minutes and after
            every epoch.
        seed: Seed of weights, order and augmentation.
        threads: Number of threads; one per core by default. Results of the native engine do not
            depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
        on_epoch: Called with the results of every epoch as soon as it is done.
    """
    return _calls.train(locals())


def validate(
    model: Model,
    data: Path,
    *,
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    epochs: int | None = None,
    limit: int | None = None,
    set: dict[str, object] | Iterable[str] = (),
    engine: Literal["native", "torch"] = "native",
    designs: int = 8,
    runs: int | None = None,
    decide: float = 0.05,
    max_runs: int = 20,
    cost: Literal["params", "flops", "activations", "time"] = "params",
    dual: bool = False,
    out: Path | None = None,
    seed: int = 0,
    report: Path | None = None,
    figures: Path | None = None,
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> ValidateResult:
    """Train designs of equal cost and see whether the predicted variance ranks their test errors.

    The designs lie on the primal curve of `model`, from the baseline to very thin members; the
    predicted optimum is one of them. Each is trained several times by the recipe of the data set.
    The answer is the rank correlation of mean test error with predicted variance, and with the
    inner width m n.

    Without `runs` a pilot of three runs plans the number of trainings: it says what they can decide
    and how long they take. The same command goes on with an interrupted validation.

    Args:
        model: The baseline; class count and image size are the data set's. A name, the path or text
            of a spec, a dict, a `Spec`, or a checkpoint.
        data: Directory of the data set.
        classes: Number of classes of a network.
        inputs: Inputs of a fully connected network, or input channels of a block.
        outputs: Outputs of a fully connected network, or output channels of a block.
        image: Side of the square images.
        epochs: Epochs of every training. By default the recipe's.
        limit: Train on the first images only.
        set: Change the recipe: learning_rate=0.05, micro_batch=32, schedule.milestones=[5,8],
            optimiser.kind=adam; a dict, or texts like these.
        engine: The backend that trains.
        designs: Designs to train, the baseline included.
        runs: Trainings of every design. By default planned by a pilot of three.
        decide: The difference of errors that planned runs should find in 80 % of cases, as a share
            of the error.
        max_runs: The most trainings of every design that are planned.
        cost: What is kept equal.
        dual: Also train designs of equal variance, on the dual curve.
        out: Where the page, figures, data and finished runs go. By default
            runs/validate-MODEL-DATA.
        seed: Seed of everything random.
        report: Write a self-contained HTML page.
        figures: Write the figures as SVG files, with their data as CSV, into this directory.
        executor: Who trains: a number of processes, any `concurrent.futures.Executor` whose workers
            see `out`, or a function that makes one and is called again when it breaks. Each
            training then has one thread, or `threads`. By default this process.
        threads: Number of threads; one per core by default. Results of the native engine do not
            depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    return _calls.validate(locals())
