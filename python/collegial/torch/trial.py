"""Trial forward passes: of a meta model, a copy on the meta device, which computes shapes only; where
that fails, of a copy with values."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator
from typing import Any, TypeVar

import torch
from torch import nn

from .flops import count_flops
from .flow import Flow, Recorder, Shapes, tensors_in
from .layers import Layers
from .refusals import Refusal, Refused, Verdict

Model = TypeVar("Model", bound=nn.Module)
# What models take that do not say what they take: side lengths of images, in the order in which
# they are tried.
SIDES = (224, 256, 64, 32)


def meta_model(model: nn.Module) -> nn.Module:
    """A copy whose tensors are shapes without values; hooks of the user's stay behind, those of
    torch.nn.utils go with it."""
    memo: dict[int, Any] = {}
    for tensor in [*model.parameters(), *model.buffers()]:
        empty = torch.empty_like(tensor, device="meta")
        memo[id(tensor)] = nn.Parameter(empty, tensor.requires_grad) if isinstance(tensor, nn.Parameter) else empty
    meta = copied(model, memo)
    for module in meta.modules():
        for hooks in (module._forward_pre_hooks, module._forward_hooks, module._backward_hooks):
            for key, hook in list(hooks.items()):
                if not (getattr(hook, "__module__", None) or type(hook).__module__).startswith("torch."):
                    del hooks[key]
    return meta.eval()


def copied(model: Model, memo: dict[int, Any] | None = None) -> Model:
    """A deep copy, or a refusal."""
    try:
        return copy.deepcopy(model, memo or {})
    except (RuntimeError, TypeError, MemoryError) as error:
        reason = f"it cannot be copied: {sentence(error)}"
        raise Refused(type(model).__name__, [Refusal("", Verdict.NOT_COVERED, reason, "other layers")]) from error


class Trial:
    """A way of running a model that works: where, and on which inputs."""

    def __init__(self, model: nn.Module, inputs: Any = None):
        failures = []
        for meta, example in self._ways(model, inputs):
            try:
                recorder = Recorder(meta, example)
                with torch.no_grad(), recorder:
                    outputs = meta(*example)
            except Exception as error:  # noqa: BLE001: a model may raise anything
                failures.append(sentence(error))
                continue
            self.meta, self.example = meta, example
            self.flow: Flow = recorder.flow(outputs)
            self.shapes = [tuple(tensor.shape) for tensor in tensors_in(outputs)]
            return
        reason = f"its forward pass could not be tried ({failures[-1]}); give inputs=, a tensor or tuple that it takes"
        raise Refused(type(model).__name__, [Refusal("", Verdict.NOT_COVERED, reason, "other layers")])

    @staticmethod
    def _ways(model: nn.Module, inputs: Any) -> Iterator[tuple[nn.Module, tuple[Any, ...]]]:
        """Shapes only, then values: a few models make tensors of their own on the CPU."""
        meta = meta_model(model)
        for example in _examples(model, inputs, torch.device("meta")):
            yield meta, example
        device = next((tensor.device for tensor in model.parameters()), torch.device("cpu"))
        if device.type != "meta":
            meta = copied(model).eval()
            for example in _examples(model, inputs, device):
                yield meta, example

    def meta_copy(self) -> nn.Module:
        """A copy of what was run, to be changed and run again."""
        return copied(self.meta)

    def counts(self, model: nn.Module) -> tuple[int | None, int | None]:
        """FLOPs and activations per input, None where they cannot be counted: FLOPs of convolutions and
        products, two per multiply-accumulate, and elements that layers with weights put out."""
        batch = next((tensor.shape[0] for tensor in tensors_in(self.example) if tensor.dim() > 0), 1)
        recorder = Recorder(model.eval(), self.example)
        try:
            with torch.no_grad(), recorder:
                flops = count_flops(lambda: model(*self.example))
        except Exception:  # noqa: BLE001: operations of the user's own may know no such counting
            return None, None
        return flops // batch or None, Layers(model, recorder.flow(())).activations() // batch or None

    def failure(self, meta: nn.Module) -> str | None:
        """What a changed model does otherwise than the first: fail, or give other shapes, in
        evaluation or in training."""
        for training in (False, True):
            try:
                with torch.no_grad(), Shapes():
                    outputs = meta.train(training)(*self.example)
            except Exception as error:  # noqa: BLE001
                return sentence(error)
            shapes = [tuple(tensor.shape) for tensor in tensors_in(outputs)]
            if not training and shapes != self.shapes:
                return f"it gives {shapes} instead of {self.shapes}"
        return None


def _examples(model: nn.Module, inputs: Any, device: torch.device) -> Iterator[tuple[Any, ...]]:
    if inputs is not None:
        yield tuple(_moved(value, device) for value in (inputs if isinstance(inputs, tuple) else (inputs,)))
        return
    dtype = next((tensor.dtype for tensor in model.parameters() if tensor.is_floating_point()), torch.float32)
    for shape in _shapes(model):
        yield (torch.zeros(2, *shape, device=device, dtype=dtype),)


def _moved(value: Any, device: torch.device) -> Any:
    return value.detach().to(device) if isinstance(value, torch.Tensor) else value


def _shapes(model: nn.Module) -> Iterator[tuple[int, ...]]:
    """Shapes of one input: timm's models say theirs, others have a first layer."""
    for config in ("pretrained_cfg", "default_cfg"):
        size = (getattr(model, config, None) or {}).get("input_size")
        if size:
            yield tuple(size)
    for layer in model.modules():
        if isinstance(layer, nn.Conv2d):
            yield from ((layer.in_channels, side, side) for side in SIDES)
            return
        if isinstance(layer, (nn.Conv1d, nn.Conv3d)):
            yield (layer.in_channels, 64) if isinstance(layer, nn.Conv1d) else (layer.in_channels, 16, 16, 16)
            return
        if isinstance(layer, nn.Linear):
            yield (layer.in_features,)
            side = math.isqrt(layer.in_features // 3)
            yield (3, side, side)
            side = math.isqrt(layer.in_features)
            yield (1, side, side)
            return
    yield from ((3, side, side) for side in SIDES)


def sentence(error: Exception) -> str:
    """What an error says, in a line."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else f"{text[:157]}..."
