"""JAX: draws per second of the bottleneck block's kernel entry on a whole 8x8 image, weights drawn included.

`vmap_grad` is the block as it is, with 256 outputs of which one is read; the other form is cut down by hand to that one."""

import itertools

import numpy

import jax_common

OPTIONS = jax_common.start(__doc__)

import jax.numpy as jnp
from jax import grad, jit, lax, random, vmap
from jax.nn import relu

from block_kernel import SIDE, WIDTHS, agreement, fixed_image
from draws import batches, time_draws
from measure import wanted
from reference_kernel import CHANNELS, POSITIONS, scales

# Images NHWC, weights HWIO: the layout XLA's CPU convolutions are made for.
X = jnp.asarray(fixed_image().T.reshape(1, SIDE, SIDE, CHANNELS), dtype=jnp.float32)
SEEDS = itertools.count()


def network(weights):
    w1, w2, w3 = weights
    n = len(w1)
    s1, s2, s3 = scales(n)

    def convolve(h, w):
        return lax.conv_general_dilated(h, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    a1 = relu(convolve(X, s1 * w1.T.reshape(1, 1, CHANNELS, n)))
    a2 = relu(convolve(a1, s2 * w2.reshape(n, n, 3, 3).transpose(2, 3, 1, 0)))
    return convolve(a2, s3 * w3.T.reshape(1, 1, n, -1))[..., 0].mean()


def by_gradient(weights):
    return sum(jnp.sum(g * g) for g in grad(network)(weights))


def drawn_and_computed(n, outputs, generator):
    """Draw and kernel in one jit; no key is ever used twice."""
    shapes = ((n, CHANNELS), (n, POSITIONS * n), (*outputs, n))

    def one(key):
        return by_gradient(tuple(random.normal(k, shape) for k, shape in zip(random.split(key, 3), shapes)))

    def task_of_batch(batch):
        run = jit(lambda key: vmap(one)(random.split(key, batch)))
        return lambda: numpy.asarray(run(random.key(next(SEEDS), impl=generator)))

    return task_of_batch


def with_other_outputs(weights):
    """The weights of the unit that is read, among those of the block's other outputs."""
    w1, w2, w3 = weights
    others = random.normal(random.key(0), (len(w3), CHANNELS - 1, w3.shape[1]))
    return w1, w2, jnp.concatenate([w3[:, None], others], 1)


def main():
    for n in WIDTHS:
        for name, outputs in {"vmap_grad": (CHANNELS,), "vmap_grad_one_output": ()}.items():
            if wanted(OPTIONS, name, f"n={n}"):
                stack = lambda drawn: tuple(jnp.asarray(numpy.stack(w), dtype=jnp.float32) for w in zip(*drawn))
                whole = with_other_outputs if outputs else lambda weights: weights
                agreement(f"jax {name}", lambda drawn: jit(vmap(by_gradient))(whole(stack(drawn))), n)
                time_draws("jax", name, n, drawn_and_computed(n, outputs, "threefry2x32"), batches(n)[:3])


if __name__ == "__main__":
    main()
