"""JAX and neural-tangents: the full N x N empirical kernel of fully connected and of a small grouped-convolution network."""

import contextlib
import sys

import jax_common

OPTIONS = jax_common.start(__doc__)

import jax.numpy as jnp
import neural_tangents as nt
import numpy
from jax import jit, lax
from jax.nn import relu

import ntk_networks
from measure import emit, failure, fastest, wanted


def fc_network(scales):
    def network(weights, x):
        for layer, (w, s) in enumerate(zip(weights, scales)):
            x = s * ((relu(x) if layer else x) @ w)
        return x

    return network


def fc_closed_form(scales):
    def kernel(x, weights):
        """Sum over the layers of <inputs, inputs'> x <cotangents, cotangents'>."""
        ins, h = [], x
        for layer, (w, s) in enumerate(zip(weights, scales)):
            ins.append(relu(h) if layer else h)
            h = s * (ins[-1] @ w)
        total, d = 0.0, jnp.ones((len(x), 1))
        for a, w, s in reversed(list(zip(ins, weights, scales))):
            total = total + s * s * (a @ a.T) * (d @ d.T)
            d = s * (d @ w.T) * (a > 0)
        return total

    return kernel


def conv_network(scales):
    """Images NHWC, weights HWIO: the layout XLA's CPU convolutions are made for."""

    def network(weights, x):
        def convolve(layer, h):
            groups = ntk_networks.CONV_LAYERS[layer][4]
            return scales[layer] * lax.conv_general_dilated(
                h, weights[layer], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=groups)

        h = relu(convolve(0, x))
        for first in (1, 4):
            inner = relu(convolve(first + 1, relu(convolve(first, h))))
            h = relu(convolve(first + 2, inner) + h)
        return scales[-1] * (h.mean((1, 2)) @ weights[-1])

    return network


def neural_tangents_forms(network, outputs):
    """Their four modes; they divide the trace by the number of outputs, which is undone."""
    table = {}
    for mode in nt.NtkImplementation:
        kernel = nt.empirical_ntk_fn(network, trace_axes=(-1,), vmap_axes=0, implementation=mode)
        table[f"neural_tangents_{mode.name.lower()}"] = (
            lambda x, weights, kernel=kernel: outputs * kernel(x, None, weights))
    return table


def fc_case(inputs):
    arrays, scales, points = ntk_networks.fc(inputs)
    forms = {"closed_form": fc_closed_form(scales)} | neural_tangents_forms(fc_network(scales), 1)
    return forms, jnp.asarray(points), [jnp.asarray(array) for array in arrays]


def conv_case():
    (*kernels, classifier), scales, images = ntk_networks.conv()
    weights = [jnp.asarray(array.transpose(2, 3, 1, 0)) for array in kernels] + [jnp.asarray(classifier)]
    forms = neural_tangents_forms(conv_network(scales), ntk_networks.CONV_OUTPUTS)
    return forms, jnp.asarray(images.transpose(0, 2, 3, 1)), weights


CASES = {
    "fc-2": lambda: fc_case(2),
    "fc-784": lambda: fc_case(784),
    "conv": conv_case,
}


def main():
    for case, build in CASES.items():
        forms, x, weights = build()
        tasks, kernels, reference = {}, {}, None
        for form, kernel in forms.items():
            if not wanted(OPTIONS, case, form):
                continue
            run = jit(kernel)
            try:
                # The automatic mode prints the costs it compared; stdout is for results.
                with contextlib.redirect_stdout(sys.stderr):
                    kernels[form] = numpy.asarray(run(x, weights))
                reference = kernels[form] if reference is None else reference
                ntk_networks.same(f"{case} {form}", kernels[form], reference)
                tasks[form] = lambda run=run: run(x, weights).block_until_ready()
            except (NotImplementedError, TypeError, ValueError, RuntimeError) as error:
                emit(rival="jax", case=case, form=form, error=failure(error))
        for form, seconds in fastest(tasks, repetitions=15, warmups=1, seconds=OPTIONS.seconds or 10).items():
            emit(rival="jax", case=case, form=form, milliseconds=seconds * 1e3, **ntk_networks.summary(kernels[form]))


if __name__ == "__main__":
    main()
