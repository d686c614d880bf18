"""Networks in ONNX Runtime and PyTorch, whose passes the search times."""

from __future__ import annotations

import json
import time
from typing import Any, Protocol

from ._optional import need

#: ONNX Runtime's provider of a device.
PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider", "mps": "CoreMLExecutionProvider"}


class TimedNetwork(Protocol):
    """A loaded network."""

    def seconds_of_a_pass(self) -> float: ...


def load(document: str, onnx: bytes) -> TimedNetwork:
    """A network of the given `spec`, `image`, `runtime`, `batch` and `device`; its ONNX file where that is the runtime."""
    setup = json.loads(document)
    return Onnx(setup, onnx) if setup["runtime"] == "onnx" else Torch(setup)


class Onnx:
    """Inference by ONNX Runtime, with as many threads as it takes by default."""

    def __init__(self, setup: dict[str, Any], onnx: bytes):
        runtime, numpy = need("onnxruntime", "timing by ONNX Runtime", "onnx"), need("numpy", "timing", "torch")
        provider = PROVIDERS.get(setup["device"])
        available = [name for name, known in PROVIDERS.items() if known in runtime.get_available_providers()]
        if setup["device"] not in available:
            raise ValueError(f"it has no device {setup['device']}; here it runs on {', '.join(available)}")
        self.session = runtime.InferenceSession(onnx, providers=[provider])
        name = self.session.get_inputs()[0].name
        shape = [side if isinstance(side, int) else setup["batch"] for side in self.session.get_inputs()[0].shape]
        self.inputs = {name: numpy.full(shape, 0.5, numpy.float32)}

    def seconds_of_a_pass(self) -> float:
        """One forward pass."""
        begun = time.perf_counter()
        self.session.run(None, self.inputs)
        return time.perf_counter() - begun


class Torch:
    """Inference by PyTorch, eager, channels last, as many threads as it takes by default."""

    def __init__(self, setup: dict[str, Any]):
        self.torch = need("torch", "timing by PyTorch", "torch")
        from .torch.networks import from_spec

        self.device = self.torch.device(setup["device"])
        with self.torch.random.fork_rng(devices=[]):
            network = from_spec(setup["spec"]).eval()
        last = self.torch.channels_last
        self.network = network.to(self.device, memory_format=last)
        images = self.torch.full((setup["batch"], *setup["image"]), 0.5, device=self.device)
        self.images = images.to(memory_format=last)

    def seconds_of_a_pass(self) -> float:
        """One forward pass, until the device has finished."""
        with self.torch.inference_mode():
            self.wait()
            begun = time.perf_counter()
            self.network(self.images)
            self.wait()
            return time.perf_counter() - begun

    def wait(self) -> None:
        """Until queued work is done."""
        if self.device.type == "cuda":
            self.torch.cuda.synchronize(self.device)
        elif self.device.type == "mps":
            self.torch.mps.synchronize()
