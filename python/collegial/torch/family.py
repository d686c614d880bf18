"""A model with other designs in all its blocks: by the search of the whole network where the program
knows it by name, else by that of one block, to which the others keep their proportions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from torch import nn

from .._collegial import CollegialError
from .._questions import search
from .._spec import Spec
from .block import Block
from .recognise import block_designs

Rule = Literal["nearest", "under"]
# Members that are drawn are no wider than this, unless the model's own are.
WIDEST = 128


class Family:
    """The designs that a model can have, each a list of m and n of its blocks."""

    def __init__(self, model: nn.Module, blocks: Sequence[Block]):
        self.blocks = blocks
        self.analysed = next((block for block in blocks if block.repeats), blocks[0])
        self.total = sum(parameter.numel() for parameter in model.parameters())
        self.fixed = self.total - sum(block.parameters() for block in blocks)

    def proportional(self, members: int, width: int) -> list[tuple[int, int]]:
        """m and n of every block where the analysed one has these."""
        return [
            (
                max(1, rounded(members * block.members / self.analysed.members)),
                max(1, rounded(width * block.width / self.analysed.width)),
            )
            for block in self.blocks
        ]

    def parameters(self, designs: Sequence[tuple[int, int]]) -> int:
        """The parameters of the whole model."""
        return self.fixed + sum(block.parameters(*design) for block, design in zip(self.blocks, designs))

    def fitted(self, width: int, rule: Rule, most: float) -> int:
        """The integer correction of Algorithm 2: the m whose whole model is nearest to the
        baseline, or the largest below it."""
        cost = lambda members: self.parameters(self.proportional(members, width))
        fits = lambda members: members <= most and cost(members) <= self.total
        members, above = 1, 2
        while fits(above):
            members, above = above, 2 * above
        while above - members > 1:
            middle = (members + above) // 2
            members, above = (middle, above) if fits(middle) else (members, middle)
        if rule == "nearest" and above <= most:
            members += cost(above) - self.total < abs(self.total - cost(members))
        return members

    def of_network(self, spec: Spec, rule: Rule | None, most: float, options: dict[str, Any]) -> dict[str, Any]:
        """The best designs as `collegial.search` has them for the network."""
        found = search(spec, rule=rule, max_multiplicity=None if most == math.inf else int(most), **options)
        before = found.baseline_score
        own = self.record(found.baseline_design, block_designs(spec), before, before)
        # The score of the same design may differ in its last bit: it is another sum.
        other = lambda best: self.record(best.design, block_designs(spec, best.design), best.score, before)
        record = lambda best: own if best.design == found.baseline_design else other(best)
        return {"alpha": None, "alpha_ci": None, "baseline": own, "primal": record(found.primal), "dual": record(found.dual)}

    def of_block(self, rule: Rule | None, most: float, options: dict[str, Any]) -> dict[str, Any]:
        """The best designs as `collegial.search` has them for the analysed block."""
        analysed, spec = self.analysed, self.analysed.spec()
        law = any(options.get(name) is not None for name in ("alpha", "trials"))
        if law and analysed.depthwise:
            raise CollegialError(
                f"alpha= and trials= ask for the law, by which a wide network is split, but {analysed.name} is depthwise; leave them out"
            )
        # Where theory has no closed form variances are drawn, which is not done for every width.
        widths = ladder(analysed.members * analysed.width, analysed.width) if spec["kind"] == "sequence" and not law else None
        found = search(spec, rule=rule, widths=widths, max_multiplicity=None if most == math.inf else int(most), **options)
        points = {point.width: point for point in found.curve}
        first, second = points[found.primal.width], points[found.dual.width]
        before = found.baseline_variance
        primal = self.fitted(first.width, rule or ("nearest" if law else "under"), most)
        dual = int(min(max(1, rounded(second.dual_multiplicity)), most))
        record = lambda members, width, variance: self.record(f"{members}x{width}d", self.proportional(members, width), variance, before)
        return {
            "alpha": found.alpha,
            "alpha_ci": found.to_dict().get("alpha_ci"),
            "baseline": record(analysed.members, analysed.width, before),
            "primal": record(primal, first.width, first.variance / primal),
            "dual": record(dual, second.width, second.variance / dual),
        }

    def record(self, design: str, designs: list[tuple[int, int]], variance: float, before: float) -> dict[str, Any]:
        """A design and what it has."""
        members, width = map(int, design.removesuffix("d").split("x"))
        analysed = designs[self.blocks.index(self.analysed)]
        return {
            "design": design,
            "multiplicity": members,
            "width": width,
            "block_designs": [f"{m}x{n}d" for m, n in designs],
            "block_parameters": self.analysed.parameters(*analysed),
            "parameters": self.parameters(designs),
            "variance": variance,
            "variance_reduction": before / variance,
        }


def ladder(most: int, own: int) -> list[int]:
    """Widths up to the largest, about four to every doubling, the own one among them."""
    widths = {rounded(2 ** (step / 4)) for step in range(4 * most.bit_length())}
    return sorted({width for width in widths if width <= min(most, WIDEST)} | {own})


def rounded(value: float) -> int:
    """The nearest integer, halves upwards."""
    return math.floor(value + 0.5)
