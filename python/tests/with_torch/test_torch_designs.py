"""Better designs for models of torchvision, timm and our own."""

import copy
import pickle
import runpy
from pathlib import Path

import pytest
import timm
import torch
import torchvision
from torch import nn

import collegial
from collegial import Spec
from collegial.torch import build, convert, suggest
from collegial.torch.blocks import find_blocks

ALPHA = 1.60


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def on_meta(make):
    with torch.device("meta"):
        return make()


# The baseline in torch, and the same as a spec of ours.
KNOWN = {
    "ours": (lambda: build("resnext29-1x128d"), "resnext29-1x128d"),
    "torchvision": (lambda: torchvision.models.resnet50(), "resnext50-1x64d"),
    "timm": (lambda: timm.create_model("resnet101"), "resnext101-1x64d"),
    "torchvision, grouped": (lambda: torchvision.models.resnext50_32x4d(), "resnext50-32x4d"),
}


@pytest.mark.parametrize("make, name", KNOWN.values(), ids=KNOWN)
def test_suggestions_are_those_of_the_search(make, name):
    suggestion, found = suggest(on_meta(make), alpha=ALPHA), collegial.search(name, alpha=ALPHA)
    assert suggestion.baseline.parameters == found.baseline_parameters
    for problem in ("primal", "dual"):
        ours, theirs = suggestion[problem], found.to_dict()[problem]
        assert (ours.design, ours.parameters) == (theirs["design"], theirs["parameters"])
        assert ours.variance == pytest.approx(theirs["variance"], rel=1e-12)
        assert ours.variance_reduction == pytest.approx(theirs["variance_reduction"], rel=1e-12)


@pytest.mark.parametrize("name", ["resnet50", "resnext50_32x4d", "regnet_x_400mf", "regnet_y_400mf", "wide_resnet50_2"])
def test_default_suggestions_are_those_of_the_search_by_name(name):
    make = lambda: torchvision.models.get_model(name, weights=None)
    # RegNets compute with values while they are built.
    model = make() if name.startswith("regnet") else on_meta(make)
    suggestion, found = suggest(model), collegial.search(name)
    assert suggestion.network == found.baseline and suggestion.network in repr(suggestion)
    assert suggestion.baseline.parameters == count(model) == found.baseline_parameters
    for problem in ("primal", "dual"):
        ours, theirs = suggestion[problem], getattr(found, problem)
        assert (ours.design, ours.parameters) == (theirs.design, theirs.parameters)
        assert ours.variance == pytest.approx(theirs.score, rel=1e-12)
        assert ours.variance_reduction == pytest.approx(theirs.score_ratio, rel=1e-12)
        better = Spec(name).with_design(theirs.design)
        assert ours.parameters == better.parameters and len(ours.block_designs) == len(suggestion.blocks)
    if found.primal.gain == "baseline-is-best":
        with pytest.raises(collegial.CollegialError, match="nothing to gain"):
            convert(model, "primal")
    else:
        assert count(convert(model, "primal")) == suggestion.primal.parameters
    if name == "regnet_x_400mf":
        assert found.primal.gain == "baseline-is-best" and "nothing to gain here: keep 2x16d" in repr(suggestion)


def test_what_the_program_does_not_know_is_said_to_be_of_one_block():
    """The same tensors and names, but strides that no spec has; and another activation."""
    dilated = on_meta(lambda: torchvision.models.resnet50(replace_stride_with_dilation=[False, False, True]))
    smooth = on_meta(lambda: timm.create_model("resnet50", act_layer="silu"))
    for model, options in ((dilated, {}), (smooth, {"precision": 0.1})):
        suggestion = suggest(model, **options)
        assert suggestion.network is None and "the design is that of layer1.1, the analysed block" in repr(suggestion)


@pytest.mark.parametrize("objective", ["primal", "dual"])
@pytest.mark.parametrize(
    "make",
    [lambda: build("resnext29-1x64d"), lambda: torchvision.models.resnet50(num_classes=10), lambda: timm.create_model("seresnet50")],
    ids=["ours", "torchvision", "timm with squeeze and excitation"],
)
def test_the_converted_model_is_what_was_promised(make, objective):
    torch.manual_seed(0)
    model = make()
    before = copy.deepcopy(model.state_dict())
    suggestion, better = suggest(model, alpha=ALPHA), convert(model, objective, alpha=ALPHA)
    assert count(better) == suggestion[objective].parameters
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
    kept = [name for name, tensor in better.state_dict().items() if tensor.shape == before[name].shape]
    changed = {f"{name}.{part}" for name in suggestion.blocks for part in ("conv1", "bn1", "conv2", "bn2", "conv3")}
    for name in kept:
        if name.rsplit(".", 1)[0] not in changed:
            assert torch.equal(better.state_dict()[name], before[name]), name
    blocks = find_blocks(better).blocks
    assert [block.name for block in blocks] == suggestion.blocks
    assert {block.members for block in blocks} == {suggestion[objective].multiplicity}
    # Freshly drawn: a middle convolution has the mean square 2 / fan, a member's; within five
    # standard errors.
    weight = better.get_submodule(blocks[0].name).conv2.weight
    assert weight.std().item() == pytest.approx((2 / weight[0].numel()) ** 0.5, rel=5 / (2 * weight.numel()) ** 0.5)
    better(torch.randn(2, 3, 32, 32)).sum().backward()
    assert all(parameter.grad is not None for parameter in better.parameters())


def test_look_alikes_are_found_by_their_shapes():
    def layer(inputs, outputs, kernel, groups=1):
        return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, groups=groups), nn.BatchNorm2d(outputs), nn.GELU())

    class Odd(nn.Module):
        def __init__(self):
            super().__init__()
            self.shortcut = nn.Conv2d(32, 32, 1)
            self.path = nn.ModuleList([layer(32, 48, 1), layer(48, 48, 5, groups=2), layer(48, 32, 1)])

        def forward(self, x):
            y = x
            for part in self.path:
                y = part(y)
            return y + self.shortcut(x)

    model = nn.Sequential(nn.Conv2d(3, 32, 3), Odd(), Odd())
    suggestion = suggest(model, alpha=ALPHA)
    assert suggestion.blocks == ["1.path", "2.path"] and suggestion.baseline.design == "2x24d"
    better = convert(model, alpha=ALPHA)
    assert count(better) == suggestion.primal.parameters
    assert better(torch.randn(2, 3, 9, 9)).shape == (2, 32, 7, 7)


def test_it_says_when_there_is_nothing_to_do():
    with pytest.raises(collegial.CollegialError, match="WideResNet, layer1.0 .*: it has one hidden layer"):
        suggest(on_meta(lambda: build("wrn28-10")))
    with pytest.raises(collegial.CollegialError, match="objective is 'third'"):
        convert(build("resnext29-1x64d"), "third")
    best = on_meta(lambda: build("resnext29-37x10d"))
    suggestion = suggest(best, alpha=ALPHA)
    assert suggestion.primal.design == "37x10d" and "nothing to gain" in repr(suggestion)
    with pytest.raises(collegial.CollegialError, match="nothing to gain"):
        convert(best, alpha=ALPHA)


def test_depthwise_blocks_are_told_which_width_to_grow_to():
    model = on_meta(lambda: torchvision.models.mobilenet_v2())
    suggestion, better = suggest(model, rule="under", precision=0.05), convert(model, "dual", rule="under", precision=0.05)
    assert suggestion.baseline.design == "144x1d" and suggestion.primal.width > 1 < suggestion.dual.width
    assert suggestion.primal.parameters <= suggestion.baseline.parameters == count(model)
    assert count(better) == suggestion.dual.parameters < count(model)
    middle = better.features[3].conv[1][0]
    assert middle.in_channels // middle.groups == suggestion.dual.width and middle.groups == suggestion.dual.multiplicity
    with pytest.raises(collegial.CollegialError, match="alpha= and trials= ask for the law"):
        suggest(model, alpha=ALPHA)


def test_other_activations_have_variances_of_their_own():
    """The block of an EfficientNet, with SiLU and with ReLU: drawn here, exact there."""

    def block(activation):
        layers = [nn.Conv2d(3, 32, 1), nn.Conv2d(32, 64, 1), activation(), nn.Conv2d(64, 64, 3, padding=1, groups=4), activation()]
        return nn.Sequential(*layers, nn.Conv2d(64, 32, 1))

    smooth, straight = suggest(block(nn.SiLU), precision=0.02, seed=1), suggest(block(nn.ReLU))
    native = {"kind": "bottleneck", "inputs": 32, "outputs": 32, "width": 16, "members": 4, "norm": "none"}
    assert straight.baseline.variance == collegial.search(native).baseline_variance
    assert smooth.baseline.variance == pytest.approx(straight.baseline.variance, rel=0.5)
    assert smooth.baseline.variance != straight.baseline.variance
    assert smooth.variance_activations == ["silu", "silu"] and straight.variance_activations == ["relu", "relu"]


def test_a_suggestion_prints_and_converts():
    suggestion = suggest(on_meta(lambda: build("resnext29-1x128d")), alpha=ALPHA)
    assert "37x10d: 3.73 times less kernel variance" in repr(suggestion) and "10x10d: 3.26 times fewer parameters" in repr(suggestion)
    assert "<table>" in suggestion._repr_html_()
    assert list(suggestion.to_pandas().design) == ["1x128d", "37x10d", "10x10d"]
    assert suggestion.to_dict()["primal"]["design"] == suggestion.primal.design == "37x10d"
    for again in (pickle.loads(pickle.dumps(suggestion)), copy.deepcopy(suggestion)):
        assert again == suggestion and repr(again) == repr(suggestion)
    assert suggestion != suggest(on_meta(lambda: build("resnext29-1x128d")), alpha=1.0)
    assert suggestion.plot().get_title(loc="left").endswith("ResNeXt")


def test_the_example_runs(capsys):
    runpy.run_path(str(Path(__file__).resolve().parents[3] / "examples/better_resnet.py"))
    assert "times fewer parameters" in capsys.readouterr().out
