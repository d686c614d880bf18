"""The diagonal kernel entry of the bottleneck block on a whole image, from explicit weights in float64.

    1x1 convolution 256 -> n, ReLU, 3x3 convolution n -> n with padding 1, ReLU, 1x1 convolution n -> 1, average over 8x8

in the parametrisation and with the layout of weights of `reference_kernel`. Gradients are written out in full; the rivals check
their functions against `kernel` weight for weight.
"""

import numpy

from reference_kernel import CHANNELS, draw, scales

SIDE = 8
WIDTHS = (10, 64)


def fixed_image():
    """The one standard normal image every script uses, 256 x 64."""
    return numpy.random.default_rng(0).standard_normal((CHANNELS, SIDE * SIDE))


def patches(a):
    """The 3x3 neighbourhoods of n x 8 x 8, zeros outside: 9n (channel, position) x 64."""
    padded = numpy.pad(a, ((0, 0), (1, 1), (1, 1)))
    shifted = [padded[:, i : i + SIDE, j : j + SIDE] for i in range(3) for j in range(3)]
    return numpy.stack(shifted, 1).reshape(-1, SIDE * SIDE)


def gather(d):
    """The transpose of `patches`."""
    d = d.reshape(-1, 3, 3, SIDE, SIDE)
    padded = numpy.zeros((len(d), SIDE + 2, SIDE + 2))
    for i in range(3):
        for j in range(3):
            padded[:, i : i + SIDE, j : j + SIDE] += d[:, i, j]
    return padded[:, 1:-1, 1:-1].reshape(-1, SIDE * SIDE)


def kernel(weights, x):
    """Squared norm of the gradient of the output with respect to all weights."""
    w1, w2, w3 = weights
    n = len(w3)
    s1, s2, s3 = scales(n)
    h1 = s1 * w1 @ x
    columns = patches(numpy.maximum(h1, 0).reshape(n, SIDE, SIDE))
    h2 = s2 * w2 @ columns
    gradient3 = s3 * numpy.maximum(h2, 0).mean(1)
    d2 = s3 / SIDE**2 * w3[:, None] * (h2 > 0)
    gradient2 = s2 * d2 @ columns.T
    d1 = s2 * gather(w2.T @ d2) * (h1 > 0)
    gradient1 = s1 * d1 @ x.T
    return sum(float(numpy.sum(g**2)) for g in (gradient1, gradient2, gradient3))


def agreement(name, kernels, n):
    """Raise unless `kernels`, a function of a list of draws, agrees with `kernel` to 1e-3 (float32 over thousands of terms)."""
    generator = numpy.random.default_rng(1)
    drawn = [draw(generator, n) for _ in range(5)]
    expected = numpy.array([kernel(weights, fixed_image()) for weights in drawn])
    error = numpy.max(numpy.abs(numpy.asarray(kernels(drawn)) / expected - 1))
    if not error < 1e-3:
        raise AssertionError(f"{name} at n = {n} differs from the reference kernel by {error:.2e}, more than 1e-3")
