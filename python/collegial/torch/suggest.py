"""A better design for a model of your own."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

from torch import nn

from .. import _collegial, _look
from .._results import Kept, Record, Result
from .._types import Progress
from .block import Block
from .blocks import Found, find_blocks
from .family import Family, Rule
from .recognise import recognised
from .refusals import Refused

PROBLEMS = ("baseline", "primal", "dual")


class Suggestion(Result):
    """The designs of a model's blocks: its own, the primal's and the dual's; prints as a table.

    `network` is the name by which the program knows the model; designs are then those that
    `collegial.search` has for it, and variances means over all blocks. Where it is None, designs and
    variances are those of the block `analysed`. `block_designs` of a design are m and n of each of
    the `blocks`.
    `activations` are those of the analysed block, by PyTorch's names, and `variance_activations`
    those that the variances were computed with, by the names of specs: others where specs have none
    like the block's, and None where the variances are those of a law with a given alpha.
    `to_pandas()` gives the three designs, `to_pandas("skipped")` the blocks that were passed over.
    """

    _main = "designs"
    model: str
    network: str | None
    blocks: list[str]
    skipped: list[Record]
    analysed: str
    activations: list[str]
    variance_activations: list[str] | None
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
        of = "mean kernel variance of the blocks" if self.network else "variance of a block's kernel"
        ax = _look.axes(ax, f"Designs of {self.model}", "parameters", of)
        _look.ring(ax, self.baseline.parameters, self.baseline.variance, "baseline", self.baseline.design)
        for problem, tone, name in (("primal", "cost", "same cost"), ("dual", "variance", "same variance")):
            _look.dots(ax, [self[problem].parameters], [self[problem].variance], tone, f"{name}: {self[problem].design}", size=9)
        _look.legend(ax)
        return ax


def suggest(
    model: nn.Module,
    *,
    inputs: Any = None,
    alpha: float | None = None,
    rule: Rule | None = None,
    multiple_of: int | None = None,
    max_multiplicity: int | None = None,
    trials: int | None = None,
    precision: float | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Suggestion:
    """Looks for bottleneck blocks in a model and proposes the collegial design for them.

    The primal has the model's parameters and less variance, the dual its variance and fewer
    parameters. Where the program knows the network by name (ResNets, ResNeXts, RegNets, with ReLU), the
    designs are those of `collegial.search`. Of other models, and with `alpha` or `trials`, the block
    that repeats first is analysed, and the others keep their proportions to it. Where its convolutions are depthwise or in groups already, the question is which group width to
    grow or shrink to. Raises `Refused` where there is no block to improve, with the reasons as values.

    Args:
        model: Any module; it stays as it is.
        inputs: A tensor, or a tuple, that the model takes; only needed where that cannot be guessed.
        alpha: Slope of the variance law; by default variances are exact for ReLU and drawn for other activations.
        rule: How the primal meets the parameters of the model: "nearest" to them, or "under" them; by
            default as `collegial.search` does.
        multiple_of: Widths are a multiple of this; 8 is kind to hardware.
        max_multiplicity: The largest number of members.
        trials: Draws per width of a fitted law, which then takes the place of exact variances.
        precision: Standard error of drawn variances, as a share of each (0.01).
        seed: Seed of those draws.
        progress: True for a bar, or a function of what is done and the total.
    """
    options = dict(alpha=alpha, multiple_of=multiple_of, trials=trials, precision=precision, seed=seed, progress=progress)
    return suggested(model, find_blocks(model, inputs), rule, max_multiplicity or math.inf, options)


def suggested(model: nn.Module, found: Found, rule: Rule | None, most: float, options: dict[str, Any]) -> Suggestion:
    """The suggestion for blocks that were found."""
    name = type(model).__name__
    if not found.blocks:
        raise Refused(name, list(found.refusals))
    family = Family(model, found.blocks)
    analysed = family.analysed
    drawn = options.get("alpha") is None
    known = recognised(model, found) if drawn and options.get("trials") is None else None
    document = {
        "model": name,
        "network": known.name if known else None,
        "blocks": [block.name for block in found.blocks],
        "skipped": [refusal.to_dict() for refusal in found.refusals],
        "analysed": analysed.name,
        "activations": [" and ".join(map(str, place)) for place in analysed.activations],
        "variance_activations": list(analysed.variance_activations) if drawn else None,
        **(family.of_network(known, rule, most, options) if known else family.of_block(rule, most, options)),
    }
    notes = [*_gates(found), *(_activations(found, analysed) if drawn else [])]
    return Suggestion(Kept(json.dumps(document), *_show(document, notes)))


def _gates(found: Found) -> list[str]:
    """That the theory leaves gates out of account."""
    gated = sum(block.gated for block in found.blocks)
    return [f"{_blocks(gated)} with gates on the inner channels, which the theory leaves out of account."] if gated else []


def _blocks(count: int, kind: str = "block") -> str:
    return f"{count} {kind}" if count == 1 else f"{count} {kind}s"


def _activations(found: Found, analysed: Block) -> list[str]:
    """Whose activations the variances are of, where some block has others."""
    notes = []
    if not analysed.exact:
        used = ", then ".join(dict.fromkeys(analysed.variance_activations))
        notes.append(f"{analysed.name} has {analysed.activated}, which is not known here: the variances are those of {used}.")
    others = [block.activated for block in found.blocks if block.activations != analysed.activations]
    if others:
        notes.append(
            f"{_blocks(len(others))} with other activations ({'; '.join(sorted(set(others)))}) than {analysed.name}, of which the design "
            f"is ({analysed.activated})."
        )
    return notes


def _show(document: dict[str, Any], notes: list[str]) -> tuple[str, str]:
    """As text and HTML."""
    baseline, primal, dual = (document[problem] for problem in PROBLEMS)
    rows = [
        [problem, record["design"], f"{record['block_parameters']:,}", f"{record['parameters']:,}", f"{record['variance']:.4g}"]
        for problem, record in zip(PROBLEMS, (baseline, primal, dual))
    ]
    count = len(document["blocks"])
    network, analysed = document["network"], document["analysed"]
    subject = f"which the program knows as {network}" if network else f"the design is that of {analysed}, the analysed block"
    whose, owned = ("of its blocks", "their mean") if network else ("of that block", "that block's")
    sentences = [f"{document['model']}: {_blocks(count, 'bottleneck block')}, {subject}"]
    share = primal["parameters"] / baseline["parameters"]
    if primal["variance_reduction"] > 1:
        mean = "mean " if network else ""
        sentences.append(
            f"{primal['design']}: {primal['variance_reduction']:.2f} times less {mean}kernel variance {whose} at {share:.1%} of the "
            f"model's parameters"
        )
    if dual["parameters"] < baseline["parameters"]:
        sentences.append(
            f"{dual['design']}: {baseline['parameters'] / dual['parameters']:.2f} times fewer parameters at "
            f"{1 / dual['variance_reduction']:.1%} of {owned} kernel variance"
        )
    if len(sentences) == 1:
        sentences.append(f"There is nothing to gain here: keep {baseline['design']}.")
    if document["skipped"]:
        first = document["skipped"][0]
        sentences.append(f"{_blocks(len(document['skipped']))} passed over; {first['block']}: {first['reason']}")
    headings = ["", "design", f"parameters of {analysed}", "parameters of the model", "mean variance" if network else "variance"]
    return _collegial.table([*sentences, *notes], headings, rows)


Objective = Literal["primal", "dual"]
