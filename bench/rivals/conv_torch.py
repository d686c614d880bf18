"""PyTorch: grouped 3x3 convolutions, forward, data gradient and weight gradient, in both memory layouts."""

import torch
from torch.nn.functional import conv2d

from measure import emit, fastest, parser, wanted
from torch_common import LAYOUTS, sgemm_gflops, sgemm_task, start

BATCH = 16
# name, channels, groups, side of the input, stride
CASES = [
    ("37x10d-stage1", 370, 37, 32, 1),
    ("37x10d-stage2", 740, 37, 16, 1),
    ("37x10d-stage3", 1480, 37, 8, 1),
    ("37x10d-stage2-stride2", 740, 37, 32, 2),
    ("37x10d-stage3-stride2", 1480, 37, 16, 2),
    ("10x10d-stage1", 100, 10, 32, 1),
    ("10x10d-stage2", 200, 10, 16, 1),
    ("10x10d-stage3", 400, 10, 8, 1),
    ("3x64d-stage1", 192, 3, 32, 1),
    ("1x128d-stage1", 128, 1, 32, 1),
    ("width3", 96, 32, 32, 1),
    ("width5", 185, 37, 32, 1),
    ("width7", 224, 32, 32, 1),
    ("width8", 256, 32, 32, 1),
    ("width12", 336, 28, 32, 1),
    ("width13", 377, 29, 32, 1),
    ("width7-stride2", 224, 32, 32, 2),
    ("width13-stride2", 377, 29, 32, 2),
]


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
        best = fastest(tasks, repetitions=9, seconds=4)
        sgemm = sgemm_gflops(best.pop("sgemm"))
        for (layout_name, each), seconds in best.items():
            gflops = flops / seconds / 1e9
            emit(rival="torch", case=name, channels=channels, groups=groups, side=side, stride=stride, batch=BATCH,
                 layout=layout_name, **{"pass": each}, milliseconds=seconds * 1e3, gflops=gflops, sgemm_gflops=sgemm,
                 share_of_sgemm=gflops / sgemm)


if __name__ == "__main__":
    with torch.no_grad():
        main()
