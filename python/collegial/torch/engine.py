"""PyTorch as an engine of training: what the training loop, which is the same for every engine, asks for.

Data, their order and augmentation, the schedule, tests, checkpoints and results are those of the native engine. Here are only the
passes and steps, on a GPU if there is one, by one process or by those of torchrun (`ranks`).
"""

from __future__ import annotations

import json
from typing import Any

import numpy
import torch

from . import ranks
from .learner import Learner

Arrays = dict[str, numpy.ndarray]


def start(document: str) -> Engine:
    """The engine of one training.

    Args:
        document: JSON with `spec`, `recipe`, `image` (channels, height, width), `factors` of parameters, `rates` of
            parameters and `threads`.
    """
    return Engine(json.loads(document))


class Engine:
    """The network of one training, here or shared with the other processes of torchrun, which do what this one says."""

    def __init__(self, setup: dict[str, Any]):
        self.group = ranks.group()
        self.group.tell("start", setup)
        self.learner = Learner(setup, self.group)
        self.on_cpu = self.learner.device.type == "cpu"

    def load(self, network: Arrays, optimiser: Arrays, steps: int, own: str) -> None:
        """Takes over weights, running statistics and the optimiser's state."""
        self.group.tell("load", network, optimiser, steps, own)
        self.learner.load(network, optimiser, steps, own)

    def state(self) -> tuple[Arrays, Arrays, int, str]:
        """The same, of now; every process has it."""
        return self.learner.state()

    def step(self, images: numpy.ndarray, labels: numpy.ndarray, rate: float) -> tuple[float, int]:
        """One step on a batch: its mean loss, and how many images were wrong."""
        self.group.tell("step", rate)
        sharing = self.learner.sharing
        own_images = self.group.scatter(sharing.shares(torch.from_numpy(images)))
        own_labels = self.group.scatter(sharing.shares(torch.from_numpy(labels)))
        return self.learner.step(own_images, own_labels, rate)

    def outputs(self, images: numpy.ndarray) -> numpy.ndarray:
        """The outputs for images; norms use their running statistics."""
        self.group.tell("outputs")
        count = len(images)
        share = self.group.scatter(padded(torch.from_numpy(images), self.group.world))
        return self.group.gather(self.learner.outputs(share))[:count].numpy()

    def close(self) -> None:
        """Leaves PyTorch as it was."""
        self.group.tell("close")
        self.learner.close()


def padded(images: torch.Tensor, world: int) -> torch.Tensor:
    """Equal shares for all processes, the last filled up with zeros: processes x images x ..."""
    missing = -len(images) % world
    if missing:
        images = torch.cat([images, images.new_zeros(missing, *images.shape[1:])])
    return images.unflatten(0, (world, -1))
