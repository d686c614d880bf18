"""Finds the best number and width of parallel members for a network, without training.

    >>> import collegial
    >>> found = collegial.search("resnext29-1x128d")
    >>> found.primal.design, found.dual.design     # same cost, same variance
    ('66x6d', '16x9d')

Models are names (`resnext29-37x10d`, `wrn28-10`, `fc6-500`, `bottleneck-128`), paths of TOML or JSON specs, their text, dicts,
or a `Spec`. `collegial.torch` (imported by itself, needs PyTorch) builds the networks and improves your own.
"""

from ._collegial import CollegialError, __version__
from ._functions import (
    evaluate,
    export,
    fit,
    forward,
    gather,
    info,
    job,
    models,
    moments,
    ntk,
    regress,
    reproduce,
    score,
    search,
    status,
    sweep,
    train,
    validate,
)
from ._results import (
    DrawsResult,
    EvaluateResult,
    ExportResult,
    FitResult,
    GatherResult,
    InfoResult,
    ModelsResult,
    MomentsResult,
    Record,
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
from ._spec import Spec

__all__ = [
    "CollegialError",
    "DrawsResult",
    "EvaluateResult",
    "ExportResult",
    "FitResult",
    "GatherResult",
    "InfoResult",
    "ModelsResult",
    "MomentsResult",
    "Record",
    "RegressResult",
    "ReproduceResult",
    "Result",
    "ScoreResult",
    "SearchResult",
    "Spec",
    "StatusResult",
    "SweepResult",
    "TrainResult",
    "ValidateResult",
    "__version__",
    "evaluate",
    "export",
    "fit",
    "forward",
    "gather",
    "info",
    "job",
    "models",
    "moments",
    "ntk",
    "regress",
    "reproduce",
    "score",
    "search",
    "status",
    "sweep",
    "train",
    "validate",
]
