"""PyTorch: a full training step of ResNeXt-29 (SGD, momentum 0.9, weight decay 5e-4), and its peak memory."""

import resource
import subprocess
import sys

import torch
from torch.nn.functional import cross_entropy

from measure import emit, fastest, parser, wanted
from resnext_torch import PARAMETERS, forward_flops, resnext29
from torch_common import LAYOUTS, sgemm_gflops, sgemm_task, start

BATCHES = (16, 32)
MEMORY_DESIGN, MEMORY_BATCH = "37x10d", 32


def images(batch, layout):
    x = torch.randn(batch, 3, 32, 32).to(memory_format=LAYOUTS[layout])
    return x, torch.randint(0, 10, (batch,))


def training_step(network, x, labels):
    optimiser = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)

    def step():
        optimiser.zero_grad(set_to_none=True)
        cross_entropy(network(x), labels).backward()
        optimiser.step()

    return step


def time_steps(design, batch, layouts, seconds):
    tasks = {"sgemm": sgemm_task()}
    for layout in layouts:
        network = resnext29(design).to(memory_format=LAYOUTS[layout])
        x, labels = images(batch, layout)
        with torch.no_grad():
            flops = forward_flops(network, x)
        tasks[layout] = training_step(network, x, labels)
    best = fastest(tasks, repetitions=5, warmups=1, seconds=seconds, least=2)
    sgemm = sgemm_gflops(best.pop("sgemm"))
    for layout, seconds in best.items():
        # The two gradients of a convolution cost as much as its forward pass each.
        gflops = 3 * flops / seconds / 1e9
        emit(rival="torch", work="step", design=design, batch=batch, layout=layout, milliseconds=seconds * 1e3,
             gflops=gflops, sgemm_gflops=sgemm, share_of_sgemm=gflops / sgemm)


def peak_megabytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_memory(layout):
    """Peak resident memory of this process, which must be fresh, after three steps; beside it, that of the import."""
    imported = peak_megabytes()
    network = resnext29(MEMORY_DESIGN).to(memory_format=LAYOUTS[layout])
    step = training_step(network, *images(MEMORY_BATCH, layout))
    for _ in range(3):
        step()
    emit(rival="torch", work="memory", design=MEMORY_DESIGN, batch=MEMORY_BATCH, layout=layout,
         peak_megabytes=peak_megabytes(), megabytes_after_import=imported)


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--memory", choices=LAYOUTS, help="only take the peak memory of this process in one layout")
    options = arguments.parse_args()
    torch.set_num_threads(options.threads)
    if options.memory:
        measure_memory(options.memory)
        return
    start(options)
    for design in PARAMETERS:
        for batch in BATCHES:
            layouts = [layout for layout in LAYOUTS if wanted(options, "step", design, f"batch={batch}", layout)]
            if layouts:
                time_steps(design, batch, layouts, options.seconds or 20)
    for layout in LAYOUTS:
        if wanted(options, "memory", MEMORY_DESIGN, f"batch={MEMORY_BATCH}", layout):
            subprocess.run([sys.executable, __file__, "--threads", str(options.threads), "--memory", layout], check=True)


if __name__ == "__main__":
    main()
