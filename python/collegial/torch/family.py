"""A model with other designs in all its blocks: what they count, and the best of them where the
program knows the whole network."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import Any

from torch import nn

from .. import _collegial
from .._functions import search
from .._spec import Spec
from .blocks import ModelBlocks
from .module_choice import MANY, Rule, rounded
from .recognise import block_designs
from .resize import resize, scaled


class Family:
    """The designs that a model can have, each a list of m and n of its blocks."""

    def __init__(self, model: nn.Module, found: ModelBlocks):
        self.blocks, self.trial = found.blocks, found.trial
        blocks = self.blocks
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

    def is_multiple_of(self, width: int, step: int) -> bool:
        """Whether all hidden layers of members are a multiple of a step wide, in all blocks, where those
        of the analysed one have this width."""
        designs = zip(self.blocks, self.proportional(1, width))
        return all(scaled(own, scale) % step == 0 for block, (_, own) in designs for scale in block.scales)

    def parameters(self, designs: Sequence[tuple[int, int]]) -> int:
        """The parameters of the whole model."""
        return self.fixed + sum(block.parameters(*design) for block, design in zip(self.blocks, designs))

    def fitted(self, width: int, rule: Rule, most: float) -> int:
        """The integer correction: the m whose whole model is nearest to the baseline, or the largest
        below it; 0 where not even one member is."""
        cost = lambda members: self.parameters(self.proportional(members, width))
        return _collegial.members_within(cost, self.total, rule, int(min(most, MANY)))

    def of_network(self, spec: Spec, rule: Rule | None, most: float, options: dict[str, Any]) -> dict[str, Any]:
        """The best designs as `collegial.search` has them for the network."""
        # Its variances are exact: there is nothing to draw.
        options = {name: value for name, value in options.items() if name != "seconds"}
        found = search(spec, rule=rule, max_multiplicity=None if most == math.inf else int(most), **options)
        before = found.baseline_score
        designs = block_designs(spec)
        # Some have designs of every stage's own.
        named = designs[0] if found.baseline_design else None
        own = self.record(designs, named, before, before, (found.baseline_flops, found.baseline_activations))

        def record(best: Any) -> dict[str, Any]:
            # The score of the same design may differ in its last bit: it is another sum.
            if best.design == found.baseline_design:
                return own
            designs = block_designs(spec, best.design)
            return self.record(designs, designs[0], best.score, before, (best.flops, best.activations))

        curve = [{"width": each.width, "variance": each.primal_objective} for each in found.curve if each.primal_multiplicity >= 1]
        optima = {"primal": record(found.primal), "dual": record(found.dual)}
        said = {key: found.to_dict()[key] for key in ("friendly", "evidence")}
        return {"alpha": None, "alpha_ci": None, "precision": None, "curve": curve, "baseline": own, **optima, **said}

    def record(
        self,
        designs: list[tuple[int, int]],
        named: tuple[int, int] | None,
        variance: float,
        before: float,
        counts: tuple[int | None, int | None] | None = None,
    ) -> dict[str, Any]:
        """A design of all blocks and what it has; the m and n that it is named by, where it is one
        for all stages. Its FLOPs and activations are counted where they are not given."""
        analysed = designs[self.blocks.index(self.analysed)]
        members, width = named or (None, None)
        flops, activations = self.trial.counts(self.rebuilt(designs)) if counts is None else counts
        stages = [named] if named is not None else [design for design, _ in groupby(designs)]
        return {
            "design": ",".join(f"{m}x{n}d" for m, n in stages),
            "multiplicity": members,
            "width": width,
            "block_designs": [list(design) for design in designs],
            "block_parameters": self.analysed.parameters(*analysed),
            "parameters": self.parameters(designs),
            "parameters_ci": [self.parameters(designs)] * 2,
            "flops": flops,
            "activations": activations,
            "variance": variance,
            "variance_reduction": before / variance,
            "variance_reduction_ci": [before / variance] * 2,
            "alike": [width],
        }

    def rebuilt(self, designs: Sequence[tuple[int, int]]) -> nn.Module:
        """The meta model with these designs."""
        model = self.trial.meta_copy()
        for block, design in zip(self.blocks, designs):
            resize(model, block.slots, *design)
        return model
