"""Residual branches, or whole networks, with one hidden layer: m of those in parallel are one again, m
times as wide, so that kernel variance does not choose.

A branch counts as one with a single hidden layer where the inner channels are mixed by two layers
only, with activations in one place between them. Depthwise convolutions between these mix no
channels. Convolutions before the first one with no activation between (ConvNeXt's depthwise one, FasterNet's
partial one) make one linear function with it, which does not know the inner width.
"""

from __future__ import annotations

from .flow import Flow
from .layers import CONVOLUTIONS, PRODUCTS, Layers, common_name
from .refusals import Layers as Kinds
from .refusals import Refusal, Verdict

ALONE = "it has one hidden layer, and m of those in parallel are one again, m times as wide"
ROUTED = "a router weighs its layers for every token, and the theory does not know routing"
ROUTERS = ("softmax", "topk", "argmax", "sort")
JOINS = ("cat", "concat", "concatenate")


def one_hidden_layer(layers: Layers, used: set[int], otherwise: str) -> list[Refusal]:
    """Those of a model, but for layers that are used otherwise."""
    followers = {start: end for start in range(len(layers.flow.nodes)) if (end := _follower(layers, start, used)) is not None}
    found: dict[int, Refusal] = {}
    for start, end in followers.items():
        if start not in followers.values() and end not in followers and _ends_a_branch(layers, start, end):
            names = [name for index in (start, end) for name in layers.owners(index)]
            # Of a gated one both first layers lead to the same last one.
            verdict, reason = (
                (Verdict.NOT_COVERED, ROUTED) if _routed(layers, end) else (Verdict.SPLIT_NEUTRAL, _reason(layers, start, end))
            )
            found.setdefault(end, Refusal(common_name(names, otherwise), verdict, reason, _kind(layers, start, end)))
    return list(found.values())


def _follower(layers: Layers, start: int, used: set[int]) -> int | None:
    """The next layer that mixes the channels a layer gives, where there is one hidden layer between."""
    if not _mixes(layers, start) or start in used:
        return None
    flow = layers.flow
    end = next((index for index in flow.onward(start) if _mixes(layers, index)), None)
    if end is None or end in used:
        return None
    inside = flow.between(start, end)
    alone = _adjacent(layers, start, end, inside) and _closed(layers, start, inside)
    return end if alone and _places(layers, start, end, inside) == 1 else None


def _mixes(layers: Layers, index: int) -> bool:
    return layers.weighing[index] and not layers.depthwise(index)


def _places(layers: Layers, start: int, end: int, inside: set[int]) -> int:
    """In how many places between two layers activations are: a depthwise convolution parts them."""
    parting = [index for index in layers.flow.onward(start) if index in inside and layers.depthwise(index)]
    places = zip([start, *parting], [*parting, end])
    return sum(bool(layers.activated(layers.flow.between(*place))) for place in places)


def _adjacent(layers: Layers, start: int, end: int, inside: set[int]) -> bool:
    """Whether no layer lies between two but depthwise ones, and those of a gate on channels, which
    sees no places."""
    nodes, plain = layers.flow.nodes, {index for index in inside if not _mixes(layers, index)}
    if plain == inside:
        return True
    if any(max(nodes[index].shape[2:], default=1) > 1 for index in inside - plain):
        return False
    main = layers.flow.reaches(start, plain) | {start}
    joins = [index for index in main if len(nodes[index].inputs) > 1 and index != start]
    return bool(main & set(nodes[end].inputs)) and all(layers.multiplies(index) for index in joins)


def _closed(layers: Layers, start: int, inside: set[int]) -> bool:
    """Whether nothing enters between two layers but what leaves the first, or a layer beside it that
    reads the same and is multiplied with it: a gated linear unit."""
    nodes = layers.flow.nodes
    for index in inside:
        outside = [source for source in nodes[index].inputs if source not in inside and source != start]
        for source in outside:
            near = {source} | layers.before(source)
            partners = {node for node in near if layers.weighing[node]} if not layers.weighing[source] else {source}
            alike = {node for node in partners if nodes[node].inputs == nodes[start].inputs}
            if not layers.multiplies(index) or not alike or alike != partners - layers.before(start):
                return False
    return True


def _routed(layers: Layers, end: int) -> bool:
    """Whether what a branch gives is weighed by a softmax, or the largest, of what a layer gives."""
    nodes = layers.flow.nodes
    plain = {index for index in range(len(nodes)) if not layers.weighing[index] and not layers.adds(index)}
    behind = layers.flow.reaches(end, plain)
    products = [index for index in behind if layers.multiplies(index) or nodes[index].function.strip("_") in PRODUCTS]
    beside = {node for index in products for node in layers.before(index)} - behind - {end}
    choosing = any(name in nodes[index].function for index in beside for name in ROUTERS)
    return choosing and any(layers.weighing[index] for index in beside)


def _reason(layers: Layers, start: int, end: int) -> str:
    inside = layers.flow.between(start, end)
    if any(layers.depthwise(index) for index in inside):
        return f"{ALONE} (its depthwise convolution mixes no channels)"
    if any(layers.weighing[index] and layers.spatial(index) for index in _linear_before(layers, start, end) if index != start):
        return f"{ALONE} (with no activation after it, the convolution before is a part of the first layer)"
    return ALONE


def _kind(layers: Layers, start: int, end: int) -> Kinds:
    spatial = any(layers.spatial(index) for index in (start, end))
    return "convolution branches" if spatial else "feed-forward branches"


def _linear_before(layers: Layers, start: int, end: int) -> set[int]:
    """The nodes that a layer depends on linearly: up to the last activations, and through convolutions
    and what puts their parts together again."""
    nodes = layers.flow.nodes
    found: set[int] = {start}
    frontier = [start]
    while frontier:
        index = frontier.pop()
        for source in nodes[index].inputs:
            node = nodes[source]
            if source in found:
                continue
            found.add(source)
            parts = node.function in JOINS
            onward = not layers.weighing[source] or node.function in CONVOLUTIONS and layers.spatial(source)
            if onward and node.activation is None and not layers.adds(source) and (not parts or _puts_back(layers.flow, source)):
                frontier.append(source)
    return found


def _puts_back(flow: Flow, join: int) -> bool:
    """Whether parts of one tensor are put together: all come from one call that splits it."""
    nodes, parts = flow.nodes, set(flow.nodes[join].inputs)
    while len(parts) > 1:
        latest = max(parts)
        parts = (parts - {latest}) | set(nodes[latest].inputs)
    (common,) = parts or {0}
    return nodes[common].shape == nodes[join].shape or "split" in nodes[common].function or "chunk" in nodes[common].function


def _ends_a_branch(layers: Layers, start: int, end: int) -> bool:
    """Whether the next that happens behind two layers is a sum with what the first took, or the
    output where that took the input; a depthwise convolution may come before."""
    flow = layers.flow
    # What is put together from several parts is none of them.
    taken = layers.before(start, up_to="cat") | _linear_before(layers, start, end)
    for index in flow.onward(end):
        if layers.depthwise(index):
            continue
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
