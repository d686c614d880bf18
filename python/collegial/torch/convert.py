"""A model of your own, rebuilt with a better design."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from torch import nn

from .._collegial import CollegialError
from .block import Block
from .blocks import ModelBlocks, find_blocks
from .module_choice import Rule
from .resize import resize
from .suggest import Objective, Suggestion, check_model, gains, most_members, suggested, undecided
from .trial import copied, sentence
from .weights import Conversion, unwrapped, weights_of

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
) -> Conversion[Model]:
    """A copy of the model whose bottleneck blocks have the design that `suggest` proposes with the
    same options, and what it kept of the weights: `better, weights = convert(model)`.

    The layers of a block that depend on its inner width are new and drawn as the model drew its
    own; all others keep their weights, to the bit. Type, device, memory format, mode, hooks, tied
    weights and `requires_grad` stay; a model inside `torch.compile` or data parallelism is returned
    without that. The rebuilt model has been run, in evaluation and in training, before it is
    returned. The model itself stays as it is.

    Args:
        model: Any module with bottleneck blocks.
        objective: "primal" for less variance at the same parameters, "dual" for fewer parameters at
            the same variance.
        inputs: A tensor, or a tuple, that the model takes; only needed where that cannot be guessed.
        rule: How the primal meets the parameters of the model: "nearest" to them, or "under" them; by
            default as `collegial.search` does.
        max_multiplicity: The largest number of members.
        options: `alpha`, `multiple_of`, `trials`, `precision`, `seconds`, `seed` and `progress`, as
            `suggest` takes them.
    """
    if objective not in ("primal", "dual"):
        raise CollegialError(f"the objective is {objective!r}; take 'primal' (less variance) or 'dual' (fewer parameters)")
    check_model(model)
    bare, wrappers = unwrapped(model)
    found = find_blocks(bare, inputs)
    suggestion = suggested(bare, found, rule, most_members(max_multiplicity), options)
    better = converted(bare, found, suggestion, objective)
    designs = zip(found.blocks, suggestion[objective].block_designs)
    slots = [slot for block, design in designs if _changes(block, design) for slot in block.slots]
    return Conversion(better, weights_of(bare, better, slots, wrappers))


def _changes(block: Block, design: Sequence[int]) -> bool:
    return tuple(design) != (block.members, block.width)


def converted(model: Model, found: ModelBlocks, suggestion: Suggestion, objective: Objective) -> Model:
    """A copy of the model with a suggestion for the blocks that were found in it."""
    wanted, baseline = suggestion[objective], suggestion.baseline
    if not gains(suggestion, objective):
        still_open = undecided(suggestion, objective)
        what = f"the draws decide no gain by the {objective}" if still_open else f"there is nothing to gain by the {objective}"
        more = "; a smaller precision may" if still_open else ""
        raise CollegialError(f"{what}: keep {type(model).__name__} as it is, {baseline.design}{more}")

    def rebuild(target: Built) -> Built:
        for block, design in zip(found.blocks, wanted.block_designs):
            if _changes(block, design):
                resize(target, block.slots, *design)
        return target

    meta = rebuild(found.trial.meta_copy())
    failure = found.trial.failure(meta)
    count = sum(parameter.numel() for parameter in meta.parameters())
    if failure is None and count != wanted.parameters:
        failure = f"it has {count:,} parameters instead of {wanted.parameters:,}"
    if failure is not None:
        raise CollegialError(f"{type(model).__name__} with {wanted.design} does not run, so it is not returned: {failure}")
    better = copied(model)
    try:
        return rebuild(better)
    except (RuntimeError, MemoryError) as error:
        raise CollegialError(f"{type(model).__name__} with {wanted.design} cannot be made: {sentence(error)}") from error
