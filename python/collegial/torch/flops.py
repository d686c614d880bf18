"""FLOPs of a forward pass, two per multiply-accumulate, as PyTorch counts them."""

from __future__ import annotations

import logging
from collections.abc import Callable


def count_flops(run: Callable[[], object]) -> int:
    """Those of the convolutions and products that a function computes."""
    logger = logging.getLogger("torch.utils.flop_counter")
    level = logger.level
    # Where triton is missing PyTorch warns that it will not count kernels of its kind.
    logger.setLevel(logging.ERROR)
    try:
        from torch.utils.flop_counter import FlopCounterMode
    finally:
        logger.setLevel(level)
    with FlopCounterMode(display=False) as counter:
        run()
    return counter.get_total_flops()
