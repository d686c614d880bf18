"""A better design for a model of your own."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

from torch import nn

from .. import _collegial
from .._functions import Progress
from .._results import Kept, Record, Result, _axes
from .blocks import Found, find_blocks
from .family import Family, Rule
from .refusals import Refused

PROBLEMS = ("baseline", "primal", "dual")


class Suggestion(Result):
    """The designs of a model's blocks: its own, the primal's and the dual's; prints as a table.

    `to_pandas()` gives the three designs, `to_pandas("skipped")` the blocks that were passed over.
    """

    _main = "designs"
    model: str
    blocks: list[str]
    skipped: list[Record]
    analysed: str
    alpha: float | None
    alpha_ci: list[float] | None
    baseline: Record
    primal: Record
    dual: Record

    def tables(self) -> list[str]:
        """What `to_pandas` can be asked for."""
        return ["designs", *super().tables()]

    def _rows(self, table: str) -> list[dict[str, Any]]:
        return [{"problem": problem, **self[problem]} for problem in PROBLEMS] if table == "designs" else super()._rows(table)

    def __getitem__(self, problem: str) -> Record:
        return self._record[problem]

    def plot(self, ax: Any = None) -> Any:
        """Variance against parameters: down is better, and so is left."""
        ax = _axes(ax)
        for problem in PROBLEMS:
            ax.plot([self[problem].parameters], [self[problem].variance], "o", label=f"{problem} {self[problem].design}")
        ax.set(xlabel="parameters", ylabel="variance of a block's kernel", title=self.model)
        ax.legend()
        return ax


def suggest(
    model: nn.Module,
    *,
    inputs: Any = None,
    alpha: float | None = None,
    rule: Rule = "nearest",
    multiple_of: int | None = None,
    max_multiplicity: int | None = None,
    trials: int | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Suggestion:
    """Looks for bottleneck blocks in a model and proposes the collegial design for them.

    The primal has the model's parameters and less variance, the dual its variance and fewer
    parameters. The block that repeats first is analysed; the others keep their proportions to it.
    `inputs` is a tensor, or a tuple, that the model takes; it is only needed where that cannot be
    guessed. Raises `Refused` where there is no block to improve, with the reasons as values.
    """
    options = dict(alpha=alpha, multiple_of=multiple_of, trials=trials, seed=seed, progress=progress)
    return suggested(model, find_blocks(model, inputs), rule, max_multiplicity or math.inf, options)


def suggested(model: nn.Module, found: Found, rule: Rule, most: float, options: dict[str, Any]) -> Suggestion:
    """The suggestion for blocks that were found."""
    name = type(model).__name__
    if not found.blocks:
        raise Refused(name, list(found.refusals))
    family = Family(model, found.blocks)
    document = {
        "model": name,
        "blocks": [block.name for block in found.blocks],
        "skipped": [refusal.to_dict() for refusal in found.refusals],
        "analysed": family.analysed.name,
        **family.searched(rule, most, options),
    }
    return Suggestion(Kept(json.dumps(document), *_show(document, _notes(found))))


def _notes(found: Found) -> list[str]:
    """What the theory leaves out of account in these blocks."""
    notes = []
    gated = sum(block.gated for block in found.blocks)
    if gated:
        notes.append(f"{gated} blocks have gates on their inner channels, which the theory leaves out of account.")
    # A gate has activations of its own, so that only blocks without one tell.
    others = sorted({name for block in found.blocks if not block.gated for name in block.activations} - {"relu"})
    if others:
        notes.append(f"The theory takes {', '.join(others)} for ReLU.")
    return notes


def _show(document: dict[str, Any], notes: list[str]) -> tuple[str, str]:
    """As text and HTML."""
    baseline, primal, dual = (document[problem] for problem in PROBLEMS)
    rows = [
        [problem, record["design"], f"{record['block_parameters']:,}", f"{record['parameters']:,}", f"{record['variance']:.4g}"]
        for problem, record in zip(PROBLEMS, (baseline, primal, dual))
    ]
    count = len(document["blocks"])
    sentences = [f"{document['model']}: {count} bottleneck blocks, the design is that of {document['analysed']}"]
    share = primal["parameters"] / baseline["parameters"]
    if primal["variance_reduction"] > 1:
        sentences.append(
            f"{primal['design']}: {primal['variance_reduction']:.2f} times less kernel variance of that block at {share:.1%} of the "
            f"model's parameters"
        )
    if dual["parameters"] < baseline["parameters"]:
        sentences.append(
            f"{dual['design']}: {baseline['parameters'] / dual['parameters']:.2f} times fewer parameters at "
            f"{1 / dual['variance_reduction']:.1%} of that block's kernel variance"
        )
    if len(sentences) == 1:
        sentences.append(f"There is nothing to gain here: keep {baseline['design']}.")
    if document["skipped"]:
        first = document["skipped"][0]
        sentences.append(f"{len(document['skipped'])} blocks were passed over; {first['block']}: {first['reason']}")
    headings = ["", "design", "parameters of the block", "parameters of the model", "variance"]
    return _collegial.table([*sentences, *notes], headings, rows)


Objective = Literal["primal", "dual"]
