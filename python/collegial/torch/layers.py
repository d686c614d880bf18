"""The layers of a model's flow: which call belongs to which module, and what it does to the
channels."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Union

from torch import nn

from .activations import Activation
from .flow import Flow

CONVOLUTIONS = {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}
PLAIN = {"conv1d", "conv2d", "conv3d"}
Convolution = Union[nn.Conv1d, nn.Conv2d, nn.Conv3d]
POWERS = {"pow", "square"}
PRODUCTS = {"linear", "matmul", "bmm", "einsum", "multi_head_attention_forward"}


class Layers:
    """The calls that multiply by learned weights, and whose they are."""

    def __init__(self, model: nn.Module, flow: Flow):
        self.flow = flow
        self.modules = dict(model.named_modules(remove_duplicate=False))
        self.learned = {
            (name, key)
            for name, module in self.modules.items()
            for key, parameter in module._parameters.items()
            if parameter is not None
        }
        names = Counter(
            id(tensor)
            for module in self.modules.values()
            for tensor in [*module._parameters.values(), *module._buffers.values()]
            if tensor is not None
        )
        self.tied = {
            (name, key)
            for name, module in self.modules.items()
            for key, tensor in [*module._parameters.items(), *module._buffers.items()]
            if tensor is not None and names[id(tensor)] > 1
        }
        self.weighing = [self._weighs(index) for index in range(len(flow.nodes))]

    def _weighs(self, index: int) -> bool:
        node = self.flow.nodes[index]
        return node.function in CONVOLUTIONS | PRODUCTS and bool(node.tensors & self.learned)

    def activations(self) -> int:
        """The elements that calls with learned weights put out."""
        return sum(math.prod(node.shape) for node, weighs in zip(self.flow.nodes, self.weighing) if weighs)

    def owners(self, index: int) -> set[str]:
        """The names of the modules whose tensors a call uses."""
        return {name for name, _ in self.flow.nodes[index].tensors}

    def owner(self, index: int) -> str | None:
        """The one module whose call this is."""
        owners = self.owners(index)
        return next(iter(owners)) if len(owners) == 1 else None

    def convolution(self, index: int) -> Convolution | None:
        """The convolution that a call is of; None where its weights are made in another way."""
        owner = self.owner(index)
        module = self.modules[owner] if owner is not None else None
        if not isinstance(module, (nn.Conv1d, nn.Conv2d, nn.Conv3d)) or self.flow.nodes[index].function not in PLAIN:
            return None
        return module if module._parameters.get("weight") is not None else None

    def pointwise(self, index: int) -> bool:
        """Whether a call is a 1x1 convolution."""
        conv = self.convolution(index)
        return conv is not None and max(conv.kernel_size) == 1

    def spatial(self, index: int) -> bool:
        """Whether a call is a k x k convolution, k > 1, or one whose weights are made in another
        way, so that k is not known."""
        conv = self.convolution(index)
        if conv is None:
            return self.weighing[index] and self.flow.nodes[index].function in PLAIN
        return max(conv.kernel_size) > 1

    def depthwise(self, index: int) -> bool:
        """Whether a call is a convolution of every channel by itself."""
        conv = self.convolution(index)
        return conv is not None and 1 < conv.groups == conv.in_channels

    def activated(self, indices: set[int]) -> set[Activation]:
        """The activations among calls."""
        return {found for index in indices if (found := self._activation(index, indices)) is not None}

    def _activation(self, index: int, among: set[int]) -> Activation | None:
        """The activation that a call is, or is a part of: x sigmoid(x) is a SiLU."""
        node = self.flow.nodes[index]
        if node.activation is None:
            return None
        # The square of a ReLU is another function.
        if any(self.flow.nodes[after].function.strip("_") in POWERS for after in node.consumers):
            return replace(node.activation, partly=True)
        behind = self.flow.reaches(index, {after for after in among if not self.weighing[after]})
        around = (self.before(index) | among) - behind - {index}
        products = [after for after in sorted(behind) if self.multiplies(after) and around & set(self.flow.nodes[after].inputs)]
        if not products:
            return node.activation
        direct = set(self.flow.nodes[products[0]].inputs) == {index, *node.inputs}
        return node.activation.gating() if direct else replace(node.activation, partly=True)

    def multiplies(self, index: int) -> bool:
        """Whether a call is a product, entry by entry."""
        return self.flow.nodes[index].function.strip("_") in ("mul", "imul", "rmul", "multiply")

    def adds(self, index: int) -> bool:
        """Whether a call is a sum of several of its arguments."""
        node = self.flow.nodes[index]
        return len(node.inputs) > 1 and node.function.strip("_") in ("add", "iadd", "radd")

    def closed(self, start: int, inside: set[int]) -> bool:
        """Whether nothing enters between two layers but what leaves the first."""
        return all(source in inside or source == start for index in inside for source in self.flow.nodes[index].inputs)

    def before(self, index: int, up_to: str | None = None) -> set[int]:
        """The nodes that a call depends on up to the last layers before it, those included, and up to
        calls of a function."""
        found: set[int] = set()
        frontier = [index]
        while frontier:
            for source in self.flow.nodes[frontier.pop()].inputs:
                if source not in found:
                    found.add(source)
                    if not self.weighing[source] and self.flow.nodes[source].function != up_to:
                        frontier.append(source)
        return found

    def after(self, index: int) -> list[int]:
        """The next layers that a call's result reaches."""
        found: set[int] = set()
        seen: set[int] = set()
        frontier = [index]
        while frontier:
            for consumer in self.flow.nodes[frontier.pop()].consumers:
                if self.weighing[consumer]:
                    found.add(consumer)
                elif consumer not in seen:
                    seen.add(consumer)
                    frontier.append(consumer)
        return sorted(found)

    def calls(self, name: str) -> list[int]:
        """The calls that use a module's tensors."""
        return [index for index in range(len(self.flow.nodes)) if name in self.owners(index)]


def common_name(names: list[str], otherwise: str) -> str:
    """The innermost module that holds all of these."""
    shared = []
    for parts in zip(*(name.split(".")[:-1] for name in names)):
        if len(set(parts)) > 1:
            break
        shared.append(parts[0])
    return ".".join(shared) or otherwise
