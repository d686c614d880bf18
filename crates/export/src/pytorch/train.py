# MODEL DOCSTRING

import argparse
import contextlib
import gzip
import json
import math
import os
from pathlib import Path

import torch
from torch import distributed, nn


# NETWORK


# RECIPE


def build():
    """The network with fresh weights."""
    return NETWORK_CALL


def rate(epoch, step, steps_per_epoch):
    """The learning rate of a step: a warm-up, then steps down."""
    time = epoch + step / steps_per_epoch
    value = LEARNING_RATE * FACTOR ** sum(milestone <= time for milestone in MILESTONES)
    return value * min(1.0, (time + 1 / steps_per_epoch) / WARM_UP) if WARM_UP else value


class Stored:
    """Images in memory: MNIST's IDX files or CIFAR's binary version, on the device as bytes."""

    def __init__(self, folder, device):
        read = read_mnist if any(folder.glob("train-images?idx3-ubyte*")) else read_cifar
        self.train, self.test = ([part.to(device) for part in split] for split in read(folder))
        self.train = [part[:LIMIT] for part in self.train]
        pixels = self.train[0] / 255 if MEAN is None else None
        mean = pixels.mean((0, 2, 3)).tolist() if MEAN is None else MEAN
        deviation = pixels.std((0, 2, 3)).tolist() if DEVIATION is None else DEVIATION
        self.mean = torch.tensor(mean, device=device).view(-1, 1, 1)
        self.deviation = torch.tensor([value or 1.0 for value in deviation], device=device).view(-1, 1, 1)

    def batches(self, size, epoch, rank, world, seed):
        """Shuffled, augmented batches; every process takes its share of each."""
        images, labels = self.train
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed * 100_003 + epoch))
        steps, share = len(labels) // size, size // world

        def produce():
            for step in range(steps):
                index = order[step * size + rank * share :][:share].to(labels.device)
                yield self.normalise(augment(images[index])), labels[index]

        return steps, produce()

    def test_batches(self, size, rank, world):
        images, labels = (part[rank::world] for part in self.test)
        return ((self.normalise(x), y) for x, y in zip(images.split(size), labels.split(size)))

    def normalise(self, images):
        return (images / 255.0 - self.mean) / self.deviation


class Folders:
    """Photographs in class folders, `train/CLASS/*` and `val/CLASS/*`, through torchvision."""

    def __init__(self, folder, device):
        from torchvision import datasets, transforms as t

        self.device = device
        end = [t.ToTensor(), t.Normalize(MEAN or [0.485, 0.456, 0.406], DEVIATION or [0.229, 0.224, 0.225])]
        centre = [t.Resize(IMAGE * 256 // 224), t.CenterCrop(IMAGE)]
        colours = [t.ColorJitter(JITTER, JITTER, JITTER)] if JITTER else []
        views = centre if JITTER is None else [t.RandomResizedCrop(IMAGE), t.RandomHorizontalFlip(), *colours]
        photos = datasets.ImageFolder(folder / "train", t.Compose([*views, *end]))
        self.train = torch.utils.data.Subset(photos, range(len(photos))[:LIMIT])
        val = folder / ("val" if (folder / "val").is_dir() else "test")
        self.test = datasets.ImageFolder(val, t.Compose([*centre, *end]))

    def loader(self, data, size, **options):
        workers = max(1, (os.cpu_count() or 1) // int(os.environ.get("LOCAL_WORLD_SIZE", 1)))
        loader = torch.utils.data.DataLoader(data, size, num_workers=workers, pin_memory=self.device.type == "cuda", **options)
        return ((x.to(self.device), y.to(self.device)) for x, y in loader)

    def batches(self, size, epoch, rank, world, seed):
        sampler = torch.utils.data.DistributedSampler(self.train, world, rank, seed=seed)
        sampler.set_epoch(epoch)
        return len(self.train) // size, self.loader(self.train, size // world, sampler=sampler, drop_last=True)

    def test_batches(self, size, rank, world):
        return self.loader(torch.utils.data.Subset(self.test, range(rank, len(self.test), world)), size)


def read_mnist(folder):
    def read(part, axes):
        names = [f"{part}{dot}idx{axes}-ubyte{ending}" for dot in "-." for ending in ("", ".gz")]
        path = next((folder / name for name in names if (folder / name).is_file()), folder / names[0])
        content = (gzip.open if path.suffix == ".gz" else open)(path, "rb").read()
        sides = [int.from_bytes(content[4 + 4 * axis :][:4], "big") for axis in range(axes)]
        return torch.frombuffer(bytearray(content[4 + 4 * axes :]), dtype=torch.uint8).view(sides)

    return [(read(f"{part}-images", 3).unsqueeze(1), read(f"{part}-labels", 1).long()) for part in ("train", "t10k")]


def read_cifar(folder):
    """CIFAR-10 has one label byte before each image, CIFAR-100 two, of which the second is the class."""
    labels, train = (1, "data_batch_*.bin") if (folder / "test_batch.bin").is_file() else (2, "train.bin")
    test = "test_batch.bin" if labels == 1 else "test.bin"

    def read(pattern):
        paths = sorted(folder.glob(pattern))
        if not paths:
            raise SystemExit(f"error: {folder} has no {pattern}; MNIST's IDX files, CIFAR's binary version or train/ and val/ are read")
        content = torch.frombuffer(bytearray(b"".join(path.read_bytes() for path in paths)), dtype=torch.uint8)
        records = content.view(-1, labels + 3072)
        return records[:, labels:].reshape(-1, 3, 32, 32), records[:, labels - 1].long()

    return read(train), read(test)


def augment(images):
    """A border of PAD black pixels, a random window, mirrored half of the time if FLIP."""
    count, _, height, width = images.shape
    device = images.device
    if PAD:
        padded = nn.functional.pad(images, [PAD] * 4)
        rows = torch.randint(2 * PAD + 1, (count, 1), device=device) + torch.arange(height, device=device)
        columns = torch.randint(2 * PAD + 1, (count, 1), device=device) + torch.arange(width, device=device)
        image = torch.arange(count, device=device).view(-1, 1, 1)
        images = padded.permute(0, 2, 3, 1)[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)
    if FLIP:
        mirrored = torch.rand(count, 1, 1, 1, device=device) < 0.5
        images = torch.where(mirrored, images.flip(-1), images)
    return images


def train_epoch(network, optimiser, batches, steps, epoch, precision):
    """Gradients are averaged over the micro-batches of a step; norms see one micro-batch at a time."""
    network.train()
    total = torch.zeros((), dtype=torch.float64, device=next(network.parameters()).device)
    for step, (images, labels) in zip(range(steps), batches):
        for group in optimiser.param_groups:
            group["lr"] = rate(epoch, step, steps)
        optimiser.zero_grad()
        parts = list(zip(images.split(MICRO_BATCH), labels.split(MICRO_BATCH)))
        for part, (x, y) in enumerate(parts):
            alone = part + 1 < len(parts) and hasattr(network, "no_sync")
            with network.no_sync() if alone else contextlib.nullcontext():
                with precision():
                    loss = nn.functional.cross_entropy(network(x), y) * (len(y) / len(labels))
                loss.backward()
            total += loss.detach()
        optimiser.step()
    return total.item() / max(steps, 1)


@torch.no_grad()
def test(network, batches, device, precision):
    """The share of wrong guesses over all processes."""
    network.eval()
    if distributed.is_initialized():
        # Every process has its own running statistics; those of the first are saved.
        for buffer in network.buffers():
            distributed.broadcast(buffer, 0)
    counts = torch.zeros(2, dtype=torch.float64, device=device)
    for x, y in batches:
        with precision():
            wrong = (network(x).argmax(1) != y).sum()
        counts += torch.stack([wrong, torch.tensor(len(y), device=device)])
    if distributed.is_initialized():
        distributed.all_reduce(counts)
    return (counts[0] / counts[1]).item()


def save(network, path, epoch, steps):
    """Weights under the names that `collegial evaluate` reads, whole or not at all."""
    from safetensors.torch import save_file

    header = json.dumps({"spec": json.loads(SPEC), "epoch": epoch, "steps": steps, "number": 0})
    tensors = {name: tensor.cpu().contiguous() for name, tensor in network.state_dict().items()}
    save_file(tensors, f"{path}.part", {"collegial": header})
    os.replace(f"{path}.part", path)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="directory of MNIST's IDX files, CIFAR's binary version, or train/ and val/")
    parser.add_argument("--out", type=Path, default=Path(f"{MODEL}.safetensors"), help="where the weights go after every epoch [%(default)s]")
    parser.add_argument("--weights", type=Path, help="start from this safetensors file")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="[%(default)s]")
    parser.add_argument("--batch", type=int, default=BATCH, help="images per step over all processes [%(default)s]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bf16", action="store_true", help="multiply in bfloat16")
    parser.add_argument("--test-only", action="store_true", help="only the test error of --weights")
    return parser.parse_args()


def main():
    options = arguments()
    world, rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
    device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0))) if torch.cuda.is_available() else torch.device("cpu")
    if options.batch % world:
        raise SystemExit(f"error: {world} processes do not divide the batch of {options.batch}; change --batch")
    if world > 1:
        distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    torch.manual_seed(options.seed)
    bare = build()
    if options.weights:
        from safetensors.torch import load_file

        bare.load_state_dict(load_file(options.weights), strict=True)
    bare.to(device)
    # From here on every process has chance of its own.
    torch.manual_seed(options.seed + 1 + rank)
    network = nn.parallel.DistributedDataParallel(bare, [device.index] if device.index is not None else None) if world > 1 else bare
    optimiser = OPTIMISER_CALL
    data = (Folders if (options.data / "train").is_dir() else Stored)(options.data, device)
    precision = lambda: torch.autocast(device.type, torch.bfloat16, enabled=options.bf16)
    if options.test_only:
        options.epochs = 0
        error = test(bare, data.test_batches(options.batch, rank, world), device, precision)
        print(json.dumps({"test_error": error})) if rank == 0 else None
    for epoch in range(options.epochs):
        steps, batches = data.batches(options.batch, epoch, rank, world, options.seed)
        if not steps:
            raise SystemExit(f"error: there are fewer training images than a batch of {options.batch}; change --batch")
        loss = train_epoch(network, optimiser, batches, steps, epoch, precision)
        error = test(bare, data.test_batches(options.batch, rank, world), device, precision)
        if rank == 0:
            save(bare, options.out, epoch + 1, (epoch + 1) * steps)
            print(json.dumps({"epoch": epoch + 1, "loss": loss, "test_error": error}), flush=True)
    if world > 1:
        distributed.destroy_process_group()


if __name__ == "__main__":
    main()
