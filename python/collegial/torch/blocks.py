"""Bottleneck blocks in any model, found by its data flow.

A block is a 1x1 convolution, a k x k one (in groups, depthwise or not) and a 1x1 one, all of whose inner
channels go from the first to the third and nowhere else, through norms, activations, pools and
gates that keep them in place. The third layer ends it: the sum over members that it takes (Eq. 2) is
what the block adds to its shortcut, or hands on as it is. Where an activation and more layers follow
instead, it is a hidden layer of a longer chain, of which no three layers are a module by themselves.
That holds for torchvision's, timm's, Hugging Face's and our own, in whatever order they register
their layers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from .attention import attends, heads
from .block import Block
from .candidates import candidate_at
from .layers import CONVOLUTIONS, Layers, common_name
from .one_hidden_layer import one_hidden_layer
from .perceptrons import perceptrons
from .refusals import Refusal, Verdict
from .resize import resize
from .trial import Trial

GOES_ON = (
    "its last 1x1 convolution is a hidden layer of a longer chain: an activation and other layers follow it, without a sum"
)


@dataclass(frozen=True)
class ModelBlocks:
    """The blocks of a model: those that can be rebuilt, and why the others cannot."""

    blocks: tuple[Block, ...]
    refusals: tuple[Refusal, ...]
    trial: Trial


def find_blocks(model: nn.Module, inputs: Any = None) -> ModelBlocks:
    """The blocks of a model; `inputs` are what its forward pass takes, where it does not take
    images of its first layer's channels."""
    trial = Trial(model, inputs)
    layers = Layers(trial.meta, trial.flow)
    blocks: list[Block] = []
    refusals: list[Refusal] = []
    chains: list[Refusal] = []
    used: set[int] = set()
    for start in range(len(trial.flow.nodes)):
        candidate = candidate_at(layers, start)
        if candidate is None:
            continue
        if not candidate.ends():
            chains.append(Refusal(candidate.span(), Verdict.NOT_COVERED, GOES_ON, "convolution chains"))
            continue
        used.update([start, *candidate.chain])
        judged = candidate.judge(type(model).__name__)
        if isinstance(judged, Block):
            blocks.append(judged)
        else:
            refusals.append(judged)
    otherwise = type(model).__name__
    if not blocks and not refusals:
        for judged in perceptrons(layers, otherwise):
            (blocks if isinstance(judged, Block) else refusals).append(judged)  # type: ignore[arg-type]
    apart, shared = _apart(_named(blocks))
    proved, failed = _proved(trial, apart)
    chosen, others = _of_one_kind(proved)
    missing = [*refusals, *shared, *failed, *others]
    neutral = one_hidden_layer(layers, used, otherwise)
    if chosen or missing:
        missing += chains
    elif not neutral:
        missing = chains or entangled(layers, otherwise) or [other_kind(layers)]
    return ModelBlocks(tuple(chosen), (*missing, *neutral, *heads(layers)), trial)


def _of_one_kind(blocks: list[Block]) -> tuple[list[Block], list[Refusal]]:
    """Depthwise blocks or all others, whichever have more parameters: m and n of one block say those
    of the rest by their proportions, which members of width 1 do not share with wide ones."""
    kinds = [[block for block in blocks if block.depthwise is depthwise] for depthwise in (False, True)]
    others, chosen = sorted(kinds, key=lambda kind: sum(block.parameters() for block in kind))
    which = "not depthwise" if chosen and chosen[0].depthwise else "depthwise"
    reason = f"its convolution is {which}, unlike those of the blocks with more parameters: one design does not do for both"
    return chosen, [Refusal(block.name, Verdict.NOT_COVERED, reason) for block in others]


def _named(blocks: list[Block]) -> list[Block]:
    """Blocks by names that tell them apart: by their first and last layer where the module that
    they are in holds other blocks too."""
    names = [block.name for block in blocks]
    holds = {name: sum(other == name or other.startswith(f"{name}.") for other in names) for name in names}
    return [block if holds[block.name] == 1 else replace(block, name=block.span) for block in blocks]


def _apart(blocks: list[Block]) -> tuple[list[Block], list[Refusal]]:
    """Those that share no layer with one before: in a long chain the last convolution of a block may
    be the first of the next."""
    chosen: list[Block] = []
    refusals = []
    taken: set[tuple[str, str]] = set()
    for block in blocks:
        tensors = {(slot.module, slot.tensor) for slot in block.slots}
        if tensors & taken:
            refusals.append(Refusal(block.name, Verdict.NOT_COVERED, "its layers are those of another block too"))
        else:
            chosen.append(block)
            taken |= tensors
    return chosen, refusals


def _proved(trial: Trial, blocks: list[Block]) -> tuple[list[Block], list[Refusal]]:
    """Those that still run when they are rebuilt with members of an odd width."""

    def failure(chosen: list[Block]) -> str | None:
        meta = trial.meta_copy()
        try:
            for block in chosen:
                resize(meta, block.slots, block.members + 1, block.width + 3)
        except Exception as error:  # noqa: BLE001: layers of the user's may raise anything
            return str(error)
        return trial.failure(meta)

    if not blocks or failure(blocks) is None:
        return blocks, []
    reasons = [failure([block]) for block in blocks]
    failed = [
        Refusal(block.name, Verdict.NOT_COVERED, f"its forward pass fails with another inner width: {reason}")
        for block, reason in zip(blocks, reasons)
        if reason is not None
    ]
    return [block for block, reason in zip(blocks, reasons) if reason is None], failed


def entangled(layers: Layers, otherwise: str) -> list[Refusal]:
    """The first 1x1, k x k and 1x1 convolutions that follow one another, though not by themselves."""
    for start in range(len(layers.flow.nodes)):
        if not layers.weighing[start] or not layers.pointwise(start):
            continue
        for middle in filter(layers.spatial, layers.after(start)):
            for end in filter(layers.pointwise, layers.after(middle)):
                names = [name for index in (start, middle, end) for name in layers.owners(index)]
                reason = (
                    "this is no bottleneck block: what goes from its 1x1 to its k x k and on to the next 1x1 convolution is read by "
                    "other layers too, or mixed with what they give"
                )
                return [Refusal(common_name(names, otherwise), Verdict.NOT_COVERED, reason)]
    return []


def other_kind(layers: Layers) -> Refusal:
    """What a model is made of instead of bottleneck blocks; `collegial.torch.search` takes any module."""
    nodes = layers.flow.nodes
    weighing = [index for index in range(len(nodes)) if layers.weighing[index]]
    spatial = [index for index in weighing if layers.spatial(index)]
    sums = any(layers.adds(index) for index in range(len(nodes)))
    if any(attends(node) for node in nodes):
        kind = "its blocks have attention"
    elif not spatial and any(nodes[index].function not in ("linear", *CONVOLUTIONS) for index in weighing):
        products = sorted({nodes[index].function for index in weighing} - {"linear", *CONVOLUTIONS})
        kind = f"its weights are multiplied by {', '.join(products)}, where it is not known which axes are members"
    elif not spatial:
        kind = "it has no k x k convolution, nor two hidden linear layers in a row"
    elif any(layers.depthwise(index) and _at_the_start(layers, index) for index in spatial):
        kind = "its branches begin with a depthwise convolution, before which no 1x1 convolution stands"
    elif any(node.function in ("cat", "concat", "concatenate") for node in nodes):
        kind = "its branches are put side by side, not added"
    elif not sums:
        kind = "it is a plain chain of layers, without residual blocks"
    else:
        kind = "no 1x1 convolution with an activation stands on both sides of its k x k ones"
    return Refusal("", Verdict.NOT_COVERED, f"it has no bottleneck block (1x1, then k x k, then 1x1 convolution): {kind}", "other layers")


def _at_the_start(layers: Layers, index: int) -> bool:
    """Whether a sum somewhere behind a layer adds what it reads: a residual branch begins with it."""
    sources = set(layers.flow.nodes[index].inputs)
    return any(layers.adds(after) and sources & set(layers.flow.nodes[after].inputs) for after in range(index, len(layers.flow.nodes)))
