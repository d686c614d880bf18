"""Specs from everything that describes a network."""

import json

import pytest

import collegial
from collegial import Spec, _collegial

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


def test_stages_are_numbers():
    assert _collegial.stages("resnext50-21x6d") == [(3, 21, [6, 6]), (4, 21, [12, 12]), (6, 21, [24, 24]), (3, 21, [48, 48])]
    assert _collegial.stages("regnet_x_8gf")[:2] == [(2, 1, [80, 80]), (5, 2, [120, 120])]
    found = collegial.search("resnext29-1x128d")
    assert f"{found.primal.members}x{found.primal.width}d" == found.primal.design == "66x6d"
    assert (found.baseline_members, found.baseline_width) == (1, 128)


def test_the_integer_correction_is_that_of_trying_all():
    cost = lambda members: 7 * members + members // 3
    for budget, most in [(0, 9), (6, 9), (7, 9), (100, 9), (100, 40), (101, 40), (2**63, 12)]:
        tried = range(1, most + 1)
        under = max((members for members in tried if cost(members) <= budget), default=0)
        nearest = min(tried, key=lambda members: (abs(cost(members) - budget), members))
        assert _collegial.members_within(cost, budget, "under", most) == under
        assert _collegial.members_within(cost, budget, "nearest", most) == nearest
    with pytest.raises(collegial.CollegialError, match="take 'nearest' or 'under'"):
        _collegial.members_within(cost, 5, "above", 3)
    with pytest.raises(ZeroDivisionError):
        _collegial.members_within(lambda members: 1 // 0, 5, "under", 3)
