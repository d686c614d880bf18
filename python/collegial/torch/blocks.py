"""Bottleneck blocks in any model, found by its data flow.

A block is a 1x1 convolution, a k x k one (in groups or not) and a 1x1 one, all of whose inner
channels go from the first to the third and nowhere else, through norms, activations, pools and
gates that keep them in place. That holds for torchvision's, timm's, Hugging Face's and our own, in
whatever order they register their layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from .layers import Layers, common_name
from .refusals import Kind, Refusal
from .resize import Slot, resize
from .slots import Unknown, slots_of
from .trial import Trial


@dataclass(frozen=True)
class Block:
    """A bottleneck block: its shape, and the tensors that depend on its inner width."""

    name: str
    inputs: int
    outputs: int
    members: int
    width: int
    kernel: int
    stride: int
    normed: bool
    gated: bool
    activations: tuple[str, ...]
    slots: tuple[Slot, ...]

    @property
    def repeats(self) -> bool:
        """Whether an identity could be its shortcut: the block that a stage repeats, which the
        theory is about."""
        return self.inputs == self.outputs and self.stride == 1

    def spec(self) -> dict[str, Any]:
        """The block as a spec, its norms as ours. A projection, which no design changes, is left out."""
        return {
            "kind": "bottleneck",
            "inputs": self.inputs,
            "outputs": self.outputs,
            "width": self.width,
            "members": self.members,
            "kernel": self.kernel,
            "norm": "batch" if self.normed else "none",
            "shortcut": "identity" if self.inputs == self.outputs else "none",
        }

    def parameters(self, members: int | None = None, width: int | None = None) -> int:
        """The parameters that depend on the design, with this one or its own."""
        return sum(slot.count(members or self.members, width or self.width) for slot in self.slots if slot.learned)


@dataclass(frozen=True)
class Found:
    """What is in a model: blocks that can be rebuilt, and those that cannot."""

    blocks: tuple[Block, ...]
    refusals: tuple[Refusal, ...]
    trial: Trial


def find_blocks(model: nn.Module, inputs: Any = None) -> Found:
    """The blocks of a model; `inputs` are what its forward pass takes, where it does not take
    images of its first layer's channels."""
    trial = Trial(model, inputs)
    layers = Layers(trial.bones, trial.flow)
    blocks: list[Block] = []
    refusals: list[Refusal] = []
    used: set[int] = set()
    for start in range(len(trial.flow.nodes)):
        candidate = _candidate(layers, start)
        if candidate is None:
            continue
        used.update([start, *candidate.chain])
        judged = candidate.judge(type(model).__name__)
        if isinstance(judged, Block):
            blocks.append(judged)
        else:
            refusals.append(judged)
    proved, failed = _proved(trial, blocks)
    hidden = [] if proved or refusals or failed else one_hidden_layer(layers, used, type(model).__name__)
    return Found(tuple(proved), (*refusals, *failed, *hidden), trial)


def _proved(trial: Trial, blocks: list[Block]) -> tuple[list[Block], list[Refusal]]:
    """Those that still run when they are rebuilt with members of an odd width."""

    def failure(chosen: list[Block]) -> str | None:
        bones = trial.fresh()
        try:
            for block in chosen:
                resize(bones, block.slots, block.members + 1, block.width + 3)
        except Exception as error:  # noqa: BLE001: layers of the user's may raise anything
            return str(error)
        return trial.failure(bones)

    if not blocks or failure(blocks) is None:
        return blocks, []
    reasons = [failure([block]) for block in blocks]
    failed = [
        Refusal(block.name, Kind.NOT_SUPPORTED, f"its forward pass fails with another inner width: {reason}")
        for block, reason in zip(blocks, reasons)
        if reason is not None
    ]
    return [block for block, reason in zip(blocks, reasons) if reason is None], failed


@dataclass(frozen=True)
class _Candidate:
    """Two 1x1 convolutions with k x k ones between, closed to the outside; the chain are the layers
    behind the first."""

    layers: Layers
    start: int
    chain: tuple[int, ...]
    inside: frozenset[int]

    def judge(self, otherwise: str) -> Block | Refusal:
        """A block, or why it is none."""
        layers, end = self.layers, self.chain[-1]
        owners = [layers.owner(index) for index in (self.start, *self.chain)]
        name = common_name([owner for owner in owners if owner is not None], otherwise)
        reason = self._shape_reason() or self._flow_reason()
        if reason is not None:
            return Refusal(name, Kind.NOT_SUPPORTED, reason)
        middle = self.chain[0]
        try:
            slots = slots_of(layers, (self.start, middle, end), self.inside, self.gates(), self.main())
        except Unknown as unknown:
            return Refusal(name, Kind.NOT_SUPPORTED, str(unknown))
        reduce, conv, expand = (layers.convolution(index) for index in (self.start, middle, end))
        assert reduce is not None and conv is not None and expand is not None
        strides = [stride for layer in (reduce, conv, expand) for stride in layer.stride]
        return Block(
            name, reduce.in_channels, expand.out_channels, conv.groups, conv.out_channels // conv.groups, conv.kernel_size[0],
            max(strides), any(slot.vector for slot in slots), bool(self.gates()),
            tuple(sorted(layers.activated(set(self.inside)))), slots,
        )

    def gates(self) -> set[int]:
        """Layers off the main path, whose results the inner channels are multiplied by."""
        return {index for index in self.inside if self.layers.weighing[index] and index not in self.chain}

    def main(self) -> set[int]:
        """The nodes that the inner channels pass without going through a gate's layers."""
        allowed = set(self.inside) - self.gates()
        forward = self.layers.flow.reaches(self.start, allowed)
        backward = {self.chain[-1]}
        for index in sorted(forward, reverse=True):
            if any(consumer in backward for consumer in self.layers.flow.nodes[index].consumers):
                backward.add(index)
        return forward & backward

    def _shape_reason(self) -> str | None:
        """What is wrong with the convolutions."""
        layers = self.layers
        middles = self.chain[:-1]
        if not middles:
            return "several convolutions lie side by side between its 1x1 ones"
        if len(middles) > 1:
            return f"it has {len(middles)} layers between its 1x1 convolutions, not one"
        reduce, middle, expand = (layers.convolution(index) for index in (self.start, middles[0], self.chain[-1]))
        if reduce is None or middle is None or expand is None:
            return "its weights are parametrised, or made by other layers"
        if reduce.groups > 1 or expand.groups > 1:
            return "its 1x1 convolutions are in groups themselves"
        if not reduce.out_channels == middle.in_channels == middle.out_channels == expand.in_channels:
            return (
                f"its inner width changes inside: {reduce.out_channels} channels, then {middle.in_channels} -> {middle.out_channels}, "
                f"then {expand.in_channels}"
            )
        if middle.groups == middle.out_channels:
            return "its convolution is depthwise: members of width 1 cannot be split"
        if len(set(middle.kernel_size)) > 1:
            return f"its kernel is {middle.kernel_size[0]} x {middle.kernel_size[1]}, not square"
        return None

    def _flow_reason(self) -> str | None:
        """What is wrong with the way from one to the next."""
        layers, nodes = self.layers, self.layers.flow.nodes
        middle, end = self.chain
        names = [layers.owner(index) or "" for index in (self.start, middle, end)]
        if any(slot in layers.tied for index in (self.start, *self.inside, end) for slot in nodes[index].tensors):
            return "its weights are tied to those of other layers"
        if any(len(layers.calls(name)) > 1 for name in names):
            return "its layers are applied more than once in a forward pass"
        before = layers.flow.between(self.start, middle)
        for what, part in (("first", before), ("last", set(self.inside) - before)):
            if not layers.activated(part):
                return f"there is no activation between its k x k convolution and its {what} 1x1 one"
        channels, main = nodes[self.start].shape[1], self.main()
        for index in sorted(main):
            node = nodes[index]
            # Norms of images with the channels innermost turn them there and back.
            placed = len(node.shape) == 4 and channels in (node.shape[1], node.shape[3])
            if not placed or node.function in ("channel_shuffle", "softmax", "cat", "stack"):
                return f"its {node.function} mixes or moves the inner channels"
            sides = [source for source in node.inputs if source in self.inside and source not in main]
            if any(nodes[side].shape[2:] == node.shape[2:] for side in sides) and node.function.rstrip("_") not in ("mul", "__mul__"):
                return "its inner channels go two ways, of which one has convolutions of its own"
        return None


def _candidate(layers: Layers, start: int) -> _Candidate | None:
    if not layers.weighing[start] or not layers.pointwise(start):
        return None
    chain = []
    for index in layers.flow.onward(start):
        if layers.weighing[index]:
            chain.append(index)
            if layers.pointwise(index):
                break
    else:
        return None
    inside = layers.flow.between(start, chain[-1])
    if not layers.closed(start, inside) or not any(layers.spatial(index) for index in inside):
        return None
    # A 1x1 convolution at full size inside is another block's: this one is a whole stage.
    shapes = layers.flow.nodes
    side = max(shapes[start].shape[2:])
    if any(layers.pointwise(index) and index not in chain and 1 < min(shapes[index].shape[2:]) >= side // 2 and
           shapes[index].shape[1] > 1 for index in inside):
        return None
    return _Candidate(layers, start, tuple(chain), frozenset(inside))


def one_hidden_layer(layers: Layers, used: set[int], otherwise: str) -> list[Refusal]:
    """Residual branches, or whole networks, of two layers with an activation between."""
    flow, followers = layers.flow, {}
    for start in range(len(flow.nodes)):
        if layers.weighing[start] and start not in used:
            after = next((index for index in flow.onward(start) if layers.weighing[index]), None)
            inside = flow.between(start, after) if after is not None else set()
            alone = not any(layers.weighing[index] for index in inside)
            if after is not None and alone and layers.closed(start, inside) and layers.activated(inside):
                followers[start] = after
    found = []
    for start, end in followers.items():
        if start not in followers.values() and end not in followers and _ends_a_branch(layers, start, end):
            names = [name for index in (start, end) for name in layers.owners(index)]
            reason = "it has one hidden layer, and m of those in parallel are one again, m times as wide"
            found.append(Refusal(common_name(names, otherwise), Kind.OUTSIDE_THEORY, reason))
    return found


def _ends_a_branch(layers: Layers, start: int, end: int) -> bool:
    """Whether the next that happens behind two layers is a sum with what the first took, or the
    output where that took the input."""
    flow = layers.flow
    taken = layers.before(start)
    for index in flow.onward(end):
        if layers.weighing[index]:
            return False
        node = flow.nodes[index]
        if "add" in node.function and len(node.inputs) > 1:
            branch = flow.between(end, index) | {end}
            shortcuts = [source for source in node.inputs if source not in branch]
            # A shortcut may have a layer of its own, the projection.
            reached = {near for source in shortcuts for near in ({source} | layers.before(source))}
            further = {node for near in reached if layers.weighing[near] for node in layers.before(near)}
            return bool(taken & (reached | further))
    return 0 in taken
