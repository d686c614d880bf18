"""PyTorch: a training step of an ensemble of 30 MLPs, 784 -> five hidden layers of 48 -> 10, batch 128, Adam."""

import math

import torch
from torch.nn.functional import cross_entropy, relu

from measure import emit, failure, fastest, parser, wanted
from torch_common import sgemm_gflops, sgemm_task, start

MEMBERS, WIDTH, INPUTS, OUTPUTS, BATCH = 30, 48, 784, 10, 128
SIZES = [INPUTS] + 5 * [WIDTH] + [OUTPUTS]
LAYERS = list(zip(SIZES, SIZES[1:]))
RATE = 1e-4


def flops():
    """Three passes over every layer; the first one has no data gradient."""
    products = [inputs * outputs for inputs, outputs in LAYERS]
    return 2 * BATCH * MEMBERS * (3 * sum(products) - products[0])


def parameters(wide):
    """Weights and biases of each layer, members stacked; the first layer of all members is one matrix if `wide`."""
    layers = []
    for layer, (inputs, outputs) in enumerate(LAYERS):
        shape = (inputs, MEMBERS * outputs) if wide and layer == 0 else (MEMBERS, inputs, outputs)
        weight = torch.randn(shape) * math.sqrt(2 / inputs)
        layers.append((weight.requires_grad_(), torch.zeros(MEMBERS, 1, outputs, requires_grad=True)))
    return layers


def rest(layers, h):
    """The layers after the first, one batched product each; the ensemble is the sum of its members over sqrt(m)."""
    for weight, bias in layers:
        h = torch.baddbmm(bias, relu(h), weight)
    return h.sum(0) / math.sqrt(MEMBERS)


def bmm(layers, x):
    weight, bias = layers[0]
    return rest(layers[1:], torch.baddbmm(bias, x.expand(MEMBERS, BATCH, INPUTS), weight))


def wide_first(layers, x):
    """All members see the same input, so the first layer is one product with a matrix 30 times as wide."""
    weight, bias = layers[0]
    h = (x @ weight).view(BATCH, MEMBERS, WIDTH).transpose(0, 1)
    return rest(layers[1:], h + bias)


def training_step(network, wide, compiled=False, **adam):
    layers = parameters(wide)
    x, labels = torch.randn(BATCH, INPUTS), torch.randint(0, OUTPUTS, (BATCH,))
    optimiser = torch.optim.Adam([tensor for layer in layers for tensor in layer], lr=RATE, **adam)
    loss = (lambda layers, x, labels: cross_entropy(network(layers, x), labels))
    loss = torch.compile(loss, dynamic=False) if compiled else loss

    def step():
        optimiser.zero_grad(set_to_none=True)
        loss(layers, x, labels).backward()
        optimiser.step()

    return step


FORMS = {
    "bmm": lambda: training_step(bmm, wide=False),
    "bmm_fused_adam": lambda: training_step(bmm, wide=False, fused=True),
    "wide_first": lambda: training_step(wide_first, wide=True),
    "wide_first_fused_adam": lambda: training_step(wide_first, wide=True, fused=True),
    "bmm_compiled_fused_adam": lambda: training_step(bmm, wide=False, compiled=True, fused=True),
    "wide_first_compiled_fused_adam": lambda: training_step(wide_first, wide=True, compiled=True, fused=True),
}


def check():
    """Both ways to write the first layer give the same outputs."""
    stacked, x = parameters(wide=False), torch.randn(BATCH, INPUTS)
    (weight, bias), *others = stacked
    joined = [(weight.transpose(0, 1).reshape(INPUTS, MEMBERS * WIDTH), bias), *others]
    torch.testing.assert_close(bmm(stacked, x), wide_first(joined, x), rtol=1e-3, atol=1e-3)


def main():
    options = parser(__doc__).parse_args()
    start(options)
    check()
    tasks = {"sgemm": sgemm_task()}
    for form, build in FORMS.items():
        if wanted(options, form):
            try:
                step = build()
                step()
                tasks[form] = step
            except (RuntimeError, torch._dynamo.exc.TorchDynamoException) as error:
                emit(rival="torch", form=form, error=failure(error))
    best = fastest(tasks, repetitions=150, warmups=5, seconds=options.seconds or 15)
    sgemm = sgemm_gflops(best.pop("sgemm"))
    for form, seconds in best.items():
        gflops = flops() / seconds / 1e9
        emit(rival="torch", work="mlp_step", form=form, milliseconds=seconds * 1e3, gflops=gflops, sgemm_gflops=sgemm,
             share_of_sgemm=gflops / sgemm)


if __name__ == "__main__":
    main()
