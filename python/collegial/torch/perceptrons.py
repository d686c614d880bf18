"""Fully connected networks with two hidden layers or more, which are the theory's own case: their
members are narrower ones side by side, with block-diagonal layers inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from torch import nn

from .block import Block
from .block_linear import BlockLinear
from .layers import Layers, common_name
from .refusals import Refusal, Verdict
from .resize import Slot
from .slots import Unknown, slot_of, vectors_of


def perceptrons(layers: Layers, otherwise: str) -> list[Block | Refusal]:
    """Chains of linear layers with an activation between each two, and why some cannot be split."""
    found: list[Block | Refusal] = []
    used: set[int] = set()
    for start in range(len(layers.flow.nodes)):
        chain = _chain(layers, start) if start not in used else []
        if len(chain) >= 3:
            used.update(chain)
            found.append(_judged(layers, chain, otherwise))
    return found


def _linear(layers: Layers, index: int) -> nn.Linear | None:
    """The linear layer that a call is of, a block-diagonal one of ours included."""
    owner = layers.owner(index) if layers.weighing[index] else None
    module = layers.modules[owner] if owner is not None else None
    function = "einsum" if isinstance(module, BlockLinear) else "linear"
    return module if isinstance(module, nn.Linear) and layers.flow.nodes[index].function == function else None


def _chain(layers: Layers, start: int) -> list[int]:
    """Linear layers from one on, each behind an activation of the one before, with nothing else
    between them that has weights or comes from elsewhere."""
    if _linear(layers, start) is None:
        return []
    chain = [start]
    for index in layers.flow.onward(start):
        if not layers.weighing[index]:
            continue
        inside = layers.flow.between(chain[-1], index)
        alone = not any(layers.weighing[node] or layers.adds(node) for node in inside) and layers.closed(chain[-1], inside)
        if _linear(layers, index) is None or not alone or not layers.activated(inside):
            break
        chain.append(index)
    return chain


def _judged(layers: Layers, chain: list[int], otherwise: str) -> Block | Refusal:
    modules = [module for index in chain if (module := _linear(layers, index)) is not None]
    names = [layers.owner(index) or "" for index in chain]
    name = common_name(names, otherwise)
    reason = _reason(layers, chain, modules, names)
    if reason is not None:
        return Refusal(name, Verdict.NOT_COVERED, reason, "fully connected parts")
    between = [layers.flow.between(a, b) for a, b in zip(chain, chain[1:])]
    places = tuple(tuple(sorted(layers.activated(inside))) for inside in between)
    members, widths = getattr(modules[1], "groups", 1), [module.out_features for module in modules[:-1]]
    scales = tuple(Fraction(width, max(widths)) for width in widths)
    try:
        slots = _slots(layers, names, between, widths, scales)
    except Unknown as unknown:
        return Refusal(name, Verdict.NOT_COVERED, str(unknown), "fully connected parts")
    span = f"{names[0]} to {names[-1]}"
    normed = any(slot.vector for slot in slots)
    return Block(
        name, span, modules[0].in_features, modules[-1].out_features, members, max(widths) // members, (), 1, normed, False, places, slots,
        hidden=len(widths), scales=scales,
    )  # fmt: skip


def _reason(layers: Layers, chain: list[int], modules: list[nn.Linear], names: list[str]) -> str | None:
    """Why a chain cannot be split here."""
    plain = all(type(module) in (nn.Linear, BlockLinear) and "weight" in module._parameters for module in modules)
    if not plain or any(isinstance(module, BlockLinear) for module in (modules[0], modules[-1])):
        return "its linear layers are parametrised, or of a kind that is not known here"
    if len({getattr(module, "groups", 1) for module in modules[1:-1]}) > 1:
        return "its hidden layers have different numbers of members"
    if any(slot in layers.tied for index in chain for slot in layers.flow.nodes[index].tensors):
        return "its weights are tied to those of other layers"
    if any(sum(layers.weighing[call] for call in layers.calls(name)) > 1 for name in names):
        return "its layers are applied more than once in a forward pass"
    return None


def _slots(
    layers: Layers, names: list[str], between: list[set[int]], widths: Sequence[int], scales: Sequence[Fraction]
) -> tuple[Slot, ...]:
    """The weights of all layers, biases of hidden ones, and norms between; `widths` are those of the
    hidden layers and `scales` the same over the widest."""
    found: dict[tuple[str, str], Slot] = {}
    last = len(names) - 1
    for place, name in enumerate(names):
        if place == last:
            slots = [replace(slot_of(layers, name, "weight", (1,)), scale=scales[-1])]
        else:
            member, before = (1, scales[place - 1]) if place else (None, Fraction(1))
            slots = [replace(slot_of(layers, name, "weight", (0,), member), scale=scales[place], member_scale=before)]
            if layers.modules[name]._parameters.get("bias") is not None:
                slots.append(replace(slot_of(layers, name, "bias", (0,)), scale=scales[place]))
        found.update({(slot.module, slot.tensor): slot for slot in slots})
    for inside, width, scale in zip(between, widths, scales):
        for index in sorted(inside):
            for slot in vectors_of(layers, index, width):
                if slot.module in names:
                    continue
                if any(call not in inside for call in layers.calls(slot.module)):
                    raise Unknown(f"its {slot.module} is used by other layers too")
                found[slot.module, slot.tensor] = replace(slot, scale=scale)
    return tuple(found.values())
