"""The PyTorch modules and our engine are the same networks."""

import numpy
import onnxruntime
import pytest
import timm
import torch
import torchvision
from safetensors.torch import load_file, save_file

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


# timm's names of networks that are specs of ours too.
RESNETS = [
    "resnet26", "resnet26d", "resnet50", "resnet50c", "resnet50d", "resnet101c", "resnet101d", "resnet152", "resnet152c", "resnet152d",
    "resnext50_32x4d", "resnext50d_32x4d", "resnext101_32x4d", "resnext101_32x8d", "resnext101_64x4d", "seresnet50", "seresnet101",
    "seresnet152", "seresnet152d", "seresnext26d_32x4d", "seresnext50_32x4d", "seresnext101_32x4d", "seresnext101_32x8d",
    "seresnext101_64x4d", "seresnext101d_32x8d", "wide_resnet50_2", "wide_resnet101_2",
]
SIZES = ["002", "004", "006", "008", "016", "032", "040", "064", "080", "120", "160", "320"]
REGNETS = [f"regnet{letter}_{size}" for letter in "xy" for size in SIZES] + ["regnety_1280"]


@pytest.mark.parametrize("name", RESNETS + REGNETS)
def test_counts_are_those_of_timm(name):
    with torch.device("meta"):
        network = timm.create_model(name)
    assert collegial.Spec(name).parameters == sum(parameter.numel() for parameter in network.parameters())


def close(ours, theirs):
    # f32 sums of thousands of terms.
    numpy.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-3 * numpy.abs(theirs).max())


@pytest.mark.parametrize("name", ["resnet26d", "resnet50c", "seresnext26d_32x4d", "seresnet50", "resnext50d_32x4d"])
def test_networks_of_timm_load_both_ways_and_compute_the_same(name, tmp_path):
    """On images of 40 pixels, of whose maps the averages of a ResNet-D's shortcuts cut the last
    window."""
    torch.manual_seed(2)
    theirs, weights = perturbed(timm.create_model(name, num_classes=7)), tmp_path / "theirs.safetensors"
    save_file(theirs.state_dict(), weights)
    x = torch.randn(3, 3, 40, 40)
    expected = theirs(x).detach().numpy()
    close(build(name, classes=7, weights=weights).eval()(x).detach().numpy(), expected)
    close(collegial.forward(collegial.Spec(name, classes=7, image=40), weights, x.numpy()), expected)
    # What the file is, and back.
    told = collegial.info(weights)
    assert told.spec == collegial.Spec(name, classes=7).to_dict()
    ours = tmp_path / "ours.safetensors"
    collegial.export(name, "safetensors", ours, classes=7, seed=3)
    theirs.load_state_dict(load_file(ours), strict=True)
    close(collegial.forward(collegial.Spec(name, classes=7, image=40), ours, x.numpy()), theirs.eval()(x).detach().numpy())


@pytest.mark.parametrize("name", ["regnet_x_400mf", "regnet_y_400mf", "wide_resnet50_2"])
def test_networks_of_torchvision_load_both_ways_and_compute_the_same(name, tmp_path):
    torch.manual_seed(2)
    theirs, weights = perturbed(torchvision.models.get_model(name, num_classes=7)), tmp_path / "theirs.safetensors"
    save_file(theirs.state_dict(), weights)
    x, spec = torch.randn(2, 3, 64, 64), collegial.Spec(name, classes=7, image=64)
    expected = theirs(x).detach().numpy()
    close(build(name, classes=7, weights=weights).eval()(x).detach().numpy(), expected)
    close(collegial.forward(spec, weights, x.numpy()), expected)
    assert collegial.info(weights).spec == collegial.Spec(name, classes=7).to_dict()
    ours = tmp_path / "ours.safetensors"
    collegial.export(name, "safetensors", ours, classes=7, seed=3)
    theirs.load_state_dict(load_file(ours), strict=True)
    close(collegial.forward(spec, ours, x.numpy()), theirs.eval()(x).detach().numpy())


def test_cut_windows_of_average_pools_are_the_same_in_onnx(tmp_path):
    spec = collegial.Spec("resnet26d", classes=7, image=40)
    collegial.export(spec, "onnx", tmp_path / "net.onnx", seed=5)
    collegial.export(spec, "safetensors", tmp_path / "net.safetensors", seed=5)
    x = numpy.random.default_rng(0).standard_normal((2, 3, 40, 40)).astype("f4")
    session = onnxruntime.InferenceSession(str(tmp_path / "net.onnx"), providers=["CPUExecutionProvider"])
    (theirs,) = session.run(None, {session.get_inputs()[0].name: x})
    close(collegial.forward(spec, tmp_path / "net.safetensors", x), theirs)


@pytest.mark.parametrize("name", ["regnetx_002", "regnety_004"])
def test_regnets_are_written_under_the_names_of_timm(name, tmp_path):
    ours, x = tmp_path / "ours.safetensors", torch.randn(2, 3, 64, 64)
    collegial.export(name, "safetensors", ours, classes=5, seed=4, names="timm")
    theirs = timm.create_model(name, num_classes=5)
    theirs.load_state_dict(load_file(ours), strict=True)
    close(collegial.forward(collegial.Spec(name, classes=5, image=64), ours, x.numpy()), theirs.eval()(x).detach().numpy())
    with pytest.raises(collegial.CollegialError, match="timm"):
        collegial.export("fc3-8", "safetensors", tmp_path / "no.safetensors", names="timm")


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
