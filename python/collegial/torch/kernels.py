"""Moments of the tangent kernel of any module, by drawing its weights: the sampling of Algorithm 1
on PyTorch.

K(x, x) of one scalar output is the squared length of its gradient. In the tangent kernel's
parametrisation a weight is its standard deviation times a standard normal number, so that every
parameter's part is multiplied by its variance over the draws; what does not vary at initialisation
(biases and gains of norms, as a rule) has no part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap

Make = Callable[[int], nn.Module]
# A batch of what a module takes, one tensor per argument.
Inputs = tuple[torch.Tensor, ...]
Output = Callable[[torch.Tensor], torch.Tensor]
Parametrisation = Literal["ntk", "standard"]
# Weights and gradients of a batch of draws take no more than this.
BATCH_BYTES = 256 << 20


@dataclass(frozen=True)
class Moments:
    """E[K^2] / E[K]^2 over draws of the weights, averaged over the inputs, with its standard error.
    """

    ratio: float
    standard_error: float
    mean: float
    trials: int

    @property
    def variance(self) -> float:
        """Var[K] / E[K]^2."""
        return self.ratio - 1.0


def central_unit(output: torch.Tensor | tuple[torch.Tensor, ...]) -> torch.Tensor:
    """One unit of a module's output for one input: its first channel or feature, at the middle of
    images and sequences; of several outputs the first is meant."""
    unit = output[0] if isinstance(output, torch.Tensor) else output[0][0]
    if unit.dim() == 2:
        unit = unit.T
    unit = unit[0] if unit.dim() else unit
    for length in unit.shape:
        unit = unit[length // 2]
    return unit


def moments(
    make: Make,
    width: int,
    inputs: Inputs,
    *,
    trials: int,
    seed: int,
    first: int = 0,
    output: Output = central_unit,
    parametrisation: Parametrisation = "ntk",
    step: Callable[[int], None] = lambda _: None,
) -> Moments:
    """The moments of a module's kernel at each of the inputs, which stay the same in all draws; draws
    are numbered, so that others of the same seed begin with another `first`."""
    parts, variances = [], _Variances()
    for modules in _batches(make, width, range(first, first + trials), seed, inputs):
        parameters, buffers = stack_module_state(modules)
        variances.add(parameters)
        parts.append(_squared_gradients(modules, parameters, buffers, inputs, output).double().cpu())
        step(len(modules))
    squares = torch.cat(parts, dim=1)
    scales = variances.of() if parametrisation == "ntk" else torch.ones(squares.shape[2], dtype=torch.float64)
    return _summary(squares @ scales)


def _summary(kernels: torch.Tensor) -> Moments:
    """Moments of kernels, inputs x draws; the error of the ratio by the delta method, inputs
    sharing their draws."""
    draws = kernels.shape[1]
    mean = kernels.mean(1, keepdim=True)
    relative = kernels / mean
    ratios = relative.square().mean(1, keepdim=True)
    influence = (relative.square() - 2 * ratios * relative).mean(0)
    error = influence.std().item() / math.sqrt(draws) if draws > 1 else math.inf
    return Moments(ratios.mean().item(), error, mean.mean().item(), draws)


def _batches(make: Make, width: int, draws: range, seed: int, inputs: Inputs) -> Iterator[list[nn.Module]]:
    """Modules with weights of their own, each drawn from a seed of its own, so that the size of a
    batch does not show."""
    first = drawn(make, width, seed, 0)
    weights = max(1, sum(parameter.numel() * parameter.element_size() for parameter in first.parameters()))
    size = max(1, min(len(draws), BATCH_BYTES // (4 * weights)))
    for start in range(0, len(draws), size):
        yield [placed(drawn(make, width, seed, draw), inputs) for draw in draws[start : start + size]]


def placed(module: nn.Module, inputs: Inputs) -> nn.Module:
    """The module where its inputs are, and of their type unless they are ids of tokens."""
    dtype = next((tensor.dtype for tensor in inputs if tensor.is_floating_point()), None)
    return module.to(inputs[0].device, dtype)


def drawn(make: Make, width: int, seed: int, draw: int) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed((seed * 1_000_003 + width) * 1_000_003 + draw)
        return make(width).eval()


def _squared_gradients(
    modules: list[nn.Module],
    parameters: dict[str, torch.Tensor],
    buffers: dict[str, torch.Tensor],
    inputs: Inputs,
    output: Output,
) -> torch.Tensor:
    """Inputs x draws x parameters: the squared length of the gradient by each parameter."""
    base = modules[0]

    def scalar(weights: dict[str, torch.Tensor], state: dict[str, torch.Tensor], x: Inputs) -> torch.Tensor:
        return output(functional_call(base, (weights, state), tuple(tensor.unsqueeze(0) for tensor in x)))

    def squared(weights: dict[str, torch.Tensor], state: dict[str, torch.Tensor], x: Inputs) -> torch.Tensor:
        gradients = grad(scalar)(weights, state, x)
        return torch.stack([gradients[name].square().sum() for name in parameters])

    parameters = {name: tensor.detach() for name, tensor in parameters.items()}
    try:
        over_draws = vmap(squared, in_dims=(0, 0, None))
        return torch.stack([over_draws(parameters, buffers, x) for x in zip(*inputs)])
    except RuntimeError:
        # Some operations know no vmap.
        one = lambda stacked, draw: {name: tensor[draw] for name, tensor in stacked.items()}
        draws = range(len(modules))
        rows = [[squared(one(parameters, draw), one(buffers, draw), x) for draw in draws] for x in zip(*inputs)]
        return torch.stack([torch.stack(row) for row in rows])


class _Variances:
    """The variance of every parameter's entries over all entries and draws."""

    def __init__(self) -> None:
        self.sums: list[list[float]] = []

    def add(self, parameters: dict[str, torch.Tensor]) -> None:
        more = [[t.numel(), t.double().sum().item(), t.double().square().sum().item()] for t in parameters.values()]
        self.sums = [[a + b for a, b in zip(old, new)] for old, new in zip(self.sums, more)] if self.sums else more

    def of(self) -> torch.Tensor:
        return torch.tensor([max(0.0, square / n - (total / n) ** 2) for n, total, square in self.sums], dtype=torch.float64)
