"""Which dimensions of which tensors are a block's inner channels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import torch
from torch import nn

from .layers import Layers
from .resize import Slot


class Unknown(Exception):
    """A layer whose dependence on the inner width is not known, in one sentence."""


def slots_of(
    layers: Layers, chain: Sequence[int], scales: Sequence[Fraction], inside: frozenset[int], gates: set[int], main: set[int]
) -> tuple[Slot, ...]:
    """The tensors to be rebuilt, those of the chain's convolutions first; `scales` are the widths
    of its hidden layers over the widest, and `main` are the calls that the inner channels pass."""
    found: dict[tuple[str, str], Slot] = {}
    start, *middles, end = chain
    for slot in [
        *_convolution(layers, start, (0,), None, scales[0], scales[0]),
        *(slot for place, middle in enumerate(middles, 1) for slot in _convolution(layers, middle, (0,), 1, scales[place], scales[place - 1])),
        *_convolution(layers, end, (1,), None, scales[-1], scales[-1]),
    ]:
        found[slot.module, slot.tensor] = slot
    for place, scale in enumerate(scales):
        channels = layers.flow.nodes[chain[place]].shape[1]
        for index in sorted(layers.flow.between(chain[place], chain[place + 1])):
            if index in gates:
                more = _gate(layers, index, channels, inside, gates, main)
            elif index in main or not _behind(layers, index, inside, gates):
                more = vectors_of(layers, index, channels)
            else:
                # A norm between a gate's layers has the gate's own width.
                continue
            for slot in (replace(slot, scale=scale) for slot in more):
                known = found.setdefault((slot.module, slot.tensor), slot)
                if known != slot:
                    raise Unknown(f"its {slot.module} is used in two different ways")
                if any(call not in inside for call in layers.calls(slot.module)):
                    raise Unknown(f"its {slot.module} is used by other layers too")
    return tuple(found.values())


def slot_of(layers: Layers, name: str, key: str, inner: tuple[int, ...], member: int | None = None, vector: bool = False) -> Slot:
    tensor = dict(_tensors(layers.modules[name]))[key]
    return Slot(name, key, tuple(tensor.shape), inner, member, (name, key) in layers.learned, vector)


def _tensors(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    for key, tensor in [*module._parameters.items(), *module._buffers.items()]:
        if tensor is not None:
            yield key, tensor


def _convolution(
    layers: Layers, index: int, axes: tuple[int, ...], member: int | None, scale: Fraction, member_scale: Fraction
) -> Iterator[Slot]:
    """The weight, and whatever else has an entry per output channel: biases, gains of standardised
    weights."""
    name = layers.owner(index)
    conv = layers.convolution(index)
    assert name is not None and conv is not None
    weight = slot_of(layers, name, "weight", axes, member)
    yield replace(weight, scale=scale, member_scale=member_scale if member is not None else Fraction(1))
    for key, tensor in _tensors(conv):
        if key != "weight" and 0 in axes and tensor.dim() > 0:
            if tensor.shape[0] != conv.out_channels:
                raise Unknown(f"the {key} of its {type(conv).__name__} depends on the inner width in a way that is not known here")
            yield replace(slot_of(layers, name, key, (0,)), scale=scale)


def _gate(
    layers: Layers, index: int, channels: int, inside: frozenset[int], gates: set[int], main: set[int]
) -> Iterator[Slot]:
    """A gate's layer takes the inner channels where no other of its layers comes before, and gives
    them where none comes after."""
    flow = layers.flow
    name = layers.owner(index)
    module = layers.modules[name] if name is not None else None
    if name is None or not isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Linear)) or module._parameters.get("weight") is None:
        raise Unknown(f"its {flow.nodes[index].function} has weights that are parametrised, or of several modules")
    if isinstance(module, nn.Conv1d):
        # Along the channels, as in efficient channel attention: its weights know no width.
        if channels in (module.in_channels, module.out_channels):
            raise Unknown(f"its {type(module).__name__} depends on the inner width in a way that is not known here")
        return
    outs, ins = (
        (module.out_features, module.in_features) if isinstance(module, nn.Linear) else (module.out_channels, module.in_channels)
    )
    first = not _behind(layers, index, inside, gates)
    last = bool(flow.reaches(index, set(inside) - gates) & main)
    axes = tuple(axis for axis, ours in ((0, last and outs == channels), (1, first and ins == channels)) if ours)
    if getattr(module, "groups", 1) > 1 and axes:
        raise Unknown(f"its {name} is in groups")
    if axes:
        yield slot_of(layers, name, "weight", axes)
    if 0 in axes:
        yield from (slot_of(layers, name, key, (0,)) for key, _ in _tensors(module) if key != "weight")


def _behind(layers: Layers, index: int, inside: frozenset[int], gates: set[int]) -> bool:
    """Whether all ways from the block's start to a node pass a gate's layer."""
    seen: set[int] = set()
    frontier = [index]
    while frontier:
        for source in layers.flow.nodes[frontier.pop()].inputs:
            if source not in inside:
                return False
            if source not in gates and source not in seen:
                seen.add(source)
                frontier.append(source)
    return True


def vectors_of(layers: Layers, index: int, channels: int) -> Iterator[Slot]:
    """The tensors of norms and their like, which have one dimension of the inner width or none."""
    for name, key in sorted(layers.flow.nodes[index].tensors):
        module = layers.modules[name]
        tensor = dict(_tensors(module))[key]
        axes = tuple(axis for axis, length in enumerate(tensor.shape) if length == channels)
        if len(axes) > 1 or not axes and tensor.numel() > 1 and (name, key) in layers.learned:
            raise Unknown(f"the {key} of its {type(module).__name__} depends on the inner width in a way that is not known here")
        if axes:
            yield slot_of(layers, name, key, axes, vector=True)
