"""What a conversion keeps, what it draws anew, and what it leaves alone."""

import pickle
import sys

import pytest
import timm
import torch
import torchvision
from torch import nn

from collegial import CollegialError
from collegial.torch import Refusal, Refused, Verdict, suggest
from collegial.torch import convert as conversion
from collegial.torch.blocks import find_blocks

ALPHA = 1.60


def convert(*args, **options):
    """The converted model."""
    return conversion(*args, **options).model


class Bottleneck(nn.Module):
    """A block whose layers are registered in another order than they run."""

    def __init__(self, norm=nn.BatchNorm2d, channels=32, inner=64, gate=None, members=1, bias=False, groups_1x1=1):
        super().__init__()
        self.norm2, self.norm1 = norm(inner), norm(inner)
        self.expand = nn.Conv2d(inner, channels, 1, bias=bias, groups=groups_1x1)
        self.middle = nn.Conv2d(inner, inner, 3, padding=1, groups=members, bias=bias)
        self.gate = gate(inner) if gate else None
        self.reduce = nn.Conv2d(channels, inner, 1, bias=bias)

    def forward(self, x):
        y = torch.relu(self.norm1(self.reduce(x)))
        y = torch.relu(self.norm2(self.middle(y)))
        y = y if self.gate is None else self.gate(y)
        return x + self.expand(y)


class Gate(nn.Module):
    """Squeeze and excitation; its squeezed width is the inner one, which says nothing about what
    depends on what."""

    def __init__(self, inner):
        super().__init__()
        self.excite = nn.Linear(inner, inner)
        self.squeeze = nn.Linear(inner, inner)

    def forward(self, x):
        weights = torch.sigmoid(self.excite(torch.relu(self.squeeze(x.mean((2, 3))))))
        return x * weights[:, :, None, None]


def network(*blocks):
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *blocks)


NORMS = {
    "batch": nn.BatchNorm2d,
    "none": lambda width: nn.Identity(),
    "group": lambda width: nn.GroupNorm(8, width),
    "instance": lambda width: nn.InstanceNorm2d(width, affine=True),
    "frozen": torchvision.ops.FrozenBatchNorm2d,
    "layer": lambda width: timm.layers.LayerNorm2d(width),
    "batch with activation": lambda width: timm.layers.BatchNormAct2d(width),
    "prelu": lambda width: nn.PReLU(width),
    "evo": lambda width: timm.layers.EvoNorm2dB0(width),
}


@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
@pytest.mark.parametrize("gate", [None, Gate, timm.layers.EcaModule, timm.layers.cbam.CbamModule], ids=["", "se", "eca", "cbam"])
def test_norms_and_gates_follow(norm, gate):
    model = network(Bottleneck(norm, gate=gate), Bottleneck(norm, gate=gate))
    suggestion, better = suggest(model, alpha=ALPHA), convert(model, alpha=ALPHA)
    assert suggestion.blocks == ["1", "2"] and better[1].middle.groups == suggestion.primal.multiplicity > 1
    assert sum(parameter.numel() for parameter in better.parameters()) == suggestion.primal.parameters
    x = torch.randn(2, 3, 9, 9)
    better(x).sum().backward()
    assert better.eval()(x).shape == (2, 32, 9, 9)
    if gate is Gate:
        inner, squeezed = better[1].middle.out_channels, 64
        assert better[1].gate.squeeze.weight.shape == (squeezed, inner) and better[1].gate.excite.weight.shape == (inner, squeezed)


@pytest.mark.parametrize("gate", [None, Gate], ids=["", "se"])
@pytest.mark.parametrize("members", [1, 4])
def test_the_slots_are_the_inner_channels(gate, members):
    """Members change places in all slots, and the function stays: the slots are all that knows the
    order of the inner channels."""
    torch.manual_seed(0)
    model = network(Bottleneck(gate=gate, members=members, bias=True)).eval()
    for norm in (model[1].norm1, model[1].norm2):
        for tensor in (norm.weight, norm.bias, norm.running_mean):
            nn.init.normal_(tensor)
        nn.init.uniform_(norm.running_var, 0.5, 2.0)
    (block,) = find_blocks(model).blocks
    x = torch.randn(2, 3, 9, 9)
    before = model(x)
    order = torch.randperm(64 if members == 1 else members)
    order = order if members == 1 else (order[:, None] * 16 + torch.arange(16)).flatten()
    for slot in block.slots:
        tensor = getattr(model.get_submodule(slot.module), slot.tensor)
        axes = [*slot.inner, slot.member] if members == 1 and slot.member is not None else slot.inner
        # The gate's squeezed channels stay where they are.
        for axis in axes:
            tensor.data = tensor.data.index_select(axis, order)
    assert len(block.slots) == (13 if gate is None else 16)
    torch.testing.assert_close(model(x), before, rtol=1e-4, atol=1e-5)


def test_the_signal_keeps_its_size():
    """Without norms the deviation of the branch is what it was, within five standard errors of a
    mean over 8 draws."""
    torch.manual_seed(0)

    def deviations(designs):
        x = torch.randn(4, 32, 9, 9)
        return torch.tensor([(block(x) - x).std().item() for block in designs])

    for initialise in (lambda weight: nn.init.kaiming_normal_(weight, mode="fan_out"), nn.init.kaiming_uniform_, nn.init.xavier_uniform_):
        before, after = [], []
        for _ in range(8):
            model = network(Bottleneck(NORMS["none"]))
            for layer in (model[1].reduce, model[1].middle, model[1].expand):
                initialise(layer.weight)
            before.append(model[1])
            after.append(convert(model, alpha=ALPHA)[1])
        old, new = deviations(before), deviations(after)
        error = (old.var() / 8 + new.var() / 8).sqrt().item()
        assert old.mean().item() == pytest.approx(new.mean().item(), abs=5 * error)
    # Uniform laws stay uniform: no weight lies beyond sqrt(3) deviations.
    weight = after[0].middle.weight
    assert weight.abs().max() <= 3**0.5 * 1.02 * weight.square().mean().sqrt()


def test_type_format_mode_hooks_and_gradients_stay():
    model = network(Bottleneck(), Bottleneck()).to(torch.float64, memory_format=torch.channels_last).eval()
    model[2].norm1.train()
    model[1].requires_grad_(False)
    seen = []
    model[1].register_forward_hook(lambda *_: seen.append(1))
    better = convert(model, alpha=ALPHA)
    assert not seen
    y = better(torch.randn(2, 3, 9, 9, dtype=torch.float64))
    assert y.dtype is torch.float64 and seen == [1]
    weight = better[1].middle.weight
    assert weight.shape[1] > 1 and weight.is_contiguous(memory_format=torch.channels_last) and not weight.is_contiguous()
    assert [module.training for module in better.modules()] == [module.training for module in model.modules()]
    assert [p.requires_grad for p in better.parameters()] == [p.requires_grad for p in model.parameters()]


def test_standardised_weights_keep_their_gain():
    """The scale of a standardised weight is the root of its fan-in, and the gain one per channel.
    """
    conv = lambda *args, **options: timm.layers.ScaledStdConv2d(*args, **options)
    model = network(Bottleneck(NORMS["none"]), Bottleneck(NORMS["none"]))
    for block in (model[1], model[2]):
        block.reduce, block.middle, block.expand = conv(32, 64, 1), conv(64, 64, 3, padding=1), conv(64, 32, 1)
    better = convert(model, alpha=ALPHA)
    middle = better[1].middle
    assert middle.gain.shape == (middle.out_channels, 1, 1, 1)
    assert middle.scale == pytest.approx(model[1].middle.scale * (64 / middle.weight.shape[1]) ** 0.5)
    better(torch.randn(2, 3, 9, 9))


class Projecting(Bottleneck):
    """A block with other outputs than inputs, as the only one of its stage."""

    def __init__(self):
        super().__init__()
        self.expand, self.project = nn.Conv2d(64, 48, 1), nn.Conv2d(32, 48, 1)

    def forward(self, x):
        y = torch.relu(self.norm1(self.reduce(x)))
        return self.project(x) + self.expand(torch.relu(self.norm2(self.middle(y))))


def test_projecting_blocks_are_served_where_none_repeats():
    model = network(Projecting())
    suggestion, better = suggest(model, alpha=ALPHA), convert(model, "dual", alpha=ALPHA)
    assert suggestion.blocks == ["1"] and better(torch.randn(2, 3, 9, 9)).shape == (2, 48, 9, 9)
    assert sum(parameter.numel() for parameter in better.parameters()) == suggestion.dual.parameters


def tied():
    model = network(Bottleneck(), Bottleneck())
    model[2].middle.weight = model[1].middle.weight
    return model


def parametrised():
    model = network(Bottleneck())
    nn.utils.parametrizations.weight_norm(model[1].middle)
    return model


class Repeated(nn.Module):
    """The same block two times."""

    def __init__(self):
        super().__init__()
        self.block = Bottleneck()

    def forward(self, x):
        return self.block(self.block(x))


class TwoWays(Bottleneck):
    """A second convolution beside the middle one."""

    def __init__(self):
        super().__init__()
        self.beside = nn.Conv2d(64, 64, 3, padding=1)

    def forward(self, x):
        y = torch.relu(self.norm1(self.reduce(x)))
        return x + self.expand(torch.relu(self.middle(y) + self.beside(y)))


class Linear(Bottleneck):
    """No activation before the last convolution."""

    def forward(self, x):
        return x + self.expand(self.middle(torch.relu(self.reduce(x))))


class Leaking(Bottleneck):
    """What is inside is used outside too."""

    def forward(self, x):
        y = torch.relu(self.reduce(x))
        return x + self.expand(torch.relu(self.middle(y))) + y.mean((1, 2, 3), keepdim=True)


def test_layers_without_an_activation_between_are_linear():
    """Of separable convolutions: the exact variance of that chain, checked against explicit weights
    on white inputs elsewhere (0.3997 for 1x4d of 16 channels, 0.374 +- 0.014 by draws)."""
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.Conv2d(16, 4, 1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 16, 1))
    suggestion = suggest(model)
    assert suggestion.variance_activations == ["relu", "none"] and suggestion.activations == ["relu", "none"]
    assert suggestion.baseline.variance == pytest.approx(0.3997, abs=1e-4)
    assert len(find_blocks(network(Linear())).blocks) == 1
    convert(network(Linear()))(torch.randn(2, 3, 9, 9))


def chain(*between):
    """Convolutions of 32 channels one after the other, without sums."""
    layer = lambda kernel: nn.Conv2d(32, 32, kernel, padding=kernel // 2)
    inner = [part for kernel in (1, 3) for part in (layer(kernel), nn.ReLU())]
    return network(*inner, layer(1), *between, layer(3))


class Swish(nn.Module):
    """Written out, so that it looks like a fork and a product."""

    def forward(self, x):
        return x * torch.sigmoid(x)


class Split(nn.Module):
    """Half of the channels go around a layer."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(16, 16, 3, padding=1)

    def forward(self, x):
        around, through = x.chunk(2, dim=1)
        return torch.cat([around, self.layer(through)], dim=1)


def separable():
    """Depthwise and 1x1 convolutions in turn: any three of them look like a block."""
    parts = [[nn.Conv2d(32, 32, 3, padding=1, groups=32), nn.ReLU(), nn.Conv2d(32, 32, 1), nn.ReLU()] for _ in range(4)]
    return network(*sum(parts, []))


LEFT_ALONE = {
    "tied weights": (tied, "tied to those of other layers"),
    "parametrised weights": (parametrised, "parametrised"),
    "applied twice": (lambda: network(Repeated()), "more than once"),
    "two ways": (lambda: network(TwoWays()), "side by side"),
    "1x1 in groups": (lambda: network(Bottleneck(groups_1x1=4)), "in groups themselves"),
    "an activation at the end": (lambda: chain(nn.ReLU()), "hidden layer of a longer chain"),
    "a norm and an activation at the end": (lambda: chain(nn.BatchNorm2d(32), nn.ELU()), "hidden layer of a longer chain"),
    "an activation written out at the end": (lambda: chain(Swish()), "hidden layer of a longer chain"),
    "an activation and a gate at the end": (lambda: chain(nn.ReLU(), Gate(32)), "hidden layer of a longer chain"),
    "an activation and a fork at the end": (lambda: chain(nn.SiLU(), Split()), "hidden layer of a longer chain"),
    "separable convolutions": (separable, "hidden layer of a longer chain"),
    "leaking": (lambda: network(Leaking()), "no bottleneck block"),
}


@pytest.mark.parametrize("make, reason", LEFT_ALONE.values(), ids=LEFT_ALONE)
def test_what_cannot_be_rebuilt_is_left_alone(make, reason):
    with pytest.raises(Refused, match=reason) as refused:
        suggest(make(), alpha=ALPHA)
    assert refused.value.verdict is Verdict.NOT_COVERED


class RootMeanSquare(nn.Module):
    """A norm that multiplies what it takes, as an activation that is written out does."""

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6)


ENDS = {"nothing": [], "norm": [nn.BatchNorm2d(32)], "norm written out": [RootMeanSquare()], "gate": [Gate(32)], "fork": [Split()]}


@pytest.mark.parametrize("between", ENDS.values(), ids=ENDS)
def test_an_end_without_an_activation_is_one(between):
    """Members are added up in the last layer, and what comes behind takes their sum."""
    model = chain(*between)
    assert len(find_blocks(model).blocks) == 1
    convert(model, alpha=ALPHA)(torch.randn(2, 3, 9, 9))


def test_blocks_have_names_of_their_own():
    """By their layers where they are in one module: of CSP networks those between stages, too."""
    flat = network(*sum(([nn.Conv2d(32, 32, 1), nn.ReLU(), nn.Conv2d(32, 32, 3), nn.ReLU(), nn.Conv2d(32, 32, 1)] for _ in range(2)), []))
    assert suggest(flat, alpha=ALPHA).blocks == ["1 to 5", "6 to 10"]
    with torch.device("meta"):
        names = suggest(timm.create_model("cspresnet50"), alpha=ALPHA).blocks
    assert len(set(names)) == len(names) == 16
    assert names[:4] == [*(f"stages.0.blocks.{index}" for index in range(3)), "stages.0.conv_transition.conv to stages.1.conv_exp.conv"]


def test_one_hidden_layer_is_outside_the_theory():
    mlp = nn.Sequential(nn.Linear(20, 50), nn.ReLU(), nn.Linear(50, 3))
    with pytest.raises(Refused, match="splitting changes nothing") as refused:
        suggest(mlp)
    assert refused.value.verdict is Verdict.SPLIT_NEUTRAL


class Basic(nn.Module):
    """A branch with one hidden layer, gated or with a layer beside the gate's place."""

    def __init__(self, gate):
        super().__init__()
        self.first, self.gate, self.second = nn.Conv2d(32, 64, 1), gate, nn.Conv2d(64, 32, 3, padding=1)

    def forward(self, x):
        return x + self.second(self.gate(torch.relu(self.first(x))))


class Beside(nn.Module):
    """A layer whose result is added instead of multiplied: it is a second hidden layer."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Conv2d(64, 64, 1)

    def forward(self, x):
        return x + self.layer(x)


class Aggregation(nn.Module):
    """Two layers that take more than what their result is added to."""

    def __init__(self):
        super().__init__()
        self.more, self.first, self.second = nn.Conv2d(32, 16, 3, padding=1), nn.Conv2d(48, 24, 1), nn.Conv2d(24, 32, 1)

    def forward(self, x):
        parts = torch.cat([x, torch.relu(self.more(x))], dim=1)
        return x + self.second(torch.relu(self.first(parts)))


def test_a_gated_hidden_layer_is_one():
    with pytest.raises(Refused, match="splitting changes nothing") as refused:
        suggest(network(Basic(Gate(64)), Basic(Gate(64))))
    assert refused.value.verdict is Verdict.SPLIT_NEUTRAL
    for more in (Basic(Beside()), Aggregation()):
        with pytest.raises(Refused) as refused:
            suggest(network(more))
        assert refused.value.verdict is Verdict.NOT_COVERED


def test_refusals_are_values():
    with pytest.raises(Refused) as refused:
        suggest(tied())
    again = pickle.loads(pickle.dumps(refused.value))
    assert str(again) == str(refused.value) and again.refusals == refused.value.refusals
    first = refused.value.refusals[0]
    assert first == Refusal(first.block, Verdict.NOT_COVERED, first.reason)
    assert first.to_dict()["verdict"] == "not-covered" and again.verdict is Verdict.NOT_COVERED


def test_a_model_that_cannot_be_tried_is_refused():
    class Odd(nn.Module):
        def forward(self, x, y):
            return x + y

    with pytest.raises(Refused, match="give inputs="):
        suggest(Odd())
    with pytest.raises(Refused, match="no bottleneck block"):
        suggest(Odd(), inputs=(torch.zeros(2, 3), torch.zeros(2, 3)))


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("not enough\nmemory")], ids=["no words", "words"])
def test_a_model_that_cannot_be_made_is_one_sentence(monkeypatch, error):
    """Its shapes are right, but there is no memory for the values."""
    module = sys.modules["collegial.torch.convert"]
    resize = module.resize

    def full(model, *design):
        if not next(model.parameters()).is_meta:
            raise error
        resize(model, *design)

    monkeypatch.setattr(module, "resize", full)
    model = network(Bottleneck(), Bottleneck())
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(CollegialError, match=r"Sequential with \d+x\d+d cannot be made: (MemoryError|not enough memory)$"):
        convert(model)
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
