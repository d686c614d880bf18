"""A network as data."""

from __future__ import annotations

import json

from . import _collegial
from ._request import request


class Spec:
    """A network or module: from a name, the path or text of a TOML or JSON spec, a dict, a checkpoint, or another Spec.

    `classes`, `inputs`, `outputs` and `image` set what a name leaves open.
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
        question = request(model, classes=classes, inputs=inputs, outputs=outputs, image=image)
        self._info = json.loads(_collegial.ask("info", question).json())
        self._text = json.dumps(self._info["spec"])

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
        return json.loads(self._text)

    def to_toml(self) -> str:
        """The TOML form, which `Spec` reads back."""
        return _collegial.to_toml(self._text)

    def with_design(self, design: str) -> Spec:
        """The same network with other members, such as "37x10d"."""
        return Spec(_collegial.redesigned(self._text, design))

    def __repr__(self):
        return f"Spec({self.name!r}, {self.parameters:,} parameters)"

    def __eq__(self, other):
        return isinstance(other, Spec) and self.to_dict() == other.to_dict()

    def __hash__(self):
        return hash(self._text)
