"""Fully connected networks and convolutions of sequences: the theory's own cases beside images."""

import pytest
import torch
from torch import nn

import collegial
from collegial.torch import Refused, Verdict, convert, suggest
from collegial.torch.block_linear import BlockLinear
from collegial.torch.blocks import find_blocks
from collegial.torch.kernels import moments


def mlp(*widths, activation=nn.ReLU, norm=None, bias=True):
    layers = [nn.Linear(widths[0], widths[1], bias=bias)]
    for before, after in zip(widths[1:], widths[2:]):
        layers += [*([norm(before)] if norm else []), activation(), nn.Linear(before, after, bias=bias)]
    return nn.Sequential(*layers)


def count(model):
    return sum(parameter.numel() for parameter in model.parameters())


def test_two_hidden_layers_have_the_exact_answer():
    """Variances are those of `moments`, and no design within the model's parameters has a lower one."""
    model = mlp(20, 48, 48, 3)
    suggestion = suggest(model)
    assert suggestion.kind == "fully connected network" and suggestion.baseline.design == "1x48d"
    variance = lambda m, n: collegial.moments(widths=[20, n, n]).variance / m
    parameters = lambda m, n: m * n * (20 + 1 + n + 1 + 3) + 3
    assert suggestion.baseline.variance == pytest.approx(variance(1, 48)) and parameters(1, 48) == count(model)
    designs = [(m, n) for n in range(1, 49) for m in range(1, 200) if parameters(m, n) <= count(model)]
    assert suggestion.primal.variance == pytest.approx(min(variance(*design) for design in designs))
    enough = [(m, n) for n in range(1, 49) for m in range(1, 400) if variance(m, n) <= variance(1, 48)]
    assert suggestion.dual.parameters == min(parameters(*design) for design in enough)


@pytest.mark.parametrize("hidden", [2, 3])
@pytest.mark.parametrize("norm", [None, nn.LayerNorm, nn.BatchNorm1d])
def test_converted_networks_are_members_side_by_side(hidden, norm):
    """Each of the m networks by itself, with its slices of the weights, and their sum."""
    torch.manual_seed(0)
    model = mlp(20, *[48] * hidden, 3, norm=norm)
    suggestion, (better, weights) = suggest(model), convert(model)
    assert count(better) == suggestion.primal.parameters == weights.parameters
    linear = [module for module in better if isinstance(module, nn.Linear)]
    members, width = suggestion.primal.multiplicity, suggestion.primal.width
    assert [type(layer) for layer in linear] == [nn.Linear, *[BlockLinear] * (hidden - 1), nn.Linear] and members > 1
    x = torch.randn(5, 20)
    better(x).sum().backward()
    if norm is None:
        total = linear[-1].bias
        for part in torch.arange(members * width).split(width):
            y = torch.relu(x @ linear[0].weight[part].T + linear[0].bias[part])
            for layer in linear[1:-1]:
                y = torch.relu(y @ layer.weight[part].T + layer.bias[part])
            total = total + y @ linear[-1].weight[:, part].T
        torch.testing.assert_close(better(x), total)
    # Its design is the best there is: asked again it says so.
    again = suggest(better)
    assert again.baseline.design == suggestion.primal.design == again.primal.design and "nothing to gain" in repr(again)


def test_a_classifier_behind_other_layers():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), mlp(64, 96, 96, 10))
    better, weights = convert(model, "dual")
    assert better(torch.randn(2, 3, 8, 8)).shape == (2, 10) and weights.unchanged == ("0.weight", "0.bias", "4.4.bias")


def test_other_activations_are_drawn():
    suggestion = suggest(mlp(20, 32, 32, 3, activation=nn.GELU), precision=0.05)
    low, high = suggestion.primal.variance_reduction_ci
    assert suggestion.variance_activations == ["gelu", "gelu"] and low < high


class Einsum(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.blocks, self.last = nn.Linear(8, 32), nn.Parameter(torch.randn(4, 8, 8)), nn.Linear(32, 3)

    def forward(self, x):
        y = torch.relu(self.first(x)).unflatten(1, (4, 8))
        return self.last(torch.relu(torch.einsum("bgi,goi->bgo", y, self.blocks)).flatten(1))


REFUSED = {
    "one hidden layer": (lambda: mlp(20, 48, 3), Verdict.SPLIT_NEUTRAL, "one hidden layer"),
    "different widths": (lambda: mlp(20, 300, 100, 3), Verdict.NOT_COVERED, "different widths, 300, 100"),
    "three dimensions": (lambda: bottleneck(nn.Conv3d, 32), Verdict.NOT_COVERED, "three dimensions"),
    "members by einsum": (Einsum, Verdict.NOT_COVERED, "multiplied by einsum"),
}


@pytest.mark.parametrize("make, verdict, reason", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_has_the_true_reason(make, verdict, reason):
    with pytest.raises(Refused, match=reason) as refused:
        suggest(make())
    assert refused.value.verdict is verdict


def bottleneck(conv, inner, channels=16, groups=1, bias=True):
    layers = [conv(channels, inner, 1, bias=bias), nn.ReLU(), conv(inner, inner, 3, padding=1, groups=groups, bias=bias), nn.ReLU()]
    return nn.Sequential(*layers, conv(inner, channels, 1, bias=bias))


def test_sequences_have_three_positions_where_images_have_nine():
    """The variance of a member is that of draws with explicit weights, on inputs whose positions are
    orthogonal, within five standard errors; that of images would be 30 % less."""

    def drawn(width):
        module = bottleneck(nn.Conv1d, width, bias=False)
        for place, gain in ((0, 2), (2, 2), (4, 1)):
            nn.init.normal_(module[place].weight, std=(gain / module[place].weight[0].numel()) ** 0.5)
        return module

    columns = torch.linalg.qr(torch.randn(16, 3, generator=torch.Generator().manual_seed(0)))[0]
    model = nn.Sequential(nn.Conv1d(3, 16, 3), bottleneck(nn.Conv1d, 4))
    found = moments(drawn, 4, (4 * columns[None],), trials=6000, seed=1, output=lambda y: y[0, 0, 1])
    suggestion = suggest(model)
    assert suggestion.baseline.variance == pytest.approx(found.variance, abs=5 * found.standard_error)
    assert 5 * found.standard_error < 0.2 * found.variance
    (block,) = find_blocks(model).blocks
    images = collegial.search({"kind": "bottleneck", "inputs": 16, "outputs": 16, "width": 4, "norm": "none"}).baseline_variance
    assert block.dimensions == 1 and images < 0.8 * suggestion.baseline.variance


@pytest.mark.parametrize("groups", [1, 4])
def test_converted_sequences_run(groups):
    model = nn.Sequential(nn.Conv1d(3, 16, 3, padding=1), bottleneck(nn.Conv1d, 32, groups=groups))
    suggestion, (better, _) = suggest(model), convert(model, "dual")
    assert suggestion.baseline.design == f"{groups}x{32 // groups}d" and count(better) == suggestion.dual.parameters < count(model)
    better(torch.randn(2, 3, 20)).sum().backward()
