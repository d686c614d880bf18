"""Networks that are trained, tested and written for other programs, as functions: one, or the many
of a comparison."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Literal

from . import _collegial
from ._collegial import CollegialError
from ._jobs import run_all
from ._progress import every_epoch, watching
from ._request import call, changes, defaults, model_text, request
from ._results import EvaluateResult, ExportResult, ReproduceResult, SweepResult, TrainResult, ValidateResult
from ._types import Engine, Executor, Model, Path, Progress


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
    test_limit: int | None = None,
    runs: int = 1,
    save_every: int | None = None,
    classes: int | None = None,
    inputs: int | None = None,
    outputs: int | None = None,
    image: int | None = None,
    seed: int = 0,
    engine: Engine = "native",
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
        test_limit: Test on so many images only, spread evenly over the test images.
        runs: Train several times, with seeds from `seed` on.
        save_every: Save a checkpoint every so many steps too, not only every ten minutes and after every epoch.
        classes: Number of classes; must be the data set's.
        inputs: Inputs of a fully connected network; must be the data set's.
        outputs: Outputs of a fully connected network; must be the data set's.
        image: Side of the square images; must be the data set's.
        seed: Seed of weights, order and augmentation.
        engine: Who computes: "native", or "torch" for PyTorch, on a GPU if there is one.
        threads: Number of threads; one per core by default. Results of the native engine do not depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
        on_epoch: Called with the results of every epoch as soon as it is done.
    """
    question = request(
        model, data=data, out=out, resume=resume, recipe=recipe, set=changes(set), epochs=epochs, limit=limit,
        test_limit=test_limit, runs=runs, save_every=save_every, classes=classes, inputs=inputs, outputs=outputs, image=image, seed=seed,
        engine=engine,
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
    names: Literal["torchvision", "timm"] = "torchvision",
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
        names: Safetensors: whose names the layers have; they differ for RegNets.
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
        model, to=to, out=out, names=names, fold=fold, external_data=external_data, recipe=recipe, set=changes(set),
        classes=classes, inputs=inputs, outputs=outputs, image=image, seed=seed,
    )  # fmt: skip
    return ExportResult(_collegial.ask("export", question))


def validate(
    model: Model,
    data: Path,
    *,
    designs: int = 8,
    runs: int | None = None,
    decide: float = 0.05,
    max_runs: int = 20,
    epochs: int | None = None,
    limit: int | None = None,
    cost: Literal["params", "flops", "activations"] = "params",
    dual: bool = False,
    set: dict[str, object] | Iterable[str] = (),
    out: Path | None = None,
    report: Path | None = None,
    figures: Path | None = None,
    seed: int = 0,
    engine: Engine = "native",
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> ValidateResult:
    """Trains designs of equal cost and sees whether the predicted variance ranks their test errors.

    An interrupted validation goes on with the same call.

    Args:
        model: The baseline. Classes and image size are the data set's.
        data: Directory of the data set.
        designs: Designs to train, the baseline included.
        runs: Trainings of every design; planned by a pilot of three runs of each by default.
        decide: The difference of errors that planned runs should find in 80 % of cases, as a share of the mean error.
        max_runs: The most trainings of every design that are planned.
        epochs: Epochs of every training; the recipe's by default.
        limit: Train on the first images only.
        cost: What is kept equal.
        dual: Also train designs of equal variance, on the dual curve.
        set: Changes to the recipe: {"learning_rate": 0.05}, or "key=value" texts.
        out: Where finished runs are kept ("runs/validate-MODEL-DATA" by default).
        report: Write a self-contained HTML page to this path.
        figures: Write the figures as SVG files, with their data as CSV, into this directory.
        seed: Seed of everything random.
        engine: Who computes the trainings: "native", or "torch" for PyTorch, on a GPU if there is one.
        executor: Who trains: a number of processes, any `concurrent.futures.Executor` whose workers see `out`, or a function that makes
            one and is called again when it breaks; each training then has one thread, or `threads`. By default this process.
        threads: Number of threads; one per core by default. Results of the native engine do not depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    fields = dict(
        data=data, designs=designs, runs=runs, decide=decide, max_runs=max_runs, epochs=epochs, limit=limit, cost=cost,
        dual=dual, set=changes(set), out=out, seed=seed, engine=engine,
    )  # fmt: skip
    question = request(model, **fields)
    with watching(progress) as callback:
        if executor is not None:
            run_all(executor, "validate", question, _needed(out, "validate"), threads, callback)
        answer = _collegial.ask("validate", question, threads, callback)
    if report is not None:
        answer.write_page(os.fspath(report), call("validate", model, fields, defaults(validate)))
    if figures is not None:
        answer.write_figures(os.fspath(figures))
    return ValidateResult(answer)


def sweep(
    models: Iterable[str | os.PathLike[str]],
    data: Path,
    *,
    runs: int = 5,
    epochs: int | None = None,
    limit: int | None = None,
    set: dict[str, object] | Iterable[str] = (),
    out: Path | None = None,
    seed: int = 0,
    engine: Engine = "native",
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> SweepResult:
    """Trains any networks several times each, and gives their mean test errors.

    An interrupted sweep goes on with the same call.

    Args:
        models: Names, or texts or paths of specs. Classes and image size are the data set's.
        data: Directory of the data set.
        runs: Trainings of every network, with seeds from `seed` on.
        epochs: Epochs of every training; the recipe's by default.
        limit: Train on the first images only.
        set: Changes to the recipe: {"learning_rate": 0.05}, or "key=value" texts.
        out: Where finished runs are kept ("runs/sweep-DATA" by default).
        seed: Seed of everything random.
        engine: Who computes the trainings: "native", or "torch" for PyTorch, on a GPU if there is one.
        executor: Who trains: a number of processes, any `concurrent.futures.Executor` whose workers see `out`, or a function that makes
            one and is called again when it breaks; each training then has one thread, or `threads`. By default this process.
        threads: Number of threads; one per core by default. Results of the native engine do not depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    question = request(
        models=[model_text(model) for model in models], data=data, runs=runs, epochs=epochs, limit=limit, set=changes(set),
        out=out, seed=seed, engine=engine,
    )  # fmt: skip
    with watching(progress) as callback:
        if executor is not None:
            run_all(executor, "sweep", question, _needed(out, "sweep"), threads, callback)
        return SweepResult(_collegial.ask("sweep", question, threads, callback))


def reproduce(
    items: str | Iterable[str],
    *,
    scale: Literal["smoke", "laptop", "paper"] = "laptop",
    data: Path | None = None,
    records: Path | None = None,
    out: Path = "reproduction",
    seed: int = 0,
    engine: Engine = "native",
    executor: Executor = None,
    threads: int | None = None,
    progress: Progress = None,
) -> ReproduceResult:
    """Computes figures and tables of the paper again and sets them beside the published ones.

    Args:
        items: "fig3", ["fig3", "table1"], or "all".
        scale: How much to compute: seconds, minutes on two cores, or the recipe as printed.
        data: Directory under which the data sets are (MNIST, CIFAR-10, ...).
        records: Directory of studies for "fig4-recorded", "prediction" and "evidence", which judge kept records: `research` in the
            repository.
        out: Where pages, figures, data and finished parts go.
        seed: Seed of everything random.
        engine: Who computes the trainings: "native", or "torch" for PyTorch, on a GPU if there is one.
        executor: Who trains: a number of processes, any `concurrent.futures.Executor` whose workers see `out`, or a function that makes
            one and is called again when it breaks; each training then has one thread, or `threads`. By default this process.
        threads: Number of threads; one per core by default. Results of the native engine do not depend on it.
        progress: True for a bar, or a callable that is given how much is done and of how much.
    """
    names = [items] if isinstance(items, str) else list(items)
    fields = dict(scale=scale, data=data, records=records, out=out, seed=seed, engine=engine)
    command = call("reproduce", items, fields, defaults(reproduce))
    question = request(items=names, command=command, **fields)
    with watching(progress) as callback:
        if executor is not None:
            run_all(executor, "reproduce", question, out, threads, callback)
        answer = _collegial.ask("reproduce", question, threads, callback)
    return ReproduceResult(answer)


def _needed(out, verb):
    if out is None:
        raise CollegialError(f"{verb} on an executor needs out=: a directory that all workers see")
    return out
