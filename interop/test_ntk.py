"""The kernels of `collegial ntk` against gradients by torch.func (float64) on the same weights and inputs.

The relative error of a kernel is max |ours - theirs| / max |theirs|, and at most 1e-4 is allowed.
"""

import math

import common
import numpy
import pytest
import torch
from safetensors.torch import load_file, save_file
from torch.func import jacrev, vmap
from torch.nn.functional import batch_norm, conv2d, linear, relu

TOLERANCE = 1e-4

SPEC = """
kind = "resnext"
stem = "small"
blocks = [1, 2]
design = "4x6d"
classes = 3
image = 12
stem_channels = 16
outputs = 24
"""


class Network:
    """Layers by torchvision's names; in the NTK parametrisation weights are scaled by sqrt(gain / fan-in)."""

    def __init__(self, weights, ntk):
        statistic = lambda name: name.endswith(("running_mean", "running_var"))
        self.statistics = {name: value.double() for name, value in weights.items() if statistic(name)}
        self.parameters = {name: value.double() for name, value in weights.items() if not statistic(name)}
        self.ntk = ntk
        self.training = False

    def scale(self, weight, gain):
        return math.sqrt(gain / weight[0].numel()) if self.ntk else 1.0

    def dense(self, p, name, x, gain):
        weight = p[f"{name}.weight"]
        return linear(x, self.scale(weight, gain) * weight, p.get(f"{name}.bias"))

    def conv(self, p, name, x, gain, stride=1, groups=1):
        weight = p[f"{name}.weight"]
        padding = weight.shape[-1] // 2
        return conv2d(x, self.scale(weight, gain) * weight, stride=stride, padding=padding, groups=groups)

    def norm(self, p, name, x):
        if f"{name}.weight" not in p:
            return x
        if self.training:
            return batch_norm(x, None, None, p[f"{name}.weight"], p[f"{name}.bias"], training=True)
        mean, variance = self.statistics[f"{name}.running_mean"], self.statistics[f"{name}.running_var"]
        return batch_norm(x, mean, variance, p[f"{name}.weight"], p[f"{name}.bias"])

    def without_norms(self):
        norms = {name.rsplit(".", 1)[0] for name in self.statistics}
        self.parameters = {name: p for name, p in self.parameters.items() if name.rsplit(".", 1)[0] not in norms}
        return self

    def kernel(self, function, x):
        """The trace over the outputs of `function(parameters, batch of one)`."""
        jacobians = vmap(jacrev(lambda p, x: function(p, x[None])[0].flatten()), (None, 0))(self.parameters, x)
        return sum(j.flatten(1) @ j.flatten(1).T for j in jacobians.values())


def fully_connected(network, p, x):
    for layer in range(1, 4):
        x = relu(network.dense(p, f"fc{layer}", x, 2))
    return network.dense(p, "fc4", x, 1)


def block(network, p, x, prefix, groups, stride, last_gain):
    """1x1, grouped 3x3, 1x1, and the shortcut."""
    h = relu(network.norm(p, f"{prefix}bn1", network.conv(p, f"{prefix}conv1", x, 2)))
    h = relu(network.norm(p, f"{prefix}bn2", network.conv(p, f"{prefix}conv2", h, 2, stride, groups)))
    h = network.norm(p, f"{prefix}bn3", network.conv(p, f"{prefix}conv3", h, last_gain))
    if f"{prefix}downsample.0.weight" in p:
        x = network.conv(p, f"{prefix}downsample.0", x, last_gain, stride)
        x = network.norm(p, f"{prefix}downsample.1", x)
    return h + x


def resnext(network, p, x):
    x = relu(network.norm(p, "bn1", network.conv(p, "conv1", x, 2)))
    for stage, blocks in enumerate((1, 2)):
        for index in range(blocks):
            stride = 2 if stage > 0 and index == 0 else 1
            x = relu(block(network, p, x, f"layer{stage + 1}.{index}.", 4, stride, 2))
    return network.dense(p, "fc", x.mean((2, 3)), 1)


def load(inputs, *shape):
    return torch.from_numpy(numpy.load(inputs)).reshape(-1, *shape)


def check(kernel, expected):
    assert common.difference(numpy.load(kernel), expected) <= TOLERANCE


def test_fully_connected(tmp_path):
    weights, inputs, kernel = common.drawn(tmp_path, ["fc4-200", "--inputs", 30, "--outputs", 1], 20, 1)
    network = Network(load_file(weights), ntk=True)
    check(kernel, network.kernel(lambda p, x: fully_connected(network, p, x), load(inputs, 30)))


@pytest.mark.parametrize("parametrisation", ["ntk", "standard"])
def test_grouped_bottleneck_block(parametrisation, tmp_path):
    words = ["bottleneck-4x8d", "--inputs", 32, "--outputs", 32, "--image", 8, "--pooled", "--output", 5,
             "--parametrisation", parametrisation]
    weights, inputs, kernel = common.drawn(tmp_path, words, 6, 2)
    network = Network(load_file(weights), ntk=parametrisation == "ntk").without_norms()
    pooled = lambda p, x: block(network, p, x, "", 4, 1, 1).mean((2, 3))[:, 5]
    check(kernel, network.kernel(pooled, load(inputs, 32, 8, 8)))


def test_resnext_with_frozen_norms(tmp_path):
    """The trace over all outputs."""
    spec = tmp_path / "network.toml"
    spec.write_text(SPEC)
    weights, inputs, kernel = common.drawn(tmp_path, [spec, "--parametrisation", "standard"], 6, 3)
    tensors, generator = load_file(weights), torch.Generator().manual_seed(4)
    for name, tensor in tensors.items():
        # Norms and biases away from where they start; variances and scales stay positive.
        if tensor.ndim == 1:
            tensor += 0.3 * torch.randn(tensor.shape, generator=generator).clamp(-2, 2)
    save_file(tensors, weights)
    common.run("collegial", "ntk", spec, "--input", inputs, "--weights", weights, "--trace", "--out", kernel)
    network = Network(tensors, ntk=False)
    check(kernel, network.kernel(lambda p, x: resnext(network, p, x), load(inputs, 3, 12, 12)))


def draw(folder, spec, norm, count, seed, output):
    """A draw of `NetworkDraws`: its kernel, weights and inputs."""
    common.run("examples/draw", spec, norm, count, seed, output, folder)
    return [folder / name for name in ("weights.safetensors", "inputs.npy", "kernel.npy")]


@pytest.mark.parametrize("seed", [5, 7])
def test_a_draw_in_training_mode(seed, tmp_path):
    """One logit of every image, norms over the batch: gradients go through the batch's statistics.

    With seed 6 an input of a ReLU is so near 0 that f32 and f64 see it on different sides, which changes the kernel by 7e-4.
    """
    spec = tmp_path / "network.toml"
    spec.write_text(SPEC)
    weights, inputs, kernel = draw(tmp_path, spec, "batch", 5, seed, 2)
    network = Network(load_file(weights), ntk=True)
    network.training = True
    jacobians = jacrev(lambda p: resnext(network, p, load(inputs, 3, 12, 12).double())[:, 2])(network.parameters)
    check(kernel, sum(j.flatten(1) @ j.flatten(1).T for j in jacobians.values()))


@pytest.mark.parametrize("norm", ["none", "frozen"])
def test_a_draw_of_images_alone(norm, tmp_path):
    spec = tmp_path / "network.toml"
    spec.write_text(SPEC)
    weights, inputs, kernel = draw(tmp_path, spec, norm, 4, 7, 1)
    network = Network(load_file(weights), ntk=True)
    if norm == "none":
        network.without_norms()
    check(kernel, network.kernel(lambda p, x: resnext(network, p, x)[:, 1:2], load(inputs, 3, 12, 12).double()))
