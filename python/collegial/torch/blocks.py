"""Bottleneck blocks in any model, found by the shapes of their convolutions.

A block is a 1x1 convolution, a k x k one (in groups or not) and a 1x1 one, registered in this order, with nothing between them that
has a width but batch norms. That holds for torchvision's, timm's, Hugging Face's and our own.
"""

from dataclasses import dataclass, field

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm


@dataclass
class Block:
    """Three convolutions and the norms between them."""

    name: str
    reduce: nn.Conv2d
    middle: nn.Conv2d
    expand: nn.Conv2d
    norms: list = field(default_factory=list)

    @property
    def members(self):
        """m: the groups of the middle convolution."""
        return self.middle.groups

    @property
    def width(self):
        """n of one member."""
        return self.middle.out_channels // self.members

    @property
    def repeats(self):
        """Whether an identity could be its shortcut: the block that a stage repeats, which the theory is about."""
        same = self.reduce.in_channels == self.expand.out_channels
        return same and all(conv.stride == (1, 1) for conv in (self.reduce, self.middle, self.expand))

    def spec(self):
        """The block as a spec, its norms as ours."""
        return {
            "kind": "bottleneck",
            "inputs": self.reduce.in_channels,
            "outputs": self.expand.out_channels,
            "width": self.width,
            "members": self.members,
            "kernel": self.middle.kernel_size[0],
            "norm": "batch" if self.norms else "none",
        }

    def parameters(self, members=None, width=None):
        """The parameters that depend on the design, with this one or its own."""
        members, width = members or self.members, width or self.width
        inner, area = members * width, self.middle.kernel_size[0] * self.middle.kernel_size[1]
        weights = inner * (self.reduce.in_channels + width * area + self.expand.out_channels)
        biases = inner * ((self.reduce.bias is not None) + (self.middle.bias is not None))
        return weights + biases + inner * sum(len(list(norm.parameters())) for norm in self.norms)


def find_blocks(model):
    """The blocks of a model, and those that were passed over, as (name, reason)."""
    blocks, skipped = [], []
    _visit(model, "", blocks, skipped)
    return blocks, skipped


def _visit(module, name, blocks, skipped):
    """Descends to the innermost modules that hold whole blocks."""
    if not _triples(module):
        return
    inner = [(child_name, child) for child_name, child in module.named_children() if _triples(child)]
    for child_name, child in inner:
        _visit(child, f"{name}.{child_name}".lstrip("."), blocks, skipped)
    if not inner:
        triples = _triples(module)
        used = {leaf for leaves in triples for leaf in leaves}
        others = [leaf for leaf in _leaves(module) if isinstance(leaf, nn.Conv2d) and leaf not in used]
        for leaves in triples:
            block = _judge(leaves, others, name or type(module).__name__)
            (blocks if isinstance(block, Block) else skipped).append(block)


def _leaves(module):
    return [leaf for leaf in module.modules() if next(leaf.children(), None) is None]


def _triples(module):
    """Runs of leaves from one 1x1 convolution over a larger one to the next 1x1."""
    leaves = _leaves(module)
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, nn.Conv2d)]
    runs = []
    for first, second, third in zip(places, places[1:], places[2:]):
        reduce, middle, expand = leaves[first], leaves[second], leaves[third]
        chained = reduce.out_channels == middle.in_channels == middle.out_channels == expand.in_channels
        pointwise = all(conv.kernel_size == (1, 1) and conv.groups == 1 for conv in (reduce, expand))
        if chained and pointwise and max(middle.kernel_size) > 1:
            runs.append(leaves[first : third + 1])
    return runs


def _judge(leaves, others, name):
    """A block, or (name, reason) where it cannot be rebuilt."""
    reduce, middle, expand = (leaf for leaf in leaves if isinstance(leaf, nn.Conv2d))
    between = [leaf for leaf in leaves if not isinstance(leaf, nn.Conv2d)]
    norms = [leaf for leaf in between if isinstance(leaf, _BatchNorm) and leaf.num_features == middle.out_channels]
    for leaf in between:
        if leaf not in norms and (list(leaf.parameters()) or list(leaf.buffers())):
            return name, f"its {type(leaf).__name__} depends on the inner width in a way that is not known here"
    # Besides the three there may be a projection, and layers behind them. Others may well take what is inside.
    inputs, outputs = reduce.in_channels, expand.out_channels
    for conv in others:
        projects = (conv.in_channels, conv.out_channels) == (inputs, outputs)
        if not projects and outputs not in (conv.in_channels, conv.out_channels):
            return name, f"it has a further convolution, {conv.in_channels} -> {conv.out_channels} channels"
    if middle.groups == middle.out_channels:
        return name, "its convolution is depthwise: members of width 1 cannot be split"
    if len(set(middle.kernel_size)) > 1:
        return name, "its kernel is not square"
    if not all(isinstance(conv._parameters.get("weight"), nn.Parameter) for conv in (reduce, middle, expand)):
        return name, "its weights are parametrised"
    return Block(name, reduce, middle, expand, norms)
