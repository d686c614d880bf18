"""A block-diagonal linear layer: the members of a fully connected network side by side."""

import torch
from torch import nn


class BlockLinear(nn.Linear):
    """`groups` linear layers, each on its own share of the features; the weight has their outputs
    one below the other, as a grouped convolution's."""

    groups: int

    def __init__(self, in_features: int, out_features: int, groups: int, bias: bool = True, **options):
        super().__init__(in_features // groups, out_features, bias, **options)
        self.in_features, self.groups = in_features, groups

    def forward(self, input: torch.Tensor) -> torch.Tensor:
        parts = input.unflatten(-1, (self.groups, -1))
        weight = self.weight.unflatten(0, (self.groups, -1))
        output = torch.einsum("...gi,goi->...go", parts, weight).flatten(-2)
        return output if self.bias is None else output + self.bias

    def extra_repr(self) -> str:
        return f"{super().extra_repr()}, groups={self.groups}"
