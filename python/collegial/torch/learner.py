"""A network that learns: the passes and steps of a recipe in PyTorch."""

from __future__ import annotations

import contextlib
import json
import math
import os
import warnings
from typing import Any

import numpy
import torch
from torch import nn

from .._collegial import CollegialError
from .networks import from_spec
from .ranks import Group
from .sharing import Sharing, joined_statistics, share_norms

#: What is computed in which type; float16 and bfloat16 with automatic mixed precision.
PRECISIONS = {"f64": torch.float64, "f32": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}


class Learner:
    """The network of one training on one device, with its optimiser.

    Args:
        setup: What `engine.start` is given.
        group: The processes that share the training.
    """

    def __init__(self, setup: dict[str, Any], group: Group):
        recipe = setup["recipe"]
        self.group, self.shape = group, setup["image"]
        self.threads = torch.get_num_threads()
        torch.set_num_threads(max(1, setup["threads"] // group.local_world))
        self.device = group.device
        self.precision = chosen_precision(self.device)
        self.loss = LOSSES[recipe["loss"]]
        self.sharing = Sharing.of(recipe["batch"], recipe.get("micro_batch") or recipe["batch"], group.world)
        # The weights come from `load`: what PyTorch draws here must not change the numbers that its user draws.
        with torch.random.fork_rng(devices=[]):
            network = from_spec(setup["spec"])
        network = network.to(self.device, torch.float64 if self.precision == "f64" else torch.float32)
        if self.device.type == "cuda":
            network = network.to(memory_format=torch.channels_last)
        self.network = share_norms(network, self.device) if self.sharing.norms_are_shared else network
        self.parameters = dict(self.network.named_parameters())
        factors = dict(setup["factors"])
        self.module: nn.Module = Scaled(self.network, factors) if factors else self.network
        if group.world > 1:
            devices = [self.device] if self.device.type == "cuda" else None
            with warnings.catch_warnings():
                # Not every PyTorch that we take has the word that replaces it.
                warnings.filterwarnings("ignore", "`broadcast_buffers` is deprecated", FutureWarning)
                self.module = nn.parallel.DistributedDataParallel(self.module, devices, broadcast_buffers=False)
        self.rule = optimiser(recipe, self.parameters, dict(setup["rates"]))
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.precision == "f16")

    def load(self, network: dict[str, numpy.ndarray], state: dict[str, numpy.ndarray], steps: int, own: str) -> None:
        """Takes over weights, running statistics and the optimiser's state."""
        tensors = {name: torch.from_numpy(array) for name, array in network.items()}
        missing, unknown = self.network.load_state_dict(tensors, strict=False)
        wrong = [name for name in missing if not name.endswith("num_batches_tracked")] + unknown
        if wrong:
            raise CollegialError(f"the PyTorch network differs from the native one: {wrong[0]} is in one of them only")
        for key, array in state.items():
            name, _, kind = key.rpartition(".")
            parameter = self.parameters[name]
            value = torch.empty_like(parameter, requires_grad=False).copy_(torch.from_numpy(array))
            self.rule.state[parameter][kind] = value
            if kind == "exp_avg":
                self.rule.state[parameter]["step"] = torch.tensor(float(steps))
        self.steps = steps
        kept = json.loads(own)
        if kept is not None:
            self.scaler.load_state_dict(kept)

    def state(self) -> tuple[dict[str, numpy.ndarray], dict[str, numpy.ndarray], int, str]:
        """What `load` takes."""
        tensors = self.network.state_dict()
        network = {name: array(value) for name, value in tensors.items() if value.is_floating_point()}
        kinds = ("momentum_buffer", "exp_avg", "exp_avg_sq")
        state = {
            f"{name}.{kind}": array(value)
            for name, parameter in self.parameters.items()
            for kind, value in self.rule.state[parameter].items()
            if kind in kinds and value is not None
        }
        return network, state, self.steps, json.dumps(self.scaler.state_dict() or None)

    def step(self, images: torch.Tensor, labels: torch.Tensor, rate: float) -> tuple[float, int]:
        """One step on this process's share of a batch: the mean loss of the batch, and how many of its images were wrong."""
        for group in self.rule.param_groups:
            group["lr"] = rate * group["factor"]
        self.rule.zero_grad(set_to_none=True)
        self.module.train()
        pieces = list(zip(self.moved(images).split(self.sharing.piece), labels.to(self.device).split(self.sharing.piece)))
        sums = torch.zeros(2, dtype=torch.float64, device=self.device)
        with joined_statistics(self.network, self.sharing, len(pieces), self.group.rank):
            for index, (piece, classes) in enumerate(pieces):
                # Gradients are averaged over the processes with the last piece.
                with contextlib.nullcontext() if index + 1 == len(pieces) else self.unsynchronised():
                    outputs = self.forward(piece)
                    loss = self.loss(outputs, classes)
                    self.scaler.scale(loss / len(pieces)).backward()
                sums += torch.stack([loss.detach().double(), (outputs.argmax(1) != classes).sum().double()])
        mean, errors = self.group.summed(sums).tolist()
        mean /= len(pieces) * self.group.world
        if math.isfinite(mean):
            self.scaler.step(self.rule)
            self.scaler.update()
            self.steps += 1
        return mean, int(errors)

    def outputs(self, images: torch.Tensor) -> torch.Tensor:
        """The outputs of this process's share; norms use their running statistics."""
        module = self.module.module if self.group.world > 1 else self.module
        module.eval()
        with torch.no_grad():
            return module_outputs(self, module, self.moved(images)).float().cpu().contiguous()

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The outputs in training, in f32 or f64."""
        return module_outputs(self, self.module, images)

    def moved(self, images: torch.Tensor) -> torch.Tensor:
        """Images on the device, in its order and type."""
        layout = torch.channels_last if self.device.type == "cuda" else torch.contiguous_format
        dtype = torch.float64 if self.precision == "f64" else torch.float32
        return images.to(self.device, dtype, memory_format=layout)

    def unsynchronised(self) -> contextlib.AbstractContextManager[Any]:
        """Backward passes in it stay with this process."""
        return self.module.no_sync() if self.group.world > 1 else contextlib.nullcontext()

    def close(self) -> None:
        """Gives PyTorch its threads back."""
        torch.set_num_threads(self.threads)


def module_outputs(learner: Learner, module: nn.Module, images: torch.Tensor) -> torch.Tensor:
    """The outputs of a module under the learner's precision, as the loss takes them."""
    mixed = learner.precision in ("bf16", "f16")
    with torch.autocast(learner.device.type, PRECISIONS[learner.precision], enabled=True) if mixed else contextlib.nullcontext():
        outputs = module(images)
    return outputs if outputs.dtype == torch.float64 else outputs.float()


class Scaled(nn.Module):
    """A network whose weights are multiplied by factors: the NTK parametrisation."""

    def __init__(self, network: nn.Module, factors: dict[str, float]):
        super().__init__()
        self.network, self.factors = network, factors

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights = dict(self.network.named_parameters())
        scaled = {name: weights[name] * factor for name, factor in self.factors.items()}
        return torch.func.functional_call(self.network, scaled, (x,))


def half_squares(outputs: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Half the squared distance to the labels' unit vectors, averaged over the images."""
    return 0.5 * (outputs - nn.functional.one_hot(labels, outputs.shape[1])).square().sum() / len(labels)


LOSSES = {"cross-entropy": nn.functional.cross_entropy, "l2": half_squares}


def optimiser(
    recipe: dict[str, Any], parameters: dict[str, nn.Parameter], rates: dict[str, float]
) -> torch.optim.Optimizer:
    """The rule of a recipe's steps, with a parameter group for every factor of the rate."""
    options = dict(recipe["optimiser"])
    kind, rate = options.pop("kind"), recipe["learning_rate"]
    factors = [rates.get(name, 1.0) for name in parameters]
    groups = [
        {"params": [p for p, own in zip(parameters.values(), factors) if own == factor], "factor": factor}
        for factor in dict.fromkeys(factors)
    ]
    if kind == "sgd":
        # Without momentum there is nothing to look ahead to.
        options["nesterov"] = bool(options.get("nesterov")) and options["momentum"] > 0
        return torch.optim.SGD(groups, rate, **options)
    options["eps"], options["betas"] = options.pop("epsilon"), tuple(options["betas"])
    return {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[kind](groups, rate, **options)


def chosen_precision(device: torch.device) -> str:
    """COLLEGIAL_TORCH_PRECISION; by default bf16 on a GPU that has it, f16 on one that has not, f32 elsewhere."""
    told = os.environ.get("COLLEGIAL_TORCH_PRECISION")
    if told is None:
        return "f32" if device.type != "cuda" else "bf16" if torch.cuda.is_bf16_supported() else "f16"
    if told not in PRECISIONS:
        raise CollegialError(f"COLLEGIAL_TORCH_PRECISION is {told}; it must be {', '.join(PRECISIONS)}")
    return told


def array(tensor: torch.Tensor) -> numpy.ndarray:
    """A tensor as the checkpoint has it."""
    return tensor.detach().to("cpu", torch.float32).contiguous().numpy().copy()
