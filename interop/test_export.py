"""What `collegial export` writes, in the hands of those it is written for: torchvision, timm, ONNX Runtime and PyTorch.

    cargo build --release && pytest interop/test_export.py

Needs torch, torchvision, timm, onnx, onnxruntime, safetensors, numpy, pytest and the wheel. The program is $COLLEGIAL or the release build.
"""

import json
import math
import os
import pathlib
import struct
import subprocess
import sys
import zlib

import numpy
import onnx
import onnxruntime
import pytest
import timm
import torch
import torchvision
from PIL import Image
from collegial.torch.networks import from_spec
from safetensors.torch import load_file, save_file

ROOT = pathlib.Path(__file__).resolve().parent.parent
PROGRAM = os.environ.get("COLLEGIAL", str(ROOT / "target/release/collegial"))
# Logits are of the order of 1; f32 sums in another order differ by some 1e-6 of that.
TOLERANCE = 1e-4


def collegial(*words):
    """Runs the program and gives what it printed."""
    result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refused(*words):
    """The one sentence of a refusal; notes may stand before it."""
    result = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True)
    sentences = [line for line in result.stderr.splitlines() if not line.startswith("note: ")]
    assert result.returncode == 2 and len(sentences) == 1, result.stderr
    return sentences[0]


def export(folder, model, target, *words):
    path = folder / f"{model.replace('/', '-')}.{ {'pytorch': 'py'}.get(target, target) }"
    document = json.loads(collegial("export", model, "--to", target, "--out", path, "--json", *words))
    assert document["path"] == str(path) and document["format"] == target
    return path


def ours(checkpoint, data, folder, *words):
    """Our engine's outputs on the test images."""
    path = folder / "logits.npy"
    collegial("evaluate", checkpoint, "--data", data, "--logits", path, "-q", "--json", *words)
    return torch.from_numpy(numpy.load(path))


def unsettle(tensors, seed):
    """Weights as after training: norms that are not the identity."""
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in tensors.items():
        if name.endswith("running_var"):
            tensor.uniform_(0.5, 2.0, generator=generator)
        elif name.endswith("running_mean") or name.endswith(".bias"):
            tensor.normal_(0.0, 0.2, generator=generator)
        elif tensor.dim() == 1 and tensor.is_floating_point():
            tensor.uniform_(0.5, 1.5, generator=generator)
    return tensors


def smooth_image(generator, side):
    """Blobs of colour: something between noise and a photograph."""
    coarse = torch.rand(1, 3, 8, 8, generator=generator)
    fine = torch.nn.functional.interpolate(coarse, side, mode="bicubic", align_corners=False)
    return Image.fromarray((255 * fine[0]).clamp(0, 255).to(torch.uint8).permute(1, 2, 0).numpy())


@pytest.fixture(scope="session")
def cifar(tmp_path_factory):
    """A data set in CIFAR-10's binary files whose classes can be learnt: each has a colour."""
    folder = tmp_path_factory.mktemp("cifar")
    generator = torch.Generator().manual_seed(1)
    colours = torch.rand(10, 3, 1, 1, generator=generator) * 160

    def records(count):
        rows = []
        for index in range(count):
            label = index % 10
            image = colours[label] + 90 * torch.rand(3, 32, 32, generator=generator)
            rows.append(bytes([label]) + image.to(torch.uint8).numpy().tobytes())
        return b"".join(rows)

    for batch in range(1, 6):
        (folder / f"data_batch_{batch}.bin").write_bytes(records(80))
    (folder / "test_batch.bin").write_bytes(records(60))
    return folder


def cifar_test(folder):
    """Images as every CIFAR network sees them, and labels."""
    records = numpy.frombuffer((folder / "test_batch.bin").read_bytes(), numpy.uint8).reshape(-1, 3073)
    mean, deviation = (torch.tensor(values).view(-1, 1, 1) for values in ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616]))
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy())
    return (images / 255 - mean) / deviation, torch.from_numpy(records[:, 0].astype(numpy.int64))


@pytest.fixture(scope="session")
def photos(tmp_path_factory):
    """Class folders named as ImageNet's, of images whose shorter side needs no resizing: every program sees the same pixels."""
    folder = tmp_path_factory.mktemp("photos")
    generator = torch.Generator().manual_seed(2)
    for split, count in (("train", 1), ("val", 2)):
        for label in range(3):
            (folder / split / f"n0000000{label}").mkdir(parents=True)
            for index in range(count):
                path = folder / split / f"n0000000{label}" / f"{index}.png"
                smooth_image(generator, 256).save(path)
    return folder


def photos_test(folder):
    from torchvision import transforms as t

    views = t.Compose([t.Resize(256), t.CenterCrop(224), t.ToTensor(), t.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    images = torchvision.datasets.ImageFolder(folder / "val", views)
    return torch.stack([image for image, _ in images])


def torchvision_net(members, width, classes):
    return torchvision.models.resnet.ResNet(
        torchvision.models.resnet.Bottleneck, [3, 4, 6, 3], groups=members, width_per_group=width, num_classes=classes
    )


def timm_net(members, width, classes):
    return timm.models.resnet.ResNet(
        timm.models.resnet.Bottleneck, [3, 4, 6, 3], cardinality=members, base_width=width, num_classes=classes
    )


@torch.no_grad()
def outputs(network, images):
    return network.eval()(images).double()


def distance(a, b):
    return (a.double() - b.double()).abs().max().item()


@pytest.mark.parametrize("build", [torchvision_net, timm_net])
@pytest.mark.parametrize("members, width", [(32, 4), (12, 10)])
def test_safetensors_load_into_torchvision_and_timm(tmp_path, build, members, width):
    path = export(tmp_path, f"resnext50-{members}x{width}d", "safetensors", "--classes", 7)
    build(members, width, 7).load_state_dict(load_file(path), strict=True)


@pytest.mark.parametrize("build", [torchvision_net, timm_net])
def test_their_weights_give_their_logits_here(tmp_path, photos, build):
    torch.manual_seed(3)
    network = build(32, 4, 3)
    network.load_state_dict(unsettle(network.state_dict(), 4))
    path = tmp_path / "theirs.safetensors"
    save_file(network.state_dict(), path)
    theirs = outputs(network, photos_test(photos))
    gap = distance(ours(path, photos, tmp_path), theirs) / theirs.abs().max().item()
    print(f"{build.__name__}: largest difference {gap:.1e} of the largest logit")
    assert gap < TOLERANCE
    info = json.loads(collegial("info", path, "--json"))
    assert info["model"] == "resnext50-32x4d" and info["parameters"] == sum(p.numel() for p in network.parameters())


@pytest.mark.parametrize("name", ["regnetx_002", "regnety_002"])
def test_regnets_of_timm_give_their_logits_here(tmp_path, photos, name):
    """Saved by half of its bytes, from inside a DistributedDataParallel."""
    torch.manual_seed(3)
    network = timm.create_model(name, num_classes=3)
    network.load_state_dict(unsettle(network.state_dict(), 4))
    network.bfloat16().float()
    halves = {f"module.{key}": tensor.bfloat16() if tensor.is_floating_point() else tensor for key, tensor in network.state_dict().items()}
    path = tmp_path / "theirs.safetensors"
    save_file(halves, path)
    theirs = outputs(network, photos_test(photos))
    assert distance(ours(path, photos, tmp_path), theirs) < TOLERANCE * theirs.abs().max().item()
    info = json.loads(collegial("info", path, "--json"))
    assert info["parameters"] == sum(p.numel() for p in network.parameters())


def test_a_folder_with_some_of_the_classes_is_tested_by_their_names(tmp_path, photos):
    torch.manual_seed(5)
    network = torchvision_net(2, 4, 7)
    path, names = tmp_path / "seven.safetensors", tmp_path / "classes.txt"
    save_file(network.state_dict(), path)
    chosen = [5, 0, 3]
    names.write_text("".join(f"n0000000{chosen.index(output)} a thing\n" if output in chosen else f"other{output}\n" for output in range(7)))
    result = json.loads(collegial("evaluate", path, "--data", photos, "--class-list", names, "--json", "-q"))
    guesses = outputs(network, photos_test(photos))[:, chosen].argmax(1)
    assert result["test_error"] == pytest.approx((guesses != torch.tensor([0, 0, 1, 1, 2, 2])).double().mean().item())
    assert result["outputs"] == 7 and len(result["classes"]) == 3
    assert "7 outputs, but the data set has 3 classes" in refused("evaluate", path, "--data", photos)
    names.write_text("n00000000\n" * 7)
    assert "several lines for the class" in refused("evaluate", path, "--data", photos, "--class-list", names)


def test_our_weights_give_our_logits_there(tmp_path, photos):
    path = export(tmp_path, "resnext50-32x4d", "safetensors", "--classes", 3, "--seed", 5)
    network = torchvision_net(32, 4, 3)
    network.load_state_dict(load_file(path), strict=True)
    theirs = outputs(network, photos_test(photos))
    gap = distance(ours(path, photos, tmp_path), theirs) / theirs.abs().max().item()
    print(f"largest difference {gap:.1e} of the largest logit {theirs.abs().max():.2f}")
    assert gap < TOLERANCE


@pytest.mark.parametrize("model", ["resnext29-2x3d", "wrn10-1", "fc4-5x12", "fc3-20"])
def test_small_networks_load_into_our_modules(tmp_path, cifar, model):
    words = ["--inputs", 3072] if model.startswith("fc") else []
    path = export(tmp_path, model, "safetensors", *words)
    spec = json.loads(collegial("info", path, "--json"))["spec"]
    network = from_spec(spec)
    network.load_state_dict(unsettle(load_file(path), 6), strict=True)
    # Without metadata: the spec is told from the tensors.
    bare = tmp_path / "bare.safetensors"
    save_file(network.state_dict(), bare)
    told = json.loads(collegial("info", bare, "--json"))
    assert told["model"] == model and told["spec"] == spec
    theirs = outputs(network, cifar_test(cifar)[0])
    assert distance(ours(bare, cifar, tmp_path), theirs) < TOLERANCE * max(1.0, theirs.abs().max().item())


def test_what_is_wrong_with_a_file_is_said(tmp_path, cifar):
    network = timm_net(2, 4, 10)
    good = network.state_dict()

    def sentence(tensors, *words):
        save_file(tensors, tmp_path / "bad.safetensors")
        return refused("evaluate", tmp_path / "bad.safetensors", "--data", cifar, *words)

    missing = {name: tensor for name, tensor in good.items() if name != "layer2.1.bn2.running_var"}
    assert "it has no tensor layer2.1.bn2.running_var" in sentence(missing)
    assert "it has the tensor layer1.0.se.conv.weight besides" in sentence(timm.create_model("ecaresnet50d", num_classes=10).state_dict())
    assert "it has the tensor layer1.0.aa" in sentence(good | {"layer1.0.aa.weight": torch.zeros(3)})
    short = sentence(good | {"layer3.0.bn1.bias": torch.zeros(3)})
    assert "layer3.0.bn1.bias has the shape [3], expected [32]" in short
    assert "begins with no tensor at all" in sentence({})
    assert "conv1.weight has 64 channels" in sentence(timm.create_model("resnet18", num_classes=10).state_dict())
    assert "does not fit resnext50-4x4d" in sentence(good, "--model", "resnext50-4x4d")
    assert "has 11 outputs, but the data set has 10 classes" in sentence(timm_net(2, 4, 11).state_dict())
    torch.save(good, tmp_path / "theirs.pth")
    said = refused("evaluate", tmp_path / "theirs.pth", "--data", cifar)
    assert "PyTorch file" in said
    # The advice works.
    advice = said.split('python -c "')[1].rsplit('"', 1)[0]
    subprocess.run([sys.executable, "-c", advice], check=True)
    collegial("evaluate", tmp_path / "theirs.safetensors", "--data", cifar, "-q")


def run_onnx(path, images):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    (port,) = session.get_inputs()
    return torch.from_numpy(session.run(None, {port.name: images.numpy()})[0])


PLAIN = {"Conv", "BatchNormalization", "Relu", "Add", "MaxPool", "GlobalAveragePool", "Flatten", "Gemm", "Reshape", "ReduceSum", "Mul", "Constant"}


@pytest.mark.parametrize("words", [[], ["--fold", "--external-data"]])
@pytest.mark.parametrize("model", ["resnext29-2x3d", "wrn10-1", "fc4-5x12", "fc3-20"])
def test_onnx_gives_our_outputs(tmp_path, cifar, model, words):
    inputs = ["--inputs", 3072] if model.startswith("fc") else []
    drawn = load_file(export(tmp_path, model, "safetensors", *inputs))
    weights = tmp_path / "weights.safetensors"
    save_file(unsettle(drawn, 7), weights)
    path = tmp_path / "net.onnx"
    collegial("export", weights, "--to", "onnx", "--out", path, *words)
    onnx.checker.check_model(str(path), full_check=True)
    graph = onnx.load(path).graph
    operators = {node.op_type for node in graph.node}
    assert operators <= PLAIN
    if "--fold" in words and model.startswith("resnext"):
        assert "BatchNormalization" not in operators
    assert ("--external-data" in words) == (tmp_path / "net.onnx.data").is_file()
    images = cifar_test(cifar)[0]
    images = images.flatten(1) if model.startswith("fc") else images
    engine = ours(weights, cifar, tmp_path)
    scale = max(1.0, engine.abs().max().item())
    whole, some = run_onnx(path, images), run_onnx(path, images[:3])
    print(f"{model} {words}: {distance(whole, engine):.1e}, logits up to {scale:.2f}")
    assert distance(whole, engine) < TOLERANCE * scale
    assert distance(some, engine[:3]) < TOLERANCE * scale
    # And back into the engine.
    back = ours(path, cifar, tmp_path)
    assert distance(back, engine) < (TOLERANCE * scale if "--fold" in words else 1e-12)
    assert json.loads(collegial("info", path, "--json"))["model"] == model


def test_onnx_of_photographs(tmp_path, photos):
    path = tmp_path / "net.onnx"
    collegial("export", "resnext50-32x4d", "--classes", 3, "--to", "onnx", "--out", path)
    onnx.checker.check_model(str(path), full_check=True)
    engine = ours(path, photos, tmp_path)
    gap = distance(run_onnx(path, photos_test(photos)), engine) / engine.abs().max().item()
    print(f"largest difference {gap:.1e} of the largest logit")
    assert gap < TOLERANCE


CHAIN = """
kind = "sequence"
name = "chain"
input = { channels = 3, height = 32, width = 32 }
members = 3
join = "scaled-sum"
layers = [
    { type = "conv", width = 4, kernel = 3, stride = 2, norm = "batch", activation = "gelu" },
    { type = "global-average-pool" },
    { type = "dense", width = 5, norm = "batch", activation = "tanh" },
    { type = "dense", width = 10, activation = "erf" },
]
"""


@pytest.mark.parametrize("fold", [[], ["--fold"]])
def test_onnx_of_a_module_of_ones_own(tmp_path, cifar, fold):
    (tmp_path / "chain.toml").write_text(CHAIN)
    weights = tmp_path / "chain.safetensors"
    collegial("export", tmp_path / "chain.toml", "--to", "safetensors", "--out", weights)
    path = tmp_path / "chain.onnx"
    collegial("export", weights, "--to", "onnx", "--out", path, *fold)
    onnx.checker.check_model(str(path), full_check=True)
    engine = ours(weights, cifar, tmp_path)
    assert distance(run_onnx(path, cifar_test(cifar)[0]), engine) < TOLERANCE
    assert "has no PyTorch module" in refused("export", tmp_path / "chain.toml", "--to", "pytorch")


def test_onnx_files_that_are_not_ours_are_refused(tmp_path, cifar):
    path = export(tmp_path, "resnext29-2x3d", "onnx")
    model = onnx.load(path)
    # Saved again by another library it is still ours.
    onnx.save(model, tmp_path / "again.onnx")
    collegial("info", tmp_path / "again.onnx")
    model.graph.node[3].attribute[1].ints[0] = 3
    onnx.save(model, tmp_path / "changed.onnx")
    assert "its checksum is not that of its content" in refused("evaluate", tmp_path / "changed.onnx", "--data", cifar)
    # With a checksum of its own the difference from the spec is what is left.
    blank = "crc32-00000000"
    [entry] = [entry for entry in model.metadata_props if entry.key == "collegial.checksum"]
    entry.value = blank
    content = model.SerializeToString()
    sealed = content.replace(blank.encode(), f"crc32-{zlib.crc32(content):08x}".encode(), 1)
    (tmp_path / "changed.onnx").write_bytes(sealed)
    assert "is not the one that the spec in its metadata calls for" in refused("evaluate", tmp_path / "changed.onnx", "--data", cifar)
    del model.metadata_props[:]
    onnx.save(model, tmp_path / "nameless.onnx")
    assert "its metadata do not name a network of ours" in refused("info", tmp_path / "nameless.onnx")
    folded = export(tmp_path, "resnext29-2x3d", "onnx", "--fold")
    assert "folded into its convolutions" in refused("export", folded, "--to", "safetensors")


def module_of(path):
    """The exported script as a module."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("exported", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("model", ["resnext29-5x6d", "resnext50-4x8d", "wrn16-2", "fc4-5x64"])
def test_weights_are_drawn_as_ours(tmp_path, model):
    drawn = load_file(export(tmp_path, model, "safetensors"))
    torch.manual_seed(8)
    fresh = module_of(export(tmp_path, model, "pytorch")).build().state_dict()
    assert {name: tensor.shape for name, tensor in fresh.items()} == {name: tensor.shape for name, tensor in drawn.items()}
    for name, tensor in fresh.items():
        other = drawn[name]
        if tensor.dim() < 2:
            assert torch.equal(tensor, other), name
            continue
        # The deviation of the ratio of two sample deviations is about 1 / sqrt(count); five of them
        # never occur.
        assert abs(tensor.std() / other.std() - 1) < 5 / math.sqrt(tensor.numel()), name


# As deep as a test needs.
SMALL = """
kind = "resnext"
stem = "STEM"
blocks = [1, 1]
design = "2x4d"
classes = CLASSES
image = IMAGE
stem_channels = 8
outputs = 16
"""


def small(folder, stem, classes, image):
    path = folder / "small.toml"
    path.write_text(SMALL.replace("STEM", stem).replace("CLASSES", str(classes)).replace("IMAGE", str(image)))
    return path


def changes(**values):
    return [word for key, value in values.items() for word in ("--set", f"{key.replace('__', '.')}={value}")]


def run_script(path, *words, processes=1):
    torchrun = ["-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"] if processes > 1 else []
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, *torchrun, str(path), *map(str, words)]
    result = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, result.stderr
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize("processes", [1, 2])
def test_the_script_trains(tmp_path, cifar, processes):
    recipe = changes(epochs=2, batch=40, micro_batch=20, learning_rate=0.02, schedule__milestones=[1.5])
    path, weights = tmp_path / "net.py", tmp_path / "trained.safetensors"
    collegial("export", small(tmp_path, "small", 10, 32), "--to", "pytorch", "--out", path, *recipe)
    epochs = run_script(path, "--data", cifar, "--out", weights, processes=processes)
    assert [epoch["epoch"] for epoch in epochs] == [1, 2]
    assert epochs[1]["loss"] < epochs[0]["loss"]
    # What it saved is a checkpoint of ours, with the same error here and there.
    result = json.loads(collegial("evaluate", weights, "--data", cifar, "-q", "--json"))
    assert result["model"] == "resnext8-2x4d"
    assert result["test_error"] == pytest.approx(epochs[1]["test_error"])
    # It carries our checksum too: a flipped bit is noticed.
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    assert "has changed since it was written" in refused("evaluate", weights, "--data", cifar)


def test_the_script_goes_on_from_our_checkpoint(tmp_path, cifar):
    run = tmp_path / "run"
    model = small(tmp_path, "small", 10, 32)
    collegial("train", model, "--data", cifar, "--out", run, "--epochs", 1, *changes(batch=20, learning_rate=0.02), "-q")
    path = tmp_path / "net.py"
    collegial("export", run, "--to", "pytorch", "--out", path)
    assert "BATCH = 20\n" in path.read_text() and "EPOCHS = 1\n" in path.read_text()
    weights = tmp_path / "weights.safetensors"
    collegial("export", run, "--to", "safetensors", "--out", weights)
    (result,) = run_script(path, "--data", cifar, "--weights", weights, "--test-only")
    assert result["test_error"] == pytest.approx(json.loads(collegial("evaluate", run, "--data", cifar, "-q", "--json"))["test_error"])


def test_the_script_reads_digits_and_photographs(tmp_path, photos):
    generator = torch.Generator().manual_seed(9)
    digits = tmp_path / "digits"
    digits.mkdir()
    for part, count in (("train", 64), ("t10k", 20)):
        labels = torch.arange(count, dtype=torch.uint8) % 10
        images = (torch.rand(count, 28, 28, generator=generator) * 20 + 20 * labels.view(-1, 1, 1)).to(torch.uint8)
        (digits / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 0x803, count, 28, 28) + images.numpy().tobytes())
        (digits / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 0x801, count) + labels.numpy().tobytes())
    path = export(tmp_path, "fc3-4x8", "pytorch", *changes(epochs=3, batch=16))
    epochs = run_script(path, "--data", digits, "--out", tmp_path / "digits.safetensors")
    assert epochs[2]["loss"] < epochs[0]["loss"]
    path = tmp_path / "small.py"
    recipe = changes(epochs=1, batch=3, micro_batch=3, learning_rate=0.01)
    collegial("export", small(tmp_path, "imagenet", 3, 224), "--to", "pytorch", *recipe, "--out", path)
    weights = tmp_path / "small.safetensors"
    (epoch,) = run_script(path, "--data", photos, "--out", weights)
    result = json.loads(collegial("evaluate", weights, "--data", photos, "-q", "--json"))
    assert result["test_error"] == pytest.approx(epoch["test_error"])


def test_the_script_explains_itself(tmp_path):
    path = export(tmp_path, "wrn16-2", "pytorch")
    result = subprocess.run([sys.executable, str(path), "--help"], capture_output=True, text=True, check=True)
    assert "--weights" in result.stdout and "Trains wrn16-2 with PyTorch" in result.stdout
