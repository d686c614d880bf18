"""From a spec, as checkpoints carry it, to the module of its family."""

from .fully_connected import FullyConnected
from .resnext import ResNeXt
from .wide_resnet import WideResNet


def from_spec(spec):
    """The `nn.Module` of a spec's JSON form; its state dict has the names of our checkpoints."""
    kind = spec["kind"]
    if kind == "resnext":
        members, width = (int(part) for part in spec["design"].rstrip("d").split("x"))
        optional = {key: spec[key] for key in ("stem_channels", "outputs") if key in spec}
        return ResNeXt(spec["blocks"], members, width, spec["classes"], spec["stem"], **optional)
    if kind == "wide-resnet":
        return WideResNet(spec["depth"], spec["factor"], spec["stages"], spec["classes"])
    if kind == "fully-connected":
        optional = {key: spec[key] for key in ("members", "activation") if key in spec}
        return FullyConnected(spec["inputs"], spec["outputs"], spec["widths"], **optional)
    raise ValueError(f"a network of kind {kind} has no PyTorch module; resnext, wide-resnet and fully-connected have one")
