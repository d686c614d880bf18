"""PyTorch: draws per second of kernels without a formula, the modules of `crates/ntk/benches/modules`, drawing the weights included.

`torch_func` is the chain as its user would write it under vmap(grad), or vmap(jacrev) for several inputs, cut down to what the unit
sees; `structured` sums inner products of patches and of cotangents layer by layer. Both alone and with one worker a thread
(`_workers`), since `torch.randn` is serial."""

import math
import pathlib
import tomllib
from concurrent.futures import ThreadPoolExecutor

import numpy
import torch
from torch.func import grad, jacrev, vmap
from torch.nn.functional import conv2d, fold, gelu, relu, unfold

from draws import time_draws
from measure import parser, wanted
from torch_common import start

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "crates/ntk/benches/modules"
# Whether the output is averaged over its map, and how many inputs there are.
MODULES = {
    "two-three-by-three": (False, 1),
    "five-then-three": (False, 1),
    "pooled-bottleneck": (True, 1),
    "gelu-bottleneck": (False, 1),
    "four-inputs": (False, 4),
}


def relu_slope(h):
    return h > 0


def gelu_slope(h):
    return 0.5 * (1 + torch.erf(h * math.sqrt(0.5))) + h * torch.exp(-0.5 * h * h) / math.sqrt(2 * math.pi)


ACTIVATIONS = {"relu": (relu, relu_slope, 2.0), "gelu": (gelu, gelu_slope, 1.0), None: (None, None, 1.0)}


def uniform_inputs(count, channels, height, width):
    """The inputs of `crates/ntk/benches/general.rs`: uniform numbers of variance 1 from a linear congruence."""
    state, values = 1, []
    for _ in range(count * channels * height * width):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        values.append(((state >> 40) / 2**23 - 1) * math.sqrt(3))
    return torch.tensor(values, dtype=torch.float32).view(count, channels, height, width)


class Layer:
    def __init__(self, table, inputs, side, pooled):
        self.inputs, self.outputs, self.kernel = inputs, table["width"], table["kernel"]
        self.padding = self.kernel // 2 if pooled else 0
        self.side_in, self.side = side, side + 2 * self.padding - self.kernel + 1
        self.activation, self.slope, gain = ACTIVATIONS[table.get("activation")]
        self.fan_in = inputs * self.kernel**2
        self.scale = math.sqrt(gain / self.fan_in)

    def patches(self, a):
        """Of ... x inputs x side x side."""
        return a.flatten(2) if self.kernel == 1 else unfold(a, self.kernel, padding=self.padding)

    def gathered(self, d):
        """The transpose of `patches`."""
        if self.kernel == 1:
            return d
        return fold(d, (self.side_in, self.side_in), self.kernel, padding=self.padding).flatten(2)


class Chain:
    def __init__(self, name):
        self.name = name
        self.pooled, self.count = MODULES[name]
        spec = tomllib.loads((FOLDER / f"{name}.toml").read_text())
        shape = spec["input"]
        x = uniform_inputs(self.count, shape["channels"], shape["height"], shape["width"])
        if not self.pooled:
            # What the unit at the centre sees.
            reach = sum(layer["kernel"] // 2 for layer in spec["layers"])
            centre = shape["height"] // 2
            x = x[:, :, centre - reach : centre + reach + 1, centre - reach : centre + reach + 1].contiguous()
        self.x, self.layers = x, []
        channels, side = x.shape[1], x.shape[2]
        for table in spec["layers"]:
            self.layers.append(Layer(table, channels, side, self.pooled))
            channels, side = self.layers[-1].outputs, self.layers[-1].side
        first = self.layers[0].patches(x)
        self.first = first.permute(1, 0, 2).flatten(1).contiguous()
        self.first_gram = self.first.T @ self.first
        derivative = jacrev(self.outputs) if self.count > 1 else grad(lambda weights: self.outputs(weights)[0])
        self.derivatives = vmap(derivative)
        self.normals = sum(layer.fan_in * layer.outputs for layer in self.layers)

    def draw(self, batch, generator=None):
        return tuple(torch.randn(batch, layer.outputs, layer.fan_in, generator=generator) for layer in self.layers)

    def outputs(self, weights):
        """The chain as its user would write it: one number per input."""
        a = self.x
        for layer, w in zip(self.layers, weights):
            w = layer.scale * w.view(layer.outputs, layer.inputs, layer.kernel, layer.kernel)
            a = conv2d(a, w, padding=layer.padding)
            a = layer.activation(a) if layer.activation else a
        return a.mean((1, 2, 3))

    def torch_func(self, weights):
        """Kernels, batch x inputs x inputs."""
        gradients = self.derivatives(weights)
        if self.count == 1:
            return sum(g.flatten(1).square().sum(1) for g in gradients)[:, None, None]
        return sum(torch.bmm(g.flatten(2), g.flatten(2).transpose(1, 2)) for g in gradients)

    def structured(self, weights):
        """The same, layer by layer: <patches, patches> x <cotangents, cotangents>."""
        batch, states = len(weights[0]), []
        for index, (layer, w) in enumerate(zip(self.layers, weights)):
            if index == 0:
                columns, h = None, (w.view(-1, layer.fan_in) @ self.first).view(batch, layer.outputs, -1)
            else:
                columns = self.columns(layer, a)
                h = torch.bmm(w, columns) if index + 1 < len(self.layers) else None
            if h is not None:
                h = layer.scale * h
                a = layer.activation(h)
            states.append((columns, h))
        last = self.layers[-1]
        kernel, d = 0, torch.full((batch, 1, self.count * last.side**2), 1 / last.side**2)
        for index in range(len(self.layers) - 1, -1, -1):
            layer, (columns, h) = self.layers[index], states[index]
            kernel = kernel + layer.scale**2 * self.contribution(layer, columns, d)
            if index > 0:
                d = self.spread(layer, layer.scale * torch.bmm(weights[index].transpose(1, 2), d))
                d = d * self.layers[index - 1].slope(states[index - 1][1])
        return kernel

    def columns(self, layer, a):
        """Patches of batch x channels x (inputs, positions), in the same order."""
        if layer.kernel == 1:
            return a
        batch, channels, _ = a.shape
        maps = a.view(batch, channels, self.count, -1).transpose(1, 2)
        maps = maps.reshape(-1, channels, layer.side_in, layer.side_in)
        patches = layer.patches(maps).view(batch, self.count, layer.fan_in, -1)
        return patches.transpose(1, 2).reshape(batch, layer.fan_in, -1)

    def spread(self, layer, d):
        """The transpose of `columns`."""
        if layer.kernel == 1:
            return d
        batch = len(d)
        d = d.view(batch, layer.fan_in, self.count, -1).transpose(1, 2).reshape(batch * self.count, layer.fan_in, -1)
        maps = layer.gathered(d).view(batch, self.count, layer.inputs, -1)
        return maps.transpose(1, 2).reshape(batch, layer.inputs, -1)

    def contribution(self, layer, columns, d):
        if columns is None:
            products = torch.matmul(d.transpose(1, 2), d) * self.first_gram
        else:
            products = torch.bmm(d.transpose(1, 2), d) * torch.bmm(columns.transpose(1, 2), columns)
        positions = layer.side**2
        return products.view(-1, self.count, positions, self.count, positions).sum((2, 4))


def agreement(chain):
    """Raise unless both forms agree weight for weight to 1e-3 (float32 over thousands of terms)."""
    weights = chain.draw(3)
    a, b = chain.torch_func(weights), chain.structured(weights)
    error = ((a - b).abs().amax((1, 2)) / a.abs().amax((1, 2))).max().item()
    if not error < 1e-3:
        raise AssertionError(f"{chain.name}: the two forms differ by {error:.2e}, more than 1e-3")


def off_diagonal(chain, draws=4000):
    """Mean of K(x_1, x_2), as further keys."""
    if chain.count == 1:
        return {}
    values = numpy.concatenate([chain.structured(chain.draw(100))[:, 0, 1].numpy() for _ in range(draws // 100)])
    return {"off_diagonal": float(values.mean()), "off_diagonal_standard_error": float(values.std() / math.sqrt(values.size))}


def alone(chain, kernels):
    return lambda batch: lambda: kernels(chain.draw(batch))[:, 0, 0].numpy()


def worker_per_thread(chain, kernels, threads):
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    generators = [torch.Generator().manual_seed(seed) for seed in range(threads)]

    def task_of_batch(batch):
        work = lambda generator: kernels(chain.draw(batch, generator))[:, 0, 0].numpy()
        return lambda: numpy.concatenate(list(pool.map(work, generators)))

    return task_of_batch


def main():
    options = parser(__doc__).parse_args()
    start(options)
    for name in MODULES:
        chain = Chain(name)
        agreement(chain)
        # From one draw at a time (a loop) to weights of 32 MB.
        batches = sorted({1, *(max(1, normals // chain.normals) for normals in (2**17, 2**19, 2**21, 2**23))})
        for form, kernels in {"torch_func": chain.torch_func, "structured": chain.structured}.items():
            if wanted(options, name, form):
                time_draws("torch", form, 64, alone(chain, kernels), batches, module=name, **off_diagonal(chain))
            if wanted(options, name, f"{form}_workers"):
                task = worker_per_thread(chain, kernels, options.threads)
                # Draws of all workers together.
                each = lambda batch, task=task: task(max(1, batch // options.threads))
                even = sorted({max(options.threads, batch - batch % options.threads) for batch in batches})
                time_draws("torch", f"{form}_workers", 64, each, even, module=name)
                torch.set_num_threads(options.threads)


if __name__ == "__main__":
    main()
