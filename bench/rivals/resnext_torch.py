"""ResNeXt-29 `m x n d` for 32x32 images in PyTorch, as the paper counts it."""

from torch import nn
from torch.nn.functional import relu


def convolution(inputs, outputs, kernel, stride=1, groups=1):
    """Convolution without bias, then batch norm."""
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, inner, outputs, groups, stride):
        super().__init__()
        self.reduce = convolution(inputs, inner, 1)
        self.grouped = convolution(inner, inner, 3, stride, groups)
        self.expand = convolution(inner, outputs, 1)
        projects = stride != 1 or inputs != outputs
        self.shortcut = convolution(inputs, outputs, 1, stride) if projects else nn.Identity()

    def forward(self, x):
        h = relu(self.reduce(x), inplace=True)
        h = relu(self.grouped(h), inplace=True)
        return relu(self.expand(h) + self.shortcut(x), inplace=True)


class ResNeXt29(nn.Module):
    """Three stages of three blocks; stage s has 256 * 2^s outputs and inner width m * n * 2^s."""

    def __init__(self, m, n, classes=10):
        super().__init__()
        self.stem = convolution(3, 64, 3)
        blocks, inputs = [], 64
        for stage in range(3):
            outputs = 256 << stage
            for block in range(3):
                stride = 2 if stage > 0 and block == 0 else 1
                blocks.append(Bottleneck(inputs, m * n << stage, outputs, m, stride))
                inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.classifier = nn.Linear(inputs, classes)

    def forward(self, x):
        h = self.blocks(relu(self.stem(x), inplace=True))
        return self.classifier(h.mean((2, 3)))


# Parameters with ten classes, which say that the network is the right one: the paper's, and `collegial info`'s for 4x4d.
PARAMETERS = {"37x10d": 13743646, "10x10d": 4223986, "4x4d": 1207882, "1x128d": 13775178, "3x64d": 13346378}


def resnext29(design):
    """The network of a design such as "37x10d"."""
    m, n = (int(number) for number in design.removesuffix("d").split("x"))
    network = ResNeXt29(m, n)
    count = sum(parameter.numel() for parameter in network.parameters())
    if count != PARAMETERS[design]:
        raise AssertionError(f"{design} has {count} parameters instead of {PARAMETERS[design]}")
    return network


def forward_flops(network, x):
    """2 per multiplication and addition of every convolution, for the whole batch."""
    total = 0

    def count(layer, _, output):
        nonlocal total
        total += 2 * output.numel() * layer.weight[0].numel()

    hooks = [layer.register_forward_hook(count) for layer in network.modules() if isinstance(layer, nn.Conv2d)]
    network(x)
    for hook in hooks:
        hook.remove()
    return total
