"""What may be a bottleneck block: two 1x1 convolutions with others between, and what is wrong with
it."""

from __future__ import annotations

from dataclasses import dataclass

from .block import Activations, Block
from .layers import Layers, common_name
from .refusals import Kind, Refusal
from .slots import Unknown, slots_of


@dataclass(frozen=True)
class Candidate:
    """Two 1x1 convolutions with k x k ones between, closed to the outside; the chain are the layers
    behind the first."""

    layers: Layers
    start: int
    chain: tuple[int, ...]
    inside: frozenset[int]

    def judge(self, otherwise: str) -> Block | Refusal:
        """A block, or why it is none."""
        layers, end = self.layers, self.chain[-1]
        name = self.name(otherwise)
        reason = self._shape_reason() or self._flow_reason()
        if reason is not None:
            return Refusal(name, Kind.NOT_COVERED, reason)
        middle = self.chain[0]
        try:
            slots = slots_of(layers, (self.start, middle, end), self.inside, self.gates(), self.main())
        except Unknown as unknown:
            return Refusal(name, Kind.NOT_COVERED, str(unknown))
        reduce, conv, expand = (layers.convolution(index) for index in (self.start, middle, end))
        assert reduce is not None and conv is not None and expand is not None
        strides = [stride for layer in (reduce, conv, expand) for stride in layer.stride]
        return Block(
            name, self.span(), reduce.in_channels, expand.out_channels, conv.groups, conv.out_channels // conv.groups, conv.kernel_size[0],
            max(strides), any(slot.vector for slot in slots), bool(self.gates()), self.activations(), slots,
            dimensions=len(conv.kernel_size),
        )

    def name(self, otherwise: str) -> str:
        """The module that its layers are in."""
        owners = [self.layers.owner(index) for index in (self.start, *self.chain)]
        return common_name([owner for owner in owners if owner is not None], otherwise)

    def span(self) -> str:
        """Its first and its last layer."""
        return " to ".join(self.layers.owner(index) or "" for index in (self.start, self.chain[-1]))

    def ends(self) -> bool:
        """Whether its last layer ends it: what that gives is added to something, or passed on
        without an activation."""
        layers, flow = self.layers, self.layers.flow
        here, activated = self.chain[-1], False
        for index in flow.onward(here):
            inside = flow.between(here, index)
            if inside and layers.multiplies(index) and here in flow.nodes[index].inputs:
                # x sigmoid(x) is an activation; a gate has layers of its own, and a norm no
                # sigmoid.
                activated |= bool(layers.activated(inside)) and not any(layers.weighing[node] for node in inside)
            elif inside or layers.weighing[index]:
                return not activated
            elif len(flow.nodes[index].inputs) > 1 and not layers.multiplies(index):
                return not activated or layers.adds(index)
            activated |= flow.nodes[index].activation is not None
            here = index
        return not activated

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

    def activations(self) -> Activations:
        """Those on the way of the inner channels, on both sides of the k x k convolution."""
        before, main = self.layers.flow.between(self.start, self.chain[0]), self.main()
        first, second = (tuple(sorted(self.layers.activated(part))) for part in (main & before, main - before))
        return first, second

    def _shape_reason(self) -> str | None:
        """What is wrong with the convolutions."""
        layers = self.layers
        middles = self.chain[:-1]
        if not middles and sum(layers.spatial(index) for index in self.inside) == 1:
            return "its inner channels have a way around its k x k convolution"
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
        if len(middle.kernel_size) > 2:
            return "its convolutions have three dimensions; variances are known here for one and two"
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
        main = self.main()
        channels = nodes[self.start].shape[1]
        for index in sorted(main):
            node = nodes[index]
            # Norms of images with the channels innermost turn them there and back; others take the
            # mean over all channels.
            axes = len(nodes[self.start].shape)
            placed = len(node.shape) == axes and (channels in (node.shape[1], node.shape[-1]) or node.shape[1] == 1)
            if not placed or node.function in ("channel_shuffle", "softmax", "cat", "stack"):
                return f"its {node.function} mixes or moves the inner channels"
            sides = [source for source in node.inputs if source in self.inside and source not in main]
            if any(nodes[side].shape[2:] == node.shape[2:] for side in sides) and not layers.multiplies(index):
                return "its inner channels go two ways, of which one has convolutions of its own"
        return None


def candidate_at(layers: Layers, start: int) -> Candidate | None:
    """The candidate whose first convolution is a call, if it is one."""
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
    return Candidate(layers, start, tuple(chain), frozenset(inside))
