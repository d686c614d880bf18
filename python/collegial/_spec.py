"""A network as data."""

from __future__ import annotations

import copy
import json

from . import _collegial
from ._request import request


class Spec:
    """A network or module as data.

    Args:
        model: A name, the path or text of a TOML or JSON spec, a dict, a checkpoint, or another Spec.
        classes: Number of classes of a network.
        inputs: Inputs of a fully connected network, or input channels of a block.
        outputs: Outputs of a fully connected network, or output channels of a block.
        image: Side of the square images.
    """

    def __init__(
        self,
        model,
        *,
        classes: int | None = None,
        inputs: int | None = None,
        outputs: int | None = None,
        image: int | None = None,
    ):
        question = request(model=model, classes=classes, inputs=inputs, outputs=outputs, image=image)
        self._info = json.loads(_collegial.ask("info", question).json())
        self._data = self._info["spec"]

    @property
    def name(self) -> str:
        """The short name; class counts and image sizes are not in it."""
        return self._info["model"]

    @property
    def kind(self) -> str:
        """resnext, wide-resnet, fully-connected, bottleneck or sequence."""
        return self._info["spec"]["kind"]

    @property
    def parameters(self) -> int:
        """Trainable parameters."""
        return self._info["parameters"]

    @property
    def flops(self) -> int:
        """Floating-point operations per image, two per multiply-accumulate."""
        return self._info["flops"]

    @property
    def activations(self) -> int:
        """Elements that convolutions and dense layers put out per image."""
        return self._info["activations"]

    def to_dict(self) -> dict:
        """The JSON form, which `Spec` reads back."""
        return copy.deepcopy(self._data)

    def to_toml(self) -> str:
        """The TOML form, which `Spec` reads back."""
        return _collegial.to_toml(json.dumps(self._data))

    def with_design(self, design: str) -> Spec:
        """The same network with other members.

        Args:
            design: The number of members and their width, such as "37x10d", or one design per stage.
        """
        return Spec(json.loads(_collegial.redesigned(json.dumps(self._data), design)))

    def __repr__(self):
        return f"Spec({self.name!r}, {self.parameters:,} parameters)"

    def __eq__(self, other):
        return isinstance(other, Spec) and self._data == other._data

    def __hash__(self):
        return hash(json.dumps(self._data))
