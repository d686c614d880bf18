"""ResNet and ResNeXt `m x n d`, under torchvision's names of layers."""

import torch
from torch import nn


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
    """1x1 to the m members, 3x3 in m groups, 1x1 back; batch norm after each, then the gate, if any, and the shortcut."""

    def __init__(self, inputs, inner, outputs, members, stride, project, average=False, squeeze=None):
        super().__init__()
        first, second = inner
        self.conv1 = nn.Conv2d(inputs, first, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(first)
        self.conv2 = nn.Conv2d(first, second, 3, stride, 1, groups=members, bias=False)
        self.bn2 = nn.BatchNorm2d(second)
        self.conv3 = nn.Conv2d(second, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.se = Gate(outputs, max(8, (outputs // squeeze + 4) // 8 * 8)) if squeeze else nn.Identity()
        pool = nn.Identity() if stride == 1 else nn.AvgPool2d(2, stride, ceil_mode=True, count_include_pad=False)
        shortcut = [nn.Conv2d(inputs, outputs, 1, 1 if average else stride, bias=False), nn.BatchNorm2d(outputs)]
        self.downsample = nn.Sequential(*([pool] if average else []), *shortcut) if project else None

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        y = self.se(self.bn3(self.conv3(y)))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNeXt(nn.Module):
    """`members` x `width` d at the first stage; every further stage doubles width and outputs and halves the image.

    Lists give every stage its own members and its pair of widths, into and out of the 3x3 convolution. Stems c and d are those
    of ResNet-C and ResNet-D, whose shortcuts average before they project.
    """

    def __init__(self, blocks, members, width, classes, stem="small", stem_channels=64, outputs=256, squeeze=None):
        super().__init__()
        if stem in ("c", "d"):
            self.conv1 = deep_stem(stem_channels)
        else:
            kernel, stride, padding = (3, 1, 1) if stem == "small" else (7, 2, 3)
            self.conv1 = nn.Conv2d(3, stem_channels, kernel, stride, padding, bias=False)
        self.bn1 = nn.BatchNorm2d(stem_channels)
        self.maxpool = nn.Identity() if stem == "small" else nn.MaxPool2d(3, 2, 1)
        channels = stem_channels
        self.stages = [f"layer{stage + 1}" for stage in range(len(blocks))]
        if isinstance(members, int):
            width = [(width << stage, width << stage) for stage in range(len(blocks))]
            members = [members] * len(blocks)
        for stage, (name, count) in enumerate(zip(self.stages, blocks)):
            layers = []
            for index in range(count):
                stride = 2 if stage > 0 and index == 0 else 1
                inner = [members[stage] * n for n in width[stage]]
                block = Block(channels, inner, outputs << stage, members[stage], stride, index == 0, stem == "d", squeeze)
                layers.append(block)
                channels = outputs << stage
            setattr(self, name, nn.Sequential(*layers))
        self.fc = nn.Linear(channels, classes)
        self.apply(initialise)

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        for name in self.stages:
            x = getattr(self, name)(x)
        return self.fc(x.mean((2, 3)))


def deep_stem(channels):
    """Three 3x3 convolutions in place of the 7x7 one."""
    half = max(1, channels // 2)
    first = [nn.Conv2d(3, half, 3, 2, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU()]
    second = [nn.Conv2d(half, half, 3, 1, 1, bias=False), nn.BatchNorm2d(half), nn.ReLU()]
    return nn.Sequential(*first, *second, nn.Conv2d(half, channels, 3, 1, 1, bias=False))


def initialise(layer):
    """Convolutions N(0, 2 / fan-out), as torchvision has it; the classifier's variance is one over its fan-in, biases are zero."""
    if isinstance(layer, nn.Conv2d):
        nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
    elif isinstance(layer, nn.Linear):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="linear")
        nn.init.zeros_(layer.bias)
