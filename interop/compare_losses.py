"""Trains with PyTorch from our initial weights, on our batches, by our recipe, and compares the losses.

    cargo run --release -p collegial-train --example steps -- resnext29-4x4d DATA OUT 50 batch=16 learning_rate=1e-6
    cargo run --release -p collegial-train --example steps -- fc6-30x48 DATA OUT 50 learning_rate=1e-4
    python interop/compare_losses.py OUT

Take gentle rates: at those of the recipes training is chaotic, and after a few steps PyTorch in f32 is as far from PyTorch
in f64 (--double) as it is from us. Exit 0 if every loss agrees within a relative 1e-3, else 1. Needs torch,
safetensors, numpy and the wheel (pip install .).
"""

import argparse
import json
import sys
import tomllib
from pathlib import Path

import torch
from collegial.torch.networks import from_spec
from safetensors import safe_open
from safetensors.torch import load_file
from torch import nn


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
    network = from_spec(spec)
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
