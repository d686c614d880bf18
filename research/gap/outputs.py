"""Class probabilities and logits of trained networks on a test set, by ONNX Runtime."""

import gzip
from pathlib import Path

import numpy as np

# The program's normalisation: mean and deviation of pixels divided by 255, per channel.
STATISTICS = {"mnist": ([0.1307], [0.3081]), "cifar10": ([0.4914, 0.4822, 0.4465], [0.2470, 0.2435, 0.2616])}


def test_set(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Normalised images (N x channels x height x width) and labels."""
    if name == "mnist":
        read = lambda file, head: np.frombuffer(gzip.decompress((folder / file).read_bytes()), np.uint8)[head:]
        pixels = read("t10k-images-idx3-ubyte.gz", 16).reshape(-1, 1, 28, 28)
        labels = read("t10k-labels-idx1-ubyte.gz", 8)
    else:
        records = np.fromfile(folder / "test_batch.bin", np.uint8).reshape(-1, 3073)
        pixels, labels = records[:, 1:].reshape(-1, 3, 32, 32), records[:, 0]
    mean, deviation = (np.array(v, np.float32).reshape(1, -1, 1, 1) for v in STATISTICS[name])
    return (pixels.astype(np.float32) / 255 - mean) / deviation, labels


def logits(model: Path, images: np.ndarray) -> np.ndarray:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    taken = session.get_inputs()[0]
    shape = [-1, *(side for side in taken.shape[1:])]
    batches = [images[i : i + 500].reshape(shape) for i in range(0, len(images), 500)]
    return np.concatenate([session.run(None, {taken.name: batch})[0] for batch in batches]).reshape(len(images), -1)


def softmax(values: np.ndarray) -> np.ndarray:
    powers = np.exp(values.astype(np.float64) - values.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


def error(scores: np.ndarray, labels: np.ndarray) -> float:
    """Per cent of images whose highest score is another class's."""
    return float(100 * (scores.argmax(axis=1) != labels).mean())
