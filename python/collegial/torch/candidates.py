"""What may be a bottleneck block: two 1x1 convolutions with others between, and what is wrong with
it."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from fractions import Fraction

from .block import Activations, Block
from .layers import Layers, common_name
from .refusals import Refusal, Verdict
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
        layers = self.layers
        name = self.name(otherwise)
        reason = self._shape_reason() or self._flow_reason()
        if reason is not None:
            return Refusal(name, Verdict.NOT_COVERED, reason)
        convolutions = [conv for index in (self.start, *self.chain) if (conv := layers.convolution(index)) is not None]
        reduce, *middles, expand = convolutions
        members, widths = middles[0].groups, [conv.out_channels for conv in convolutions[:-1]]
        scales = tuple(Fraction(width, max(widths)) for width in widths)
        try:
            slots = slots_of(layers, (self.start, *self.chain), scales, self.inside, self.gates(), self.main())
        except Unknown as unknown:
            return Refusal(name, Verdict.NOT_COVERED, str(unknown))
        return Block(
            name, self.span(), reduce.in_channels, expand.out_channels, members, max(widths) // members,
            tuple(conv.kernel_size[0] for conv in middles), max(stride for conv in convolutions for stride in conv.stride),
            any(slot.vector for slot in slots), bool(self.gates()), self.activations(), slots, dimensions=len(middles[0].kernel_size),
            scales=scales,
        )  # fmt: skip

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
        """Those on the way of the inner channels, from each convolution to the next."""
        main, places = self.main(), zip((self.start, *self.chain), self.chain)
        return tuple(tuple(sorted(self.layers.activated(main & self.layers.flow.between(*place)))) for place in places)

    def _shape_reason(self) -> str | None:
        """What is wrong with the convolutions."""
        layers = self.layers
        middles = self.chain[:-1]
        if not middles:
            return self._side_by_side()
        convolutions = [conv for index in (self.start, *self.chain) if (conv := layers.convolution(index)) is not None]
        if len(convolutions) < len(self.chain) + 1:
            return "its weights are parametrised, or made by other layers"
        reduce, *between, expand = convolutions
        if reduce.groups > 1 or expand.groups > 1:
            return "its 1x1 convolutions are in groups themselves"
        if any(before.out_channels != after.in_channels for before, after in zip(convolutions, convolutions[1:])):
            widths = ", ".join(f"{conv.in_channels} -> {conv.out_channels}" for conv in convolutions)
            return f"between its convolutions ({widths} channels) parts of the inner channels are added, split or put together"
        if len({conv.groups for conv in between}) > 1:
            return f"the layers between its 1x1 convolutions have different numbers of groups, {', '.join(str(conv.groups) for conv in between)}"
        if any(conv.out_channels % between[0].groups for conv in convolutions[:-1]):
            return "its groups do not divide the inner width"
        if len(between[0].kernel_size) > 2 and len(between) > 1:
            return "several convolutions of three dimensions lie between its 1x1 ones; variances are known here for one"
        if len(between[0].kernel_size) > 2 and any(found.spec != "relu" for place in self.activations() for found in place):
            return "its convolutions have three dimensions; variances are known here for ReLU"
        for conv in between:
            if len(set(conv.kernel_size)) > 1:
                return f"its kernel is {conv.kernel_size[0]} x {conv.kernel_size[1]}, not square"
        return None

    def _side_by_side(self) -> str:
        """Why no single convolution lies between its 1x1 ones."""
        layers, nodes = self.layers, self.layers.flow.nodes
        if sum(layers.spatial(index) for index in self.inside) == 1:
            return "its inner channels have a way around its k x k convolution"
        if any("softmax" in nodes[index].function for index in self.inside):
            return (
                "several convolutions lie side by side between its 1x1 ones, and attention weighs them (selective kernels): the variance of "
                "such a sum is not known here"
            )
        if any(nodes[index].function in ("cat", "concat", "concatenate") for index in self.inside):
            return (
                "several convolutions lie side by side between its 1x1 ones, each with a part of the inner channels, which are not members "
                "of one shape"
            )
        return "several convolutions lie side by side between its 1x1 ones"

    def _flow_reason(self) -> str | None:
        """What is wrong with the way from one to the next."""
        layers, nodes = self.layers, self.layers.flow.nodes
        chain = (self.start, *self.chain)
        names = [layers.owner(index) or "" for index in chain]
        if any(slot in layers.tied for index in (*chain, *self.inside) for slot in nodes[index].tensors):
            return "its weights are tied to those of other layers"
        if any(len(layers.calls(name)) > 1 for name in names):
            return "its layers are applied more than once in a forward pass"
        main = self.main()
        for index in sorted(main):
            node = nodes[index]
            # Calls are in the order of their execution, and all ways lead through the chain.
            channels = nodes[chain[bisect_right(chain, index) - 1]].shape[1]
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
