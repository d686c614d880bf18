"""The networks and inputs of the full-kernel benchmarks, as numpy arrays, so that every rival computes the same kernel.

All in the NTK parametrisation: weights N(0, 1), each layer's output times its scale; no biases, no norms.
"""

import math

import numpy

FC_WIDTH, FC_POINTS = 1000, 100

CONV_POINTS, CONV_SIDE, CONV_OUTPUTS = 16, 16, 10
# name, outputs, inputs of a group, kernel side, groups: a stem and two blocks of 1x1, 3x3 in 4
# groups of 8 channels, 1x1
CONV_LAYERS = [
    ("stem", 16, 3, 3, 1),
    ("block1-reduce", 32, 16, 1, 1),
    ("block1-grouped", 32, 8, 3, 4),
    ("block1-expand", 16, 32, 1, 1),
    ("block2-reduce", 32, 16, 1, 1),
    ("block2-grouped", 32, 8, 3, 4),
    ("block2-expand", 16, 32, 1, 1),
]


def fc(inputs):
    """Weights (fan-in x outputs) of four layers with one output, their scales, and 100 inputs."""
    generator = numpy.random.default_rng(inputs)
    sizes = [inputs, FC_WIDTH, FC_WIDTH, FC_WIDTH, 1]
    weights = [generator.standard_normal(shape, dtype=numpy.float32) for shape in zip(sizes, sizes[1:])]
    scales = [math.sqrt((2 if layer < 3 else 1) / fan_in) for layer, fan_in in enumerate(sizes[:-1])]
    return weights, scales, generator.standard_normal((FC_POINTS, inputs), dtype=numpy.float32)


def conv():
    """Weights (outputs, inputs of a group, 3, 3) with the classifier (16 x 10) last, their scales, 16 images NCHW."""
    generator = numpy.random.default_rng(0)
    weights, scales = [], []
    for _, outputs, inputs, side, _ in CONV_LAYERS:
        weights.append(generator.standard_normal((outputs, inputs, side, side), dtype=numpy.float32))
        scales.append(math.sqrt(2 / (inputs * side * side)))
    channels = CONV_LAYERS[-1][1]
    weights.append(generator.standard_normal((channels, CONV_OUTPUTS), dtype=numpy.float32))
    scales.append(math.sqrt(1 / channels))
    images = generator.standard_normal((CONV_POINTS, 3, CONV_SIDE, CONV_SIDE), dtype=numpy.float32)
    return weights, scales, images


def summary(kernel):
    """Two numbers by which the rivals' kernels can be told equal: the trace and the sum of all entries."""
    kernel = numpy.asarray(kernel, dtype=numpy.float64)
    return {"trace": float(numpy.trace(kernel)), "sum": float(kernel.sum())}


def same(name, kernel, expected):
    """Raise unless two kernels agree to what float32 allows over a few thousand terms."""
    error = numpy.max(numpy.abs(numpy.asarray(kernel) - expected)) / numpy.max(numpy.abs(expected))
    if not error < 1e-3:
        raise AssertionError(f"{name} differs from the reference kernel by {error:.2e} of its largest entry, more than 1e-3")
