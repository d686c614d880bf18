"""m fully connected networks on one input, summed and divided by sqrt(m) (Eq. 2 of the paper)."""

import math

import torch
from torch import nn

ACTIVATIONS = {
    "none": lambda x: x,
    "relu": torch.relu,
    "erf": torch.erf,
    "tanh": torch.tanh,
    "gelu": nn.functional.gelu,
    "sigmoid": torch.sigmoid,
    "silu": nn.functional.silu,
    "hard-swish": nn.functional.hardswish,
    "relu6": nn.functional.relu6,
    "leaky-relu": nn.functional.leaky_relu,
}


class Members(nn.Module):
    """The m weight matrices of one layer, one below the other."""

    def __init__(self, members, inputs, outputs, gain):
        super().__init__()
        self.members = members
        self.weight = nn.Parameter(torch.randn(members * outputs, inputs) * math.sqrt(gain / inputs))

    def forward(self, x):
        """x: batch x members x inputs, or batch x inputs for the layer that all members share."""
        if x.dim() == 2:
            return (x @ self.weight.T).unflatten(1, (self.members, -1))
        weight = self.weight.unflatten(0, (self.members, -1))
        return torch.einsum("bmi,moi->bmo", x, weight)


class FullyConnected(nn.Module):
    """`members` networks with the given hidden widths, without biases."""

    def __init__(self, inputs, outputs, widths, members=1, activation="relu"):
        super().__init__()
        self.members = members
        self.activation = ACTIVATIONS[activation]
        gain = 2.0 if activation == "relu" else 1.0
        self.layers = [f"fc{index}" for index in range(1, len(widths) + 2)]
        fans = [inputs, *widths, outputs]
        for name, fan_in, width in zip(self.layers, fans, fans[1:]):
            setattr(self, name, Members(members, fan_in, width, gain if name != self.layers[-1] else 1.0))

    def forward(self, x):
        x = x.flatten(1)
        for name in self.layers[:-1]:
            x = self.activation(getattr(self, name)(x))
        return getattr(self, self.layers[-1])(x).sum(1) / math.sqrt(self.members)
