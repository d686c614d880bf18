"""PyTorch: draws per second of the bottleneck block's diagonal kernel entry at one output unit, weights drawn included."""

from concurrent.futures import ThreadPoolExecutor

import numpy
import torch
from torch.func import grad, vmap
from torch.nn.functional import conv2d, relu

from draws import batches, time_draws
from measure import emit, failure, parser, wanted
from reference_kernel import CHANNELS, POSITIONS, WIDTHS, agreement, fixed_input, scales
from torch_common import start

X = torch.tensor(fixed_input(), dtype=torch.float32)
GRAM = X.T @ X


def draw(batch, n, generator=None):
    shapes = ((batch, n, CHANNELS), (batch, n, POSITIONS * n), (batch, n))
    return tuple(torch.randn(shape, generator=generator) for shape in shapes)


def convolutions(weights):
    """The block as its user would write it."""
    w1, w2, w3 = weights
    n = len(w3)
    s1, s2, s3 = scales(n)
    a1 = relu(conv2d(X.view(1, CHANNELS, 3, 3), s1 * w1.view(n, CHANNELS, 1, 1)))
    a2 = relu(conv2d(a1, s2 * w2.view(n, n, 3, 3)))
    return conv2d(a2, s3 * w3.view(1, n, 1, 1)).squeeze()


def matrices(weights):
    """The same with the convolutions as the matrix products they are on a single patch."""
    w1, w2, w3 = weights
    s1, s2, s3 = scales(len(w3))
    a1 = relu(s1 * (w1 @ X)).flatten()
    a2 = relu(s2 * (w2 @ a1))
    return s3 * (w3 @ a2)


def by_gradient(network):
    gradients = vmap(grad(network))

    def kernels(weights):
        return sum(g.flatten(1).square().sum(1) for g in gradients(weights))

    return kernels


def closed_form(weights):
    """Sum over the layers of <inputs, inputs> x <cotangents, cotangents>: no gradient the size of the weights."""
    w1, w2, w3 = weights
    batch, n = w3.shape
    s1, s2, s3 = scales(n)
    h1 = s1 * (w1.view(batch * n, CHANNELS) @ X).view(batch, n * POSITIONS)
    a1 = relu(h1)
    h2 = s2 * torch.bmm(w2, a1.unsqueeze(2)).squeeze(2)
    d2 = s3 * w3 * (h2 > 0)
    d1 = s2 * torch.bmm(d2.unsqueeze(1), w2).squeeze(1) * (h1 > 0)
    by_position = d1.view(batch * n, POSITIONS)
    k1 = s1**2 * ((by_position @ GRAM) * by_position).view(batch, -1).sum(1)
    k2 = s2**2 * a1.square().sum(1) * d2.square().sum(1)
    k3 = s3**2 * relu(h2).square().sum(1)
    return k1 + k2 + k3


KERNELS = {
    "vmap_grad_conv": by_gradient(convolutions),
    "vmap_grad_matmul": by_gradient(matrices),
    "closed_form": closed_form,
}


def check(name, kernels, n):
    def on_list(draws):
        return kernels(tuple(torch.tensor(numpy.stack(w), dtype=torch.float32) for w in zip(*draws))).numpy()

    agreement(f"torch {name}", on_list, fixed_input(), n)


def eager(kernels, n):
    return lambda batch: lambda: kernels(draw(batch, n)).numpy()


def compiled_kernel(n):
    """Inductor on the kernel, PyTorch's own vectorised generator outside it."""
    kernels = torch.compile(closed_form, dynamic=False)
    check("closed_form_compiled", kernels, n)
    return lambda batch: lambda: kernels(draw(batch, n)).numpy()


def worker_per_thread(n, threads):
    """One single-threaded worker for each thread with its own generator: `torch.randn` itself is serial."""
    pool = ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,))
    generators = [torch.Generator().manual_seed(seed) for seed in range(threads)]

    def task_of_batch(batch):
        share = max(1, batch // threads)

        def work(generator):
            return closed_form(draw(share, n, generator)).numpy()

        return lambda: numpy.concatenate(list(pool.map(work, generators)))

    return task_of_batch


def main():
    options = parser(__doc__).parse_args()
    start(options)
    for n in WIDTHS:
        favourite = batches(n)
        for name, kernels in KERNELS.items():
            if wanted(options, name, f"n={n}"):
                check(name, kernels, n)
                best = time_draws("torch", name, n, eager(kernels, n), batches(n))
                favourite = [best] if name == "closed_form" else favourite
        if wanted(options, "closed_form_compiled", f"n={n}"):
            # Compiling takes seconds a shape, so only the batch that was best uncompiled is tried.
            # (Compiling the draw of the weights too makes it four times slower: inductor's
            # generator is no match for torch.randn.)
            try:
                time_draws("torch", "closed_form_compiled", n, compiled_kernel(n), favourite)
            except (RuntimeError, torch._dynamo.exc.TorchDynamoException) as error:
                emit(rival="torch", form="closed_form_compiled", width=n, error=failure(error))
        if wanted(options, "closed_form_workers", f"n={n}"):
            even = sorted({max(options.threads, batch - batch % options.threads) for batch in batches(n)})
            time_draws("torch", "closed_form_workers", n, worker_per_thread(n, options.threads), even)
            torch.set_num_threads(options.threads)


if __name__ == "__main__":
    main()
