"""neural-tangents' batched path: the N x N empirical kernel of a fully connected network, tile by tile.

Four weight matrices, width 1000, 784 inputs, one output, as `collegial ntk fc4-1000`; `--points N`, `--tile SIDE`.
"""

import time
from functools import partial

import jax_common


def flags(arguments):
    arguments.add_argument("--points", type=int, default=2000, help="inputs of the kernel (default 2000)")
    arguments.add_argument("--tile", type=int, default=250, help="inputs of a batch, a divisor of --points (default 250)")


OPTIONS = jax_common.start(__doc__, flags)

import jax.numpy as jnp
import neural_tangents as nt
import numpy
from jax import jit
from jax.nn import relu

import ntk_networks
from measure import emit, failure, wanted


def network(scales, weights, x):
    for layer, (w, s) in enumerate(zip(weights, scales)):
        x = s * ((relu(x) if layer else x) @ w)
    return x


def main():
    arrays, scales, _ = ntk_networks.fc(784)
    weights = [jnp.asarray(array) for array in arrays]
    x = jnp.asarray(numpy.random.default_rng(1).standard_normal((OPTIONS.points, 784), dtype=numpy.float32))
    for mode in nt.NtkImplementation:
        if mode.name == "AUTO" or not wanted(OPTIONS, mode.name.lower()):
            continue
        kernel = jit(nt.empirical_ntk_fn(partial(network, scales), trace_axes=(-1,), vmap_axes=0, implementation=mode))
        batched = nt.batch(kernel, batch_size=OPTIONS.tile, device_count=0)
        try:
            batched(x[: OPTIONS.tile], None, weights)  # compiles
            batched(x[: OPTIONS.tile], x[: OPTIONS.tile], weights)
            start = time.perf_counter()
            matrix = numpy.asarray(batched(x, None, weights))
            seconds = time.perf_counter() - start
        except (NotImplementedError, TypeError, ValueError, RuntimeError) as error:
            emit(rival="jax", form=mode.name.lower(), error=failure(error))
            continue
        emit(rival="jax", form=mode.name.lower(), points=OPTIONS.points, tile=OPTIONS.tile, seconds=seconds,
             **ntk_networks.summary(matrix))


if __name__ == "__main__":
    main()
