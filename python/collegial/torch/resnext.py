"""ResNet and ResNeXt `m x n d`, under torchvision's names of layers."""

import torch
from torch import nn


class Block(nn.Module):
    """1x1 to the m members, 3x3 in m groups, 1x1 back; batch norm after each, then the shortcut."""

    def __init__(self, inputs, inner, outputs, members, stride, project):
        super().__init__()
        first, second = inner
        self.conv1 = nn.Conv2d(inputs, first, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(first)
        self.conv2 = nn.Conv2d(first, second, 3, stride, 1, groups=members, bias=False)
        self.bn2 = nn.BatchNorm2d(second)
        self.conv3 = nn.Conv2d(second, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        shortcut = [nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)]
        self.downsample = nn.Sequential(*shortcut) if project else None

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNeXt(nn.Module):
    """`members` x `width` d at the first stage; every further stage doubles width and outputs and halves the image.

    Lists give every stage its own members and its pair of widths, into and out of the 3x3 convolution.
    """

    def __init__(self, blocks, members, width, classes, stem="small", stem_channels=64, outputs=256):
        super().__init__()
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
                layers.append(Block(channels, inner, outputs << stage, members[stage], stride, project=index == 0))
                channels = outputs << stage
            setattr(self, name, nn.Sequential(*layers))
        self.fc = nn.Linear(channels, classes)
        self.apply(initialise)

    def forward(self, x):
        x = self.maxpool(torch.relu(self.bn1(self.conv1(x))))
        for name in self.stages:
            x = getattr(self, name)(x)
        return self.fc(x.mean((2, 3)))


def initialise(layer):
    """Convolutions N(0, 2 / fan-out), as torchvision has it; the classifier's variance is one over its fan-in, its bias zero."""
    if isinstance(layer, nn.Conv2d):
        nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    elif isinstance(layer, nn.Linear):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="linear")
        nn.init.zeros_(layer.bias)
