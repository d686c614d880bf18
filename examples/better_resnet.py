"""From a ResNet to a better one: the same parameters with less kernel variance, or the same variance with fewer parameters.

    pip install . torch torchvision
    python examples/better_resnet.py
"""

# %% A model that you have: any with bottleneck blocks will do, of torchvision, timm or your own.
import torch
import torchvision

from collegial.torch import convert, suggest

model = torchvision.models.resnet50()

# %% What could be better? Nothing is trained or drawn for this: variances are exact.
suggestion = suggest(model)
print(suggestion)

# %% The same variance with fewer parameters. Layers whose width changes are drawn anew: it says how many.
smaller, weights = convert(model, objective="dual")
print(weights)
count = sum(parameter.numel() for parameter in smaller.parameters())
assert count == suggestion.dual.parameters

# %% It is a model like the first one: train it as you would have trained that.
logits = smaller.eval()(torch.randn(1, 3, 224, 224))
print(f"{suggestion.baseline.parameters:,} parameters became {count:,}; logits {tuple(logits.shape)}")
