"""The activations of a forward pass, and which of them the search knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

# Functions of PyTorch as specs call them; None where they have none like it.
SPECS: dict[str, str | None] = {
    "relu": "relu", "relu6": "relu6", "silu": "silu", "hardswish": "hard-swish", "gelu": "gelu", "tanh": "tanh", "erf": "erf",
    "sigmoid": "sigmoid", "leaky_relu": "leaky-relu", "prelu": None, "rrelu": None, "elu": None, "selu": None, "celu": None, "mish": None,
    "hardtanh": None, "hardsigmoid": None, "softplus": None, "clamp": None,
}  # fmt: skip
# Functions that people multiply by what they take, and what is meant by that.
GATED = {"sigmoid": "silu", "hardsigmoid": "hardswish"}
# What a function is a part of, as a rule, where its argument comes into a product with it.
PARTS = {"sigmoid": "silu", "hardsigmoid": "hard-swish", "relu6": "hard-swish", "erf": "gelu", "tanh": "gelu"}
# The slope that leaky ReLUs have in specs, which is PyTorch's default.
SLOPE = 0.01


@dataclass(frozen=True, order=True)
class Activation:
    """A pointwise function; leaky ReLUs have a slope. `partly` says that it is only a part of what
    happens, such as the ReLU6 of a hard swish that is written out."""

    function: str
    slope: float | None = None
    partly: bool = False

    @property
    def spec(self) -> str:
        """The activation whose variances are taken: its own, or the one that stands in for it, the
        nearest of its kind or ReLU."""
        if self.slope is not None:
            return "relu" if self.slope < SLOPE / 2 else "leaky-relu"
        return (PARTS.get(self.function) if self.partly else SPECS[self.function]) or "relu"

    @property
    def exact(self) -> bool:
        """Whether its variances are its own."""
        own = SPECS[self.function] is not None and not self.partly
        return own and self.slope in (None, SLOPE)

    def gating(self) -> Activation:
        """What it is where its argument is multiplied by it."""
        return Activation(GATED[self.function]) if self.function in GATED else replace(self, partly=True)

    def __str__(self) -> str:
        setting = f"({self.slope:g})" if self.slope not in (None, SLOPE) else ""
        return f"a function with {self.function}" if self.partly else f"{self.function}{setting}"


def activation_of(function: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Activation | None:
    """The activation that a call is of, if it is one."""
    name = function.rstrip("_")
    if name == "leaky_relu":
        return Activation(name, _setting(1, "negative_slope", SLOPE, args, kwargs))
    if name in ("hardtanh", "clamp"):
        keys = ("min_val", "max_val") if name == "hardtanh" else ("min", "max")
        bounds = tuple(_setting(place, key, None, args, kwargs) for place, key in enumerate(keys, 1))
        name = {(0, 6): "relu6", (0, None): "relu"}.get(bounds, name)
    return Activation(name) if name in SPECS else None


def _setting(place: int, key: str, default: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return args[place] if len(args) > place else kwargs.get(key, default)
