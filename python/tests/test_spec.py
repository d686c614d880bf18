"""Specs from everything that describes a network."""

import json

import pytest

import collegial
from collegial import Spec

TOML = """
kind = "bottleneck"
width = 48
inputs = 64
outputs = 64
"""


def test_counts_and_names():
    spec = Spec("resnext29-37x10d")
    assert (spec.name, spec.kind, spec.parameters) == ("resnext29-37x10d", "resnext", 13_743_646)
    assert spec.flops > spec.activations > 0
    assert Spec("resnext29-37x10d", classes=100).parameters == spec.parameters + 90 * 1025
    assert "13,743,646" in repr(spec)


def test_every_form_gives_the_same_spec(tmp_path):
    spec = Spec(TOML)
    toml, as_json = tmp_path / "block.toml", tmp_path / "block.json"
    toml.write_text(TOML)
    as_json.write_text(json.dumps(spec.to_dict()))
    forms = [spec, spec.to_dict(), spec.to_toml(), json.dumps(spec.to_dict()), toml, str(toml), as_json]
    assert {Spec(form) for form in forms} == {spec}
    assert spec == Spec("bottleneck-48", inputs=64, outputs=64) != Spec("bottleneck-48")
    assert collegial.info(TOML).parameters == spec.parameters


def test_with_design():
    assert Spec("resnext29-1x128d", classes=100).with_design("37x10d") == Spec("resnext29-37x10d", classes=100)
    assert Spec("bottleneck-128").with_design("4x12d").to_dict()["members"] == 4
    with pytest.raises(collegial.CollegialError, match="basic blocks"):
        Spec("wrn28-10").with_design("4x12d")
    with pytest.raises(collegial.CollegialError, match="0x12d|members"):
        Spec("resnext29-1x128d").with_design("0x12d")
