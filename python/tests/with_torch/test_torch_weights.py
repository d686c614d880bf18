"""What a conversion keeps of a model's weights, and what it says of it."""

import copy

import pytest
import torch
import torchvision
from torch import nn

from collegial.torch import convert, suggest
from collegial.torch.blocks import find_blocks
from collegial.torch.convert import converted

ALPHA = 1.60


class Bottleneck(nn.Module):
    def __init__(self, inner=64, groups=1):
        super().__init__()
        self.reduce, self.norm1 = nn.Conv2d(32, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.middle, self.norm2 = nn.Conv2d(inner, inner, 3, padding=1, groups=groups, bias=False), nn.BatchNorm2d(inner)
        self.expand, self.norm3 = nn.Conv2d(inner, 32, 1, bias=False), nn.BatchNorm2d(32)

    def forward(self, x):
        y = torch.relu(self.norm1(self.reduce(x)))
        return x + self.norm3(self.expand(torch.relu(self.norm2(self.middle(y)))))


class Tied(nn.Module):
    """Two blocks between a stem and a head whose weights are those of another layer."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 32, 3, padding=1)
        self.blocks = nn.Sequential(Bottleneck(), Bottleneck())
        self.first, self.second = nn.Linear(32, 32), nn.Linear(32, 32)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(torch.tanh(self.first(self.blocks(self.stem(x)).mean((2, 3)))))


def trained():
    """A model whose every tensor has values of its own, as training leaves them."""
    torch.manual_seed(0)
    model = Tied()
    with torch.no_grad():
        for tensor in model.state_dict().values():
            if tensor.is_floating_point():
                tensor.copy_(torch.rand(tensor.shape) + 0.5)
    return model


def compiled(model):
    return torch.compile(model)


def distributed(model):
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        return nn.parallel.DistributedDataParallel(model)
    finally:
        torch.distributed.destroy_process_group()


KINDS = {
    "plain": (lambda model: model, ()),
    "channels last": (lambda model: model.to(memory_format=torch.channels_last), ()),
    "half": (lambda model: model.half(), ()),
    "bfloat16": (lambda model: model.bfloat16(), ()),
    "compiled": (compiled, ("torch.compile",)),
    "data parallel": (nn.DataParallel, ("DataParallel",)),
    "distributed": (distributed, ("DistributedDataParallel",)),
    "compiled and distributed": (lambda model: compiled(distributed(model)), ("torch.compile", "DistributedDataParallel")),
}


@pytest.mark.parametrize("wrap, wrappers", KINDS.values(), ids=KINDS)
def test_what_does_not_change_keeps_its_values_to_the_bit(wrap, wrappers):
    model = trained()
    wrapped = wrap(model)
    before = copy.deepcopy(model.state_dict())
    better, weights = convert(wrapped, alpha=ALPHA)
    after = better.state_dict()
    assert type(better) is Tied and weights.unwrapped == wrappers
    assert set(weights.unchanged) | set(weights.drawn) | set(weights.reset) == set(after) == set(before)
    for name in weights.unchanged:
        assert after[name].dtype is before[name].dtype and torch.equal(after[name], before[name]), name
        assert after[name].stride() == before[name].stride(), name
    for name in (*weights.drawn, *weights.reset):
        assert name.startswith("blocks.") and after[name].shape != before[name].shape, name
        assert after[name].dtype is before[name].dtype
    # The norm behind the last layer has the block's outputs, which stay.
    assert {name.split(".")[2] for name in weights.drawn} == {"reduce", "middle", "expand"}
    assert {name.split(".")[2] for name in weights.reset} == {"norm1", "norm2"}
    assert better.second.weight is better.first.weight
    assert all(torch.equal(tensor, before[name]) for name, tensor in model.state_dict().items())


def test_shares_are_those_of_the_parameters():
    better, weights = convert(trained(), alpha=ALPHA)
    kept = 3 * 32 * 9 + 32 + 32 * 32 + 2 * 32 + 2 * 2 * 32
    assert weights.parameters_unchanged == kept and weights.share == kept / weights.parameters_before
    assert weights.parameters == sum(parameter.numel() for parameter in better.parameters())
    assert weights.to_dict()["share"] == weights.share


def test_it_is_said_how_much_of_a_resnet_is_lost():
    with torch.device("meta"):
        conversion = convert(torchvision.models.resnet50(), "dual")
    assert 0.18 < conversion.weights.share < 0.20
    assert "is lost" in repr(conversion) and "ResNet" in repr(conversion) and "81.0 %" in str(conversion.weights)


def test_blocks_that_keep_their_design_keep_their_weights():
    """The first block has the analysed one's best design already, the others follow."""
    plain = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), Bottleneck(), Bottleneck())
    found = suggest(plain).primal
    mixed = nn.Sequential(nn.Conv2d(3, 32, 3, padding=1), Bottleneck(found.multiplicity * found.width, found.multiplicity), Bottleneck())
    with torch.no_grad():
        blocks = find_blocks(mixed)
    suggestion = suggest(plain)
    better = converted(mixed, blocks, suggestion, "primal")
    assert torch.equal(better[1].middle.weight, mixed[1].middle.weight) and better[2].middle.groups == found.multiplicity
