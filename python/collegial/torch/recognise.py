"""Models that the program knows by name: a spec that describes all of a model, block by block and
tensor by tensor.

The score of a design is then the whole network's, of every block with what it sees, as
`collegial.search` has it for the name; of other models one block is analysed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import torch
from torch import nn

from .. import _collegial
from .._collegial import CollegialError
from .._spec import Spec
from .block import Block
from .blocks import ModelBlocks
from .networks import from_spec

STEMS = ("small", "imagenet", "c", "d")


def recognised(model: nn.Module, found: ModelBlocks) -> Spec | None:
    """The network that a model is, or None. Blocks must be those of the spec in order, and all
    parameters have the shapes of its own; where several specs have these, as with stems C and D, the
    names decide too."""
    if found.refusals or not all(_known(block) for block in found.blocks):
        return None
    named = {name: tuple(tensor.shape) for name, tensor in model.named_parameters()}
    fitting = []
    for candidate in _candidates(found.blocks, named):
        try:
            spec = Spec(candidate)
            with torch.device("meta"):
                network = from_spec(spec.to_dict())
        except CollegialError:
            continue
        ours = {name: tuple(tensor.shape) for name, tensor in network.named_parameters()}
        # Other norms have parameters of the same shapes.
        if Counter(ours.values()) == Counter(named.values()) and _batch_norms(network) == _batch_norms(model):
            fitting.append((spec, ours == named))
    chosen = [spec for spec, same_names in fitting if same_names or len(fitting) == 1]
    return chosen[0] if len(chosen) == 1 else None


def _batch_norms(model: nn.Module) -> int:
    return sum(isinstance(module, nn.BatchNorm2d) for module in model.modules())


def name_of(spec: Spec) -> str | None:
    """The name by which the program knows a network; None where the name means another one, since
    names do not say a stem's channels."""
    document = spec.to_dict()
    try:
        same = Spec(spec.name, classes=document["classes"], image=document.get("image")).to_dict() == document
    except CollegialError:
        return None
    return spec.name if same else None


def _known(block: Block) -> bool:
    """Whether specs of networks have such blocks."""
    return block.hidden is None and block.dimensions == 2 and block.kernels == (3,) and block.even and block.exact and block.variance_activations == ("relu", "relu")


def block_designs(spec: Spec, design: str | None = None) -> list[tuple[int, int]]:
    """m and n of every block of a network, with its own design or another one, in order."""
    document = (spec if design is None else spec.with_design(design)).to_dict()
    return [(members, widths[0]) for count, members, widths in _collegial.stages(json.dumps(document)) for _ in range(count)]


def _candidates(blocks: Sequence[Block], named: dict[str, tuple[int, ...]]) -> Iterator[dict[str, Any]]:
    """Specs that have these blocks."""
    stages = [list(stage) for _, stage in groupby(blocks, key=lambda block: block.outputs)]
    if any(len({(block.members, block.width) for block in stage}) > 1 for stage in stages):
        return
    if any(block.stride != 1 for stage in stages for block in stage[1:]):
        return
    outputs = [stage[0].outputs for stage in stages]
    strides = [stage[0].stride for stage in stages]
    classes = [shape[0] for shape in named.values() if len(shape) == 2]
    if not classes or strides[1:] != [2] * (len(stages) - 1):
        return
    common: dict[str, Any] = {
        "blocks": [len(stage) for stage in stages],
        "design": [f"{stage[0].members}x{stage[0].width}d" for stage in stages],
        "classes": classes[-1],
        "stem_channels": blocks[0].inputs,
    }
    if strides[0] == 2:
        for squeeze in ({}, {"squeeze": 4}):
            yield {"kind": "regnet", "outputs": outputs, "image": 224, **common, **squeeze}
    elif strides[0] == 1 and all(after == 2 * before for before, after in zip(outputs, outputs[1:])):
        members, width = blocks[0].members, blocks[0].width
        if all((stage[0].members, stage[0].width) == (members, width * 2**number) for number, stage in enumerate(stages)):
            common["design"] = f"{members}x{width}d"
        for stem in STEMS:
            image = 224 if stem != "small" else 32 if len(stages) <= 3 else 64
            for squeeze in ({}, {"squeeze": 16}):
                yield {"kind": "resnext", "stem": stem, "outputs": outputs[0], "image": image, **common, **squeeze}
