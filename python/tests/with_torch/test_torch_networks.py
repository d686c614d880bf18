"""The PyTorch modules and our engine are the same networks."""

import numpy
import pytest
import torch
from safetensors.torch import save_file

import collegial
from collegial.torch import build

CASES = [("resnext29-4x4d", (3, 32, 32)), ("resnext29-4x4d-3x6_5d-1x9d", (3, 32, 32)), ("wrn16-1", (3, 32, 32)), ("fc4-3x20", (784,))]


def perturbed(network):
    """Norms and biases away from where they start."""
    torch.manual_seed(1)
    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if tensor.dim() == 1 and tensor.is_floating_point():
                tensor += 0.2 * torch.randn(tensor.shape).clamp(-2, 2)
    return network.eval()


@pytest.mark.parametrize("model, shape", CASES)
def test_the_logits_are_those_of_the_engine(model, shape, tmp_path):
    torch.manual_seed(0)
    network, weights = perturbed(build(model)), tmp_path / "weights.safetensors"
    save_file(network.state_dict(), weights)
    x = torch.randn(5, *shape)
    ours = collegial.forward(model, weights, x.numpy())
    theirs = network.double()(x.double()).detach().numpy()
    # f32 sums of thousands of terms.
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-4 * numpy.abs(theirs).max())
    loaded = build(model, weights=weights).eval()
    numpy.testing.assert_allclose(loaded(x).detach().numpy(), theirs, rtol=1e-4, atol=1e-4 * numpy.abs(theirs).max())


@pytest.mark.parametrize("name", ["resnext29-37x10d", "resnext29-37x10d-19x20_24d-9x40d", "resnext50-1x64d", "wrn28-10", "fc6-30x48"])
def test_parameters_are_counted_alike(name):
    with torch.device("meta"):
        network = build(name, classes=100)
    assert sum(parameter.numel() for parameter in network.parameters()) == collegial.Spec(name, classes=100).parameters


def test_weights_that_do_not_fit(tmp_path):
    weights = tmp_path / "weights.safetensors"
    save_file(build("fc3-8").state_dict(), weights)
    with pytest.raises(collegial.CollegialError, match="does not fit"):
        build("fc3-16", weights=weights)
    tensors = build("fc3-8").state_dict()
    del tensors["fc2.weight"]
    save_file(tensors, weights)
    with pytest.raises(collegial.CollegialError, match="fc2.weight is in one of them only"):
        build("fc3-8", weights=weights)
    with pytest.raises(collegial.CollegialError, match="has no PyTorch module"):
        build("bottleneck-64")
