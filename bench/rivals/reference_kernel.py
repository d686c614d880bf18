"""The diagonal kernel entry of the bottleneck block at one output unit, from explicit weights in float64.

    1x1 convolution 256 -> n, ReLU, 3x3 convolution n -> n, ReLU, 1x1 convolution n -> 1

in the NTK parametrisation: weights N(0, 1), scales sqrt(2/256), sqrt(2/(9n)), sqrt(1/n). One output unit sees a 3x3
patch of the input, so x is 256 channels x 9 positions and the 3x3 convolution is one product with a matrix of n x 9n.

Every gradient is written out in full and squared: slow, with nothing clever to get wrong. The rivals check their kernel
functions against `kernel` weight for weight, and `--check FILE` compares the moments in their JSON lines with this
module's own draws.
"""

import argparse
import json
import math
import sys

import numpy

from measure import emit

CHANNELS, POSITIONS = 256, 9
WIDTHS = (1, 4, 16, 64, 256)


def scales(n):
    return math.sqrt(2 / CHANNELS), math.sqrt(2 / (POSITIONS * n)), math.sqrt(1 / n)


def fixed_input():
    """The one standard normal input every script uses, 256 x 9."""
    return numpy.random.default_rng(0).standard_normal((CHANNELS, POSITIONS))


def exact_mean(x):
    """E[K | x]: by sign symmetry each of the three layers contributes the mean square of the input."""
    return 3 * float(numpy.mean(x**2))


def normals_per_draw(n):
    return CHANNELS * n + POSITIONS * n * n + n


def draw(generator, n):
    """Weights of the three layers: n x 256, n x 9n (fan-in ordered channel, position), n."""
    return tuple(generator.standard_normal(shape) for shape in ((n, CHANNELS), (n, POSITIONS * n), (n,)))


def kernel(weights, x):
    """Squared norm of the gradient of the output with respect to all weights."""
    w1, w2, w3 = weights
    n = len(w3)
    s1, s2, s3 = scales(n)
    h1 = s1 * w1 @ x
    a1 = numpy.maximum(h1, 0).reshape(-1)
    h2 = s2 * w2 @ a1
    a2 = numpy.maximum(h2, 0)
    gradient3 = s3 * a2
    d2 = s3 * w3 * (h2 > 0)
    gradient2 = s2 * numpy.outer(d2, a1)
    d1 = s2 * (w2.T @ d2).reshape(n, POSITIONS) * (h1 > 0)
    gradient1 = s1 * d1 @ x.T
    return sum(float(numpy.sum(g**2)) for g in (gradient1, gradient2, gradient3))


def moments(values):
    """Mean and E[K^2]/E[K]^2, each with its standard error (the ratio's by the delta method)."""
    k = numpy.asarray(values, dtype=numpy.float64)
    mean = k.mean()
    ratio = numpy.mean(k**2) / mean**2
    influence = (k / mean) ** 2 - 2 * ratio * k / mean
    return {
        "mean": float(mean),
        "second_moment_ratio": float(ratio),
        "standard_error": float(influence.std() / math.sqrt(k.size)),
        "mean_standard_error": float(k.std() / math.sqrt(k.size)),
        "draws": int(k.size),
    }


def agreement(name, kernels, x, n, seed=1):
    """Raise unless `kernels(list of weights)` equals `kernel` on eight draws, to what float32 allows."""
    generator = numpy.random.default_rng(seed)
    draws = [draw(generator, n) for _ in range(8)]
    expected = numpy.array([kernel(weights, x) for weights in draws])
    obtained = numpy.asarray(kernels(draws), dtype=numpy.float64)
    # An accumulation of 256 n float32 products is good to about 1e-6; a unit whose pre-activation
    # is within that of zero could flip, so the seed is fixed.
    error = numpy.max(numpy.abs(obtained - expected)) / numpy.max(expected)
    if not error < 1e-4:
        raise AssertionError(f"{name} at width {n} differs from the float64 reference by {error:.2e}, more than 1e-4")


def reference(n, x, draws):
    generator = numpy.random.default_rng(2)
    return moments([kernel(draw(generator, n), x) for _ in range(draws)])


def check(path, references, mean):
    """Number of lines whose mean or second moment ratio is off by more than 4.5 standard errors of the difference.

    The ratio's law is skewed and its estimated error too small where few draws have met the tail, so both errors count.
    """
    wrong = 0
    with open(path, encoding="utf-8") as lines:
        results = [json.loads(line) for line in lines if line.startswith("{")]
    results = [result for result in results if result.get("width") in references and "second_moment_ratio" in result]
    if not results:
        raise SystemExit(f"{path}: no line with `width` and `second_moment_ratio` to check")
    for result in results:
        own = references[result["width"]]
        spread = math.hypot(result["standard_error"], own["standard_error"])
        ratio_off = (result["second_moment_ratio"] - own["second_moment_ratio"]) / spread
        mean_off = (result["mean"] - mean) / result["mean_standard_error"]
        agrees = abs(ratio_off) < 4.5 and abs(mean_off) < 4.5
        wrong += not agrees
        emit(rival=result["rival"], form=result["form"], width=result["width"], agrees=agrees,
             mean_off_in_standard_errors=mean_off, ratio_off_in_standard_errors=ratio_off)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=20000, help="draws a width; fewer where a draw is large")
    parser.add_argument("--check", metavar="FILE", help="compare a rival's JSON lines with the reference; 1 if they differ")
    arguments = parser.parse_args()
    x = fixed_input()
    references = {}
    for n in WIDTHS:
        draws = max(500, min(arguments.draws, 4 * 10**8 // normals_per_draw(n)))
        references[n] = reference(n, x, draws)
        emit(rival="numpy", form="explicit_float64", width=n, exact_mean=exact_mean(x), **references[n])
    if arguments.check:
        sys.exit(1 if check(arguments.check, references, exact_mean(x)) else 0)


if __name__ == "__main__":
    main()
