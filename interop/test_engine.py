"""The engine against PyTorch on the same weights and batches: logits, losses, every gradient, running statistics, and
the weights after three steps of each optimiser, for a collegial ResNeXt, an ensemble of MLPs and a Wide ResNet.

The relative error of a tensor is max |ours - theirs| / max |theirs|, and at most 1e-4 is allowed. Ours computes in f32, PyTorch in f64:
its own f32 is up to 1.4e-4 away from that. Three things are chosen so that the comparison is of formulas and not of luck:

- Norms shift by three, even channels up and odd ones down. A ReLU whose input is within rounding of 0 may fall on either side, and a
  single such pixel changes a channel's gradient by a hundredth: with small shifts PyTorch in f32 is 5e-2 away from PyTorch in f64.
- Behind such norms all images have nearly the same outputs. A norm's backward pass takes away what a batch has in common, so
  that squares, whose gradient is the output, would leave rounding only: the classifier's bias takes away nine tenths of it.
- Adam divides a gradient by its own size, so that rounding of a gradient near 0 becomes a whole step. Its epsilon is 1e-3 here.
"""

import json
import math
import zlib

import common
import pytest
import torch
from collegial.torch.networks import from_spec
from safetensors.torch import load_file, save_file
from torch import nn
from torch.nn.utils import parametrize

TOLERANCE = 1e-4
IMAGES = 2
STEPS = 3
BLANK = "crc32-00000000"

NETWORKS = {
    "resnext29-10x10d": {
        "kind": "resnext", "stem": "small", "blocks": [3, 3, 3], "design": "10x10d", "classes": 10, "image": 32,
    },
    "fc6-30x48": {"kind": "fully-connected", "inputs": 784, "outputs": 10, "widths": [48] * 5, "members": 30},
    "wrn16-2": {"kind": "wide-resnet", "depth": 16, "factor": 2, "stages": 3, "classes": 10, "image": 32},
}


def rate_of(kind, loss, spec):
    """Behind shifted norms features are large, and descent of squares on them is stable at small rates only."""
    if kind != "sgd":
        return 1e-3
    return 1e-4 if loss == "l2" and spec["kind"] != "fully-connected" else 1e-2


# Our recipe's table and PyTorch's optimiser.
OPTIMISERS = {
    "momentum": (
        'kind = "sgd"\nmomentum = 0.9\nweight_decay = 5e-4',
        lambda parameters, rate: torch.optim.SGD(parameters, lr=rate, momentum=0.9, weight_decay=5e-4),
    ),
    "nesterov": (
        'kind = "sgd"\nmomentum = 0.9\nweight_decay = 5e-4\nnesterov = true',
        lambda parameters, rate: torch.optim.SGD(parameters, lr=rate, momentum=0.9, weight_decay=5e-4, nesterov=True),
    ),
    "adam": (
        'kind = "adam"\nepsilon = 1e-3\nweight_decay = 5e-4',
        lambda parameters, rate: torch.optim.Adam(parameters, lr=rate, eps=1e-3, weight_decay=5e-4),
    ),
    "adamw": (
        'kind = "adamw"\nepsilon = 1e-3\nweight_decay = 0.1',
        lambda parameters, rate: torch.optim.AdamW(parameters, lr=rate, eps=1e-3, weight_decay=0.1),
    ),
}


def squares(outputs, labels):
    """Half the squared distance to the label's unit vector."""
    return 0.5 * (outputs - nn.functional.one_hot(labels, outputs.shape[1])).square().sum(1).mean()


LOSSES = {"cross-entropy": nn.functional.cross_entropy, "l2": squares}


def network_of(spec, batches):
    """The module with norms away from where they start, their running statistics about those of a batch."""
    torch.manual_seed(1)
    network = from_spec(spec)
    norms = [layer for layer in network.modules() if isinstance(layer, nn.BatchNorm2d)]
    for norm in norms:
        nn.init.uniform_(norm.weight, 0.5, 1.0)
        norm.bias.data = torch.tensor([3.0, -3.0]).repeat(norm.num_features // 2)
        norm.momentum = 0.9
    with torch.no_grad():
        outputs = network.train()(batches[1][0])
        if norms:
            network.fc.bias -= 0.9 * outputs.mean(0)
    for norm in norms:
        norm.momentum = 0.1
    return network


def batches_of(spec):
    torch.manual_seed(2)
    shape = (spec["inputs"],) if "inputs" in spec else (3, spec["image"], spec["image"])
    draw = lambda: (torch.randn(IMAGES, *shape), torch.randint(0, 10, (IMAGES,)))
    return [draw() for _ in range(STEPS)]


def seal(path):
    """Writes the CRC-32 of a checkpoint over its place in the header, as the program does."""
    content = path.read_bytes()
    path.write_bytes(content.replace(BLANK.encode(), f"crc32-{zlib.crc32(content):08x}".encode(), 1))


def engine(folder, spec, network, batches, recipe, rate):
    """What the example `engine` computes from the same weights, batches and recipe."""
    header = {"spec": spec, "epoch": 0, "steps": 0, "number": 0, "checksum": BLANK}
    if 'parametrisation = "ntk"' in recipe:
        header["parametrisation"] = "ntk"
    names = {name.replace("parametrizations.weight.original", "weight"): name for name in network.state_dict()}
    weights = {short: network.state_dict()[name] for short, name in names.items()}
    save_file(weights, folder / "weights.safetensors", metadata={"collegial": json.dumps(header)})
    seal(folder / "weights.safetensors")
    tensors = {}
    for step, (images, labels) in enumerate(batches):
        tensors |= {f"{step}.images": images, f"{step}.labels": labels}
    save_file(tensors, folder / "batches.safetensors")
    head = f"epochs = 1\nbatch = {IMAGES}\nlearning_rate = {rate}"
    (folder / "recipe.toml").write_text(f'{head}\n{recipe}\n[augment]\nkind = "none"\n')
    paths = [folder / name for name in ("weights.safetensors", "batches.safetensors", "recipe.toml", "out.safetensors")]
    common.run("examples/engine", *paths)
    return load_file(paths[-1])


def one_pass(results, prefix, network, batch, loss):
    """Notes logits, loss and gradients of one forward and backward pass."""
    network.zero_grad()
    logits = network(batch[0])
    value = loss(logits, batch[1])
    value.backward()
    results |= {f"{prefix}.logits": logits.detach(), f"{prefix}.loss": value.detach()}
    results |= {f"{prefix}.gradient.{name}": parameter.grad.clone() for name, parameter in network.named_parameters()}
    return value.item()


def reference(network, batches, loss, optimiser, rate):
    """The same by PyTorch in f64."""
    network.double().eval()
    batches = [(images.double(), labels) for images, labels in batches]
    statistic = lambda name: name.endswith(("running_mean", "running_var"))
    results = {}
    one_pass(results, "evaluate", network, batches[0], loss)
    results["folded.logits"] = results["evaluate.logits"].flatten()
    network.train()
    rule = optimiser(network.parameters(), rate)
    first, losses = {}, []
    for step, batch in enumerate(batches):
        losses.append(one_pass(first if step == 0 else {}, "train", network, batch, loss))
        if step == 0:
            state = network.state_dict().items()
            first |= {f"train.statistics.{name}": value.clone() for name, value in state if statistic(name)}
        rule.step()
    state = network.state_dict().items()
    final = {f"final.{name}": value for name, value in state if not name.endswith("num_batches_tracked")}
    return results | first | final | {"losses": torch.tensor(losses, dtype=torch.float64)}


def compare(ours, theirs):
    theirs = {name.replace("parametrizations.weight.original", "weight"): value for name, value in theirs.items()}
    assert ours.keys() == theirs.keys()
    errors = {name: common.difference(ours[name], value) for name, value in theirs.items()}
    worst = max(errors, key=errors.get)
    print(f"largest relative error {errors[worst]:.1e}, of {worst}")
    wrong = {name: error for name, error in errors.items() if not error <= TOLERANCE}
    assert not wrong


@pytest.mark.parametrize("optimiser", OPTIMISERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", NETWORKS)
def test_engine(name, loss, optimiser, tmp_path):
    spec, (rule, theirs) = NETWORKS[name], OPTIMISERS[optimiser]
    batches = batches_of(spec)
    network = network_of(spec, batches)
    rate = rate_of("sgd" if "sgd" in rule else "adam", loss, spec)
    ours = engine(tmp_path, spec, network, batches, f'loss = "{loss}"\n[optimiser]\n{rule}', rate)
    compare(ours, reference(network, batches, LOSSES[loss], theirs, rate))


class Scaled(nn.Module):
    """A weight times sqrt(gain / fan-in): the NTK parametrisation."""

    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, weight):
        return self.factor * weight


@pytest.mark.parametrize("activation", ["relu", "erf"])
def test_ntk_parametrisation(activation, tmp_path):
    """Theorem 1's setting: N(0, 1) weights scaled on the way, squares, plain descent."""
    spec = {"kind": "fully-connected", "inputs": 20, "outputs": 10, "widths": [16] * 3, "members": 5, "activation": activation}
    batches = batches_of(spec)
    network = network_of(spec, batches)
    for name in network.layers:
        gain = 2 if activation == "relu" and name != network.layers[-1] else 1
        layer = getattr(network, name)
        nn.init.normal_(layer.weight)
        parametrize.register_parametrization(layer, "weight", Scaled(math.sqrt(gain / layer.weight.shape[1])))
    recipe = 'loss = "l2"\nparametrisation = "ntk"\n[optimiser]\nkind = "sgd"\nmomentum = 0.0'
    ours = engine(tmp_path, spec, network, batches, recipe, 0.05)
    descent = lambda parameters, rate: torch.optim.SGD(parameters, lr=rate)
    compare(ours, reference(network, batches, squares, descent, 0.05))
