"""The data flow of a model: which operation feeds which, as a trial forward pass shows it.

A `Recorder` sees every call of a PyTorch function. A tensor comes from the model's input through
earlier calls, from parameters and buffers alone (standardised weights, folded norms), or from
nowhere (constants). Running the model, instead of reading its code, leaves no control flow to
guess, and the order in which layers are registered plays no part.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import nn
from torch.nn.functional import batch_norm
from torch.overrides import TorchFunctionMode

from .activations import Activation, activation_of

# A parameter or buffer: the name of its module, and its own there.
Slotted = tuple[str, str]
# Tokens that attention does not see: none, those behind its own, or others.
Hidden = Literal["none", "later", "some"]


@dataclass
class Node:
    """A call with at least one argument that depends on the model's input; `hidden` says which tokens
    a call of attention does not see."""

    function: str
    inputs: tuple[int, ...]
    tensors: frozenset[Slotted]
    shape: tuple[int, ...]
    activation: Activation | None = None
    hidden: Hidden = "none"
    consumers: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Origin:
    """Where a tensor comes from: a node, or parameters and buffers."""

    node: int | None = None
    tensors: frozenset[Slotted] = frozenset()


class Flow:
    """Calls in the order of their execution; the first is the input, the last the output."""

    def __init__(self, nodes: list[Node]):
        self.nodes = nodes
        for index, node in enumerate(nodes):
            for source in set(node.inputs):
                nodes[source].consumers.append(index)
        self.sink = len(nodes) - 1
        self.exits = self._post_dominators()

    def _post_dominators(self) -> list[int | None]:
        """For every node the first that all ways to the output lead through; None where none does.
        """
        exits: list[int | None] = [None] * len(self.nodes)
        for index in range(self.sink - 1, -1, -1):
            meeting: int | None = None
            for consumer in self.nodes[index].consumers:
                if consumer == self.sink or exits[consumer] is not None:
                    meeting = consumer if meeting is None else self._meeting(meeting, consumer, exits)
            exits[index] = meeting
        return exits

    def _meeting(self, a: int, b: int, exits: list[int | None]) -> int:
        while a != b:
            if a < b:
                a = self._next(exits[a])
            else:
                b = self._next(exits[b])
        return a

    def _next(self, node: int | None) -> int:
        return self.sink if node is None else node

    def onward(self, start: int) -> Iterator[int]:
        """The nodes that every way from a node to the output passes, in order."""
        node = self.exits[start]
        while node is not None and node != self.sink:
            yield node
            node = self.exits[node]

    def between(self, start: int, end: int) -> set[int]:
        """The nodes behind `start` that reach the output through `end`, which is one that all ways
        from `start` pass."""
        inside: set[int] = set()
        frontier = [start]
        while frontier:
            for consumer in self.nodes[frontier.pop()].consumers:
                if consumer != end and consumer not in inside and self.exits[consumer] is not None:
                    inside.add(consumer)
                    frontier.append(consumer)
        return inside

    def reaches(self, start: int, allowed: set[int]) -> set[int]:
        """What can be reached from a node through allowed ones only."""
        found: set[int] = set()
        frontier = [start]
        while frontier:
            more = [next for next in self.nodes[frontier.pop()].consumers if next in allowed and next not in found]
            found.update(more)
            frontier.extend(more)
        return found


class Recorder(TorchFunctionMode):
    """Notes every call while it is active."""

    def __init__(self, model: nn.Module, inputs: tuple[Any, ...]):
        super().__init__()
        self.nodes = [Node("input", (), frozenset(), ())]
        self.origins: dict[int, Origin] = {}
        # Tensors stay alive as long as their addresses stand for them.
        self.alive: list[torch.Tensor] = []
        for module_name, module in model.named_modules():
            for name, tensor in [*module._parameters.items(), *module._buffers.items()]:
                if tensor is not None:
                    self._keep(tensor, Origin(tensors=frozenset([(module_name, name)])))
        for tensor in tensors_in(inputs):
            self._keep(tensor, Origin(node=0))

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = called(func, args, kwargs)
        name = getattr(func, "__name__", type(func).__name__)
        changed = args[0] if name == "__setitem__" else result
        outputs = list(tensors_in(changed))
        if outputs:
            node = Node(name, (), frozenset(), (), activation_of(name, args, kwargs), hidden_tokens(name, args, kwargs))
            self._note(node, list(tensors_in((args, kwargs))), outputs)
        return result

    def _note(self, node: Node, arguments: list[torch.Tensor], outputs: list[torch.Tensor]) -> None:
        origins = [self.origins.get(id(tensor), Origin()) for tensor in arguments]
        sources = tuple(dict.fromkeys(origin.node for origin in origins if origin.node is not None))
        tensors = frozenset().union(*(origin.tensors for origin in origins))
        if sources:
            node.inputs, node.tensors, node.shape = sources, tensors, tuple(outputs[0].shape)
            self.nodes.append(node)
            origin = Origin(node=len(self.nodes) - 1)
        else:
            origin = Origin(tensors=tensors)
        for tensor in outputs:
            # An attribute such as `.data` may hand the parameter itself on.
            if sources or id(tensor) not in self.origins:
                self._keep(tensor, origin)

    def _keep(self, tensor: torch.Tensor, origin: Origin) -> None:
        self.origins[id(tensor)] = origin
        self.alive.append(tensor)

    def flow(self, outputs: Any) -> Flow:
        """All that was seen, and what came out in the end."""
        origins = [self.origins.get(id(tensor), Origin()) for tensor in tensors_in(outputs)]
        sources = tuple(dict.fromkeys(origin.node for origin in origins if origin.node is not None))
        return Flow([*self.nodes, Node("output", sources, frozenset(), ())])


def hidden_tokens(function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Hidden:
    """Which tokens a call of attention does not see."""
    if "attention" not in function:
        return "none"
    dot_product = function == "scaled_dot_product_attention"
    mask = kwargs.get("attn_mask", args[3] if dot_product and len(args) > 3 else None)
    causal = kwargs.get("is_causal", args[5] if dot_product and len(args) > 5 else False)
    if causal:
        return "later"
    return "none" if mask is None and kwargs.get("key_padding_mask") is None else "some"


class Shapes(TorchFunctionMode):
    """Forward passes on the meta device without the arithmetic of batch norms."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return called(func, args, kwargs or {})


def called(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """What a function gives. Of a batch norm on the meta device only the shapes are checked: PyTorch
    takes it apart into dozens of operations there, which is most of a trial's time."""
    if func is not batch_norm or not args[0].is_meta:
        return func(*args, **kwargs)
    image, *others = tensors_in((args, kwargs))
    for tensor in others:
        if tensor.shape != image.shape[1:2]:
            raise RuntimeError(f"a batch norm of {image.shape[1]} channels has a tensor of shape {tuple(tensor.shape)}")
    return torch.empty_like(image)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors in nested lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
