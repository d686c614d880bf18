"""PyTorch: the full N x N empirical kernel of fully connected networks and of a small grouped-convolution network."""

import numpy
import torch
from torch.func import grad, jacrev, vmap
from torch.nn.functional import conv2d, relu

import ntk_networks
from measure import emit, failure, fastest, parser, wanted
from torch_common import sgemm_gflops, sgemm_task, start


def contraction(jacobians):
    """Sum over the weights of J J^T, J flattened to one row a point: outputs, if any, are traced over."""
    return sum(j.flatten(1) @ j.flatten(1).T for j in jacobians)


def fc_forms(inputs):
    arrays, scales, points = ntk_networks.fc(inputs)
    weights, x = tuple(map(torch.from_numpy, arrays)), torch.from_numpy(points)

    def network(weights, x):
        for layer, (w, s) in enumerate(zip(weights, scales)):
            x = s * ((relu(x) if layer else x) @ w)
        return x[0]

    def closed_form():
        """Sum over the layers of <inputs, inputs'> x <cotangents, cotangents'>."""
        ins, h = [], x
        for layer, (w, s) in enumerate(zip(weights, scales)):
            ins.append(relu(h) if layer else h)
            h = s * (ins[-1] @ w)
        kernel, d = 0, torch.ones(len(x), 1)
        for a, w, s in reversed(list(zip(ins, weights, scales))):
            kernel = kernel + s * s * (a @ a.T) * (d @ d.T)
            d = s * (d @ w.T) * (a > 0)
        return kernel

    per_point = vmap(grad(network), in_dims=(None, 0))
    return {"closed_form": closed_form, "vmap_grad": lambda: contraction(per_point(weights, x))}


def conv_network(weights, scales, x):
    """Outputs of a batch of images."""

    def convolve(layer, h):
        _, _, _, side, groups = ntk_networks.CONV_LAYERS[layer]
        return scales[layer] * conv2d(h, weights[layer], padding=side // 2, groups=groups)

    h = relu(convolve(0, x))
    for first in (1, 4):
        inner = relu(convolve(first + 1, relu(convolve(first, h))))
        h = relu(convolve(first + 2, inner) + h)
    return scales[-1] * (h.mean((2, 3)) @ weights[-1])


def conv_forms():
    """Gradients of every image and output at once. (Patches x cotangents layer by layer takes two to three times as long.)"""
    arrays, scales, points = ntk_networks.conv()
    weights, x = tuple(map(torch.from_numpy, arrays)), torch.from_numpy(points)
    per_point = vmap(jacrev(lambda weights, image: conv_network(weights, scales, image[None])[0]), in_dims=(None, 0))
    return {"vmap_jacrev": lambda: contraction(per_point(weights, x))}


def compiled(forms, *names):
    """The forms, and those named once more through inductor."""
    return forms | {f"{name}_compiled": torch.compile(forms[name], dynamic=False) for name in names}


CASES = {
    "fc-2": lambda: compiled(fc_forms(2), "closed_form", "vmap_grad"),
    "fc-784": lambda: compiled(fc_forms(784), "closed_form", "vmap_grad"),
    "conv": lambda: compiled(conv_forms(), "vmap_jacrev"),
}


def main():
    options = parser(__doc__).parse_args()
    start(options)
    for case, build in CASES.items():
        tasks, kernels, reference = {"sgemm": sgemm_task()}, {}, None
        for form, run in build().items():
            try:
                if reference is None:
                    reference = numpy.asarray(run())
                if wanted(options, case, form):
                    kernels[form] = run()
                    ntk_networks.same(f"{case} {form}", kernels[form], reference)
                    tasks[form] = run
            except (RuntimeError, torch._dynamo.exc.TorchDynamoException) as error:
                emit(rival="torch", case=case, form=form, error=failure(error))
        if len(tasks) == 1:
            continue
        best = fastest(tasks, repetitions=15, warmups=1, seconds=options.seconds or 10)
        sgemm = sgemm_gflops(best.pop("sgemm"))
        for form, seconds in best.items():
            emit(rival="torch", case=case, form=form, milliseconds=seconds * 1e3, sgemm_gflops=sgemm,
                 **ntk_networks.summary(kernels[form]))


if __name__ == "__main__":
    with torch.no_grad():
        main()
