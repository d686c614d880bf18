"""A model with other designs in all its blocks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

from torch import nn

from .._collegial import CollegialError
from .._questions import search
from .block import Block

Rule = Literal["nearest", "under"]
# Members that are drawn are no wider than this, unless the model's own are.
WIDEST = 128


class Family:
    """The designs that a model can have: that of one block says those of the others, which keep
    their proportions to it."""

    def __init__(self, model: nn.Module, blocks: Sequence[Block]):
        self.blocks = blocks
        self.analysed = next((block for block in blocks if block.repeats), blocks[0])
        self.total = sum(parameter.numel() for parameter in model.parameters())
        self.fixed = self.total - sum(block.parameters() for block in blocks)

    def design(self, block: Block, members: int, width: int) -> tuple[int, int]:
        """m and n of a block where the analysed one has these."""
        return (
            max(1, rounded(members * block.members / self.analysed.members)),
            max(1, rounded(width * block.width / self.analysed.width)),
        )

    def parameters(self, members: int, width: int) -> int:
        """The parameters of the whole model."""
        return self.fixed + sum(block.parameters(*self.design(block, members, width)) for block in self.blocks)

    def fitted(self, width: int, rule: Rule, most: float) -> int:
        """The integer correction of Algorithm 2: the m whose whole model is nearest to the
        baseline, or the largest below it."""
        fits = lambda members: members <= most and self.parameters(members, width) <= self.total
        members, above = 1, 2
        while fits(above):
            members, above = above, 2 * above
        while above - members > 1:
            middle = (members + above) // 2
            members, above = (middle, above) if fits(middle) else (members, middle)
        if rule == "nearest" and above <= most:
            over = self.parameters(above, width) - self.total
            members += over < abs(self.total - self.parameters(members, width))
        return members

    def searched(self, rule: Rule, most: float, options: dict[str, Any]) -> dict[str, Any]:
        """The best designs, as the search of the program has them for the analysed block: the one
        place that asks it."""
        analysed, spec = self.analysed, self.analysed.spec()
        law = any(options.get(name) is not None for name in ("alpha", "trials"))
        if law and analysed.depthwise:
            raise CollegialError(
                f"alpha= and trials= ask for the law, by which a wide network is split, but {analysed.name} is depthwise; leave them out"
            )
        # Exact variances by default; a law, with its alpha, where alpha or trials are given; where
        # theory has no closed form draws, which are not made for every width.
        widths = ladder(analysed.members * analysed.width, analysed.width) if spec["kind"] == "sequence" and not law else None
        found = search(spec, rule=rule, widths=widths, max_multiplicity=None if most == math.inf else int(most), **options)
        points = {point.width: point for point in found.curve}
        first, second = points[found.primal.width], points[found.dual.width]
        before = found.baseline_variance
        primal = self.fitted(first.width, rule, most)
        dual = int(min(max(1, rounded(second.dual_multiplicity)), most))
        return {
            "alpha": found.alpha,
            "alpha_ci": found.to_dict().get("alpha_ci"),
            "baseline": self.record(analysed.members, analysed.width, before, before),
            "primal": self.record(primal, first.width, first.variance / primal, before),
            "dual": self.record(dual, second.width, second.variance / dual, before),
        }

    def record(self, members: int, width: int, variance: float, before: float) -> dict[str, Any]:
        """A design and what it has."""
        return {
            "design": f"{members}x{width}d",
            "multiplicity": members,
            "width": width,
            "block_parameters": self.analysed.parameters(members, width),
            "parameters": self.parameters(members, width),
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
