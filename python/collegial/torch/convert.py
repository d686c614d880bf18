"""A model of your own, rebuilt with a better design."""

from __future__ import annotations

import math
from typing import Any, TypeVar

from torch import nn

from .._collegial import CollegialError
from .blocks import Found, find_blocks
from .family import Rule
from .resize import resize
from .suggest import Objective, Suggestion, suggested
from .trial import copied

Model = TypeVar("Model", bound=nn.Module)
Built = TypeVar("Built", bound=nn.Module)


def convert(
    model: Model,
    objective: Objective = "primal",
    *,
    inputs: Any = None,
    rule: Rule | None = None,
    max_multiplicity: int | None = None,
    **options: Any,
) -> Model:
    """A copy of the model whose bottleneck blocks have the design that `suggest` proposes with the
    same options.

    The layers of a block that depend on its inner width are new and drawn as the model drew its
    own; all others keep their weights. Type, device, memory format, mode, hooks and `requires_grad`
    stay. The rebuilt model has been run, in evaluation and in training, before it is returned. The
    model itself stays as it is.

    Args:
        model: Any module with bottleneck blocks.
        objective: "primal" for less variance at the same parameters, "dual" for fewer parameters at
            the same variance.
        inputs: A tensor, or a tuple, that the model takes; only needed where that cannot be guessed.
        rule: How the primal meets the parameters of the model: "nearest" to them, or "under" them; by
            default as `collegial.search` does.
        max_multiplicity: The largest number of members.
        options: `alpha`, `multiple_of`, `trials`, `precision`, `seed` and `progress`, as `suggest`
            takes them.
    """
    if objective not in ("primal", "dual"):
        raise CollegialError(f"the objective is {objective!r}; take 'primal' (less variance) or 'dual' (fewer parameters)")
    found = find_blocks(model, inputs)
    return converted(model, found, suggested(model, found, rule, max_multiplicity or math.inf, options), objective)


def converted(model: Model, found: Found, suggestion: Suggestion, objective: Objective) -> Model:
    """A copy of the model with a suggestion for the blocks that were found in it."""
    wanted, baseline = suggestion[objective], suggestion.baseline
    gains = wanted.variance_reduction > 1 if objective == "primal" else wanted.parameters < baseline.parameters
    if not gains:
        raise CollegialError(f"there is nothing to gain by the {objective}: keep {type(model).__name__} as it is, {baseline.design}")
    designs = [tuple(map(int, design.removesuffix("d").split("x"))) for design in wanted.block_designs]

    def rebuild(target: Built) -> Built:
        for block, (members, width) in zip(found.blocks, designs):
            resize(target, block.slots, members, width)
        return target

    meta = rebuild(found.trial.meta_copy())
    failure = found.trial.failure(meta)
    count = sum(parameter.numel() for parameter in meta.parameters())
    if failure is None and count != wanted.parameters:
        failure = f"it has {count:,} parameters instead of {wanted.parameters:,}"
    if failure is not None:
        raise CollegialError(f"{type(model).__name__} with {wanted.design} does not run, so it is not returned: {failure}")
    return rebuild(copied(model))
