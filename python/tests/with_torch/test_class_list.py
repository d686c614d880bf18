"""A network with more outputs than a folder has classes is tested by the names of its outputs."""

import numpy
import pytest
import torch
from PIL import Image
from safetensors.torch import save_file

import collegial
from collegial.torch import build

NETWORK = {
    "kind": "resnext", "stem": "imagenet", "blocks": [1, 1], "design": "2x4d", "classes": 5, "image": 224, "outputs": 32,
    "stem_channels": 16,
}  # fmt: skip


@pytest.fixture
def photographs(tmp_path):
    """Noise of a colour of its class, in folders of three classes."""
    chance = numpy.random.default_rng(0)
    for split, count in (("train", 1), ("val", 4)):
        for label, name in enumerate(("ant", "bee", "cat")):
            (tmp_path / "photographs" / split / name).mkdir(parents=True)
            for index in range(count):
                pixels = chance.integers(0, 120, (256, 256, 3)) + 130 * (numpy.arange(3) == label)
                Image.fromarray(pixels.astype("u1")).save(tmp_path / "photographs" / split / name / f"{index}.png")
    return tmp_path / "photographs"


def test_a_class_list_says_which_output_is_which_class(tmp_path, photographs):
    torch.manual_seed(0)
    tensors, names, weights = build(NETWORK).state_dict(), tmp_path / "names.txt", tmp_path / "weights.safetensors"
    classes = ["dog", "cat", "ant", "eel", "bee"]

    def tested(order):
        """With the outputs in another order, and their names in the same."""
        save_file(tensors | {key: tensors[key][order].contiguous() for key in ("fc.weight", "fc.bias")}, weights)
        names.write_text("".join(f"{classes[output]}\n" for output in order))
        return collegial.evaluate(weights, photographs, model=NETWORK, class_list=names)

    first, second = tested([0, 1, 2, 3, 4]), tested([3, 2, 4, 0, 1])
    assert first.outputs == 5 and [row.name for row in first.classes] == ["ant", "bee", "cat"]
    assert first.confusion == second.confusion and sum(map(sum, first.confusion)) == first.images == 12
    names.write_text("ant\nbee\ndog\neel\nfox\n")
    with pytest.raises(collegial.CollegialError, match="cat"):
        collegial.evaluate(weights, photographs, model=NETWORK, class_list=names)
    with pytest.raises(collegial.CollegialError, match=r"fc.bias has the shape \[5\], expected \[3\]"):
        collegial.evaluate(weights, photographs, model=NETWORK)
