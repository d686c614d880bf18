"""A better design for a model of your own."""

import json
import math

from .. import _collegial
from .._collegial import CollegialError
from .._functions import search
from .._optional import need
from .._results import Result, _axes
from .blocks import find_blocks


class Suggestion(Result):
    """The designs of a model's blocks: its own, the primal's and the dual's; prints as a table."""

    def to_pandas(self):
        designs = [{"problem": problem, **self[problem]} for problem in ("baseline", "primal", "dual")]
        return need("pandas", "to_pandas", "pandas").DataFrame(designs)

    def __getitem__(self, problem):
        return self._record[problem]

    def plot(self, ax=None):
        """Variance against parameters: down is better, and so is left."""
        ax = _axes(ax)
        for problem in ("baseline", "primal", "dual"):
            ax.plot([self[problem].parameters], [self[problem].variance], "o", label=f"{problem} {self[problem].design}")
        ax.set(xlabel="parameters", ylabel="variance of a block's kernel", title=self.model)
        ax.legend()
        return ax


def suggest(model, *, alpha=None, rule="nearest", multiple_of=None, max_multiplicity=None, trials=None, seed=0, progress=None):
    """Looks for bottleneck blocks in a model and proposes the collegial design for them.

    The primal has the model's parameters and less variance, the dual its variance and fewer parameters. The block that repeats
    first is analysed; the others keep their proportions to it.
    """
    blocks, skipped = find_blocks(model)
    name = type(model).__name__
    if not blocks:
        reasons = "".join(f"; {block}: {reason}" for block, reason in skipped[:1])
        raise CollegialError(
            f"no bottleneck block (1x1, then k x k, then 1x1 convolution) was found in {name}, and other blocks have no inner "
            f"width to split{reasons}"
        )
    analysed = next((block for block in blocks if block.repeats), blocks[0])
    found = search(
        analysed.spec(), alpha=alpha, rule=rule, multiple_of=multiple_of, max_multiplicity=max_multiplicity, trials=trials,
        seed=seed, progress=progress,
    )
    family = Family(model, blocks, analysed)
    point = next(point for point in found.curve if point.width == found.primal.width)
    most = max_multiplicity or math.inf
    primal = family.fitted(point.width, rule, most)
    dual = min(max(1, _round(point.dual_multiplicity)), most)
    document = {
        "model": name,
        "blocks": [block.name for block in blocks],
        "skipped": [{"block": block, "reason": reason} for block, reason in skipped],
        "analysed": analysed.name,
        "alpha": found.alpha,
        "alpha_ci": found.alpha_ci,
        "baseline": family.record(analysed.members, analysed.width, found.baseline_variance, found),
        "primal": family.record(primal, point.width, point.variance / primal, found),
        "dual": family.record(dual, point.width, point.variance / dual, found),
    }
    return Suggestion(json.dumps(document), *_show(document))


class Family:
    """The model with other designs in all its blocks."""

    def __init__(self, model, blocks, analysed):
        self.blocks, self.analysed = blocks, analysed
        self.total = sum(parameter.numel() for parameter in model.parameters())
        self.fixed = self.total - sum(block.parameters() for block in blocks)

    def design(self, block, members, width):
        """m and n of a block where the analysed one has these: every block keeps its proportions to it."""
        scaled = lambda value, own, reference: max(1, _round(value * own / reference))
        return scaled(members, block.members, self.analysed.members), scaled(width, block.width, self.analysed.width)

    def parameters(self, members, width):
        return self.fixed + sum(block.parameters(*self.design(block, members, width)) for block in self.blocks)

    def fitted(self, width, rule, most):
        """The integer correction of Algorithm 2: the m whose whole model is nearest to the baseline, or the largest below it."""
        members = 1
        while members < most and self.parameters(members + 1, width) <= self.total:
            members += 1
        if rule == "nearest" and members < most:
            above = self.parameters(members + 1, width) - self.total
            members += above < abs(self.total - self.parameters(members, width))
        return members

    def record(self, members, width, variance, found):
        return {
            "design": f"{members}x{width}d",
            "multiplicity": members,
            "width": width,
            "block_parameters": self.analysed.parameters(members, width),
            "parameters": self.parameters(members, width),
            "variance": variance,
            "variance_reduction": found.baseline_variance / variance,
        }


def _round(value):
    return math.floor(value + 0.5)


def _show(document):
    """As text and HTML."""
    baseline, primal, dual = (document[problem] for problem in ("baseline", "primal", "dual"))
    rows = [
        [problem, record["design"], f"{record['block_parameters']:,}", f"{record['parameters']:,}", f"{record['variance']:.4g}"]
        for problem, record in (("baseline", baseline), ("primal", primal), ("dual", dual))
    ]
    count = len(document["blocks"])
    sentences = [f"{document['model']}: {count} bottleneck blocks, the design is that of {document['analysed']}"]
    share = primal["parameters"] / baseline["parameters"]
    if primal["variance_reduction"] > 1:
        sentences.append(
            f"{primal['design']}: {primal['variance_reduction']:.2f} times less kernel variance at {share:.1%} of the parameters"
        )
    if dual["parameters"] < baseline["parameters"]:
        sentences.append(
            f"{dual['design']}: {baseline['parameters'] / dual['parameters']:.2f} times fewer parameters at "
            f"{1 / dual['variance_reduction']:.1%} of the kernel variance"
        )
    if len(sentences) == 1:
        sentences.append(f"There is nothing to gain here: keep {baseline['design']}.")
    if document["skipped"]:
        first = document["skipped"][0]
        sentences.append(f"{len(document['skipped'])} blocks were passed over; {first['block']}: {first['reason']}")
    headings = ["", "design", "parameters of the block", "parameters of the model", "variance"]
    return _collegial.table(sentences, headings, rows)
