"""Layers of another inner width, drawn anew as the model drew its own."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

import torch
from torch import nn

from .block_linear import BlockLinear

# What layers call a number of channels, by the dimension of their weight that it is.
OUTPUTS = ("out_channels", "out_features")
INPUTS = ("in_channels", "in_features")
CHANNELS = ("num_features", "num_channels", "channels", "num_parameters")
# What a norm starts from.
FRESH = {"weight": 1.0, "bias": 0.0, "running_mean": 0.0, "running_var": 1.0}


def scaled(width: int, scale: Fraction) -> int:
    """The width of a hidden layer whose widest neighbour has another, never below 1; halves
    upwards, as specs round."""
    return max(1, math.floor(width * scale + Fraction(1, 2)))


@dataclass(frozen=True)
class Slot:
    """A tensor of a module whose shape depends on a block's design.

    The axes `inner` are as long as all members together, `member` as one of them; a `vector` has
    one entry per channel. `scale` is the width of the layer that `inner` belongs to, and
    `member_scale` that of the layer before, both over the widest of the block.
    """

    module: str
    tensor: str
    shape: tuple[int, ...]
    inner: tuple[int, ...]
    member: int | None
    learned: bool
    vector: bool
    scale: Fraction = Fraction(1)
    member_scale: Fraction = Fraction(1)

    def resized(self, members: int, width: int) -> tuple[int, ...]:
        """The shape with other members."""
        lengths = list(self.shape)
        for axis in self.inner:
            lengths[axis] = members * scaled(width, self.scale)
        if self.member is not None:
            lengths[self.member] = scaled(width, self.member_scale)
        return tuple(lengths)

    def count(self, members: int, width: int) -> int:
        """The entries with other members."""
        return math.prod(self.resized(members, width))


def filled(slot: Slot) -> bool:
    """Whether a tensor is one of norms, gains and fixed filters, which are filled and not drawn."""
    return slot.vector or slot.tensor not in ("weight", "bias")


def resize(model: nn.Module, slots: Iterable[Slot], members: int, width: int) -> None:
    """Gives a block of a model another design, in place."""
    for slot in slots:
        module = model.get_submodule(slot.module)
        store = module._parameters if slot.learned else module._buffers
        old = store[slot.tensor]
        assert old is not None
        store[slot.tensor] = _redrawn(module, slot, old, slot.resized(members, width))
        _rename(module, slot, members, width)
        if slot.member is not None and isinstance(module, nn.Linear):
            # In place, so that hooks and whoever holds the module keep it.
            module.__class__ = BlockLinear if members > 1 else nn.Linear


@torch.no_grad()
def _redrawn(module: nn.Module, slot: Slot, old: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
    """A tensor of the same kind: type, device, memory format, gradient and attributes are the old
    one's."""
    new = old.detach().new_empty(shape)
    if old.dim() == 4 and old.is_contiguous(memory_format=torch.channels_last) and not old.is_contiguous():
        new = new.contiguous(memory_format=torch.channels_last)
    if not old.is_meta and old.numel() > 0:
        (_fill if filled(slot) else _draw)(module, slot, old.detach(), new)
    if isinstance(old, nn.Parameter):
        new = nn.Parameter(new, requires_grad=old.requires_grad)
    for name, value in vars(old).items():
        setattr(new, name, value)
    return new


def _draw(module: nn.Module, slot: Slot, old: torch.Tensor, new: torch.Tensor) -> None:
    """Weights and biases: the mean square times the fan-in stays, so that the signal keeps its size
    whatever the number of groups.

    Constants (zeros, as a rule) stay as they are. Weights of which none lies beyond sqrt(3)
    deviations came from a uniform law.
    """
    if old.min() == old.max():
        new.fill_(old.flatten()[0])
        return
    before = old[0].numel() if slot.tensor == "weight" else 1
    after = new[0].numel() if slot.tensor == "weight" else 1
    size = old.double().square().mean().sqrt().item() * math.sqrt(before / after)
    bound = math.sqrt(3.0) * size
    if old.numel() >= 64 and old.abs().max().item() <= bound * math.sqrt(after / before) * 1.01:
        new.uniform_(-bound, bound)
    else:
        new.normal_(0.0, size)


def _fill(module: nn.Module, slot: Slot, old: torch.Tensor, new: torch.Tensor) -> None:
    """Norms, gains and fixed filters: what all channels have in common, otherwise what a new norm
    starts from."""
    axis = slot.inner[0]
    first = old.narrow(axis, 0, 1)
    if bool((old == first).all()):
        new.copy_(first.expand_as(new))
    else:
        new.fill_(FRESH.get(slot.tensor, old.double().mean().item()))


def _rename(module: nn.Module, slot: Slot, members: int, width: int) -> None:
    """The numbers of channels that a module remembers."""
    inner = members * scaled(width, slot.scale)
    if slot.vector:
        for name in CHANNELS:
            if name in vars(module):
                setattr(module, name, inner)
        if "normalized_shape" in vars(module):
            setattr(module, "normalized_shape", (inner,))
        if "num_groups" in vars(module):
            setattr(module, "num_groups", nearest_divisor(inner, vars(module)["num_groups"]))
    elif slot.tensor == "weight":
        lengths = {name: inner for axis, names in ((0, OUTPUTS), (1, INPUTS)) if axis in slot.inner for name in names}
        if slot.member is not None:
            setattr(module, "groups", members)
            lengths.update({name: members * scaled(width, slot.member_scale) for name in INPUTS})
        for name, length in lengths.items():
            if name in vars(module):
                setattr(module, name, length)
        # Weights that are standardised at every call are divided by the root of their fan-in.
        scale = vars(module).get("scale")
        if isinstance(scale, float):
            before, after = (math.prod(shape[1:]) for shape in (slot.shape, slot.resized(members, width)))
            setattr(module, "scale", scale * math.sqrt(before / after))


def nearest_divisor(number: int, wanted: int) -> int:
    """The divisor of a number that is nearest to a wanted one in ratio."""
    divisors = [divisor for divisor in range(1, number + 1) if number % divisor == 0]
    return min(divisors, key=lambda divisor: abs(math.log(divisor / wanted)))
