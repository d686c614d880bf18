"""Kernels of attention heads and feed-forward layers: mean and variance by `collegial moments` against gradients by torch.func
on explicit weights. Both are means over draws with fixed seeds, and must agree within three standard errors of the difference.
"""

import json
import math
import subprocess

import common
import pytest
import torch
from torch.func import grad, vmap
from torch.nn.functional import gelu, relu, silu

DRAWS = 4000


def moments(path, *words):
    """The first layer of the answer."""
    command = [str(common.built() / "collegial"), "moments", str(path), "--json", *words]
    return json.loads(subprocess.run(command, check=True, capture_output=True).stdout)["layers"][0]


def kernels(output, shapes, seed):
    """K = |gradient|^2 at standard normal weights, draw by draw."""
    generator = torch.Generator().manual_seed(seed)
    weights = [torch.randn(DRAWS, *shape, generator=generator, dtype=torch.float64) for shape in shapes]
    gradients = vmap(grad(output))(tuple(weights))
    return sum(gradient.flatten(1).square().sum(1) for gradient in gradients)


def agree(drawn, ours):
    mean, error = drawn.mean().item(), drawn.std().item() / math.sqrt(len(drawn))
    ratio = drawn.square().mean().item() / mean**2
    # The influence of a draw on the ratio.
    influence = drawn.square() / mean**2 - 2 * ratio * drawn / mean
    ratio_error = influence.std().item() / math.sqrt(len(drawn))
    own_error = (ours["standard_error"] or 0.0)
    own_mean_error = ours["mean"] * math.sqrt(ours["variance"] / ours["draws"]) if ours["draws"] else 0.0
    assert abs(mean - ours["mean"]) < 3 * math.hypot(error, own_mean_error)
    assert abs(ratio - ours["second_moment_ratio"]) < 3 * math.hypot(ratio_error, own_error)


@pytest.mark.parametrize(
    ("tokens", "width", "correlation"), [(1, 1, 0.0), (4, 3, 0.0), (8, 4, 0.5), (8, 16, 0.9), (24, 2, 0.2)]
)
def test_heads(tmp_path, tokens, width, correlation):
    features = tokens + 1
    x = math.sqrt(1 - correlation) * torch.eye(tokens, features, dtype=torch.float64)
    x[:, -1] = math.sqrt(correlation)
    x *= math.sqrt(features)

    def output(weights):
        query, key, value, last = weights
        q, k, v = ((rows @ matrix.T) / math.sqrt(features) for rows, matrix in ((x[0], query), (x, key), (x, value)))
        attention = torch.softmax(k @ q / math.sqrt(width), 0)
        return (attention @ v) @ last / math.sqrt(width)

    drawn = kernels(output, [(width, features)] * 3 + [(width,)], tokens + width)
    path = tmp_path / "attention.toml"
    path.write_text(
        f'kind = "attention"\ninputs = {features}\nheads = 1\nwidth = {width}\ntokens = {tokens}\ncorrelation = {correlation}\n'
    )
    agree(drawn, moments(path, "--draws", "40000"))


@pytest.mark.parametrize("gated", [False, True])
@pytest.mark.parametrize(("name", "function"), [("relu", relu), ("gelu", gelu), ("silu", silu)])
def test_feed_forward_layers(tmp_path, name, function, gated):
    inputs, width = 5, 24
    # One token of variance 1.
    x = torch.linspace(-1, 2, inputs, dtype=torch.float64)
    x *= math.sqrt(inputs) / x.norm()

    def output(weights):
        first, last, *gate = weights
        hidden = function(first @ x / math.sqrt(inputs))
        for matrix in gate:
            hidden = hidden * (matrix @ x / math.sqrt(inputs))
        return hidden @ last / math.sqrt(width)

    shapes = [(width, inputs), (width,)] + [(width, inputs)] * gated
    path = tmp_path / "layer.toml"
    path.write_text(
        f'kind = "feed-forward"\ninputs = {inputs}\nwidths = [{width}]\nactivation = "{name}"\ngated = {str(gated).lower()}\n'
    )
    agree(kernels(output, shapes, 7), moments(path))
