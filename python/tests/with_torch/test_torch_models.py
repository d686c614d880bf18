"""Models of torchvision and timm: what is found in them, and that what is rebuilt runs.
`interop/survey.py` asks hundreds.

The default way: exact variances of whole networks or of a block, drawn ones (here to 10 %) elsewhere."""

import pytest
import timm
import torch
import torchvision

import collegial
from collegial import CollegialError
from collegial.torch import Refused, Verdict, suggest
from collegial.torch import convert as conversion
from collegial.torch.blocks import find_blocks


def convert(*args, **options):
    """The converted model."""
    return conversion(*args, **options).model


# Families with bottleneck blocks, and how many of them a model has.
SERVED = {
    "resnet50": 16,
    "resnext50_32x4d": 16,
    "wide_resnet50_2": 16,
    "regnet_x_400mf": 22,
    "regnet_y_400mf": 16,
    "timm/seresnet50": 16,
    "timm/ecaresnet50d": 16,
    "timm/resnet14t": 4,
    "timm/resnetblur50": 16,
    "timm/resnet50_gn": 16,
    "timm/resnetv2_50x1_bit": 16,
    "timm/nf_resnet50": 16,
    "timm/gcresnet50t": 16,
    "timm/resnext26ts": 8,
    "timm/regnetz_b16": 22,
    "timm/cspresnet50": 16,
    "timm/tresnet_m": 14,
    "timm/dla102": 28,
    "timm/hrnet_w18": 8,
    "timm/dpn68": 22,
    # Attention takes the place of the convolution in the other blocks.
    "timm/botnet26t_256": 5,
    # The first stages are not depthwise, the last and larger ones are.
    "timm/gernet_l": 9,
    # Separable convolutions, without an activation inside.
    "timm/xception": 12,
    "timm/nasnetalarge": 110,
    "timm/convformer_s18": 18,
    # Inner layers of two widths, and two k x k convolutions.
    "timm/legacy_senet154": 50,
    "timm/eca_nfnet_l0": 12,
    # No bottleneck block, but a classifier of two hidden layers.
    "vgg11": 1,
    # Depthwise throughout, with ReLU6, and with SiLU and gates.
    "mobilenet_v2": 16,
    "efficientnet_b0": 15,
}

# The rest: why not, in a few words of the first reason.
REFUSED = {
    "resnet18": (Verdict.SPLIT_NEUTRAL, "one hidden layer"),
    "vit_b_16": (Verdict.SPLIT_NEUTRAL, "one hidden layer"),
    "timm/darknet53": (Verdict.SPLIT_NEUTRAL, "one hidden layer"),
    # A 1x1, a 3x3 and a 1x1 convolution lead from stage to stage, but an activation follows.
    "timm/cs3darknet_s": (Verdict.SPLIT_NEUTRAL, "one hidden layer"),
    # Depthwise and 1x1 convolutions in turn, to the end.
    "timm/lcnet_050": (Verdict.NOT_COVERED, "hidden layer of a longer chain"),
    # With no activation between, its depthwise and first 1x1 convolution are one linear function.
    "convnext_tiny": (Verdict.SPLIT_NEUTRAL, "one hidden layer.*no activation after it"),
    # The same with a convolution of some of the channels, and with branches of them.
    "timm/fasternet_t0": (Verdict.SPLIT_NEUTRAL, "one hidden layer.*no activation after it"),
    "timm/inception_next_atto": (Verdict.SPLIT_NEUTRAL, "one hidden layer.*no activation after it"),
    # Feed-forward branches with a depthwise convolution inside, and gated ones.
    "timm/pvt_v2_b0": (Verdict.SPLIT_NEUTRAL, "one hidden layer.*depthwise convolution mixes no channels"),
    "timm/eva02_tiny_patch14_224": (Verdict.SPLIT_NEUTRAL, "one hidden layer"),
    "timm/starnet_s1": (Verdict.SPLIT_NEUTRAL, "one hidden layer"),
    "shufflenet_v2_x1_0": (Verdict.NOT_COVERED, "hidden layer of a longer chain"),
    "timm/skresnet50": (Verdict.NOT_COVERED, "side by side.*selective kernels"),
    "timm/res2net50_26w_4s": (Verdict.NOT_COVERED, "side by side.*a part of the inner channels"),
    "timm/resnest50d": (Verdict.NOT_COVERED, "64 -> 128.*are added"),
    # Parallel branches, plain chains and dense sums have no bottleneck block, whatever their order
    # of registration looks like.
    "timm/repvgg_a0": (Verdict.NOT_COVERED, "no bottleneck block"),
    "densenet121": (Verdict.NOT_COVERED, "no bottleneck block"),
    "googlenet": (Verdict.NOT_COVERED, "no bottleneck block"),
}


def make(name):
    """The model without values; torchvision's RegNets compute with values while they are built."""
    build = lambda: timm.create_model(name[5:]) if name.startswith("timm/") else torchvision.models.get_model(name, weights=None)
    if name.startswith("regnet"):
        return build()
    with torch.device("meta"):
        return build()


@pytest.mark.parametrize("name, blocks", SERVED.items())
def test_bottlenecks_are_found_and_rebuilt(name, blocks):
    model = make(name)
    suggestion = suggest(model, precision=0.1)
    assert len(suggestion.blocks) == blocks
    assert suggestion.primal.parameters <= suggestion.baseline.parameters and suggestion.dual.variance <= suggestion.baseline.variance
    for objective in ("primal", "dual"):
        try:
            better = convert(model, objective, precision=0.1)
        except CollegialError as error:
            assert "nothing to gain" in str(error) or "the draws decide no gain" in str(error)
            continue
        assert sum(parameter.numel() for parameter in better.parameters()) == suggestion[objective].parameters


@pytest.mark.parametrize("name, kernel", [("nasnetalarge", 5), ("convformer_s18", 7)])
def test_separable_mixers_are_chains_with_a_linear_layer(name, kernel):
    """1x1, an activation, depthwise, 1x1: the variances are those of that chain, of width 1."""
    model = make(f"timm/{name}")
    suggestion = suggest(model, precision=0.1)
    assert suggestion.verdict is Verdict.VARIANCE and suggestion.variance_activations == ["relu", "none"]
    block = next(block for block in find_blocks(model).blocks if block.name == suggestion.analysed)
    first, middle, last = block.spec()["layers"]
    assert (first["activation"], middle["activation"], last.get("activation")) == ("relu", "none", None)
    assert (first["width"], middle["width"], middle["kernel"], last["width"]) == (1, 1, kernel, block.outputs)
    assert suggestion.baseline.design == f"{block.members}x1d"
    assert suggestion.baseline.variance == pytest.approx(collegial.search(block.spec()).baseline_variance, rel=1e-9)


@pytest.mark.filterwarnings("ignore:The default weight initialization")
@pytest.mark.parametrize("name, verdict, reason", [(name, *why) for name, why in REFUSED.items()])
def test_everything_else_is_left_alone_with_a_reason(name, verdict, reason):
    with pytest.raises(Refused, match=reason) as refused:
        suggest(make(name))
    assert refused.value.verdict is verdict


def test_the_program_and_the_torch_part_agree():
    """What the program knows of a name without a spec is of the kind that the model's blocks show."""
    known = 0
    judged = collegial.search("vit_b_16").to_dict()["verdicts"]
    assert {row["verdict"] for row in judged} == {REFUSED["vit_b_16"][0].value}
    for name, (verdict, _) in REFUSED.items():
        if name == "vit_b_16":
            continue
        with pytest.raises(CollegialError) as refused:
            collegial.info(name.removeprefix("timm/"))
        sentence = str(refused.value)
        if "is not supported" in sentence:
            known += 1
            neutral = "is not supported by a search" in sentence or "another transformer" in sentence
            assert neutral == (verdict is Verdict.SPLIT_NEUTRAL), sentence
    assert known >= 9
    for name in ("mobilenet_v2", "efficientnet_b0", "timm/ecaresnet50d", "timm/cspresnet50", "timm/tresnet_m", "timm/hrnet_w18"):
        assert name in SERVED
        with pytest.raises(CollegialError, match=r"collegial.torch.suggest\(model\) answers"):
            collegial.info(name.removeprefix("timm/"))
