"""The kernel of `collegial ntk` against neural-tangents on the same weights and inputs; exit 1 where they differ.

Run with the environment of bench/setup: bench/.venv-jax/bin/python interop/ntk_jax.py
"""

import json
import math
import pathlib
import struct
import sys
import tempfile

import common
import jax
import jax.numpy as jnp
import neural_tangents as nt
import numpy
from jax.nn import relu

TOLERANCE = 1e-4

jax.config.update("jax_enable_x64", True)


def load_safetensors(path):
    """The format is a length, a JSON table and the bytes; the environment of neural-tangents has no package for it."""
    file = path.read_bytes()
    (length,) = struct.unpack("<Q", file[:8])
    table, body = json.loads(file[8 : 8 + length]), file[8 + length :]
    table.pop("__metadata__", None)
    array = lambda entry: numpy.frombuffer(body[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
    return {name: array(entry) for name, entry in table.items()}


def main(folder):
    weights, inputs, kernel = common.drawn(folder, ["fc4-200", "--inputs", 30, "--outputs", 1], 20, 1)
    tensors = load_safetensors(weights)
    parameters = [jnp.asarray(tensors[f"fc{layer}.weight"], dtype=jnp.float64) for layer in range(1, 5)]

    def network(parameters, x):
        for layer, weight in enumerate(parameters):
            gain = 2 if layer < 3 else 1
            x = math.sqrt(gain / weight.shape[1]) * (relu(x) if layer else x) @ weight.T
        return x

    empirical = nt.empirical_ntk_fn(
        network, trace_axes=(-1,), vmap_axes=0, implementation=nt.NtkImplementation.STRUCTURED_DERIVATIVES)
    expected = empirical(jnp.asarray(numpy.load(inputs)), None, parameters)
    gap = common.difference(numpy.load(kernel), expected)
    print(f"largest relative difference {gap:.1e}, {TOLERANCE:.0e} is allowed")
    return 0 if gap <= TOLERANCE else 1


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(main(pathlib.Path(folder)))
