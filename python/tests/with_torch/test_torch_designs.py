"""Better designs for models of torchvision, timm and our own."""

import copy
import pickle
import re
import runpy
from pathlib import Path

import pytest
import timm
import torch
import torchvision
from torch import nn

import collegial
from collegial import Spec
from collegial.torch import build, from_spec, suggest
from collegial.torch import convert as conversion
from collegial.torch.blocks import find_blocks
from collegial.torch.draw_time import CHOSEN
from collegial.torch.family import Family

ALPHA = 1.60


def convert(*args, **options):
    """The converted model."""
    return conversion(*args, **options).model


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
    assert "37x10d has 3.73 times less kernel variance" in repr(suggestion) and "10x10d has 3.26 times fewer parameters" in repr(suggestion)
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


@pytest.mark.parametrize("make", [lambda: torchvision.models.regnet_x_8gf(), lambda: timm.create_model("regnetx_080")], ids=["torchvision", "timm"])
def test_a_baseline_with_designs_of_every_stage_s_own(make):
    """The first stage is narrower than the group width of the others, so that no m x n is its design."""
    model = make()
    suggestion, found = suggest(model), collegial.search("regnet_x_8gf")
    assert suggestion.network == "regnet_x_8gf" and suggestion.baseline.parameters == count(model)
    assert suggestion.baseline.design == "1x80d,2x120d,6x120d,16x120d" and suggestion.baseline.multiplicity is None
    assert suggestion.baseline.block_designs[:3] == [[1, 80], [1, 80], [2, 120]]
    assert suggestion.primal.design == found.primal.design and suggestion.primal.variance == found.primal.score
    assert [suggestion.primal.multiplicity, suggestion.primal.width] == suggestion.primal.block_designs[0]
    assert count(convert(model, "dual")) == suggestion.dual.parameters


def test_names_are_those_of_the_network_itself():
    """GroupNorms have the shapes of BatchNorms, and names do not say a stem's channels."""
    other_norms, other_stem = (suggest(on_meta(lambda: timm.create_model(name))) for name in ("resnet50_gn", "resnet50s"))
    assert other_norms.network is None and other_norms.scope == "block"
    assert other_stem.network is None and other_stem.scope == "network" and "has no name here" in repr(other_stem)
    assert Spec(suggest(on_meta(lambda: timm.create_model("resnet50c"))).network).parameters == 25_576_264


def test_costs_that_moved_are_named():
    suggestion = suggest(on_meta(lambda: torchvision.models.resnet50()))
    found = collegial.search("resnet50")
    for problem, ours in (("primal", suggestion.primal), ("dual", suggestion.dual)):
        assert ours.flops == getattr(found, problem).flops and suggestion.baseline.flops == found.baseline_flops
        assert ours.activations == getattr(found, problem).activations and suggestion.baseline.activations == found.baseline_activations
    # The program's sentences, but for the name of the network.
    theirs = " ".join(repr(found).replace("resnext50-", "").split())
    for said in (
        "Same cost: 21x6d has 1.69 times less mean kernel variance of its blocks at initialisation, with 99.4 % of the parameters, "
        "104.8 % of the FLOPs and 128.6 % of the activations.",
        "Same variance: 9x8d has 1.50 times fewer parameters, with 66.6 % of the FLOPs, 103.7 % of the activations and 99.4 % of the variance.",
    ):
        assert said in " ".join(repr(suggestion).split()) and said in theirs


def test_a_good_baseline_is_called_good():
    """In the program's words, too."""
    suggestion, found = suggest(on_meta(lambda: torchvision.models.resnext101_32x8d())), collegial.search("resnext101-32x8d")
    printed, theirs = (" ".join(repr(answer).split()) for answer in (suggestion, found))
    assert "Same cost: resnext101-32x8d is within 0.1 % of the best design, 44x6d, with 99.9 % of the parameters and 102.0 % of the activations" in printed
    assert "Same variance: no design saves more than 0.5 % of resnext101-32x8d's parameters." in printed
    for sentence in printed.split("Same cost: ")[1].replace("44x6d", "resnext101-44x6d").split(". ")[:2]:
        assert sentence in theirs


@pytest.mark.parametrize("name", ["resnext29-1x64d", "resnext29-2x64d"])
def test_activations_of_a_block_s_designs_are_those_of_the_program(name):
    """Counted by trial passes, of the model and of its designs."""
    suggestion = suggest(on_meta(lambda: build(name)), inputs=torch.zeros(2, 3, 32, 32), alpha=ALPHA)
    assert suggestion.scope == "block" and suggestion.baseline.activations == Spec(name).activations
    for best in (suggestion.primal, suggestion.dual):
        assert best.activations == Spec(name).with_design(best.design).activations
        share = 100 * best.activations / suggestion.baseline.activations
        assert f"{share:.1f} % of the activations" in " ".join(repr(suggestion).split())


def test_activations_of_linear_layers_are_what_they_put_out():
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    suggestion = suggest(model)
    assert suggestion.baseline.activations == 64 + 64 + 10
    for best in (suggestion.primal, suggestion.dual):
        assert best.activations == 2 * best.multiplicity * best.width + 10


def test_a_recognised_network_has_the_friendly_designs_and_the_evidence_of_the_search():
    suggestion, found = suggest(on_meta(lambda: torchvision.models.resnet50())), collegial.search("resnet50")
    assert [other.design for other in suggestion.friendly] == [other.design for other in found.friendly] and suggestion.friendly
    assert suggestion.evidence.sentence == found.evidence.sentence
    printed, theirs = (" ".join(repr(answer).split()) for answer in (suggestion, found))
    for sentence in (suggestion.evidence.sentence.removesuffix("."), "With widths that suit hardware: 15x8d has 1.68 and 6x16d has 1.43 times less, against 1.69."):
        assert sentence in printed and sentence in theirs
    block = suggest(on_meta(lambda: torchvision.models.resnet50()), alpha=ALPHA)
    assert block.evidence is None and "Trained by others" not in repr(block)


@pytest.mark.parametrize("options", [{}, {"alpha": ALPHA}])
def test_blocks_have_friendly_designs_by_trying_all_of_them(options):
    """A model of one block, so that its designs count what the block does and a constant."""
    layers = [nn.Conv2d(40, 60, 1), nn.ReLU(), nn.Conv2d(60, 60, 3, padding=1), nn.ReLU(), nn.Conv2d(60, 40, 1)]
    suggestion = suggest(nn.Sequential(nn.Conv2d(3, 40, 3), *layers), rule="under", **options)
    assert suggestion.scope == "block"
    spec = {"kind": "bottleneck", "inputs": 40, "outputs": 40, "width": 60, "norm": "none"}
    variances = {point.width: point.variance for point in collegial.search(spec, **options).curve}
    before, most = suggestion.baseline.variance, suggestion.baseline.parameters
    assert variances[60] == before
    parameters = lambda m, n: most - 60 * (40 + 1 + 9 * 60 + 1 + 40) + m * n * (40 + 1 + 9 * n + 1 + 40)
    tried = {(m, n): variances[n] / m for m in range(1, 200) for n in range(8, 61, 8)}
    expected = {"primal": [], "dual": []}
    for step in (8, 16):
        fitting = [design for design in tried if design[1] % step == 0]
        primal = min((design for design in fitting if parameters(*design) <= most), key=tried.__getitem__)
        dual = min((design for design in fitting if tried[design] <= before), key=lambda design: parameters(*design))
        for problem, design in (("primal", primal), ("dual", dual)):
            if suggestion[problem].width % step:
                expected[problem] = [other for other in expected[problem] if other[0] != design] + [(design, step)]
    for problem, designs in expected.items():
        found = [other for other in suggestion.friendly if other.problem == problem]
        assert [((other.members, other.width), other.multiple_of) for other in found] == designs
        for other in found:
            design = (other.members, other.width)
            assert (other.design, other.parameters) == (f"{design[0]}x{design[1]}d", parameters(*design))
            assert other.variance == pytest.approx(tried[design]) and other.score_ratio == pytest.approx(before / tried[design])
            assert other.flops and other.activations and other.distance > -0.05
    assert expected["primal"]
    named = [f"{m}x{n}d has {before / tried[m, n]:.2f}" for (m, n), _ in expected["primal"] if before / tried[m, n] >= 1.005]
    said = f"With widths that suit hardware: {' and '.join(named)} times less, against {suggestion.primal.variance_reduction:.2f}."
    assert named and said in " ".join(repr(suggestion).split())


def test_drawn_friendly_designs_have_intervals_and_gain_at_both_ends():
    named = []
    for precision in (0.02, 0.5):
        suggestion = suggest(smooth_block(1, 40), precision=precision)
        assert list(suggestion.to_pandas("friendly").design) == [other.design for other in suggestion.friendly]
        for other in suggestion.friendly:
            low, high = other.variance_reduction_ci
            assert other.width % other.multiple_of == 0 and low < other.score_ratio < high
            if other.problem == "primal" and f"{other.design} has {other.score_ratio:.2f}" in " ".join(repr(suggestion).split()):
                assert low > 1
                named.append(precision)
    assert named and set(named) == {0.02}
    assert suggest(smooth_block(1, 40), precision=0.2, multiple_of=16).friendly == []


def test_friendly_widths_are_so_in_every_layer():
    def block(first, second):
        return nn.Sequential(nn.Linear(64, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU(), nn.Linear(second, 64))

    for second, fitting in ((48, True), (60, False)):
        suggestion = suggest(block(96, second))
        family = Family(model := block(96, second), find_blocks(model))
        assert family.is_multiple_of(16, 8) is fitting
        for other in suggestion.friendly:
            assert family.is_multiple_of(other.width, other.multiple_of)
            assert other.width * second / 96 % other.multiple_of == 0


def test_the_law_s_dual_is_no_dearer_than_the_model():
    # Its real members, rounded up, would have 102 % of the parameters.
    suggestion = suggest(torchvision.models.regnet_x_400mf(), alpha=5.0)
    assert suggestion.dual.parameters == suggestion.baseline.parameters and suggestion.dual.design == suggestion.baseline.design


def test_the_same_variance_is_never_more():
    """Also of single blocks, whose members are whole."""
    for members, width in ((1, 64), (1, 96), (2, 32), (3, 24)):
        inner = members * width
        layers = [nn.Conv2d(inner // 2, inner, 1), nn.ReLU(), nn.Conv2d(inner, inner, 3, padding=1, groups=members), nn.ReLU()]
        suggestion = suggest(nn.Sequential(nn.Conv2d(3, inner // 2, 3), *layers, nn.Conv2d(inner, inner // 2, 1)))
        assert suggestion.scope == "block" and suggestion.dual.variance <= suggestion.baseline.variance
        assert suggestion.primal.parameters <= suggestion.baseline.parameters


def test_no_design_of_a_block_is_better_than_the_chosen_one():
    """By trying all of them, with the parameters of the whole model."""
    layers = [nn.Conv2d(16, 24, 1), nn.ReLU(), nn.Conv2d(24, 24, 3, padding=1), nn.ReLU(), nn.Conv2d(24, 16, 1)]
    model = nn.Sequential(nn.Conv2d(3, 16, 3), *layers)
    suggestion, fixed = suggest(model), 3 * 16 * 9 + 16 + 16
    parameters = lambda m, n: fixed + m * n * (16 + 1 + 9 * n + 1 + 16)
    assert parameters(1, 24) == suggestion.baseline.parameters
    spec = {"kind": "bottleneck", "inputs": 16, "outputs": 16, "width": 24, "norm": "none"}
    variances = {point.width: point.variance for point in collegial.search(spec).curve}
    tried = {(m, n): variances[n] / m for m in range(1, 200) for n in range(1, 25)}
    primal = min(variance for design, variance in tried.items() if parameters(*design) <= parameters(1, 24))
    dual = min(parameters(*design) for design, variance in tried.items() if variance <= tried[1, 24])
    assert suggestion.primal.variance == pytest.approx(primal) and suggestion.dual.parameters == dual


def test_designs_that_draws_do_not_decide_are_widths():
    """Drawn to 10 %, several widths are as good; the interval holds for the chosen one."""
    model = on_meta(lambda: torchvision.models.mobilenet_v2())
    said = set()
    for precision in (0.03, 0.1):
        rough = suggest(model, precision=precision)
        low, high = rough.primal.variance_reduction_ci
        assert low < rough.primal.variance_reduction < high
        assert (low > 1) is ("Same cost:" in repr(rough))
        for name, sentence, best in (("same cost", "Same cost", rough.primal), ("same variance", "Same variance", rough.dual)):
            assert len(best.alike) > 1 and best.width in best.alike
            widths = f"width {best.alike[0]} to {best.alike[-1]}"
            # The table names widths where the draws decide no design.
            line = next(line for line in repr(rough).splitlines() if line.startswith(name))
            assert widths in line and best.design not in line
            if f"{sentence}:" in repr(rough):
                assert f"{sentence}: members of {widths} have" in " ".join(repr(rough).split())
                said.add(name)
    assert said
    exact = suggest(on_meta(lambda: torchvision.models.resnet50()))
    assert exact.dual.parameters_ci == [exact.dual.parameters] * 2 and exact.dual.design in repr(exact).split("same variance")[1]
    assert exact.primal.alike == [exact.primal.width] and len(set(exact.primal.variance_reduction_ci)) == 1


def smooth_block(members, width):
    """With SiLU, so that variances are drawn."""
    inner = members * width
    layers = [nn.Conv2d(32, inner, 1), nn.SiLU(), nn.Conv2d(inner, inner, 3, padding=1, groups=members), nn.SiLU()]
    return nn.Sequential(nn.Conv2d(3, 32, 3), *layers, nn.Conv2d(inner, 32, 1))


def test_a_gain_holds_at_both_ends_of_the_interval():
    """Fewer parameters are announced only where the upper end is below the baseline's."""
    seen = set()
    for precision in (0.01, 0.1, 0.2):
        suggestion = suggest(smooth_block(8, 8), precision=precision)
        fewest, most = suggestion.dual.parameters_ci
        assert fewest <= suggestion.dual.parameters <= most
        surely = most < suggestion.baseline.parameters
        assert ("Same variance:" in repr(suggestion)) is surely
        if suggestion.dual.design != suggestion.baseline.design:
            assert fewest < most
            seen.add(surely)
            if not surely:
                with pytest.raises(collegial.CollegialError, match="the draws decide no gain by the dual"):
                    convert(smooth_block(8, 8), "dual", precision=precision)
    assert False in seen


def test_draws_take_the_time_they_are_given():
    """What does not fit makes the precision coarser and intervals wider; progress is told first how
    many seconds it will take."""
    calls = []
    model = smooth_block(1, 64)
    short = suggest(model, precision=0.002, seconds=0.5, seed=3, progress=lambda done, total: calls.append((done, total)))
    long = suggest(model, precision=0.02, seed=3)
    assert short.precision > 0.002 and long.precision == 0.02 and "drawn to 2 % (standard error)" in repr(long)
    width = lambda suggestion: suggestion.primal.variance_reduction_ci[1] / suggestion.primal.variance_reduction_ci[0]
    assert (width(short) > width(long)) is (short.precision > long.precision) and width(short) > 1
    assert calls[0][0] == 0 and calls[0][1] > 0 and calls[-1] == pytest.approx((calls[0][1], calls[0][1]))
    # The conversion has the design that was suggested, without other draws.
    asked = set(CHOSEN)
    assert count(convert(model, precision=0.002, seconds=0.5, seed=3)) == short.primal.parameters
    assert set(CHOSEN) == asked
    assert suggest(on_meta(lambda: torchvision.models.resnet50()), seconds=1).precision is None
    for options, said in (({"seconds": 0}, "give more than 0"), ({"seconds": 1, "trials": 100}, "leave one out")):
        with pytest.raises(collegial.CollegialError, match=said):
            suggest(model, **options)


def test_a_bar_is_told_how_long_it_takes(capsys):
    suggest(smooth_block(1, 16), precision=0.1, seed=5, progress=True)
    assert re.search(r"drawing variances: about \d+ s", capsys.readouterr().err)


def test_it_says_where_most_parameters_stay():
    layers = [nn.Conv2d(32, 64, 1), nn.ReLU(), nn.Conv2d(64, 64, 3, padding=1), nn.ReLU(), nn.Conv2d(64, 32, 1)]
    for inputs, said in ((3, False), (512, True)):
        suggestion = suggest(nn.Sequential(nn.Conv2d(inputs, 32, 3), *layers))
        assert (suggestion.untouched > 0.5) is said is ("stay untouched" in repr(suggestion))


@pytest.mark.parametrize("model, said", [("resnet50", r"collegial.search\('resnet50'\)"), (nn.Conv2d, "is a class"), (None, "of type NoneType")])
def test_what_is_no_model_gets_a_sentence(model, said):
    for ask in (suggest, convert):
        with pytest.raises(collegial.CollegialError, match=said):
            ask(model)


@pytest.mark.parametrize("option", ["max_multiplicity", "seconds"])
@pytest.mark.parametrize("value", ["3", -1, 0, [2]])
def test_options_of_another_type_get_a_sentence(option, value):
    for ask in (suggest, convert):
        with pytest.raises(collegial.CollegialError, match=re.escape(repr(value))):
            ask(smooth_block(1, 16), **{option: value})


@pytest.mark.parametrize("spec", ["resnext29-1x64d", 3, {}])
def test_a_spec_of_another_type_gets_a_sentence(spec):
    with pytest.raises(collegial.CollegialError, match="give a dict with a kind"):
        from_spec(spec)


def test_public_names_only():
    assert [name for name in dir(collegial.torch) if not name.startswith("_")] == sorted(collegial.torch.__all__)
