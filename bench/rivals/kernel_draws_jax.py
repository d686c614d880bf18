"""JAX and neural-tangents: draws per second of the bottleneck block's diagonal kernel entry, weights drawn included."""

import numpy

import jax_common

OPTIONS = jax_common.start(__doc__)

import jax
import jax.numpy as jnp
import neural_tangents as nt
from jax import grad, jit, lax, random, vmap
from jax.nn import relu

from draws import batches, time_draws
from measure import emit, failure, wanted
from reference_kernel import CHANNELS, POSITIONS, WIDTHS, agreement, fixed_input, scales

X = jnp.asarray(fixed_input(), dtype=jnp.float32)
GRAM = X.T @ X
# "rbg" is JAX's faster generator; threefry, the default, is timed too.
GENERATORS = ("threefry2x32", "rbg")


def shapes(n):
    return (n, CHANNELS), (n, POSITIONS * n), (n,)


def draw(key, n, batch=None):
    leading = () if batch is None else (batch,)
    return tuple(random.normal(k, leading + shape) for k, shape in zip(random.split(key, 3), shapes(n)))


def matrices(weights, x):
    """The block on a single patch, where its convolutions are matrix products."""
    w1, w2, w3 = weights
    s1, s2, s3 = scales(len(w3))
    a1 = relu(s1 * (w1 @ x)).reshape(-1)
    a2 = relu(s2 * (w2 @ a1))
    return s3 * (w3 @ a2)


def convolutions(weights, x):
    """The block as its user would write it, for inputs of batch x 3 x 3 x 256: batch x 1."""
    w1, w2, w3 = weights
    n = len(w3)
    s1, s2, s3 = scales(n)

    def convolve(h, w):
        return lax.conv_general_dilated(h, w, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    a1 = relu(convolve(x, s1 * w1.T.reshape(1, 1, CHANNELS, n)))
    a2 = relu(convolve(a1, s2 * w2.reshape(n, n, 3, 3).transpose(2, 3, 1, 0)))
    return convolve(a2, s3 * w3.reshape(1, 1, n, 1)).reshape(-1, 1)


def by_gradient(weights):
    gradients = grad(matrices)(weights, X)
    return sum(jnp.sum(g * g) for g in gradients)


def closed_form(weights):
    """Sum over the layers of <inputs, inputs> x <cotangents, cotangents>, batched over draws."""
    w1, w2, w3 = weights
    batch, n = w3.shape
    s1, s2, s3 = scales(n)
    h1 = s1 * (w1.reshape(batch * n, CHANNELS) @ X).reshape(batch, n * POSITIONS)
    a1 = relu(h1)
    h2 = s2 * jnp.einsum("boi,bi->bo", w2, a1)
    d2 = s3 * w3 * (h2 > 0)
    d1 = s2 * jnp.einsum("bo,boi->bi", d2, w2) * (h1 > 0)
    by_position = d1.reshape(batch * n, POSITIONS)
    k1 = s1**2 * ((by_position @ GRAM) * by_position).reshape(batch, -1).sum(1)
    k2 = s2**2 * (a1**2).sum(1) * (d2**2).sum(1)
    k3 = s3**2 * (relu(h2) ** 2).sum(1)
    return k1 + k2 + k3


def by_neural_tangents(network, x, implementation):
    kernel = nt.empirical_ntk_fn(network, trace_axes=(-1,), vmap_axes=0, implementation=implementation)
    return lambda weights: kernel(x, None, weights)[0, 0]


def forms():
    """Name -> function of batched weights; each is timed inside one jit together with the draw of the weights."""
    modes = nt.NtkImplementation
    column = X.T.reshape(1, 3, 3, CHANNELS)

    def matrix_network(weights, x):
        return matrices(weights, x[0])[None, None]

    table = {"vmap_grad": vmap(by_gradient), "closed_form": closed_form}
    for mode in (modes.JACOBIAN_CONTRACTION, modes.NTK_VECTOR_PRODUCTS, modes.STRUCTURED_DERIVATIVES):
        name = mode.name.lower()
        table[f"neural_tangents_{name}"] = vmap(by_neural_tangents(convolutions, column, mode))
        table[f"neural_tangents_{name}_matmul"] = vmap(by_neural_tangents(matrix_network, X[None], mode))
    return table


def check(name, kernels, n):
    def on_list(draws):
        return jit(kernels)(tuple(jnp.asarray(numpy.stack(w), dtype=jnp.float32) for w in zip(*draws)))

    agreement(f"jax {name}", on_list, fixed_input(), n)


def on_one_device(kernels, n, generator):
    """Draw and kernel in one jit; each call takes a key split off beforehand."""

    def task_of_batch(batch):
        run = jit(lambda key: kernels(draw(key, n, batch)))
        keys = key_stream(generator)
        return lambda: numpy.asarray(run(next(keys)))

    return task_of_batch


def on_every_device(kernels, n, generator):
    """One virtual device a thread: XLA's batched products and its generator are mostly serial."""
    devices = jax.local_device_count()

    def task_of_batch(batch):
        share = max(1, batch // devices)
        run = jax.pmap(lambda key: kernels(draw(key, n, share)))
        keys = key_stream(generator)
        return lambda: numpy.asarray(run(random.split(next(keys), devices))).reshape(-1)

    return task_of_batch


def key_stream(generator):
    seed = 0
    while True:
        yield random.key(seed, impl=generator)
        seed += 1


def main():
    for n in WIDTHS:
        for name, kernels in forms().items():
            for generator in GENERATORS:
                for suffix, place in (("", on_one_device), ("_pmap", on_every_device)):
                    label = f"{name}{suffix}"
                    if not wanted(OPTIONS, label, generator, f"n={n}"):
                        continue
                    try:
                        check(name, kernels, n)
                        time_draws("jax", f"{label} {generator}", n, place(kernels, n, generator), batches(n))
                    except (NotImplementedError, TypeError, ValueError, RuntimeError) as error:
                        emit(rival="jax", form=f"{label} {generator}", width=n, error=failure(error))


if __name__ == "__main__":
    main()
