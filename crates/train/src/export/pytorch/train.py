# MODEL DOCSTRING

import argparse
import contextlib
import gzip
import json
import math
import os
import zlib
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
    """CIFAR-10 has one label byte before each image, CIFAR-100 two, of which the second is the
    class."""
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


class Setup:
    """The process among its peers, and how it computes."""

    def __init__(self, options):
        self.world, self.rank = int(os.environ.get("WORLD_SIZE", 1)), int(os.environ.get("RANK", 0))
        local = int(os.environ.get("LOCAL_RANK", 0))
        self.device = torch.device("cuda", local) if torch.cuda.is_available() else torch.device("cpu")
        self.type = {None: None, "bf16": torch.bfloat16, "fp16": torch.float16}[options.amp]
        self.format = torch.channels_last if options.channels_last else torch.contiguous_format
        # Gradients in fp16 would vanish below 6e-8 if they were not scaled.
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=options.amp == "fp16")
        if options.batch % self.world:
            raise SystemExit(f"error: {self.world} processes do not divide the batch of {options.batch}; change --batch")
        if self.device.type == "cuda":
            torch.cuda.set_device(self.device)
        if self.world > 1:
            distributed.init_process_group("nccl" if self.device.type == "cuda" else "gloo")

    def precision(self):
        return torch.autocast(self.device.type, self.type, enabled=self.type is not None)

    def random(self):
        """Where the random numbers of all processes are."""
        own = [torch.get_rng_state(), torch.cuda.get_rng_state() if self.device.type == "cuda" else None]
        every = [None] * self.world
        if self.world > 1:
            distributed.all_gather_object(every, own)
        return every if self.world > 1 else [own]

    def go_on_with(self, random):
        if len(random) != self.world:
            raise SystemExit(f"error: the run was of {len(random)} processes, not of {self.world}; start as many to --resume it")
        torch.set_rng_state(random[self.rank][0])
        if self.device.type == "cuda":
            torch.cuda.set_rng_state(random[self.rank][1])


def train_epoch(network, optimiser, batches, steps, epoch, setup, micro_batch, average):
    """Gradients are averaged over the micro-batches of a step; norms see one micro-batch at a time.
    """
    network.train()
    total = torch.zeros((), dtype=torch.float64, device=setup.device)
    for step, (images, labels) in zip(range(steps), batches):
        for group in optimiser.param_groups:
            group["lr"] = rate(epoch, step, steps)
        optimiser.zero_grad()
        parts = list(zip(images.split(micro_batch), labels.split(micro_batch)))
        for part, (x, y) in enumerate(parts):
            alone = part + 1 < len(parts) and hasattr(network, "no_sync")
            with network.no_sync() if alone else contextlib.nullcontext():
                with setup.precision():
                    scores = network(x.contiguous(memory_format=setup.format))
                    loss = nn.functional.cross_entropy(scores, y) * (len(y) / len(labels))
                setup.scaler.scale(loss).backward()
            total += loss.detach()
        setup.scaler.step(optimiser)
        setup.scaler.update()
        if average is not None:
            average.update()
    if setup.world > 1:
        # Every process has seen its share of each batch.
        distributed.all_reduce(total)
    return total.item() / (setup.world * max(steps, 1))


class Average:
    """A moving average of the weights; the rest of the state (norms' statistics) is the network's
    own."""

    def __init__(self, network, decay):
        self.network, self.decay = network, decay
        self.weights = {name: tensor.detach().clone() for name, tensor in network.named_parameters()}

    @torch.no_grad()
    def update(self):
        for name, tensor in self.network.named_parameters():
            self.weights[name].lerp_(tensor, 1 - self.decay)

    @contextlib.contextmanager
    def inside(self):
        """The network with the averaged weights for a while."""
        own = {name: tensor.detach().clone() for name, tensor in self.network.named_parameters()}
        self._set(self.weights)
        try:
            yield
        finally:
            self._set(own)

    @torch.no_grad()
    def _set(self, weights):
        for name, tensor in self.network.named_parameters():
            tensor.copy_(weights[name])


@torch.no_grad()
def test(network, batches, setup):
    """The shares of images whose class is not the first guess, and not among the first five, over
    all processes."""
    network.eval()
    if setup.world > 1:
        # Every process has its own running statistics; those of the first are saved.
        for buffer in network.buffers():
            distributed.broadcast(buffer, 0)
    counts = torch.zeros(3, dtype=torch.float64, device=setup.device)
    for x, y in batches:
        with setup.precision():
            scores = network(x.contiguous(memory_format=setup.format))
        hits = scores.topk(min(5, scores.shape[1]), dim=1).indices == y[:, None]
        counts += torch.stack([(~hits[:, 0]).sum(), (~hits.any(1)).sum(), torch.tensor(len(y), device=setup.device)])
    if setup.world > 1:
        distributed.all_reduce(counts)
    first, five, images = counts.tolist()
    return {"test_error": first / images, "top5_error": five / images}


def whole(path, write):
    """A file that is there whole or not at all."""
    write(f"{path}.part")
    os.replace(f"{path}.part", path)


def save(network, path, epoch, steps):
    """Weights under the names that `collegial evaluate` reads."""
    from safetensors.torch import save_file

    blank = "crc32-00000000"
    # The checksum first: a network's name may hold the same text.
    header = json.dumps({"checksum": blank, "spec": json.loads(SPEC), "epoch": epoch, "steps": steps, "number": 0})
    tensors = {name: tensor.cpu().contiguous() for name, tensor in network.state_dict().items()}

    def write(part):
        save_file(tensors, part, {"collegial": header})
        content = Path(part).read_bytes()
        # The CRC-32 of the file with zeros in its place.
        digits = f"crc32-{zlib.crc32(content):08x}"
        Path(part).write_bytes(content.replace(blank.encode(), digits.encode(), 1))

    whole(path, write)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="directory of MNIST's IDX files, CIFAR's binary version, or train/ and val/")
    parser.add_argument("--out", type=Path, default=Path(f"{MODEL}.safetensors"), help="where the weights go after every epoch [%(default)s]")
    parser.add_argument("--resume", action="store_true", help="go on where the run with this --out ended, if there is one")
    parser.add_argument("--weights", type=Path, help="start from this safetensors file")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="[%(default)s]")
    parser.add_argument("--batch", type=int, default=BATCH, help="images per step over all processes [%(default)s]")
    parser.add_argument("--micro-batch", type=int, default=MICRO_BATCH, help="images of a process that are computed at once; gradients add up [%(default)s]")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--amp", choices=["bf16", "fp16"], help="multiply in 16 bits; fp16 scales the loss")
    parser.add_argument("--compile", nargs="?", const="inductor", metavar="BACKEND", help="torch.compile the network [off; %(const)s]")
    parser.add_argument("--channels-last", action="store_true", help="store images with their channels innermost")
    parser.add_argument("--ema", type=float, metavar="DECAY", help="test and save a moving average of the weights, such as 0.9999 [off]")
    parser.add_argument("--test-only", action="store_true", help="only the test error of --weights")
    return parser.parse_args()


def main():
    options = arguments()
    setup = Setup(options)
    torch.manual_seed(options.seed)
    bare = build()
    if options.weights:
        from safetensors.torch import load_file

        bare.load_state_dict(load_file(options.weights), strict=True)
    bare.to(setup.device, memory_format=setup.format)
    # From here on every process has chance of its own.
    torch.manual_seed(options.seed + 1 + setup.rank)
    device = [setup.device.index] if setup.device.index is not None else None
    network = nn.parallel.DistributedDataParallel(bare, device) if setup.world > 1 else bare
    optimiser = OPTIMISER_CALL
    average = Average(bare, options.ema) if options.ema else None
    data = (Folders if (options.data / "train").is_dir() else Stored)(options.data, setup.device)
    tested = lambda: test(bare, data.test_batches(options.batch, setup.rank, setup.world), setup)
    if options.test_only:
        errors = tested()
        if setup.rank == 0:
            print(json.dumps(errors))
    else:
        fit(options, setup, bare, network, optimiser, average, data, tested)
    if setup.world > 1:
        # All leave together: the first one saves after the last step.
        distributed.barrier()
        distributed.destroy_process_group()


def fit(options, setup, bare, network, optimiser, average, data, tested):
    """All epochs, or those that are left. Behind every one comes a checkpoint, from which --resume
    goes on as if nothing had happened."""
    checkpoint, first = Path(f"{options.out}.resume"), 0
    run = {"batch": options.batch, "micro_batch": options.micro_batch, "seed": options.seed, "ema": options.ema, "amp": options.amp}
    if options.resume and checkpoint.is_file():
        state = torch.load(checkpoint, map_location="cpu", weights_only=True)
        for name, value in run.items():
            if state["run"][name] != value:
                raise SystemExit(f"error: the run had --{name.replace('_', '-')} {state['run'][name]}, not {value}; --resume takes the same")
        bare.load_state_dict(state["network"])
        optimiser.load_state_dict(state["optimiser"])
        setup.scaler.load_state_dict(state["scaler"])
        if average is not None:
            average.weights = {name: tensor.to(setup.device) for name, tensor in state["average"].items()}
        setup.go_on_with(state["random"])
        first = state["epoch"]
    computing = torch.compile(network, backend=options.compile) if options.compile else network
    for epoch in range(first, options.epochs):
        steps, batches = data.batches(options.batch, epoch, setup.rank, setup.world, options.seed)
        if not steps:
            raise SystemExit(f"error: there are fewer training images than a batch of {options.batch}; change --batch")
        loss = train_epoch(computing, optimiser, batches, steps, epoch, setup, options.micro_batch, average)
        with average.inside() if average is not None else contextlib.nullcontext():
            errors = tested()
            if setup.rank == 0:
                save(bare, options.out, epoch + 1, (epoch + 1) * steps)
        state = {
            "run": run, "epoch": epoch + 1, "network": bare.state_dict(), "optimiser": optimiser.state_dict(), "scaler": setup.scaler.state_dict(),
            "average": average.weights if average is not None else None, "random": setup.random(),
        }
        if setup.rank == 0:
            whole(checkpoint, lambda part: torch.save(state, part))
            print(json.dumps({"epoch": epoch + 1, "loss": loss, **errors}), flush=True)


if __name__ == "__main__":
    main()
