"""A bottleneck block of a model: its shape, its activations, and what of it depends on its inner
width."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .activations import Activation
from .resize import Slot

# What lies between the first and the second convolution of a block, and between that and the third.
Activations = tuple[tuple[Activation, ...], tuple[Activation, ...]]


@dataclass(frozen=True)
class Block:
    """A bottleneck block: its shape, and the tensors that depend on its inner width."""

    name: str
    span: str
    inputs: int
    outputs: int
    members: int
    width: int
    kernel: int
    stride: int
    normed: bool
    gated: bool
    activations: Activations
    slots: tuple[Slot, ...]

    @property
    def depthwise(self) -> bool:
        """Whether its members have width 1: the question is then which width to grow to."""
        return self.width == 1 and self.members > 1

    @property
    def repeats(self) -> bool:
        """Whether an identity could be its shortcut: the block that a stage repeats, which the
        theory is about."""
        return self.inputs == self.outputs and self.stride == 1

    @property
    def variance_activations(self) -> tuple[str, str]:
        """The activations whose variances are taken, as specs call them: ReLU stands in for several
        in one place."""
        first, second = (place[0].spec if len(place) == 1 else "relu" for place in self.activations)
        return first, second

    @property
    def exact(self) -> bool:
        """Whether those are its own."""
        return all(len(place) == 1 and place[0].exact for place in self.activations)

    @property
    def activated(self) -> str:
        """Its activations in words; both places have the same as a rule."""
        places = [" and ".join(map(str, place)) for place in self.activations]
        return ", then ".join(dict.fromkeys(places))

    def spec(self) -> dict[str, Any]:
        """The block as a spec, its norms as ours. A projection, which no design changes, is left out."""
        norm = "batch" if self.normed else "none"
        shortcut = "identity" if self.inputs == self.outputs else "none"
        first, second = self.variance_activations
        if first == second == "relu":
            return {
                "kind": "bottleneck", "inputs": self.inputs, "outputs": self.outputs, "width": self.width, "members": self.members,
                "kernel": self.kernel, "norm": norm, "shortcut": shortcut,
            }  # fmt: skip
        side = 2 * self.kernel + 2
        conv = {"type": "conv", "norm": norm}
        inner = {**conv, "width": self.width}
        return {
            "kind": "sequence", "name": "block", "input": {"channels": self.inputs, "height": side, "width": side},
            "members": self.members, "shortcut": shortcut,
            "layers": [
                {**inner, "kernel": 1, "activation": first}, {**inner, "kernel": self.kernel, "activation": second},
                {**conv, "width": self.outputs, "kernel": 1},
            ],
        }  # fmt: skip

    def parameters(self, members: int | None = None, width: int | None = None) -> int:
        """The parameters that depend on the design, with this one or its own."""
        return sum(slot.count(members or self.members, width or self.width) for slot in self.slots if slot.learned)
