"""What the functions of the package do: every one is given its own parameters as a dict."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator

from . import _collegial
from ._collegial import Answer, CollegialError
from ._jobs import gathered, looked, renewed, run_all, run_calls, worked
from ._progress import every_epoch, watching
from ._request import call, floats, request
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

#: Parameters that are no options of a verb.
OWN = {"report", "figures", "executor", "threads", "progress", "on_epoch"}


def options(given: dict) -> dict:
    """The options of a verb among a function's parameters."""
    return {name: value for name, value in given.items() if name not in OWN}


def answered(verb: str, given: dict, **more) -> Answer:
    """What the verb answers, after an executor did its trainings where one is given."""
    # What can be read only once is kept, for the page that names the call.
    given.update({name: list(value) for name, value in given.items() if isinstance(value, Iterator)})
    question = request(**options(given), **more)
    threads, executor = given.get("threads"), given.get("executor")
    with watching(given.get("progress")) as callback:
        if executor is not None:
            run_all(executor, verb, question, _directory(verb, given), threads, callback)
        return _collegial.ask(verb, question, threads, callback, every_epoch(given.get("on_epoch")))


def _directory(verb, given):
    if given["out"] is not None:
        return given["out"]
    if verb == "reproduce":
        return "reproduction"
    raise CollegialError(f"{verb} on an executor needs out=: a directory that all workers see")


def written(answer: Answer, verb: str, given: dict) -> Answer:
    """The answer, its page and figures written where they are wanted."""
    if (report := given.get("report")) is not None:
        answer.write_page(os.fspath(report), call(verb, options(given)))
    if (figures := given.get("figures")) is not None:
        answer.write_figures(os.fspath(figures))
    return answer


def search(given) -> SearchResult:
    return SearchResult(written(answered("search", given), "search", given))


def score(given) -> ScoreResult:
    return ScoreResult(written(answered("score", given), "score", given))


def validate(given) -> ValidateResult:
    return ValidateResult(written(answered("validate", given), "validate", given))


def sweep(given) -> SweepResult:
    return SweepResult(answered("sweep", given))


def reproduce(given) -> ReproduceResult:
    return ReproduceResult(answered("reproduce", given, command=call("reproduce", options(given))))


def train(given) -> TrainResult:
    return TrainResult(answered("train", given))


def evaluate(given) -> EvaluateResult:
    return EvaluateResult(answered("evaluate", given))


def export(given) -> ExportResult:
    return ExportResult(answered("export", given))


def info(given) -> InfoResult:
    return InfoResult(answered("info", given))


def moments(given) -> MomentsResult:
    return MomentsResult(answered("moments", given))


def models(given) -> ModelsResult:
    return ModelsResult(answered("models", given))


def regress(given) -> RegressResult:
    return RegressResult(answered("regress", given, regress=True))


def job(given) -> Result:
    return worked(given["directory"], given["jobs"], given["threads"])


def gather(given) -> GatherResult:
    return gathered(given["directory"])


def status(given) -> StatusResult:
    return looked(given["directory"])


def forward(given):
    inputs = floats(given.pop("inputs"))
    return _collegial.forward(request(**options(given)), inputs, given["threads"])


#: Shares of a fit on an executor whose number of workers is not known.
FIT_SHARES = 32


def fit(given) -> FitResult:
    answer = answered("fit", given) if given["executor"] is None else _fit_on(given)
    return FitResult(written(answer, "fit", given))


def _fit_on(given):
    """Draws in shares, one call each, and joins them."""
    if given["trials"] is None or given["precision"] is not None:
        raise CollegialError("fit on an executor needs trials=, the draws to be shared out, and no precision=")
    executor, threads, fields = given["executor"], _one_or(given["threads"]), options(given)
    line = {name: fields.pop(name) for name in ("weighted", "no_intercept")}
    count = executor if isinstance(executor, int) else FIT_SHARES
    shares = [(request(**fields, shard=f"{index}/{count}"), threads) for index in range(1, count + 1)]
    with watching(given["progress"]) as callback, renewed(executor) as pool:
        drawn = run_calls(pool, _collegial.shard, shares, callback)
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, f"{index}.json") for index in range(count)]
        for path, share in zip(files, drawn):
            with open(path, "w", encoding="utf-8") as file:
                file.write(share)
        return _collegial.ask("merge", request(files=files, **line))


#: Tasks that an executor is given for a kernel's tiles.
TILE_SHARES = 16


def _one_or(threads):
    """Workers share the machine, so that each has one thread unless told otherwise; 0 is refused as elsewhere."""
    return 1 if threads is None else threads


def ntk(given):
    fields, threads, executor = options(given), given["threads"], given["executor"]
    inputs = fields.pop("inputs")
    array = None if inputs is None else floats(inputs)
    if fields["draws"] is not None:
        if executor is not None:
            raise CollegialError("executor= computes the tiles of a file, not draws=: leave one of them out")
        with watching(given["progress"]) as callback:
            return DrawsResult(_collegial.draws(request(**fields), array, threads, callback))
    if fields["batch"] is not None:
        raise CollegialError("batch= is that of draws=: give draws= as well")
    if executor is not None:
        if fields["out"] is None:
            raise CollegialError("executor= computes the tiles of a file: give out=")
        # A worker may be in another directory.
        files = {name: os.path.abspath(fields[name]) for name in ("out", "data", "weights") if fields[name] is not None}
        calls = [
            (request(**fields | files, tiles=f"{number}/{TILE_SHARES}"), array, _one_or(threads))
            for number in range(1, TILE_SHARES + 1)
        ]
        with renewed(executor) as pool:
            run_calls(pool, _tiles, calls)
    # After others' work it checks every tile, and computes what is missing.
    kernel = _collegial.ntk(request(**fields), array, threads)
    if kernel is not None:
        return kernel
    import numpy

    return numpy.load(fields["out"], mmap_mode="r")


def _tiles(question, inputs, threads):
    """What a worker does: a share of the tiles."""
    _collegial.ntk(question, inputs, threads)
