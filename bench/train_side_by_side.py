"""Training from end to end, data loading included, ours and PyTorch's in turns: python3 bench/train_side_by_side.py

Needs `bench/setup` once, and a machine that does nothing else; takes about three minutes. Prints Markdown: images per second of
one epoch without its test, the best of the turns. The images are noise in CIFAR-10's and MNIST's files, which costs as much as any.
"""

import argparse
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
TORCH = ROOT / "bench/.venv-torch/bin/python"
# Network, data set and how many images an epoch has.
WORK = [("fc6-30x48", "mnist", 12800), ("resnext29-10x10d", "cifar", 1280), ("resnext29-4x4d", "cifar", 2560)]


def lines(*command):
    """The JSON lines that a command prints."""
    print("$", *(str(word).replace(f"{ROOT}/", "") for word in command), file=sys.stderr, flush=True)
    output = subprocess.run(list(map(str, command)), cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def write_data(folder):
    """Noise in both formats; the test sets are small, since they are not timed."""
    cifar, mnist = folder / "cifar", folder / "mnist"
    cifar.mkdir()
    mnist.mkdir()
    record = lambda index: bytes([index % 10]) + os.urandom(3072)
    for number in range(1, 6):
        (cifar / f"data_batch_{number}.bin").write_bytes(b"".join(map(record, range(2560 if number == 1 else 10))))
    (cifar / "test_batch.bin").write_bytes(b"".join(map(record, range(128))))
    for name, count in (("train", 12800), ("t10k", 128)):
        (mnist / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">4I", 0x0803, count, 28, 28) + os.urandom(784 * count))
        labels = bytes(index % 10 for index in range(count))
        (mnist / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">2I", 0x0801, count) + labels)


def ours(program, model, data, images, threads):
    with tempfile.TemporaryDirectory() as run:
        command = [program, "train", model, "--data", data, "--limit", images, "--epochs", 1, "--json", "--quiet"]
        return lines(*command, "--threads", threads, "--out", run)[0]["images_per_second"]


def theirs(model, data, images, threads):
    command = [TORCH, ROOT / "bench/rivals/train_torch.py", "--data", data, "--limit", images]
    answers = lines(*command, "--only", model, "--threads", threads)
    return max((line for line in answers if "images_per_second" in line), key=lambda line: line["images_per_second"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=2, help="how often each is run (default 2)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--scale", type=float, default=1.0, help="share of the images, to try it out")
    parser.add_argument("--collegial", type=pathlib.Path, default=ROOT / "target/release/collegial")
    options = parser.parse_args()
    print("| network, batch 128 | ours, images/s | PyTorch, images/s | its best form, workers | ratio |")
    print("|---|---:|---:|---|---:|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        write_data(pathlib.Path(folder))
        for model, kind, images in WORK:
            data, images = pathlib.Path(folder) / kind, max(256, int(images * options.scale) // 128 * 128)
            mine, rival = 0.0, {"images_per_second": 0.0}
            for _ in range(options.turns):
                mine = max(mine, ours(options.collegial, model, data, images, options.threads))
                rival = max(rival, theirs(model, data, images, options.threads), key=lambda line: line["images_per_second"])
            rate = rival["images_per_second"]
            print(f"| {model} | {mine:,.0f} | {rate:,.0f} | {rival['form']}, {rival['workers']} | {mine / rate:.2f} |", flush=True)


if __name__ == "__main__":
    main()
