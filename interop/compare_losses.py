"""Trains with PyTorch from our initial weights, on our batches, by our recipe, and compares the losses.

    cargo run --release -p collegial-train --example steps -- resnext29-4x4d DATA OUT 50 batch=16 learning_rate=1e-6
    cargo run --release -p collegial-train --example steps -- fc6-30x48 DATA OUT 50 learning_rate=1e-4
    python interop/compare_losses.py OUT

Take gentle rates: at those of the recipes training is chaotic, and after a few steps PyTorch in f32 is as far from PyTorch
in f64 (--double) as it is from us. Exit 0 if every loss agrees within a relative 1e-3, else 1. Needs torch, safetensors and numpy.
"""

import argparse
import json
import math
import sys
import tomllib
from pathlib import Path

import torch
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn


class Block(nn.Module):
    """The bottleneck block of ResNeXt under torchvision's names."""

    def __init__(self, inputs, inner, outputs, members, stride, project):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, inner, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(inner)
        self.conv2 = nn.Conv2d(inner, inner, 3, stride, 1, groups=members, bias=False)
        self.bn2 = nn.BatchNorm2d(inner)
        self.conv3 = nn.Conv2d(inner, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        shortcut = [nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)]
        self.downsample = nn.Sequential(*shortcut) if project else None

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        y = torch.relu(self.bn2(self.conv2(y)))
        y = self.bn3(self.conv3(y))
        return torch.relu(y + (self.downsample(x) if self.downsample else x))


class Resnext(nn.Module):
    """ResNeXt with the 3x3 stem of 32x32 and 64x64 images."""

    def __init__(self, spec):
        super().__init__()
        assert spec["stem"] == "small", "only networks for small images are built here"
        members, width = (int(part) for part in spec["design"].rstrip("d").split("x"))
        channels = spec.get("stem_channels", 64)
        self.conv1 = nn.Conv2d(3, channels, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.stages = len(spec["blocks"])
        for stage, blocks in enumerate(spec["blocks"]):
            outputs, inner = spec.get("outputs", 256) << stage, members * width << stage
            layers = []
            for block in range(blocks):
                stride = 2 if stage > 0 and block == 0 else 1
                layers.append(Block(channels, inner, outputs, members, stride, block == 0))
                channels = outputs
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(channels, spec["classes"])

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        for stage in range(self.stages):
            x = getattr(self, f"layer{stage + 1}")(x)
        return self.fc(x.mean((2, 3)))


class Ensemble(nn.Module):
    """m fully connected ReLU networks, summed and divided by sqrt(m); hidden layers are grouped."""

    def __init__(self, spec):
        super().__init__()
        self.members = spec.get("members", 1)
        self.outputs = spec["outputs"]
        widths = [*spec["widths"], spec["outputs"]]
        fan_in = spec["inputs"]
        for index, width in enumerate(widths, 1):
            layer = nn.Module()
            layer.weight = nn.Parameter(torch.empty(self.members * width, fan_in))
            setattr(self, f"fc{index}", layer)
            fan_in = width
        self.depth = len(widths)

    def forward(self, x):
        x = x.flatten(1) @ self.fc1.weight.T
        for index in range(2, self.depth + 1):
            x = torch.relu(x)
            weight = getattr(self, f"fc{index}").weight
            weight = weight.view(self.members, -1, weight.shape[1])
            x = x.view(len(x), self.members, -1)
            x = torch.einsum("bmi,moi->bmo", x, weight).flatten(1)
        return x.view(len(x), self.members, self.outputs).sum(1) / math.sqrt(self.members)


def optimiser(recipe, parameters):
    options = dict(recipe["optimiser"])
    kind = options.pop("kind")
    rules = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}
    if "epsilon" in options:
        options["eps"] = options.pop("epsilon")
    return rules[kind](parameters, lr=recipe["learning_rate"], **options)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path, help="what the example `steps` wrote")
    parser.add_argument("--tolerance", type=float, default=1e-3)
    parser.add_argument("--double", action="store_true", help="compute in f64")
    options = parser.parse_args()

    initial = options.out / "initial.safetensors"
    with safe_open(initial, "pt") as file:
        spec = json.loads(file.metadata()["collegial"])["spec"]
    recipe = tomllib.loads((options.out / "run" / "recipe.toml").read_text())
    ours = json.loads((options.out / "losses.json").read_text())
    network = {"resnext": Resnext, "fully-connected": Ensemble}[spec["kind"]](spec)
    network.load_state_dict(load_file(initial), strict=True)
    dtype = torch.float64 if options.double else torch.float32
    network.to(dtype).train()
    steps = optimiser(recipe, network.parameters())
    micro = recipe.get("micro_batch", recipe["batch"])
    batches = load_file(options.out / "batches.safetensors")

    worst = 0.0
    for step, (loss, rate) in enumerate(zip(ours["losses"], ours["rates"])):
        images, labels = batches[f"{step:04}.images"].to(dtype), batches[f"{step:04}.labels"]
        for group in steps.param_groups:
            group["lr"] = rate
        steps.zero_grad()
        theirs = 0.0
        for x, y in zip(images.split(micro), labels.split(micro)):
            part = nn.functional.cross_entropy(network(x), y) * (len(y) / len(labels))
            part.backward()
            theirs += part.item()
        steps.step()
        difference = abs(loss - theirs) / abs(theirs)
        worst = max(worst, difference)
        print(f"step {step:3}  ours {loss:.7f}  PyTorch {theirs:.7f}  relative difference {difference:.1e}")
    agreed = worst <= options.tolerance and len(ours["losses"]) > 0
    print(f"largest relative difference over {len(ours['losses'])} steps: {worst:.2e}")
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
