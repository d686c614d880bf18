"""RegNet, under torchvision's names of layers."""

import torch
from torch import nn


def conv_norm(inputs, outputs, kernel, stride=1, groups=1):
    """A convolution and its norm."""
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs))


class Gate(nn.Module):
    """Squeeze-and-excitation: every channel times a number that two small layers make of all channels' means."""

    def __init__(self, channels, hidden):
        super().__init__()
        self.fc1 = nn.Conv2d(channels, hidden, 1)
        self.fc2 = nn.Conv2d(hidden, channels, 1)

    def forward(self, x):
        means = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.fc2(torch.relu(self.fc1(means))))


class Block(nn.Module):
    """1x1 to the m members, 3x3 in m groups, 1x1 back; batch norm after each, then the shortcut."""

    def __init__(self, inputs, inner, outputs, members, stride, squeeze):
        super().__init__()
        first, second = inner
        self.proj = conv_norm(inputs, outputs, 1, stride) if stride > 1 else None
        self.f = nn.Sequential()
        self.f.add_module("a", conv_norm(inputs, first, 1).append(nn.ReLU()))
        self.f.add_module("b", conv_norm(first, second, 3, stride, members).append(nn.ReLU()))
        if squeeze:
            self.f.add_module("se", Gate(second, max(1, round(inputs / squeeze))))
        self.f.add_module("c", conv_norm(second, outputs, 1))

    def forward(self, x):
        return torch.relu(self.f(x) + (x if self.proj is None else self.proj(x)))


class RegNet(nn.Module):
    """Every stage has its own blocks, outputs, members and pair of widths, into and out of the 3x3 convolution."""

    def __init__(self, blocks, outputs, members, width, classes, stem_channels=32, squeeze=None):
        super().__init__()
        self.stem = conv_norm(3, stem_channels, 3, 2).append(nn.ReLU())
        self.trunk_output = nn.Sequential()
        channels = stem_channels
        for stage, count in enumerate(blocks):
            layers = nn.Sequential()
            for index in range(count):
                inner = [members[stage] * n for n in width[stage]]
                stride = 2 if index == 0 else 1
                block = Block(channels, inner, outputs[stage], members[stage], stride, squeeze)
                layers.add_module(f"block{stage + 1}-{index}", block)
                channels = outputs[stage]
            self.trunk_output.add_module(f"block{stage + 1}", layers)
        self.fc = nn.Linear(channels, classes)
        self.apply(initialise)

    def forward(self, x):
        return self.fc(self.trunk_output(self.stem(x)).mean((2, 3)))


def initialise(layer):
    """Convolutions N(0, 2 / fan-out), as torchvision has it; the classifier's variance is one over its fan-in, its bias zero."""
    if isinstance(layer, nn.Conv2d):
        nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
    elif isinstance(layer, nn.Linear):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="linear")
        nn.init.zeros_(layer.bias)
