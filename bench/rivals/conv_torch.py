"""PyTorch: grouped 3x3 convolutions, forward, data gradient and weight gradient, in both memory layouts."""

import torch
from torch.nn.functional import conv2d

from conv_cases import BATCH, CASES
from measure import emit, fastest, parser, wanted
from torch_common import LAYOUTS, sgemm_gflops, sgemm_task, start


def passes(channels, groups, side, stride, layout):
    """The three passes as functions without arguments, and the FLOPs of each (2 per multiplication and addition)."""
    x = torch.randn(BATCH, channels, side, side).to(memory_format=layout)
    w = torch.randn(channels, channels // groups, 3, 3).to(memory_format=layout)
    y = conv2d(x, w, None, stride, 1, 1, groups)
    dy = torch.randn_like(y)

    def backward(data, weight):
        mask = [data, weight, False]
        return torch.ops.aten.convolution_backward(
            dy, x, w, None, [stride, stride], [1, 1], [1, 1], False, [0, 0], groups, mask)

    tasks = {
        "forward": lambda: conv2d(x, w, None, stride, 1, 1, groups),
        "data_gradient": lambda: backward(True, False),
        "weight_gradient": lambda: backward(False, True),
    }
    return tasks, 2 * y.numel() * w[0].numel()


def main():
    options = parser(__doc__).parse_args()
    start(options)
    for name, channels, groups, side, stride in CASES:
        tasks, flops = {"sgemm": sgemm_task()}, 0
        for layout_name, layout in LAYOUTS.items():
            if wanted(options, name, *name.split("-"), layout_name):
                timed, flops = passes(channels, groups, side, stride, layout)
                tasks |= {(layout_name, each): task for each, task in timed.items()}
        if not flops:
            continue
        best = fastest(tasks, repetitions=9, seconds=options.seconds or 4)
        sgemm = sgemm_gflops(best.pop("sgemm"))
        for (layout_name, each), seconds in best.items():
            gflops = flops / seconds / 1e9
            emit(rival="torch", case=name, channels=channels, groups=groups, side=side, stride=stride, batch=BATCH,
                 layout=layout_name, **{"pass": each}, milliseconds=seconds * 1e3, gflops=gflops, sgemm_gflops=sgemm,
                 share_of_sgemm=gflops / sgemm)


if __name__ == "__main__":
    with torch.no_grad():
        main()
