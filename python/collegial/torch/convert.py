"""A model of your own, rebuilt with a better design."""

import copy

from torch import nn

from .._collegial import CollegialError
from .blocks import find_blocks
from .resnext import initialise
from .suggest import Family, suggest


def convert(model, objective="primal", **options):
    """A copy of the model whose bottleneck blocks have the design that `suggest(model, **options)` proposes.

    The three convolutions of a block and the norms between them are new and freshly initialised; all other layers keep their
    weights. The model itself stays as it is.
    """
    if objective not in ("primal", "dual"):
        raise CollegialError(f"the objective is {objective!r}; take 'primal' (less variance) or 'dual' (fewer parameters)")
    suggestion = suggest(model, **options)
    wanted, baseline = suggestion[objective], suggestion.baseline
    gains = wanted.variance_reduction > 1 if objective == "primal" else wanted.parameters < baseline.parameters
    if not gains:
        raise CollegialError(f"there is nothing to gain by the {objective}: keep {type(model).__name__} as it is, {baseline.design}")
    better = copy.deepcopy(model)
    blocks, _ = find_blocks(better)
    analysed = next(block for block in blocks if block.name == suggestion.analysed)
    family = Family(better, blocks, analysed)
    designs = [family.design(block, wanted.multiplicity, wanted.width) for block in blocks]
    for block, (members, width) in zip(blocks, designs):
        _rebuild(block, members, width)
    return better


def _rebuild(block, members, width):
    inner = members * width
    _resize_conv(block.reduce, block.reduce.in_channels, inner, 1)
    _resize_conv(block.middle, inner, inner, members)
    _resize_conv(block.expand, inner, block.expand.out_channels, 1)
    for norm in block.norms:
        norm.num_features = inner
        for store in (norm._parameters, norm._buffers):
            for name, tensor in store.items():
                if tensor is not None and tensor.dim() == 1:
                    store[name] = _like(tensor, inner)
        norm.reset_parameters()


def _resize_conv(conv, inputs, outputs, groups):
    conv.in_channels, conv.out_channels, conv.groups = inputs, outputs, groups
    conv.weight = _like(conv.weight, outputs, inputs // groups, *conv.kernel_size)
    if conv.bias is not None:
        conv.bias = _like(conv.bias, outputs)
        nn.init.zeros_(conv.bias)
    initialise(conv)


def _like(tensor, *shape):
    """An empty tensor of the same kind."""
    empty = tensor.new_empty(shape)
    return nn.Parameter(empty, requires_grad=tensor.requires_grad) if isinstance(tensor, nn.Parameter) else empty
