"""What a conversion keeps of a model's weights."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from torch import nn

from .resize import Slot, filled

Model = TypeVar("Model", bound=nn.Module)


@dataclass(frozen=True)
class Weights:
    """The tensors of a converted model by what became of them, and parameters before and after.

    `unchanged` have the values that they had, to the bit. `drawn` are new, as the model drew its own
    (of others only the size is taken over), and so are norms and their like in `reset`: with what
    all channels had in common, else as a new norm starts. `unwrapped` are the wrappers that were
    taken off (`torch.compile`, data parallelism).
    """

    unchanged: tuple[str, ...]
    drawn: tuple[str, ...]
    reset: tuple[str, ...]
    parameters_before: int
    parameters: int
    parameters_unchanged: int
    unwrapped: tuple[str, ...] = ()

    @property
    def share(self) -> float:
        """The share of the model's own parameters that are unchanged."""
        return self.parameters_unchanged / self.parameters_before

    def to_dict(self) -> dict[str, Any]:
        """As JSON."""
        return {**vars(self), "share": self.share}

    def __str__(self) -> str:
        counts = f"{len(self.unchanged)} tensors are unchanged, {len(self.drawn)} drawn anew, {len(self.reset)} reset as a new norm starts."
        lost = 100 * (1 - self.share)
        sentences = [
            counts,
            f"{100 * self.share:.1f} % of the {self.parameters_before:,} parameters keep their values; what training put into the other "
            f"{lost:.1f} % is lost.",
        ]
        if self.unwrapped:
            sentences.append(f"It is returned without {' and '.join(self.unwrapped)}: wrap it again.")
        return "\n".join(sentences)


@dataclass(frozen=True, repr=False)
class Conversion(Generic[Model]):
    """A converted model and what it kept: `better, weights = convert(model)`."""

    model: Model
    weights: Weights

    def __iter__(self) -> Iterator[Any]:
        return iter((self.model, self.weights))

    def __repr__(self) -> str:
        return f"{type(self.model).__name__}, {self.weights.parameters:,} parameters\n{self.weights}"


def unwrapped(model: nn.Module) -> tuple[nn.Module, tuple[str, ...]]:
    """The model inside wrappers that change nothing of what it computes, and their names."""
    names = []
    while True:
        if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            names.append(type(model).__name__)
            model = model.module
        elif isinstance(getattr(model, "_orig_mod", None), nn.Module):
            names.append("torch.compile")
            model = model._orig_mod
        else:
            return model, tuple(names)


def weights_of(before: nn.Module, after: nn.Module, slots: Iterable[Slot], wrappers: tuple[str, ...]) -> Weights:
    """What a conversion kept, by the slots that it changed."""
    kinds = {f"{slot.module}.{slot.tensor}": "reset" if filled(slot) else "drawn" for slot in slots}
    names: dict[str, list[str]] = {"unchanged": [], "drawn": [], "reset": []}
    tensors = {**dict(after.named_parameters(remove_duplicate=False)), **dict(after.named_buffers(remove_duplicate=False))}
    for name in tensors:
        names[kinds.get(name, "unchanged")].append(name)
    count = lambda model: sum(parameter.numel() for parameter in model.parameters())
    kept = {id(tensor): tensor.numel() for name, tensor in after.named_parameters(remove_duplicate=False) if name not in kinds}
    return Weights(
        **{kind: tuple(found) for kind, found in names.items()}, parameters_before=count(before), parameters=count(after),
        parameters_unchanged=sum(kept.values()), unwrapped=wrappers,
    )  # fmt: skip
