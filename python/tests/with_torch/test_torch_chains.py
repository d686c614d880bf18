"""Fully connected networks and convolutions of sequences: the theory's own cases beside images."""

import math
from fractions import Fraction

import pytest
import torch
from torch import nn

import collegial
from collegial.torch import Refused, Verdict, convert, suggest
from collegial.torch.block_linear import BlockLinear
from collegial.torch.blocks import find_blocks
from collegial.torch.kernels import moments
from collegial.torch.resize import scaled


def mlp(*widths, activation=nn.ReLU, norm=None, bias=True):
    """One activation for all places, or a list of them."""
    layers = [nn.Linear(widths[0], widths[1], bias=bias)]
    places = activation if isinstance(activation, list) else [activation] * (len(widths) - 2)
    for before, after, place in zip(widths[1:], widths[2:], places):
        layers += [*([norm(before)] if norm else []), place(), nn.Linear(before, after, bias=bias)]
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


@pytest.mark.parametrize("hidden", [(300, 100), (60, 90, 30)], ids=str)
def test_hidden_layers_of_different_widths_keep_their_proportions(hidden):
    """Variances are exact, n is the widest layer's, and no design within the parameters has less."""
    model = mlp(20, *hidden, 3)
    suggestion, most = suggest(model), max(hidden)
    of = lambda n: [scaled(n, Fraction(width, most)) for width in hidden]
    variance = lambda m, n: collegial.moments(widths=[20, *of(n)]).variance / m
    sizes = lambda n: sum(a * b for a, b in zip([20, *of(n)], [*of(n), 3])) + sum(of(n))
    parameters = lambda m, n: m * sizes(n) + 3
    assert suggestion.baseline.design == f"1x{most}d" and suggestion.baseline.variance == pytest.approx(variance(1, most))
    assert parameters(1, most) == count(model) == suggestion.baseline.parameters
    best = min(variance((count(model) - 3) // sizes(n), n) for n in range(1, most + 1))
    assert suggestion.primal.variance == pytest.approx(best)
    members, width = suggestion.primal.multiplicity, suggestion.primal.width
    assert suggestion.primal.parameters == parameters(members, width) and "n is the largest" in repr(suggestion)


@pytest.mark.parametrize("objective", ["primal", "dual"])
@pytest.mark.parametrize("norm", [None, nn.LayerNorm, nn.BatchNorm1d])
def test_converted_networks_of_different_widths_are_members_side_by_side(norm, objective):
    torch.manual_seed(0)
    model = mlp(20, 90, 30, 3, norm=norm)
    suggestion, (better, _) = suggest(model), convert(model, objective)
    design = suggestion[objective]
    assert count(better) == design.parameters and design.multiplicity > 1
    widths = [scaled(design.width, Fraction(1)), scaled(design.width, Fraction(1, 3))]
    first, second, last = (module for module in better if isinstance(module, nn.Linear))
    assert [first.out_features, second.out_features] == [design.multiplicity * width for width in widths]
    assert (second.in_features, second.groups, last.in_features) == (first.out_features, design.multiplicity, second.out_features)
    x = torch.randn(5, 20)
    better(x).sum().backward()
    assert all(parameter.grad is not None for parameter in better.parameters())
    if norm is None:
        total = last.bias
        for member in range(design.multiplicity):
            one, two = (slice(member * width, (member + 1) * width) for width in widths)
            y = torch.relu(x @ first.weight[one].T + first.bias[one])
            total = total + torch.relu(y @ second.weight[two].T + second.bias[two]) @ last.weight[:, two].T
        torch.testing.assert_close(better(x), total)
    again = suggest(better)
    assert again.baseline.design == design.design and again.baseline.parameters == design.parameters


def test_a_classifier_behind_other_layers():
    model = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), mlp(64, 96, 96, 10))
    better, weights = convert(model, "dual")
    assert better(torch.randn(2, 3, 8, 8)).shape == (2, 10) and weights.unchanged == ("0.weight", "0.bias", "4.4.bias")


def test_other_activations_are_drawn():
    suggestion = suggest(mlp(20, 32, 32, 3, activation=nn.GELU), precision=0.05)
    low, high = suggestion.primal.variance_reduction_ci
    assert suggestion.variance_activations == ["gelu", "gelu"] and low < high


@pytest.mark.parametrize("places", [[nn.Tanh, nn.ReLU], [nn.ReLU, nn.Tanh]], ids=["tanh, relu", "relu, tanh"])
def test_every_place_has_its_own_activation(places):
    """The variance is that of draws with explicit weights, averaged over inputs, within five standard
    errors of both; with the first activation in both places it is far from that."""

    def drawn(width):
        module = mlp(20, width, width, 3, activation=places, bias=False)
        for place, after in ((0, places[0]), (2, places[1]), (4, None)):
            gain = 2 if after is nn.ReLU else 1
            nn.init.normal_(module[place].weight, std=(gain / module[place].weight[0].numel()) ** 0.5)
        return module

    precision, generator = 0.05, torch.Generator().manual_seed(0)
    ours = suggest(mlp(20, 8, 8, 3, activation=places), precision=precision)
    variance = ours.baseline.variance
    theirs = torch.tensor([
        moments(drawn, 8, (torch.randn(1, 20, generator=generator),), trials=400, seed=seed).variance for seed in range(8)
    ])  # fmt: skip
    error = (theirs.std().item() ** 2 / 8 + (precision * variance) ** 2) ** 0.5
    assert theirs.mean().item() == pytest.approx(variance, abs=5 * error) and ours.precision is not None
    both = suggest(mlp(20, 8, 8, 3, activation=places[0]), precision=precision).baseline.variance
    assert abs(both - theirs.mean().item()) > 5 * error


class Layer(nn.Module):
    """A layer of a transformer whose feed-forward part has a matrix inside, block-diagonal or not."""

    def __init__(self, features=32, inner=64, groups=1):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(features), nn.LayerNorm(features)
        self.attention = nn.MultiheadAttention(features, 4, batch_first=True)
        middle = BlockLinear(inner, inner, groups) if groups > 1 else nn.Linear(inner, inner)
        self.inner = nn.Sequential(nn.Linear(features, inner), nn.ReLU(), middle, nn.ReLU(), nn.Linear(inner, features))

    def forward(self, x):
        y = self.norm1(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.inner(self.norm2(x))


@pytest.mark.parametrize("groups, objective", [(1, "primal"), (1, "dual"), (2, "primal"), (2, "dual")])
def test_a_matrix_inside_a_feed_forward_layer_becomes_block_diagonal(groups, objective):
    """Of every layer of a transformer, with the counts that were promised."""
    model, x = nn.Sequential(*[Layer(groups=groups) for _ in range(3)]), torch.randn(2, 5, 32)
    suggestion = suggest(model, inputs=x)
    assert suggestion.blocks == ["0.inner", "1.inner", "2.inner"] and suggestion.baseline.design == f"{groups}x{64 // groups}d"
    verdicts = {row["layers"]: (row["verdict"], row["count"]) for row in suggestion.verdicts}
    assert verdicts == {"fully connected parts": ("variance", 3), "attention layers": ("split-neutral", 3)}
    better = convert(model, objective, inputs=x).model
    design = suggestion[objective]
    assert count(better) == design.parameters
    for layer in better:
        middle = layer.inner[2]
        assert isinstance(middle, BlockLinear) and middle.groups == design.multiplicity and middle.weight.shape[1] == design.width
    better(x).sum().backward()
    assert all(parameter.grad is not None for parameter in better.parameters())


class Einsum(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.blocks, self.last = nn.Linear(8, 32), nn.Parameter(torch.randn(4, 8, 8)), nn.Linear(32, 3)

    def forward(self, x):
        y = torch.relu(self.first(x)).unflatten(1, (4, 8))
        return self.last(torch.relu(torch.einsum("bgi,goi->bgo", y, self.blocks)).flatten(1))


REFUSED = {
    "one hidden layer": (lambda: mlp(20, 48, 3), Verdict.SPLIT_NEUTRAL, "one hidden layer"),
    "volumes with other activations": (lambda: bottleneck(nn.Conv3d, 32, activation=nn.GELU), Verdict.NOT_COVERED, "three dimensions"),
    "members by einsum": (Einsum, Verdict.NOT_COVERED, "multiplied by einsum"),
}


@pytest.mark.parametrize("make, verdict, reason", REFUSED.values(), ids=REFUSED)
def test_what_is_refused_has_the_true_reason(make, verdict, reason):
    with pytest.raises(Refused, match=reason) as refused:
        suggest(make())
    assert refused.value.verdict is verdict


def bottleneck(conv, inner, channels=16, groups=1, bias=True, activation=nn.ReLU):
    middle = conv(inner, inner, 3, padding=1, groups=groups, bias=bias)
    layers = [conv(channels, inner, 1, bias=bias), activation(), middle, activation()]
    return nn.Sequential(*layers, conv(inner, channels, 1, bias=bias))


@pytest.mark.parametrize("conv, channels, positions", [(nn.Conv1d, 16, (3,)), (nn.Conv3d, 32, (3, 3, 3))], ids=["sequences", "volumes"])
def test_sequences_and_volumes_have_their_own_number_of_positions(conv, channels, positions):
    """The variance of a member is that of draws with explicit weights, on inputs whose positions are
    orthogonal, within five standard errors; images have another."""

    def drawn(width):
        module = bottleneck(conv, width, channels, bias=False)
        for place, gain in ((0, 2), (2, 2), (4, 1)):
            nn.init.normal_(module[place].weight, std=(gain / module[place].weight[0].numel()) ** 0.5)
        return module

    count, centre = math.prod(positions), (0, 0, *(1 for _ in positions))
    columns = torch.linalg.qr(torch.randn(channels, count, generator=torch.Generator().manual_seed(0)))[0]
    inputs = (channels**0.5 * columns).unflatten(1, positions)[None]
    model = nn.Sequential(conv(3, channels, 3), bottleneck(conv, 4, channels))
    found = moments(drawn, 4, (inputs,), trials=6000, seed=1, output=lambda y: y[centre])
    suggestion = suggest(model)
    assert suggestion.baseline.variance == pytest.approx(found.variance, abs=5 * found.standard_error)
    images = collegial.search({"kind": "bottleneck", "inputs": channels, "outputs": channels, "width": 4, "norm": "none"}).baseline_variance
    assert abs(images - suggestion.baseline.variance) > max(5 * found.standard_error, 0.05 * images)


@pytest.mark.parametrize("conv, shape", [(nn.Conv1d, (20,)), (nn.Conv3d, (5, 5, 5))], ids=["sequences", "volumes"])
@pytest.mark.parametrize("groups", [1, 4])
def test_converted_sequences_and_volumes_run(groups, conv, shape):
    model = nn.Sequential(conv(3, 16, 3, padding=1), bottleneck(conv, 32, groups=groups))
    suggestion, (better, _) = suggest(model), convert(model, "dual")
    assert suggestion.baseline.design == f"{groups}x{32 // groups}d" and count(better) == suggestion.dual.parameters < count(model)
    better(torch.randn(2, 3, *shape)).sum().backward()
