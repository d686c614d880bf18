"""PyTorch: draws per second of the bottleneck block's kernel entry on a whole 8x8 image, weights drawn included.

`vmap_grad` is the block as it is, with 256 outputs of which one is read; the other forms are cut down by hand to that one."""

import numpy
import torch
from torch.func import grad, vmap
from torch.nn.functional import conv2d, fold, relu, unfold

from block_kernel import SIDE, WIDTHS, agreement, fixed_image
from draws import batches, time_draws
from measure import parser, wanted
from reference_kernel import CHANNELS, POSITIONS, scales
from torch_common import start

X = torch.tensor(fixed_image(), dtype=torch.float32)
GRAM = X.T @ X


def draw(batch, n, *outputs):
    return tuple(torch.randn(batch, *shape) for shape in ((n, CHANNELS), (n, POSITIONS * n), (*outputs, n)))


def network(weights):
    """The block as its user would write it."""
    w1, w2, w3 = weights
    n = w3.shape[-1]
    s1, s2, s3 = scales(n)
    a1 = relu(conv2d(X.view(1, CHANNELS, SIDE, SIDE), s1 * w1.view(n, CHANNELS, 1, 1)))
    a2 = relu(conv2d(a1, s2 * w2.view(n, n, 3, 3), padding=1))
    return conv2d(a2, s3 * w3.view(-1, n, 1, 1))[0, 0].mean()


GRADIENTS = vmap(grad(network))


def by_gradient(weights):
    return sum(g.flatten(1).square().sum(1) for g in GRADIENTS(weights))


def closed_form(weights):
    """Layer by layer; the first one through the Gram matrix of its inputs, which is the same for every draw."""
    w1, w2, w3 = weights
    batch, n = w3.shape
    s1, s2, s3 = scales(n)
    h1 = s1 * (w1.view(batch * n, CHANNELS) @ X)
    columns = unfold(relu(h1).view(batch, n, SIDE, SIDE), 3, padding=1)
    h2 = s2 * torch.bmm(w2, columns)
    k3 = s3**2 * relu(h2).mean(2).square().sum(1)
    d2 = (h2 > 0) * (s3 / SIDE**2 * w3).unsqueeze(2)
    k2 = s2**2 * torch.bmm(d2, columns.transpose(1, 2)).square().sum((1, 2))
    d1 = s2 * fold(torch.bmm(w2.transpose(1, 2), d2), (SIDE, SIDE), 3, padding=1).view(batch * n, -1) * (h1 > 0)
    k1 = s1**2 * ((d1 @ GRAM) * d1).view(batch, -1).sum(1)
    return k1 + k2 + k3


def with_other_outputs(weights):
    """The weights of the unit that is read, among those of the block's other outputs."""
    w1, w2, w3 = weights
    return w1, w2, torch.cat([w3[:, None], torch.randn(len(w3), CHANNELS - 1, w3.shape[1])], 1)


# The kernel, and the outputs that the last weights have if there are more than one.
FORMS = {"vmap_grad": (by_gradient, (CHANNELS,)), "vmap_grad_one_output": (by_gradient, ()), "closed_form": (closed_form, ())}


def main():
    options = parser(__doc__).parse_args()
    start(options)
    for n in WIDTHS:
        for name, (kernels, outputs) in FORMS.items():
            if wanted(options, name, f"n={n}"):
                stack = lambda drawn: tuple(torch.tensor(numpy.stack(w), dtype=torch.float32) for w in zip(*drawn))
                whole = with_other_outputs if outputs else lambda weights: weights
                agreement(f"torch {name}", lambda drawn: kernels(whole(stack(drawn))).numpy(), n)
                task_of_batch = lambda batch: lambda: kernels(draw(batch, n, *outputs)).numpy()
                time_draws("torch", name, n, task_of_batch, batches(n)[:3])


if __name__ == "__main__":
    main()
