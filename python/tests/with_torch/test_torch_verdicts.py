"""A verdict per kind of layers, and what it rests on: that m branches with one hidden layer are one
again, and that members of longer blocks are members."""

import copy
from fractions import Fraction

import pytest
import timm
import torch
import torchvision
from torch import nn

import collegial
from collegial.torch import Refused, Verdict, convert, suggest
from collegial.torch.blocks import find_blocks
from collegial.torch.resize import scaled


class Long(nn.Module):
    """A branch of 1x1, several 3x3 and 1x1 convolutions with inner layers of the given widths."""

    def __init__(self, *widths, members=1, channels=32):
        super().__init__()
        self.reduce, self.norm = nn.Conv2d(channels, widths[0], 1), nn.BatchNorm2d(widths[0])
        pairs = zip(widths, widths[1:])
        self.middles = nn.ModuleList(nn.Conv2d(a, b, 3, padding=1, groups=members) for a, b in pairs)
        self.norms = nn.ModuleList(nn.BatchNorm2d(width) for width in widths[1:])
        self.expand = nn.Conv2d(widths[-1], channels, 1)

    def forward(self, x):
        y = torch.relu(self.norm(self.reduce(x)))
        for conv, norm in zip(self.middles, self.norms):
            y = torch.relu(norm(conv(y)))
        return x + self.expand(y)


def network(*blocks):
    return nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), *blocks)


LONG = {"two middles": (32, 32, 32), "wider inside": (16, 32), "narrower inside": (48, 24, 24, 48)}


@pytest.mark.parametrize("widths", LONG.values(), ids=LONG)
def test_the_slots_are_the_inner_channels(widths):
    """Members change places in all slots, and the function stays."""
    torch.manual_seed(0)
    members = 8
    model = network(Long(*widths, members=members)).eval()
    for norm in (model[1].norm, *model[1].norms):
        for tensor in (norm.weight, norm.bias, norm.running_mean):
            nn.init.normal_(tensor)
    (block,) = find_blocks(model).blocks
    assert block.width == max(widths) // members and block.members == members
    assert block.scales == tuple(Fraction(width, max(widths)) for width in widths)
    x = torch.randn(2, 3, 9, 9)
    before, order = model(x), torch.randperm(members)
    for slot in block.slots:
        tensor = getattr(model.get_submodule(slot.module), slot.tensor)
        for axis in slot.inner:
            length = tensor.shape[axis] // members
            places = (order[:, None] * length + torch.arange(length)).flatten()
            tensor.data = tensor.data.index_select(axis, places)
    torch.testing.assert_close(model(x), before, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("objective", ["primal", "dual"])
@pytest.mark.parametrize("widths", LONG.values(), ids=LONG)
def test_longer_blocks_are_rebuilt_as_announced(widths, objective):
    model = network(Long(*widths), Long(*widths))
    design = suggest(model, alpha=1.60)[objective]
    better = convert(model, objective, alpha=1.60).model
    assert sum(parameter.numel() for parameter in better.parameters()) == design.parameters
    assert [conv.groups for conv in better[1].middles] == [design.multiplicity] * (len(widths) - 1)
    scales = [Fraction(width, max(widths)) for width in widths]
    inner = [better[1].reduce.out_channels, *(conv.out_channels for conv in better[1].middles)]
    assert inner == [design.multiplicity * scaled(design.width, scale) for scale in scales]
    better(torch.randn(2, 3, 9, 9)).sum().backward()
    assert all(parameter.grad is not None for parameter in better.parameters())


def test_two_widths_have_the_variance_of_a_block_with_two_widths():
    """The program's own such block, which is a bottleneck and no chain of layers."""
    suggestion = suggest(network(Long(8, 16, members=4)))
    block = {"kind": "bottleneck", "inputs": 32, "outputs": 32, "width": 2, "second_width": 4, "members": 4}
    assert suggestion.baseline.design == "4x4d"
    assert suggestion.baseline.variance == pytest.approx(collegial.search(block).baseline_variance, rel=1e-9)


def test_inner_widths_are_rounded_as_specs_round():
    spec = find_blocks(network(Long(24, 16))).blocks[0].spec()
    assert [layer["width"] for layer in spec["layers"]] == [24, 16, 32]
    for point in collegial.search(spec, widths=[2, 5, 7]).curve:
        width, second = (scaled(point.width, Fraction(width, 24)) for width in (24, 16))
        block = {"kind": "bottleneck", "inputs": 32, "outputs": 32, "width": width, "second_width": second}
        assert point.variance == pytest.approx(collegial.search(block).baseline_variance, rel=1e-9)


class Branch(nn.Module):
    """A convolution of the outer channels or none, then a layer, something that mixes no channels,
    and another layer."""

    def __init__(self, inner, before=False, depthwise=False, gated=False, channels=32):
        super().__init__()
        self.before = nn.Conv2d(channels, channels, 3, padding=1, groups=channels) if before else nn.Identity()
        self.first, self.second = nn.Linear(channels, inner), nn.Linear(inner, channels, bias=False)
        self.beside = nn.Linear(channels, inner) if gated else None
        self.depthwise = nn.Conv2d(inner, inner, 3, padding=1, groups=inner) if depthwise else nn.Identity()

    def branch(self, x):
        x = self.before(x).permute(0, 2, 3, 1)
        y = self.depthwise(self.first(x).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
        y = nn.functional.gelu(y) * (1 if self.beside is None else self.beside(x))
        return self.second(y).permute(0, 3, 1, 2)

    def forward(self, x):
        return x + self.branch(x)


BRANCHES = [{}, {"before": True}, {"depthwise": True}, {"gated": True}, {"before": True, "depthwise": True, "gated": True}]


@pytest.mark.parametrize("parts", BRANCHES, ids=lambda parts: " ".join(parts) or "plain")
def test_m_branches_with_one_hidden_layer_are_one(parts):
    """Three in parallel, behind the same convolution, are one of three times the width: so the
    verdict is split-neutral."""
    torch.manual_seed(0)
    members = [Branch(8, **parts) for _ in range(3)]
    whole = Branch(24, **parts)
    for name, tensor in whole.named_parameters():
        axis = 1 if name == "second.weight" else 0
        own = [dict(member.named_parameters())[name] for member in members]
        if name.startswith("before"):
            for each in own:
                each.data = own[0].data
        tensor.data = own[0].data if name.startswith("before") else torch.cat([each.data for each in own], axis)
    x = torch.randn(2, 32, 5, 5)
    torch.testing.assert_close(whole.branch(x), sum(member.branch(x) for member in members), rtol=1e-4, atol=1e-5)
    with pytest.raises(Refused, match="one hidden layer") as refused:
        suggest(network(whole, whole))
    assert refused.value.verdict is Verdict.SPLIT_NEUTRAL


def test_activations_on_both_sides_of_a_depthwise_convolution_are_no_single_hidden_layer():
    class Twice(Branch):
        def branch(self, x):
            y = self.depthwise(torch.relu(self.first(x.permute(0, 2, 3, 1))).permute(0, 3, 1, 2)).permute(0, 2, 3, 1)
            return self.second(torch.relu(y)).permute(0, 3, 1, 2)

    with pytest.raises(Refused) as refused:
        suggest(network(Twice(24, depthwise=True)))
    assert refused.value.verdict is Verdict.NOT_COVERED


def test_every_kind_of_layers_has_its_verdict():
    """Of a model that is served, and of one that is not."""
    suggestion = suggest(network(Long(32, 32), Long(32, 32), Branch(64)))
    assert suggestion.verdict is Verdict.VARIANCE
    assert [(row.layers, row.verdict, row["count"]) for row in suggestion.verdicts] == [
        ("bottleneck blocks", "variance", 2), ("feed-forward branches", "split-neutral", 1),
    ]  # fmt: skip
    layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True, norm_first=True)
    with pytest.raises(Refused) as refused:
        suggest(nn.TransformerEncoder(layer, 3, enable_nested_tensor=False).train(), inputs=torch.zeros(2, 5, 32))
    found = {row["layers"]: row["verdict"] for row in refused.value.verdicts}
    assert found == {"feed-forward branches": "split-neutral", "attention layers": "split-neutral"}
    assert [verdict.value for verdict in Verdict] == ["variance", "split-neutral", "not-covered"]


def test_heads_have_the_program_s_verdict():
    """Its sentence with the same numbers, and the link; layers are counted."""
    with torch.device("meta"):
        model = torchvision.models.vit_b_16()
    with pytest.raises(Refused) as refused:
        suggest(model)
    (row,) = (row for row in refused.value.verdicts if row["layers"] == "attention layers")
    judged = collegial.search("vit_b_16").to_dict()
    assert (row["verdict"], row["count"]) == ("split-neutral", judged["verdicts"][0]["count"])
    said = judged["verdicts"][0]["sentence"]
    assert row["reason"].startswith(said) and row["reason"].endswith(judged["evidence"]) and "times as much at width" in said
    names = [refusal.block for refusal in refused.value.refusals if refusal.layers == "attention layers"]
    assert len(names) == 12 and names[0] == "encoder.layers.encoder_layer_0.self_attention"


def test_heads_of_several_kinds_have_the_published_tables():
    """What both say of trained networks is the same, word by word."""
    layers = [nn.TransformerEncoderLayer(32, heads, 64, batch_first=True) for heads in (2, 4)]
    with pytest.raises(Refused) as refused:
        suggest(nn.Sequential(*layers), inputs=torch.zeros(2, 5, 32))
    (reason,) = (row["reason"] for row in refused.value.verdicts if row["layers"] == "attention layers")
    judged = collegial.search("llama-64x4x4x128x1").to_dict()
    published = judged["verdicts"][0]["sentence"].split("Published tables")[1]
    assert "times as much" not in reason and f"Published tables{published}" in reason and reason.endswith(judged["evidence"])


ATTENTION = {
    "cait_xxs24_224": ("split-neutral", 26), "coat_lite_mini": ("split-neutral", 8), "efficientformerv2_s0": ("split-neutral", 5),
    "efficientvit_b0": ("not-covered", 4),
}  # fmt: skip


@pytest.mark.parametrize("name, row", ATTENTION.items(), ids=ATTENTION)
def test_every_layer_of_attention_is_found(name, row):
    """Talking heads, which mix the scores of all heads before the softmax, factorised attention, and
    attention without a softmax."""
    with torch.device("meta"):
        found = find_blocks(timm.create_model(name))
    own = [refusal.verdict.value for refusal in found.refusals if refusal.layers == "attention layers"]
    assert own == [row[0]] * row[1]


@pytest.mark.parametrize("name", ["gcresnet50t", "skresnet18"])
def test_a_softmax_that_pools_or_selects_is_no_attention(name):
    with torch.device("meta"):
        found = find_blocks(timm.create_model(name))
    assert all(refusal.layers != "attention layers" for refusal in found.refusals)


class Experts(nn.Module):
    """Feed-forward layers that all tokens see, each weighed by a router."""

    def __init__(self, features=16, inner=32, experts=4):
        super().__init__()
        self.router = nn.Linear(features, experts)
        make = lambda: nn.Sequential(nn.Linear(features, inner), nn.ReLU(), nn.Linear(inner, features))
        self.experts = nn.ModuleList(make() for _ in range(experts))

    def gates(self, x):
        scores = torch.softmax(self.router(x), -1)
        chosen, places = scores.topk(2, -1)
        return torch.zeros_like(scores).scatter(-1, places, chosen)

    def forward(self, x):
        gates = self.gates(x)
        return x + sum(gates[..., index, None] * expert(x) for index, expert in enumerate(self.experts))


class ByExpert(Experts):
    """The same with the weights of all experts in one parameter."""

    def __init__(self, features=16, inner=32, experts=4):
        super().__init__(features, inner, experts)
        del self.experts
        self.first = nn.Parameter(torch.randn(experts, features, inner))
        self.second = nn.Parameter(torch.randn(experts, inner, features))

    def forward(self, x):
        y = torch.relu(torch.einsum("btd,edh->bteh", x, self.first))
        y = torch.einsum("bteh,ehd->bted", y, self.second)
        return x + (self.gates(x).unsqueeze(-1) * y).sum(2)


@pytest.mark.parametrize("make, count", [(Experts, 4), (ByExpert, 1)])
def test_routed_feed_forward_layers_are_not_covered(make, count):
    with pytest.raises(Refused, match="does not know routing") as refused:
        suggest(nn.Sequential(make()), inputs=torch.zeros(2, 5, 16))
    (row,) = refused.value.verdicts
    assert (row["layers"], row["verdict"], row["count"]) == ("feed-forward branches", "not-covered", count)


class Big(nn.Module):
    """A layer for which there is no memory."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def __deepcopy__(self, memo):
        raise MemoryError


class Choosing(nn.Module):
    """What comes next depends on values, which shapes alone do not have."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x):
        if x.sum() > 1e9:
            return x
        raise ValueError("no\nvalues\nhere")


BAD = {
    "cannot be traced": (lambda: network(Choosing()), {}, "forward pass could not be tried"),
    "no memory": (lambda: network(Big()), {}, "cannot be copied"),
    "inputs of a wrong type": (lambda: network(Long(32, 32)), {"inputs": "an image"}, "could not be tried"),
    "inputs of a wrong shape": (lambda: network(Long(32, 32)), {"inputs": torch.zeros(2, 5)}, "could not be tried"),
}


@pytest.mark.parametrize("make, options, reason", BAD.values(), ids=BAD)
@pytest.mark.parametrize("ask", [suggest, convert])
def test_bad_input_is_one_sentence(ask, make, options, reason):
    model = make()
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    with pytest.raises(collegial.CollegialError, match=reason) as refused:
        ask(model, **options)
    assert "\n" not in str(refused.value) and len(str(refused.value)) < 500
    assert model.training and all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


@pytest.mark.parametrize("wrong", ["resnet50", nn.Linear, None, {"weight": torch.zeros(3)}], ids=["name", "class", "none", "state"])
@pytest.mark.parametrize("ask", [suggest, convert])
def test_what_is_no_model_is_one_sentence(ask, wrong):
    with pytest.raises(collegial.CollegialError, match="give an nn.Module"):
        ask(wrong)


def test_a_model_in_training_mode_may_see_one_image():
    """A batch norm over one value has no variance in training, which is no fault of the design."""
    pooled = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.BatchNorm2d(32))
    model = network(Long(32, 32), pooled).train()
    before = copy.deepcopy(model.state_dict())
    better = convert(model, inputs=torch.zeros(1, 3, 9, 9)).model
    assert better.training and better.eval()(torch.zeros(1, 3, 9, 9)).shape == (1, 32, 1, 1)
    assert model.training and all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())
