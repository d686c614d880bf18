"""A better design for a model of your own."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, Literal

from torch import nn

from .. import _collegial, _look
from .._collegial import CollegialError
from .._results import Kept, Record, Result
from .._types import Progress
from .attention import judged_heads
from .block import Block
from .block_search import of_block
from .blocks import ModelBlocks, find_blocks
from .family import Family
from .module_choice import Rule
from .recognise import name_of, recognised
from .refusals import Refused, Verdict, by_layers
from .resize import scaled
from .weights import unwrapped

PROBLEMS = ("baseline", "primal", "dual")
# A ratio below this would print as 1.00.
SAVED = 1.005
# A count that moved by less is not worth naming: it would print as 100.0 %.
MOVED = 0.0005
# A baseline whose variance is this near to the best one's is called good.
NEAR = 1.05


class Suggestion(Result):
    """The designs of a model's blocks: its own, the primal's and the dual's; prints as a table.

    Where `scope` is "network", designs are those that `collegial.search` has for the whole network,
    and variances means over all blocks; `network` is its name, or None where it has none. Where
    `scope` is "block", designs and variances are those of the block `analysed`. `block_designs` of a
    design are m and n of each of the `blocks`, `flops` those per input (two per multiply-accumulate),
    and `activations` the elements that convolutions and linear layers put out.
    `kind` says what the blocks are. `verdict` is `Verdict.VARIANCE`, refusals have the other two;
    `verdicts` has one for each kind of layers of the model, with how many layers it is about and why.
    `untouched` is the share of the model's parameters that no design changes.
    `activations` are those of the analysed block, by PyTorch's names, and `variance_activations`
    those that the variances were computed with, by the names of specs: others where specs have none
    like the block's, and None where the variances are those of a law with a given alpha.
    `precision` is the standard error of variances that were drawn, as a share of each, else None; for
    these `variance_reduction_ci` and `parameters_ci` of a design are its 95 % intervals, and `alike`
    the widths that the draws do not tell from its own.
    `friendly` has the best designs with widths that suit hardware, multiples of 8 and of 16 in all blocks.
    Where `scope` is "network", both counts are those of `collegial.search`, and `evidence` is what others'
    trainings say about the step to the primal.
    `curve` has the variance at every width for the model's parameters.
    `to_pandas()` gives the three designs, `to_pandas("skipped")` the blocks that were passed over.
    """

    _main = "designs"
    model: str
    scope: Literal["network", "block"]
    network: str | None
    kind: Literal["bottleneck block", "fully connected network"]
    verdicts: list[Record]
    blocks: list[str]
    skipped: list[Record]
    analysed: str
    activations: list[str]
    variance_activations: list[str] | None
    alpha: float | None
    alpha_ci: list[float] | None
    precision: float | None
    untouched: float
    friendly: list[Record]
    evidence: Record | None
    curve: list[Record]
    baseline: Record
    primal: Record
    dual: Record

    @property
    def verdict(self) -> Verdict:
        """What the blocks are a question of."""
        return Verdict(self._record["verdict"])

    def tables(self) -> list[str]:
        """What `to_pandas` can be asked for."""
        return ["designs", *super().tables()]

    def _rows(self, table: str) -> list[dict[str, Any]]:
        return [{"problem": problem, **self[problem]} for problem in PROBLEMS] if table == "designs" else super()._rows(table)

    def __getitem__(self, problem: str) -> Record:
        return self._record[problem]

    def plot(self, ax: Any = None) -> Any:
        """The variance of every width for the model's parameters, with both designs and the baseline:
        down is better."""
        of = "mean kernel variance of the blocks" if self.scope == "network" else f"kernel variance of {self.analysed}"
        ax = _look.axes(ax, f"Designs of {self.model}", "width n of a member", of, xscale="log", yscale="log")
        _look.line(ax, [point.width for point in self.curve], [point.variance for point in self.curve], "cost", "same parameters")
        ax.axhline(self.baseline.variance, color=_look.PALETTE["base"], linewidth=1, linestyle="--")
        if self.baseline.width is not None:
            _look.ring(ax, self.baseline.width, self.baseline.variance, "baseline", self.baseline.design)
        for problem, tone, name in (("primal", "cost", "same cost"), ("dual", "variance", "same variance")):
            if gains(self, problem):
                best = self[problem]
                _look.optimum(ax, best.width, best.variance, tone, f"{name}: {best.design}", lowest=problem == "primal")
        _look.plain_ticks(ax)
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
    seconds: float | None = None,
    seed: int = 0,
    progress: Progress = None,
) -> Suggestion:
    """Finds the bottleneck blocks of a model, or else its fully connected part, and names the best
    designs for them.

    Same cost (`primal`): the model's parameters and less kernel variance. Same variance (`dual`):
    its variance and fewer parameters. Where the program knows the network (ResNets, ResNeXts and
    RegNets, with ReLU), the designs are those of `collegial.search`. Of other models, and with
    `alpha` or `trials`, the block that repeats first is analysed, and the others keep their
    proportions to it. Where its convolutions are depthwise or in groups already, the question is
    which group width to grow or shrink to. Raises `Refused` where there is nothing to split, with
    the reasons as values.

    Args:
        model: Any module; it stays as it is.
        inputs: A tensor, or a tuple, that the model takes; only needed where that cannot be guessed.
        alpha: Slope of the variance law; by default variances are exact for ReLU and drawn for other
            activations.
        rule: How the primal meets the parameters of the model: "nearest" to them, or "under" them; by
            default as `collegial.search` does.
        multiple_of: Widths are a multiple of this; 8 is kind to hardware.
        max_multiplicity: The largest number of members.
        trials: Draws per width of a fitted law, which then takes the place of exact variances.
        precision: Standard error of drawn variances, as a share of each (0.01).
        seconds: About how long draws may take; what does not fit into it makes `precision` coarser, and
            intervals wider.
        seed: Seed of those draws.
        progress: True for a bar, or a function of what is done and the total. Where variances are
            drawn, it is told first about how many seconds that will take.
    """
    check_model(model)
    model, _ = unwrapped(model)
    options = dict(
        alpha=alpha, multiple_of=multiple_of, trials=trials, precision=precision, seconds=seconds, seed=seed, progress=progress
    )  # fmt: skip
    found = find_blocks(model, inputs)
    found = replace(found, refusals=judged_heads(found.refusals, found.trial.meta, found.trial.flow, seed))
    return suggested(model, found, rule, most_members(max_multiplicity), options)


def check_model(model: Any) -> None:
    """A sentence for what is no model."""
    if isinstance(model, nn.Module):
        return
    named = f"; collegial.search({model!r}) takes names" if isinstance(model, str) else ""
    what = "a class" if isinstance(model, type) else f"of type {type(model).__name__}"
    raise CollegialError(f"the model is {what}, {model!r:.60}; give an nn.Module, such as torchvision.models.resnet50(){named}")


def most_members(max_multiplicity: Any) -> float:
    """The largest number of members, without bounds where none is given."""
    if max_multiplicity is None:
        return math.inf
    if not isinstance(max_multiplicity, Integral) or max_multiplicity < 1:
        raise CollegialError(f"max_multiplicity= cannot be {max_multiplicity!r:.60}; give a whole number of at least 1")
    return int(max_multiplicity)


def suggested(model: nn.Module, found: ModelBlocks, rule: Rule | None, most: float, options: dict[str, Any]) -> Suggestion:
    """The suggestion for blocks that were found."""
    name, seconds = type(model).__name__, options.get("seconds")
    if seconds is not None and not (isinstance(seconds, Real) and float(seconds) > 0):
        raise CollegialError(f"draws may take {seconds!r:.60} seconds; give more than 0, as a number")
    if seconds is not None and options.get("trials") is not None:
        raise CollegialError("trials= says how many draws, seconds= how long they may take; leave one out")
    if not found.blocks:
        raise Refused(name, list(found.refusals))
    family = Family(model, found)
    analysed = family.analysed
    drawn = options.get("alpha") is None
    known = recognised(model, found) if drawn and options.get("trials") is None else None
    document = {
        "model": name,
        "scope": "network" if known else "block",
        "network": name_of(known) if known else None,
        "kind": "bottleneck block" if analysed.hidden is None else "fully connected network",
        "verdict": Verdict.VARIANCE.value,
        "verdicts": by_layers("bottleneck blocks" if analysed.hidden is None else "fully connected parts", len(found.blocks), found.refusals),
        "blocks": [block.name for block in found.blocks],
        "skipped": [refusal.to_dict() for refusal in found.refusals],
        "analysed": analysed.name,
        "activations": [" and ".join(map(str, place)) or "none" for place in analysed.activations],
        "variance_activations": list(analysed.variance_activations) if drawn else None,
        "untouched": family.fixed / family.total,
        "evidence": None,
        **(family.of_network(known, rule, most, options) if known else of_block(family, rule, most, options)),
    }
    notes = [*_evidence(document), *_friendly(document), *_gates(found), *_widths(analysed), *_drawn(document), *(_activations(found, analysed) if drawn else [])]
    return Suggestion(Kept(json.dumps(document), *_show(document, notes)))


def _evidence(document: dict[str, Any]) -> list[str]:
    """What others' trainings say about the step to the primal."""
    evidence = document["evidence"]
    return [f"{evidence['sentence'].removesuffix('.')} (docs/evidence.md)."] if evidence else []


def _friendly(document: dict[str, Any]) -> list[str]:
    """The best designs with widths that vector units fill, where they gain, and what they give up."""
    # A gain of drawn variances holds at the lower end of its interval.
    surely = lambda other: other["score_ratio"] >= SAVED and other.get("variance_reduction_ci", [other["score_ratio"]])[0] > 1
    friendly = [other for other in document["friendly"] if other["problem"] == "primal" and surely(other)]
    # A multiple of 16 is one of 8 too.
    told = dict.fromkeys(f"{other['design']} has {other['score_ratio']:.2f}" for other in friendly)
    if not told or not gains(document, "primal"):
        return []
    return [f"With widths that suit hardware: {_listed(list(told))} times less, against {document['primal']['variance_reduction']:.2f}."]


def _gates(found: ModelBlocks) -> list[str]:
    """That the theory leaves gates out of account."""
    gated = sum(block.gated for block in found.blocks)
    return [f"{_blocks(gated)} with gates on the inner channels, which the theory leaves out of account."] if gated else []


def _widths(analysed: Block) -> list[str]:
    """What n means where the inner layers are not equally wide."""
    if analysed.even:
        return []
    widths = ", ".join(str(scaled(analysed.width, scale)) for scale in analysed.scales)
    return [f"A member's inner layers have the widths {widths}; n is the largest, and they keep their proportions."]


def _drawn(document: dict[str, Any]) -> list[str]:
    """How well, where variances were drawn."""
    precision = document["precision"]
    return [f"Variances were drawn to {100 * precision:.2g} % (standard error)."] if precision else []


def _blocks(count: int, kind: str = "block") -> str:
    return f"{count} {kind}" if count == 1 else f"{count} {kind}s"


def _activations(found: ModelBlocks, analysed: Block) -> list[str]:
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
    baseline = document["baseline"]
    rows = []
    for name, problem in zip(("baseline", "same cost", "same variance"), PROBLEMS):
        record = document[problem]
        share = _share(record, baseline, "parameters")
        flops = _share(record, baseline, "flops") if record["flops"] and baseline["flops"] else ""
        rows.append([
            name, _named(record), f"{record['parameters']:,}", share, flops, f"{record['variance']:.4g}",
            f"{record['variance_reduction']:.2f} x",
        ])  # fmt: skip
    headings = ["", "design", "parameters", "", "FLOPs", "mean variance" if document["scope"] == "network" else "variance", "less"]
    return _collegial.table([_subject(document), *_gains(document), *_untouched(document), *_skipped(document), *notes], headings, rows)


def _subject(document: dict[str, Any]) -> str:
    blocks = f"{document['model']}: {_blocks(len(document['blocks']), document['kind'])}"
    if document["scope"] == "block":
        return f"{blocks}; the design is that of {document['analysed']}, the analysed {document['kind'].split()[-1]}."
    known = f"which the program knows as {document['network']}" if document["network"] else "searched as a whole network, which has no name here"
    return f"{blocks}, {known}."


def gains(document: Any, problem: str) -> bool:
    """Whether a design gains anything, whatever the variance is within the interval of the draws."""
    record, baseline = document[problem], document["baseline"]
    if problem == "primal":
        return record["variance_reduction_ci"][0] > 1
    return record["parameters_ci"][1] < baseline["parameters"]


def undecided(document: Any, problem: str) -> bool:
    """Whether the draws leave open if a design gains anything."""
    record, baseline = document[problem], document["baseline"]
    low, high = record["variance_reduction_ci"]
    if problem == "primal":
        return low <= 1 < high
    fewest, most = record["parameters_ci"]
    return fewest < baseline["parameters"] <= most and low < high


def _gains(document: dict[str, Any]) -> list[str]:
    """Both answers in the program's words, with every cost that moved."""
    baseline, primal, dual = (document[problem] for problem in PROBLEMS)
    mean, whose = ("mean ", "its blocks") if document["scope"] == "network" else ("", f"that {document['kind'].split()[-1]}")
    what = f"{mean}kernel variance of {whose} at initialisation"
    own = document["network"] or baseline["design"]
    sentences = []
    if gains(document, "primal"):
        ratio, interval = primal["variance_reduction"], _interval(*primal["variance_reduction_ci"])
        costs = _listed([f"{_share(primal, baseline, 'parameters')} of the parameters", *_moved(primal, baseline)])
        if interval or ratio >= NEAR:
            sentences.append(f"Same cost: {_design(primal)} {ratio:.2f}{interval} times less {what}, with {costs}.")
        elif ratio < 1 + MOVED:
            sentences.append(f"Same cost: {own} is as good as the best design to {_percent(MOVED)}, by {what}.")
        else:
            sentences.append(f"Same cost: {own} is within {_percent(ratio - 1)} of the best design, {primal['design']}, with {costs}, by {what}.")
    if gains(document, "dual"):
        ratio = baseline["parameters"] / dual["parameters"]
        interval = _interval(*(baseline["parameters"] / count for count in reversed(dual["parameters_ci"])))
        shares = _listed([*_moved(dual, baseline), f"{_percent(1 / dual['variance_reduction'])} of the variance"])
        if interval or ratio >= SAVED:
            sentences.append(f"Same variance: {_design(dual)} {ratio:.2f}{interval} times fewer parameters, with {shares}.")
        else:
            sentences.append(f"Same variance: no design saves more than {_percent(SAVED - 1)} of {own}'s parameters.")
    if sentences:
        return sentences
    if any(undecided(document, problem) for problem in ("primal", "dual")):
        return [f"The draws decide no gain here: keep {baseline['design']}, or ask for a smaller precision."]
    return [f"There is nothing to gain here: keep {baseline['design']}."]


def _moved(record: dict[str, Any], baseline: dict[str, Any]) -> list[str]:
    """Counts that moved, where they are known, as shares of the baseline's."""
    counts = [(key, unit) for key, unit in (("flops", "FLOPs"), ("activations", "activations")) if record[key] and baseline[key]]
    moved = [(key, unit) for key, unit in counts if abs(record[key] / baseline[key] - 1) >= MOVED]
    return [f"{_share(record, baseline, key)} of the {unit}" for key, unit in moved]


def _listed(items: list[str]) -> str:
    """As `a, b and c`."""
    return " and ".join([", ".join(items[:-1]), items[-1]] if items[1:] else items)


def _interval(low: float, high: float) -> str:
    return f" ({low:.2f} to {high:.2f})" if low < high else ""


def _named(record: dict[str, Any]) -> str:
    """The design where the draws decide it, else the widths that they do not tell apart."""
    widths = record["alike"]
    return record["design"] if len(widths) == 1 else f"width {widths[0]} to {widths[-1]}"


def _design(record: dict[str, Any]) -> str:
    """The same as the subject of a sentence."""
    return f"{record['design']} has" if len(record["alike"]) == 1 else f"members of {_named(record)} have"


def _share(record: dict[str, Any], baseline: dict[str, Any], key: str) -> str:
    return _percent(record[key] / baseline[key])


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _untouched(document: dict[str, Any]) -> list[str]:
    share = document["untouched"]
    return [f"{100 * share:.0f} % of the model's parameters are outside these blocks' inner layers and stay untouched."] if share > 0.5 else []


def _skipped(document: dict[str, Any]) -> list[str]:
    if not document["skipped"]:
        return []
    first = document["skipped"][0]
    return [f"{_blocks(len(document['skipped']))} passed over; {first['block']}: {first['reason']}."]


Objective = Literal["primal", "dual"]
