"""Wide ResNet d-k: pre-activation blocks of two 3x3 convolutions."""

import torch
from torch import nn


class Block(nn.Module):
    """norm, ReLU, 3x3, norm, ReLU, 3x3; where the shape changes, the shortcut projects the rectified input."""

    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        same = inputs == outputs and stride == 1
        self.downsample = None if same else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False))

    def forward(self, x):
        active = torch.relu(self.bn1(x))
        y = self.conv2(torch.relu(self.bn2(self.conv1(active))))
        return y + (x if self.downsample is None else self.downsample(active))


class WideResNet(nn.Module):
    """Depth d and widening factor k: (d - 4) / (2 stages) blocks a stage, stage s with 16 k 2^s channels."""

    def __init__(self, depth, factor, stages, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        channels = 16
        self.stages = [f"layer{stage + 1}" for stage in range(stages)]
        for stage, name in enumerate(self.stages):
            layers = []
            for index in range((depth - 4) // (2 * stages)):
                stride = 2 if stage > 0 and index == 0 else 1
                layers.append(Block(channels, 16 * factor << stage, stride))
                channels = 16 * factor << stage
            setattr(self, name, nn.Sequential(*layers))
        self.bn1 = nn.BatchNorm2d(channels)
        self.fc = nn.Linear(channels, classes)
        self.apply(initialise)

    def forward(self, x):
        x = self.conv1(x)
        for name in self.stages:
            x = getattr(self, name)(x)
        return self.fc(torch.relu(self.bn1(x)).mean((2, 3)))


def initialise(layer):
    """Convolutions N(0, 2 / fan-out), as torchvision has it; the classifier's variance is one over its fan-in, its bias zero."""
    if isinstance(layer, nn.Conv2d):
        nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
    elif isinstance(layer, nn.Linear):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="linear")
        nn.init.zeros_(layer.bias)
