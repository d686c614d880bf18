"""PyTorch: training from end to end, DataLoader included, on the files that `collegial train` reads.

All images are tensors in memory. A batch is cut out (4 pixels of black border), mirrored and normalised in one go, by the loader's
`__getitems__`: one image at a time is slower. 0, 1 and 2 workers are tried, and for ResNeXt both layouts; the best counts.
"""

import pathlib
import time

import torch
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader, Dataset

import mlp_torch
from measure import emit, parser, wanted
from resnext_torch import ResNeXt29
from torch_common import LAYOUTS, start

BATCH = 128
WORKERS = (0, 1, 2)
CIFAR = ((0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616))
MNIST = ((0.1307,), (0.3081,))


def read(folder, limit):
    """The first images of CIFAR-10's binary files or of MNIST's IDX files."""
    if (folder / "data_batch_1.bin").exists():
        records = torch.frombuffer(bytearray((folder / "data_batch_1.bin").read_bytes()), dtype=torch.uint8)
        records = records.view(-1, 3073)[:limit]
        return records[:, 1:].view(-1, 3, 32, 32), records[:, 0].long()
    data = lambda name, head: torch.frombuffer(bytearray((folder / name).read_bytes()[head:]), dtype=torch.uint8)
    images = data("train-images-idx3-ubyte", 16).view(-1, 1, 28, 28)
    return images[:limit], data("train-labels-idx1-ubyte", 8)[:limit].long()


class Images(Dataset):
    """Images in memory, augmented by whole batches."""

    def __init__(self, images, labels, pad, flip, statistics):
        self.images = torch.nn.functional.pad(images, [pad] * 4)
        self.labels, self.pad, self.flip = labels, pad, flip
        self.mean, self.deviation = (255 * torch.tensor(numbers).view(1, -1, 1, 1) for numbers in statistics)
        self.side = images.shape[-1]

    def __len__(self):
        return len(self.labels)

    def __getitems__(self, indices):
        indices = torch.tensor(indices)
        x = self.images[indices]
        if self.pad:
            window = torch.arange(self.side)
            top, left = torch.randint(0, 2 * self.pad + 1, (2, len(indices), 1))
            rows, columns = (top + window)[:, None, :, None], (left + window)[:, None, None, :]
            x = x[torch.arange(len(indices))[:, None, None, None], torch.arange(x.shape[1])[None, :, None, None], rows, columns]
        if self.flip:
            mirrored = torch.rand(len(indices), 1, 1, 1) < 0.5
            x = torch.where(mirrored, x.flip(3), x)
        return (x.float() - self.mean) / self.deviation, self.labels[indices]


def resnext(design, layout):
    m, n = (int(number) for number in design.removesuffix("d").split("x"))
    network = ResNeXt29(m, n).to(memory_format=LAYOUTS[layout])
    optimiser = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, foreach=True)
    return (lambda x: network(x.to(memory_format=LAYOUTS[layout]))), optimiser


def ensemble():
    layers = mlp_torch.parameters(wide=True)
    optimiser = torch.optim.Adam([tensor for layer in layers for tensor in layer], lr=1e-3, fused=True)
    return (lambda x: mlp_torch.wide_first(layers, x.flatten(1))), optimiser


FORMS = {
    "fc6-30x48": {"wide_first_fused_adam": ensemble},
    "resnext29-10x10d": {layout: lambda layout=layout: resnext("10x10d", layout) for layout in LAYOUTS},
    "resnext29-4x4d": {layout: lambda layout=layout: resnext("4x4d", layout) for layout in LAYOUTS},
}


def epoch(loader, network, optimiser):
    """Images per second over the loader's batches after the first, which starts its workers."""
    images, begin = 0, None
    for x, labels in loader:
        optimiser.zero_grad(set_to_none=True)
        loss = cross_entropy(network(x), labels)
        loss.backward()
        optimiser.step()
        loss.item()  # `collegial train` sums up the losses, too
        if begin is None:
            begin = time.perf_counter()
        else:
            images += len(labels)
    return images / (time.perf_counter() - begin)


def main():
    arguments = parser(__doc__)
    arguments.add_argument("--data", type=pathlib.Path, required=True, help="CIFAR-10's binary or MNIST's IDX files")
    arguments.add_argument("--limit", type=int, default=1280, help="images trained on (default 1280)")
    options = arguments.parse_args()
    start(options)
    images, labels = read(options.data, options.limit)
    colour = images.shape[1] == 3
    dataset = Images(images, labels, 4 * colour, colour, CIFAR if colour else MNIST)
    for model, forms in FORMS.items():
        if not wanted(options, model) or colour != model.startswith("resnext"):
            continue
        rates = {}
        for form, build in forms.items():
            network, optimiser = build()
            # Workers matter little to the slower layout: it is tried without any.
            for workers in WORKERS if not rates or len(forms) == 1 else WORKERS[:1]:
                loader = DataLoader(dataset, BATCH, shuffle=True, drop_last=True, num_workers=workers,
                                    collate_fn=lambda batch: batch)
                rates[form, workers] = epoch(loader, network, optimiser)
        form, workers = max(rates, key=rates.get)
        emit(rival="torch", work="train", model=model, batch=BATCH, form=form, workers=workers,
             images_per_second=rates[form, workers], images=len(dataset))


if __name__ == "__main__":
    main()
