"""Which activations the variances of a suggestion are of."""

import copy

import pytest
import timm
import torch
import torchvision
from torch import nn
from torch.nn import functional

from collegial.torch import suggest
from collegial.torch.activations import Activation, activation_of
from collegial.torch.blocks import find_blocks
from collegial.torch.kernels import moments

CHANNELS, MEMBERS, WIDTH = 24, 2, 5


class Block(nn.Module):
    """A bottleneck block without norms, with two activations."""

    def __init__(self, first, second, members=MEMBERS):
        super().__init__()
        inner = members * WIDTH
        self.reduce, self.expand = nn.Conv2d(CHANNELS, inner, 1, bias=False), nn.Conv2d(inner, CHANNELS, 1, bias=False)
        self.middle = nn.Conv2d(inner, inner, 3, padding=1, groups=members, bias=False)
        self.first, self.second = first, second

    def forward(self, x):
        return x + self.branch(x)

    def branch(self, x):
        return self.expand(self.second(self.middle(self.first(self.reduce(x)))))


class Branch(Block):
    """A member by itself, drawn as specs draw it: weights have the variance 2 / fan-in before a
    ReLU, 1 / fan-in elsewhere."""

    def __init__(self, first, second):
        super().__init__(first, second, members=1)
        for layer, after in ((self.reduce, first), (self.middle, second), (self.expand, None)):
            nn.init.normal_(layer.weight, std=((2 if isinstance(after, nn.ReLU) else 1) / layer.weight[0].numel()) ** 0.5)

    forward = Block.branch


def found(first, second=None):
    block = Block(first, copy.deepcopy(first) if second is None else second)
    model = nn.Sequential(nn.Conv2d(3, CHANNELS, 3, padding=1), block)
    (block,) = find_blocks(model).blocks
    return model, block


HARD = lambda x: x * functional.relu6(x + 3) / 6
# Activations, what they are called, what stands in for them in specs, and whether that is the same.
ACTIVATIONS = {
    "relu": (nn.ReLU(), "relu", "relu", True),
    "relu squared": (lambda x: torch.relu(x) ** 2, "a function with relu", "relu", False),
    "relu as a bound": (lambda x: x.clamp(min=0), "relu", "relu", True),
    "relu6": (nn.ReLU6(), "relu6", "relu6", True),
    "relu6 as bounds": (lambda x: torch.clamp(x, 0, 6), "relu6", "relu6", True),
    "silu": (nn.SiLU(), "silu", "silu", True),
    "silu written out": (lambda x: x * torch.sigmoid(x), "silu", "silu", True),
    "gelu": (nn.GELU(), "gelu", "gelu", True),
    "hard swish": (nn.Hardswish(), "hardswish", "hard-swish", True),
    "hard swish of a hard sigmoid": (lambda x: functional.hardsigmoid(x) * x, "hardswish", "hard-swish", True),
    "hard swish written out": (HARD, "a function with relu6", "hard-swish", False),
    "gelu written out": (lambda x: 0.5 * x * (1 + torch.tanh(0.8 * (x + 0.045 * x**3))), "a function with tanh", "gelu", False),
    "a product with another function": (lambda x: x * functional.softplus(x), "a function with softplus", "relu", False),
    "leaky": (nn.LeakyReLU(), "leaky_relu", "leaky-relu", True),
    "leaky in place": (nn.LeakyReLU(0.01, inplace=True), "leaky_relu", "leaky-relu", True),
    "leaky of another slope": (nn.LeakyReLU(0.1), "leaky_relu(0.1)", "leaky-relu", False),
    "leaky of nearly no slope": (nn.LeakyReLU(0.001), "leaky_relu(0.001)", "relu", False),
    "leaky with a norm": (timm.layers.BatchNormAct2d(2 * WIDTH, act_layer=nn.LeakyReLU), "leaky_relu", "leaky-relu", True),
    "a learned slope": (nn.PReLU(), "prelu", "relu", False),
    "mish": (nn.Mish(), "mish", "relu", False),
    "two in a row": (nn.Sequential(nn.ReLU(), nn.Tanh()), "relu and tanh", "relu", False),
}


@pytest.mark.parametrize("activation, name, spec, exact", ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_activations_are_told_apart(activation, name, spec, exact):
    model, block = found(activation)
    assert (block.activated, block.variance_activations, block.exact) == (name, (spec, spec), exact)
    suggestion = suggest(model, precision=0.2)
    assert suggestion.activations == [name, name] and suggestion.variance_activations == [spec, spec]
    assert (f"1 has {name}, which is not known here: the variances are those of {spec}." in " ".join(repr(suggestion).split())) is not exact
    # The law with a given alpha is of no activation.
    law = suggest(model, alpha=1.6)
    assert law.variance_activations is None and "not known" not in repr(law)


def test_a_gate_is_no_activation():
    """The sigmoid that inner channels are multiplied by has layers of its own before it."""
    model = timm.create_model("seresnet50")
    assert {block.activated for block in find_blocks(model).blocks} == {"relu"}


def test_both_places_have_their_own():
    model, block = found(nn.SiLU(), nn.ReLU6())
    assert block.activated == "silu, then relu6" and block.exact
    assert [layer.get("activation") for layer in block.spec()["layers"]] == ["silu", "relu6", None]


PAIRS = {
    "leaky": (nn.LeakyReLU(), nn.LeakyReLU()),
    "silu, then relu6": (nn.SiLU(), nn.ReLU6()),
    "relu, then leaky": (nn.ReLU(), nn.LeakyReLU()),
}


@pytest.mark.parametrize("first, second", PAIRS.values(), ids=PAIRS)
def test_the_variance_is_that_of_the_block_in_pytorch(first, second):
    """Against gradients by PyTorch over inputs and weights that are drawn there, within five
    standard errors of both."""
    precision = 0.02
    ours = suggest(found(first, second)[0], precision=precision, seed=3).baseline.variance * MEMBERS
    generator = torch.Generator().manual_seed(0)
    theirs = torch.tensor([
        moments(lambda _: Branch(first, second), 1, (torch.randn(1, CHANNELS, 3, 3, generator=generator),), trials=300, seed=seed,
                output=lambda y: y[0, 0, 1, 1]).variance
        for seed in range(8)
    ])  # fmt: skip
    error = (theirs.std().item() ** 2 / 8 + (precision * ours) ** 2) ** 0.5
    assert theirs.mean().item() == pytest.approx(ours, abs=5 * error) and error < 0.1 * ours


def test_blocks_with_other_activations_are_counted():
    with torch.device("meta"):
        model = torchvision.models.mobilenet_v3_large()
    text = " ".join(repr(suggest(model, precision=0.2)).split())
    assert "9 blocks with other activations (hardswish) than features.3.block, of which the design is (relu)." in text


@pytest.mark.parametrize(
    "function, args, kwargs, expected",
    [
        ("leaky_relu", (None, 0.2), {}, Activation("leaky_relu", 0.2)),
        ("leaky_relu_", (None,), {}, Activation("leaky_relu", 0.01)),
        ("hardtanh", (None,), {"min_val": -1.0, "max_val": 1.0}, Activation("hardtanh")),
        ("hardtanh_", (None, 0.0, 6.0), {}, Activation("relu6")),
        ("conv2d", (), {}, None),
    ],
)
def test_calls_say_their_settings(function, args, kwargs, expected):
    assert activation_of(function, args, kwargs) == expected
