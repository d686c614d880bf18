"""The processes of torchrun: the first is the program, the others compute what it tells them.

So there is one that reads the data, writes the checkpoints and prints; it hands every process its share of each batch. Commands and
images go by gloo, whose other side may wait for as long as a test or a checkpoint takes; gradients and sums of norms by NCCL between GPUs.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch
import torch.distributed

from .._collegial import CollegialError

#: No process is given up while another tests or saves.
PATIENCE = timedelta(days=7)


class Group:
    """The processes of a training; by default this one alone."""

    rank, world, local_world = 0, 1, 1

    def __init__(self) -> None:
        self.device = chosen_device(0)

    def tell(self, command: str, *words: Any) -> None:
        """Tells the others what to do."""

    def scatter(self, shares: torch.Tensor) -> torch.Tensor:
        """This process's share, of all in the first one's hands: processes x images x ..."""
        return shares[0]

    def gather(self, share: torch.Tensor) -> torch.Tensor:
        """All shares one after the other, in the first process."""
        return share

    def summed(self, values: torch.Tensor) -> torch.Tensor:
        """The sum over all processes."""
        return values


class Shared(Group):
    """Those that torchrun started."""

    def __init__(self) -> None:
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.local_world = int(os.environ.get("LOCAL_WORLD_SIZE", self.world))
        self.device = chosen_device(int(os.environ.get("LOCAL_RANK", 0)))
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        torch.distributed.init_process_group("nccl" if self.device.type == "cuda" else "gloo")
        self.talk = torch.distributed.new_group(backend="gloo", timeout=PATIENCE)

    def tell(self, command: str, *words: Any) -> None:
        torch.distributed.broadcast_object_list([(command, words)], 0, self.talk)

    def told(self) -> tuple[str, tuple[Any, ...]]:
        """What the first process tells."""
        message: list[Any] = [None]
        torch.distributed.broadcast_object_list(message, 0, self.talk)
        return message[0]

    def scatter(self, shares: torch.Tensor | None) -> torch.Tensor:
        parts = None if shares is None else [part.contiguous() for part in shares]
        described = [None if parts is None else (parts[0].shape, parts[0].dtype)]
        torch.distributed.broadcast_object_list(described, 0, self.talk)
        shape, dtype = described[0]  # type: ignore[misc]
        share = torch.empty(shape, dtype=dtype)
        torch.distributed.scatter(share, parts, 0, self.talk)
        return share

    def gather(self, share: torch.Tensor) -> torch.Tensor:
        shares = [torch.empty_like(share) for _ in range(self.world)] if self.rank == 0 else None
        torch.distributed.gather(share, shares, 0, self.talk)
        return share if shares is None else torch.cat(shares)

    def summed(self, values: torch.Tensor) -> torch.Tensor:
        torch.distributed.all_reduce(values)
        return values

    def follow(self) -> int:
        """Does what the first process tells until it ends; gives its exit code."""
        from .learner import Learner

        learner: Any = None
        while True:
            command, words = self.told()
            if command == "end":
                return words[0]
            if command == "start":
                # What is wrong with the recipe or the network the first process finds too, and says.
                with contextlib.suppress(CollegialError):
                    learner = Learner(words[0], self)
            elif command == "step":
                learner.step(self.scatter(None), self.scatter(None), *words)
            elif command == "outputs":
                self.gather(learner.outputs(self.scatter(None)))
            else:
                getattr(learner, command)(*words)


_shared: Shared | None = None


def is_torchrun() -> bool:
    """Whether torchrun started this process beside others."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1 and "TORCHELASTIC_RUN_ID" in os.environ


def run(program: Callable[[], int]) -> int:
    """Runs the program in the first process of torchrun, and lets the others work for it; gives the exit code."""
    global _shared
    _shared = Shared()
    if _shared.rank > 0:
        # The first process hears them and decides.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        code = _shared.follow()
    else:
        code = program()
        _shared.tell("end", code)
    torch.distributed.destroy_process_group()
    return code


def group() -> Group:
    """The processes that share this process's trainings."""
    if _shared is None and is_torchrun():
        raise CollegialError(
            "under torchrun it is the program that trains: "
            "torchrun --nproc-per-node 2 --no-python collegial train MODEL --engine torch ..."
        )
    return _shared or Group()


def chosen_device(local_rank: int) -> torch.device:
    """COLLEGIAL_TORCH_DEVICE, or a GPU of this process's own, or the CPU."""
    told = os.environ.get("COLLEGIAL_TORCH_DEVICE")
    if told is None:
        return torch.device("cuda", local_rank) if torch.cuda.is_available() else torch.device("cpu")
    try:
        device = torch.device(told)
    except RuntimeError:
        device = None
    if device is None or device.type not in ("cpu", "cuda") or (device.type == "cuda" and not torch.cuda.is_available()):
        raise CollegialError(f"COLLEGIAL_TORCH_DEVICE is {told}; this machine takes {_devices()}")
    return device


def _devices() -> str:
    return "cpu, cuda or cuda:0, ..." if torch.cuda.is_available() else "cpu"
