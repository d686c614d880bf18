"""How the processes of a training share a batch, so that what they compute together is what one would compute.

A recipe's batch is cut into micro-batches, over each of which norms take their statistics. Where the processes divide
the micro-batches, each takes whole ones, as the GPUs of the paper did. Where they divide the images of one, each takes a
part of every micro-batch, and norms add up their sums over all processes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

import torch
import torch.distributed
from torch import nn

from .._collegial import CollegialError


@dataclass(frozen=True)
class Sharing:
    """Who takes which images of a batch."""

    #: Processes.
    world: int
    #: Images that a process computes at once.
    piece: int
    #: Whether a micro-batch belongs to all processes.
    norms_are_shared: bool

    @classmethod
    def of(cls, batch: int, micro_batch: int, world: int) -> Sharing:
        """The sharing of a recipe's batches."""
        if (batch // micro_batch) % world == 0:
            return cls(world, micro_batch, False)
        if micro_batch % world == 0:
            return cls(world, micro_batch // world, True)
        raise CollegialError(
            f"{world} processes cannot share a batch of {batch} images in micro-batches of {micro_batch}: "
            "their number must divide that of the micro-batches or of the images of one"
        )

    def shares(self, batch: torch.Tensor) -> torch.Tensor:
        """Processes x images x ...: what each takes of a batch."""
        if not self.norms_are_shared:
            return batch.unflatten(0, (self.world, -1))
        parts = batch.unflatten(0, (-1, self.world, self.piece))
        return parts.transpose(0, 1).flatten(1, 2).contiguous()


class SharedNorm(nn.BatchNorm2d):
    """A batch norm over the images of all processes, of equal numbers; any backend of torch.distributed will do.

    The sums are added up by an operation that has a gradient, so that every process's loss is differentiated through the
    statistics of all.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.training:
            return super().forward(x)
        count = x.numel() // x.shape[1] * torch.distributed.get_world_size()
        column = lambda values: values[None, :, None, None]
        mean = _sum(x.sum((0, 2, 3))) / count
        centred = x - column(mean)
        variance = _sum(centred.square().sum((0, 2, 3))) / count
        with torch.no_grad():
            self.running_mean.lerp_(mean, self.momentum)
            self.running_var.lerp_(variance * (count / (count - 1)), self.momentum)
        return centred * column(self.weight * torch.rsqrt(variance + self.eps)) + column(self.bias)


def _sum(values: torch.Tensor) -> torch.Tensor:
    from torch.distributed.nn.functional import all_reduce

    return all_reduce(values)


def share_norms(network: nn.Module, device: torch.device) -> nn.Module:
    """The same network with norms over all processes: PyTorch's own on GPUs, ours elsewhere."""
    if device.type == "cuda":
        return nn.SyncBatchNorm.convert_sync_batchnorm(network)
    for module in network.modules():
        if type(module) is nn.BatchNorm2d:
            module.__class__ = SharedNorm
    return network


@contextlib.contextmanager
def joined_statistics(network: nn.Module, sharing: Sharing, pieces: int, rank: int) -> Iterator[None]:
    """Within it every process sees micro-batches of its own; afterwards running statistics are as if one had seen all in order.

    A process that begins with statistics r and sees k micro-batches has R = d r + S with d = (1 - momentum)^k, S the part
    of what it has seen. All w of them in order make d^w r + sum over i of d^(w - 1 - i) S_i.
    """
    if sharing.world == 1 or sharing.norms_are_shared:
        yield
        return
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    if not norms:
        yield
        return
    kept = [buffer for norm in norms for buffer in (norm.running_mean, norm.running_var)]
    # All norms of our networks have the same.
    decay = (1.0 - norms[0].momentum) ** pieces
    before = torch.cat(kept)
    yield
    parts = (torch.cat(kept) - decay * before) * decay ** (sharing.world - 1 - rank)
    torch.distributed.all_reduce(parts)
    joined = decay**sharing.world * before + parts
    for buffer, values in zip(kept, joined.split([len(buffer) for buffer in kept])):
        buffer.copy_(values)
