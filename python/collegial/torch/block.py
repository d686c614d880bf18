"""A bottleneck block of a model: its shape, its activations, and what of it depends on its inner
width."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from .activations import Activation
from .resize import Slot, scaled

# What lies between each layer of a block and the next; of a bottleneck block those are two places.
Activations = tuple[tuple[Activation, ...], ...]


@dataclass(frozen=True)
class Block:
    """A bottleneck block, or a fully connected network of some hidden layers: its shape, and the
    tensors that depend on its inner width. `width` is that of a member's widest hidden layer,
    `scales` are those of all of them over it, and `kernels` the sides of the layers between them.
    """

    name: str
    span: str
    inputs: int
    outputs: int
    members: int
    width: int
    kernels: tuple[int, ...]
    stride: int
    normed: bool
    gated: bool
    activations: Activations
    slots: tuple[Slot, ...]
    hidden: int | None = None
    dimensions: int = 2
    scales: tuple[Fraction, ...] = (Fraction(1), Fraction(1))

    @property
    def even(self) -> bool:
        """Whether all its hidden layers are equally wide."""
        return set(self.scales) == {Fraction(1)}

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
            inner = [
                {"type": "dense", "width": scaled(self.width, scale), "activation": activation}
                for scale, activation in zip(self.scales, self.variance_activations)
            ]
            return {
                "kind": "sequence", "name": "block", "input": {"channels": self.inputs, "height": 1, "width": 1}, "members": self.members,
                "layers": [*inner, {"type": "dense", "width": self.outputs}],
            }  # fmt: skip
        norm = "batch" if self.normed else "none"
        shortcut = "identity" if self.inputs == self.outputs else "none"
        if self.even and self.variance_activations == ("relu", "relu") and self.dimensions == 2:
            return {
                "kind": "bottleneck", "inputs": self.inputs, "outputs": self.outputs, "width": self.width, "members": self.members,
                "kernel": self.kernels[0], "norm": norm, "shortcut": shortcut,
            }  # fmt: skip
        # With one convolution between, a unit sees as many independent positions as the kernel has.
        kernels = tuple(kernel**3 for kernel in self.kernels) if self.dimensions == 3 else self.kernels
        # Twice what the unit at the centre sees, so that it sees no border.
        side = 2 * (1 + sum(kernel - 1 for kernel in kernels)) + 2
        # A sequence is an image of one row: the kernel's other rows see zeros, whose weights change
        # nothing but a factor of the kernel.
        height = side if self.dimensions == 2 else 1
        conv = {"type": "conv", "norm": norm}
        inner = [
            {**conv, "width": scaled(self.width, scale), "kernel": kernel, "activation": activation}
            for scale, kernel, activation in zip(self.scales, (1, *kernels), self.variance_activations)
        ]
        return {
            "kind": "sequence", "name": "block", "input": {"channels": self.inputs, "height": height, "width": side},
            "members": self.members, "shortcut": shortcut,
            "layers": [*inner, {**conv, "width": self.outputs, "kernel": 1}],
        }  # fmt: skip

    def parameters(self, members: int | None = None, width: int | None = None) -> int:
        """The parameters that depend on the design, with this one or its own."""
        members, width = members or self.members, width or self.width
        return sum(
            count * (members * scaled(width, scale)) ** inner * (1 if before is None else scaled(width, before))
            for (inner, scale, before), count in self._terms.items()
        )

    @cached_property
    def _terms(self) -> Counter[tuple[int, Fraction, Fraction | None]]:
        """Entries by the power of the inner channels that they come with, and by the scales of the
        layers that these and a member's own belong to."""
        terms: Counter[tuple[int, Fraction, Fraction | None]] = Counter()
        for slot in self.slots:
            if slot.learned:
                terms[len(slot.inner), slot.scale, slot.member_scale if slot.member is not None else None] += slot.count(1, 1)
        return terms
