"""Verdicts on what a model is made of: what is a question of variance, and what is not rebuilt and why.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any, Literal

from .._collegial import CollegialError


class Verdict(str, Enum):
    """Whether kernel variance chooses how layers are split."""

    VARIANCE = "variance"
    """It does, and it is known: there is a best number and width of members."""
    SPLIT_NEUTRAL = "split-neutral"
    """It does not. One hidden layer: m members of width n are one network of width m n. Heads of
    attention: much the same variance however they are split."""
    NOT_COVERED = "not-covered"
    """The theory may have an answer, but no variance is known here, or the layers cannot be rebuilt."""


# Kinds of layers that verdicts are about.
Layers = Literal[
    "bottleneck blocks", "fully connected parts", "feed-forward branches", "convolution branches", "attention layers",
    "convolution chains", "other layers",
]  # fmt: skip


@dataclass(frozen=True)
class Refusal:
    """Layers that stay as they are; the block is empty where the whole model is meant."""

    block: str
    verdict: Verdict
    reason: str
    layers: Layers = "bottleneck blocks"

    def to_dict(self) -> dict[str, str]:
        """As JSON."""
        return {**asdict(self), "verdict": self.verdict.value}


def by_layers(served: Layers, count: int, refusals: Iterable[Refusal]) -> list[dict[str, Any]]:
    """A verdict per kind of layers, with how many of them it is about and its most frequent reason;
    first the kind of which `count` are served."""
    found = {(served, Verdict.VARIANCE): [""] * count} if count else {}
    for refusal in refusals:
        found.setdefault((refusal.layers, refusal.verdict), []).append(refusal.reason)
    return [
        {"layers": layers, "verdict": verdict.value, "count": len(reasons), "reason": max(reasons, key=reasons.count)}
        for (layers, verdict), reasons in found.items()
    ]


class Refused(CollegialError):
    """No block of a model can be improved. `refusals` says why, `verdict` in one word, and
    `verdicts` has one for each kind of layers."""

    def __init__(self, model: str, refusals: list[Refusal]):
        self.model, self.refusals = model, refusals
        missing = [refusal for refusal in refusals if refusal.verdict is Verdict.NOT_COVERED]
        self.verdict = Verdict.NOT_COVERED if missing else Verdict.SPLIT_NEUTRAL
        self.verdicts = by_layers("bottleneck blocks", 0, refusals)
        super().__init__(self._sentence(missing or refusals))

    def _sentence(self, leading: list[Refusal]) -> str:
        first = leading[0]
        where = f"{self.model}, {first.block}" if first.block else self.model
        others = f" (and {len(leading) - 1} more blocks)" if len(leading) > 1 else ""
        if first.layers == "attention layers" and first.verdict is Verdict.SPLIT_NEUTRAL:
            return f"{where}{others}: this is split-neutral. {first.reason}"
        if self.verdict is Verdict.SPLIT_NEUTRAL:
            return f"{where}{others}: {first.reason}; this is split-neutral: splitting changes nothing there, choose by speed"
        return f"{where}{others}: {first.reason}; this is not covered (collegial.torch.search compares widths of any module)"

    def __reduce__(self) -> tuple[type[Refused], tuple[str, list[Refusal]]]:
        return type(self), (self.model, self.refusals)
