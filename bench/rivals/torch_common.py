"""What the PyTorch scripts share: thread count and the sgemm rate all speeds are compared with."""

import torch

from measure import emit

SGEMM = 1024
LAYOUTS = {"nchw": torch.contiguous_format, "channels_last": torch.channels_last}


def start(options):
    torch.set_num_threads(options.threads)
    torch.manual_seed(0)
    emit(rival="torch", version=torch.__version__, threads=options.threads, cpu=torch.backends.cpu.get_cpu_capability())


def sgemm_task():
    """A product of two 1024 x 1024 matrices, to be timed in turn with the work it is compared with."""
    a, b, out = torch.randn(SGEMM, SGEMM), torch.randn(SGEMM, SGEMM), torch.empty(SGEMM, SGEMM)
    return lambda: torch.mm(a, b, out=out)


def sgemm_gflops(seconds):
    return 2 * SGEMM**3 / seconds / 1e9
