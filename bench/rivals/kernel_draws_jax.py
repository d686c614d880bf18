"""JAX and neural-tangents: draws per second of the bottleneck block's diagonal kernel entry, weights drawn included."""

import itertools

import numpy

import jax_common

OPTIONS = jax_common.start(__doc__)

import jax.numpy as jnp
import neural_tangents as nt
from jax import grad, jit, random, vmap
from jax.nn import relu

from draws import batches, time_draws
from measure import emit, failure, seconds_per_call, wanted
from reference_kernel import CHANNELS, POSITIONS, WIDTHS, agreement, fixed_input, scales

X = jnp.asarray(fixed_input(), dtype=jnp.float32)
GRAM = X.T @ X
# Which of the two is faster depends on the form and the width. (One virtual device a thread, with
# pmap, gains nothing.)
GENERATORS = ("threefry2x32", "rbg")
SEEDS = itertools.count()


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


def by_neural_tangents(implementation):
    """Their kernel of the same matrix products, which are twice as fast here as `lax.conv_general_dilated`."""

    def network(weights, x):
        return matrices(weights, x[0])[None, None]

    kernel = nt.empirical_ntk_fn(network, trace_axes=(-1,), vmap_axes=0, implementation=implementation)
    return lambda weights: kernel(X[None], None, weights)[0, 0]


MODES = nt.NtkImplementation
# Functions of batched weights; each is timed inside one jit together with the draw of the weights.
FORMS = {
    "vmap_grad": vmap(by_gradient),
    "closed_form": closed_form,
    "neural_tangents_jacobian_contraction": vmap(by_neural_tangents(MODES.JACOBIAN_CONTRACTION)),
    "neural_tangents_ntk_vector_products": vmap(by_neural_tangents(MODES.NTK_VECTOR_PRODUCTS)),
    "neural_tangents_structured_derivatives": vmap(by_neural_tangents(MODES.STRUCTURED_DERIVATIVES)),
}


def check(name, kernels, n):
    def on_list(draws):
        return jit(kernels)(tuple(jnp.asarray(numpy.stack(w), dtype=jnp.float32) for w in zip(*draws)))

    agreement(f"jax {name}", on_list, fixed_input(), n)


def timed(kernels, n, generator):
    """Draw and kernel in one jit; no key is ever used twice, so that all draws are independent."""

    def task_of_batch(batch):
        run = jit(lambda key: kernels(draw(key, n, batch)))
        return lambda: numpy.asarray(run(random.key(next(SEEDS), impl=generator)))

    return task_of_batch


def quicker_generator(kernels, n):
    """The generator that is better at a middling batch."""
    batch = batches(n)[len(batches(n)) // 2]

    def seconds(generator):
        run = timed(kernels, n, generator)(batch)
        run()
        return seconds_per_call(run, repetitions=2, seconds=0.1)

    return min(GENERATORS, key=seconds)


def main():
    for n, (name, kernels) in itertools.product(WIDTHS, FORMS.items()):
        if not wanted(OPTIONS, name, f"n={n}"):
            continue
        try:
            check(name, kernels, n)
            generator = quicker_generator(kernels, n)
            time_draws("jax", name, n, timed(kernels, n, generator), batches(n), generator=generator)
        except (NotImplementedError, TypeError, ValueError, RuntimeError) as error:
            emit(rival="jax", form=name, width=n, error=failure(error))


if __name__ == "__main__":
    main()
