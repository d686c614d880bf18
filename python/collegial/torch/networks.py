"""From a spec, as checkpoints carry it, to the module of its family."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from torch import nn

from .. import _collegial
from .._collegial import CollegialError
from .._optional import need
from .._spec import Spec
from .._types import Model, Path
from .fully_connected import FullyConnected
from .regnet import RegNet
from .resnext import ResNeXt
from .wide_resnet import WideResNet


def build(model: Model, *, classes: int | None = None, weights: Path | None = None) -> nn.Module:
    """The `nn.Module` of a model.

    Args:
        model: A name, the path or text of a spec, a dict, a `Spec`, or a checkpoint.
        classes: Number of classes of a network.
        weights: A safetensors file with its weights, such as a checkpoint of ours; drawn by PyTorch
            where it is not given.
    """
    network = from_spec(Spec(model, classes=classes).to_dict())
    if weights is not None:
        tensors = need("safetensors.torch", "build with weights", "torch").load_file(weights)
        try:
            missing, unknown = network.load_state_dict(tensors, strict=False)
        except RuntimeError as error:
            raise CollegialError(f"{weights} does not fit {model}: {' '.join(str(error).split())}") from error
        # How many batches the norms have seen matters to nobody.
        wrong = [name for name in missing if not name.endswith("num_batches_tracked")] + unknown
        if wrong:
            raise CollegialError(f"{weights} does not fit {model}: {wrong[0]} is in one of them only")
    return network


def from_spec(spec: dict[str, Any]) -> nn.Module:
    """The `nn.Module` of a spec; its state dict has the names of our checkpoints.

    Args:
        spec: The spec's JSON form, as `Spec.to_dict` gives it.
    """
    if not isinstance(spec, Mapping) or "kind" not in spec:
        raise CollegialError(f"the spec is {spec!r:.60}; give a dict with a kind, as Spec.to_dict gives it, or use build, which takes names too")
    kind = spec["kind"]
    given = lambda *keys: {key: spec[key] for key in keys if key in spec}
    if kind == "resnext":
        members, width = stage_designs(spec)
        optional = given("stem_channels", "outputs", "squeeze")
        return ResNeXt(spec["blocks"], members, width, spec["classes"], spec["stem"], **optional)
    if kind == "regnet":
        members, width = stage_designs(spec)
        optional = {key: spec[key] for key in ("stem_channels", "squeeze") if key in spec}
        return RegNet(spec["blocks"], spec["outputs"], members, width, spec["classes"], **optional)
    if kind == "wide-resnet":
        return WideResNet(spec["depth"], spec["factor"], spec["stages"], spec["classes"])
    if kind == "fully-connected":
        optional = given("members", "activation")
        return FullyConnected(spec["inputs"], spec["outputs"], spec["widths"], **optional)
    raise CollegialError(f"a network of kind {kind} has no PyTorch module; resnext, regnet, wide-resnet and fully-connected have one")


def stage_designs(spec: dict[str, Any]) -> tuple[list[int], list[tuple[int, int]]]:
    """Members, and the widths into and out of the 3x3 convolution, of every stage."""
    stages = _collegial.stages(json.dumps(spec))
    return [members for _, members, _ in stages], [(first, second) for _, _, (first, second) in stages]
