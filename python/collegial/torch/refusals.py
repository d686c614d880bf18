"""What is not rebuilt, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import Enum

from .._collegial import CollegialError


class Kind(str, Enum):
    """Verdicts on what is left alone; what is not is a question of variance, and is searched."""

    SPLIT_NEUTRAL = "split-neutral"
    """Kernel variance does not choose. One hidden layer: m members of width n are one network of
    width m n. Heads of attention: much the same variance however they are split."""
    NOT_COVERED = "not covered"
    """The theory may have an answer, but no variance is known here, or the block cannot be rebuilt."""


@dataclass(frozen=True)
class Refusal:
    """A block that stays as it is; the name is empty where the whole model is meant."""

    block: str
    kind: Kind
    reason: str

    def to_dict(self) -> dict[str, str]:
        """As JSON."""
        return {**asdict(self), "kind": self.kind.value}


class Refused(CollegialError):
    """No block of a model can be improved; `refusals` says why, `kind` in one word."""

    def __init__(self, model: str, refusals: list[Refusal]):
        self.model, self.refusals = model, refusals
        missing = [refusal for refusal in refusals if refusal.kind is Kind.NOT_COVERED]
        self.kind = Kind.NOT_COVERED if missing else Kind.SPLIT_NEUTRAL
        super().__init__(self._sentence(missing or refusals))

    def _sentence(self, leading: list[Refusal]) -> str:
        first = leading[0]
        where = f"{self.model}, {first.block}" if first.block else self.model
        others = f" (and {len(leading) - 1} more blocks)" if len(leading) > 1 else ""
        if self.kind is Kind.SPLIT_NEUTRAL:
            return f"{where}{others}: {first.reason}; this is split-neutral: splitting changes nothing there, choose by speed"
        return f"{where}{others}: {first.reason}; this is not covered (collegial.torch.search compares widths of any module)"

    def __reduce__(self) -> tuple[type[Refused], tuple[str, list[Refusal]]]:
        return type(self), (self.model, self.refusals)
