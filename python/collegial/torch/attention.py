"""Layers of attention: kernel variance does not choose their heads."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from .._functions import search
from .flow import Flow, Node
from .layers import Layers, common_name
from .refusals import Refusal, Verdict

# What the program says of trained networks, and where their tables are.
TABLES = (
    "Published tables of trained networks do not follow it. Between head widths 16 and 128 they differ by 2.0 % (translation) and 1.0 % "
    "(a character model). A third source, whose time limit favours fewer heads, has up to 7.1 % between widths 24 and 48."
)
EVIDENCE = "The tables of trained networks: docs/evidence.md#do-more-and-thinner-attention-heads-help"
LINEAR = "its attention has no softmax over scores (linear attention), whose variance is not known here"
PRODUCTS = ("matmul", "bmm", "baddbmm", "einsum")
HEADS = f"Kernel variance does not choose the head width; choose by speed. {TABLES} {EVIDENCE}"


def heads(layers: Layers) -> list[Refusal]:
    """That kernel variance does not choose the heads of attention, layer by layer; of linear attention
    nothing is known."""
    neutral = [Refusal(_name(layers, index), Verdict.SPLIT_NEUTRAL, HEADS, "attention layers") for index in _calls(layers)]
    linear = [index for index in range(len(layers.flow.nodes)) if _linear(layers, index)]
    return [*neutral, *(Refusal(_name(layers, index), Verdict.NOT_COVERED, LINEAR, "attention layers") for index in linear)]


def judged_heads(refusals: tuple[Refusal, ...], model: nn.Module, flow: Flow, seed: int) -> tuple[Refusal, ...]:
    """The same with what the program says of a transformer of such layers, where all are alike: how
    the variance of heads depends on their width in the first layer and in the last."""
    verdicts = {refusal.verdict for refusal in refusals if refusal.layers == "attention layers"}
    if verdicts != {Verdict.SPLIT_NEUTRAL}:
        return refusals
    spec = _transformer(Layers(model, flow))
    if spec is None:
        return refusals
    reason = f"{search(spec, seed=seed).to_dict()['verdicts'][0]['sentence']} {EVIDENCE}"
    return tuple(replace(refusal, reason=reason) if refusal.layers == "attention layers" else refusal for refusal in refusals)


def attends(node: Node) -> bool:
    """Whether a call is of attention; a softmax over scores is, one over classes is not."""
    return "attention" in node.function or "softmax" in node.function and len(node.shape) > 2


def _calls(layers: Layers) -> list[int]:
    return [index for index, node in enumerate(layers.flow.nodes) if attends(node) and _compares(layers, index)]


def _compares(layers: Layers, index: int) -> bool:
    """Whether tokens are compared with tokens: what a call takes are products of them, or what it gives
    comes into one (factorised attention). Selective kernels and pools have a softmax too."""
    nodes = layers.flow.nodes
    if "attention" in nodes[index].function:
        return True
    before = layers.before(index)
    # Layers that mix the heads keep the scores' shape (talking heads).
    mixing = [node for node in before if layers.weighing[node] and sorted(nodes[node].shape) == sorted(nodes[index].shape)]
    scores = before.union(*(layers.before(node) for node in mixing))
    changing = {node for node in range(len(nodes)) if layers.weighing[node] or layers.multiplies(node) or layers.adds(node)}
    behind = layers.flow.reaches(index, set(range(len(nodes))) - changing)
    # A pool has one result for all tokens.
    weighed = [node for node in behind if _product(layers, node) and min(nodes[node].shape[-2:]) > 1]
    return bool(weighed) or any(_product(layers, node) for node in scores)


def _product(layers: Layers, index: int) -> bool:
    """Whether a call is a matrix product of activations."""
    node = layers.flow.nodes[index]
    return node.function.strip("_") in PRODUCTS and not layers.weighing[index]


def _linear(layers: Layers, index: int) -> bool:
    """Whether a call is the outer product of q (k^T v), with no softmax inside."""
    before = layers.before(index)
    inside = any(_product(layers, node) for node in before)
    return _product(layers, index) and inside and not any(attends(layers.flow.nodes[node]) for node in before)


def _name(layers: Layers, index: int) -> str:
    """The module of a call of attention, or the one that holds the last of the layers before it."""
    own = [name for name in layers.owners(index) if isinstance(layers.modules[name], nn.MultiheadAttention)]
    before = [name for node in sorted(layers.before(index)) if layers.weighing[node] for name in sorted(layers.owners(node))]
    return own[0] if own else common_name(before[-1:], "")


@dataclass(frozen=True)
class Heads:
    """A layer of attention as one call shows it."""

    count: int
    width: int
    tokens: int
    causal: bool


def _heads(layers: Layers, index: int) -> Heads | None:
    """None where the call does not show them, or hides tokens in another way than by their order."""
    node = layers.flow.nodes[index]
    if node.hidden == "some":
        return None
    causal = node.hidden == "later"
    if node.function == "scaled_dot_product_attention" and len(node.shape) == 4:
        _, count, tokens, width = node.shape
        alike = all(layers.flow.nodes[source].shape == node.shape for source in node.inputs) if len(node.inputs) == 3 else True
        return Heads(count, width, tokens, causal) if alike else None
    if node.function == "multi_head_attention_forward" and len(node.shape) == 3:
        modules = [layers.modules[name] for name in layers.owners(index)]
        own = [module for module in modules if isinstance(module, nn.MultiheadAttention)]
        return Heads(own[0].num_heads, own[0].head_dim, node.shape[0], causal) if len(own) == 1 else None
    return None


def _transformer(layers: Layers) -> dict[str, Any] | None:
    """A transformer of such layers as a spec; None where they are of several kinds."""
    calls = _calls(layers)
    found = {_heads(layers, index) for index in calls}
    nodes = layers.flow.nodes
    activations = {node.activation for node in nodes if node.activation is not None and not attends(node)}
    gated = any(layers.multiplies(index) and len(node.inputs) > 1 for index, node in enumerate(nodes))
    if len(found) != 1 or len(activations) != 1 or gated:
        return None
    (own,), (activation,) = found, activations
    if own is None or not activation.exact:
        return None
    # Where norms stand behind sums, no sum adds what another gave.
    sums = {index for index in range(len(nodes)) if layers.adds(index)}
    before = any(sums & set(nodes[index].inputs) for index in sums)
    inputs = own.count * own.width
    return {
        "kind": "transformer", "name": "transformer", "embedding": {"type": "given", "tokens": own.tokens},
        "stages": [{"layers": len(calls), "inputs": inputs, "heads": own.count, "width": own.width, "hidden": 4 * inputs}],
        "order": "before" if before else "after", "activation": activation.spec, "causal": own.causal,
    }  # fmt: skip
