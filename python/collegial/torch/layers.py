"""The layers of a model's flow: which call belongs to which module, and what it does to the
channels."""

from __future__ import annotations

from collections import Counter

from torch import nn

from .flow import Flow

CONVOLUTIONS = {"conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d"}
PRODUCTS = {"linear", "matmul", "bmm", "einsum", "multi_head_attention_forward"}
ACTIVATIONS = {
    "relu", "relu6", "leaky_relu", "prelu", "rrelu", "elu", "selu", "celu", "gelu", "silu", "mish", "tanh", "sigmoid", "hardtanh",
    "hardswish", "hardsigmoid", "softplus", "clamp", "erf",
}


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

    def owners(self, index: int) -> set[str]:
        """The names of the modules whose tensors a call uses."""
        return {name for name, _ in self.flow.nodes[index].tensors}

    def owner(self, index: int) -> str | None:
        """The one module whose call this is."""
        owners = self.owners(index)
        return next(iter(owners)) if len(owners) == 1 else None

    def convolution(self, index: int) -> nn.Conv2d | None:
        """The Conv2d that a call is of; None where its weights are made in another way."""
        owner = self.owner(index)
        module = self.modules[owner] if owner is not None else None
        if not isinstance(module, nn.Conv2d) or self.flow.nodes[index].function != "conv2d":
            return None
        return module if module._parameters.get("weight") is not None else None

    def pointwise(self, index: int) -> bool:
        """Whether a call is a 1x1 convolution."""
        conv = self.convolution(index)
        return conv is not None and tuple(conv.kernel_size) == (1, 1)

    def spatial(self, index: int) -> bool:
        """Whether a call is a k x k convolution, k > 1, or one whose weights are made in another
        way, so that k is not known."""
        conv = self.convolution(index)
        if conv is None:
            return self.weighing[index] and self.flow.nodes[index].function == "conv2d"
        return max(conv.kernel_size) > 1

    def activated(self, indices: set[int]) -> set[str]:
        """The activations among calls."""
        return {self.flow.nodes[index].function.rstrip("_") for index in indices} & ACTIVATIONS

    def closed(self, start: int, inside: set[int]) -> bool:
        """Whether nothing enters between two layers but what leaves the first."""
        return all(source in inside or source == start for index in inside for source in self.flow.nodes[index].inputs)

    def before(self, index: int) -> set[int]:
        """The nodes that a call depends on up to the last layers before it, those included."""
        found: set[int] = set()
        frontier = [index]
        while frontier:
            for source in self.flow.nodes[frontier.pop()].inputs:
                if source not in found:
                    found.add(source)
                    if not self.weighing[source]:
                        frontier.append(source)
        return found

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
