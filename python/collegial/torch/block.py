"""A bottleneck block of a model: its shape, its activations, and what of it depends on its inner
width."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .activations import Activation
from .resize import Slot

# What lies between each layer of a block and the next; of a bottleneck block those are two places.
Activations = tuple[tuple[Activation, ...], ...]


@dataclass(frozen=True)
class Block:
    """A bottleneck block, or a fully connected network of some hidden layers: its shape, and the
    tensors that depend on its inner width."""

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
    hidden: int | None = None
    dimensions: int = 2

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
    def variance_activations(self) -> tuple[str, ...]:
        """The activations whose variances are taken, as specs call them: ReLU stands in for several
        in one place, and where there is none the layers are linear."""
        return tuple("none" if not place else place[0].spec if len(place) == 1 else "relu" for place in self.activations)

    @property
    def sampled(self) -> bool:
        """Whether its variances have no closed form."""
        return not set(self.variance_activations) <= {"relu", "none"}

    @property
    def exact(self) -> bool:
        """Whether those are its own."""
        return all(not place or len(place) == 1 and place[0].exact for place in self.activations)

    @property
    def activated(self) -> str:
        """Its activations in words; both places have the same as a rule."""
        places = [" and ".join(map(str, place)) or "none" for place in self.activations]
        return ", then ".join(dict.fromkeys(places))

    def spec(self) -> dict[str, Any]:
        """The block as a spec, its norms as ours. A projection, which no design changes, is left out."""
        if self.hidden is not None:
            # A fully connected network has one activation in specs, its first here.
            return {
                "kind": "fully-connected", "inputs": self.inputs, "outputs": self.outputs, "widths": [self.width] * self.hidden,
                "members": self.members, "activation": self.variance_activations[0],
            }  # fmt: skip
        norm = "batch" if self.normed else "none"
        shortcut = "identity" if self.inputs == self.outputs else "none"
        first, second = self.variance_activations
        if first == second == "relu" and self.dimensions == 2:
            return {
                "kind": "bottleneck", "inputs": self.inputs, "outputs": self.outputs, "width": self.width, "members": self.members,
                "kernel": self.kernel, "norm": norm, "shortcut": shortcut,
            }  # fmt: skip
        side = 2 * self.kernel + 2
        # A sequence is an image of one row: the kernel's other rows see zeros, whose weights change
        # nothing but a factor of the kernel.
        height = side if self.dimensions == 2 else 1
        conv = {"type": "conv", "norm": norm}
        inner = {**conv, "width": self.width}
        return {
            "kind": "sequence", "name": "block", "input": {"channels": self.inputs, "height": height, "width": side},
            "members": self.members, "shortcut": shortcut,
            "layers": [
                {**inner, "kernel": 1, "activation": first}, {**inner, "kernel": self.kernel, "activation": second},
                {**conv, "width": self.outputs, "kernel": 1},
            ],
        }  # fmt: skip

    def parameters(self, members: int | None = None, width: int | None = None) -> int:
        """The parameters that depend on the design, with this one or its own."""
        members, width = members or self.members, width or self.width
        return sum(count * (members * width) ** inner * width**member for (inner, member), count in self._terms.items())

    @cached_property
    def _terms(self) -> Counter[tuple[int, int]]:
        """Entries by the powers of m n and of n that they come with."""
        terms: Counter[tuple[int, int]] = Counter()
        for slot in self.slots:
            if slot.learned:
                inner, member = len(slot.inner), int(slot.member is not None)
                terms[inner, member] += slot.count(1, 1)
        return terms
