"""The kernel of `collegial ntk` against neural-tangents on the same weights and inputs.

Run with the environment of bench/setup: bench/.venv-jax/bin/python interop/ntk_jax.py
"""

import json
import math
import struct

import jax
import jax.numpy as jnp
import neural_tangents as nt
import numpy
from jax.nn import relu

import common

jax.config.update("jax_enable_x64", True)


def load_safetensors(path):
    """The format is a length, a JSON table and the bytes; the environment of neural-tangents has no package for it."""
    file = path.read_bytes()
    (length,) = struct.unpack("<Q", file[:8])
    table, body = json.loads(file[8 : 8 + length]), file[8 + length :]
    table.pop("__metadata__", None)
    array = lambda entry: numpy.frombuffer(body[slice(*entry["data_offsets"])], "<f4").reshape(entry["shape"])
    return {name: array(entry) for name, entry in table.items()}


def fc_case(program, folder):
    weights, inputs, kernel = common.drawn(program, folder, ["fc4-200", "--inputs", 30, "--outputs", 1], 20, 1)
    tensors = load_safetensors(weights)
    parameters = [jnp.asarray(tensors[f"fc{layer}.weight"], dtype=jnp.float64) for layer in range(1, 5)]

    def network(parameters, x):
        for layer, weight in enumerate(parameters):
            gain = 2 if layer < 3 else 1
            x = math.sqrt(gain / weight.shape[1]) * (relu(x) if layer else x) @ weight.T
        return x

    empirical = nt.empirical_ntk_fn(
        network, trace_axes=(-1,), vmap_axes=0, implementation=nt.NtkImplementation.STRUCTURED_DERIVATIVES)
    return common.difference(kernel, empirical(jnp.asarray(numpy.load(inputs)), None, parameters))


def main():
    program = common.options(__doc__).collegial
    common.report([("neural-tangents: fully connected, L = 4", lambda folder: fc_case(program, folder))])


if __name__ == "__main__":
    main()
