"""The grouped 3x3 convolutions that are timed, ours and the rivals' alike: batch 16, padding 1."""

BATCH = 16
# name, channels, groups, side of the input, stride
CASES = [
    ("37x10d-stage1", 370, 37, 32, 1),
    ("37x10d-stage2", 740, 37, 16, 1),
    ("37x10d-stage3", 1480, 37, 8, 1),
    ("37x10d-stage2-stride2", 740, 37, 32, 2),
    ("37x10d-stage3-stride2", 1480, 37, 16, 2),
    ("10x10d-stage1", 100, 10, 32, 1),
    ("10x10d-stage2", 200, 10, 16, 1),
    ("10x10d-stage3", 400, 10, 8, 1),
    ("3x64d-stage1", 192, 3, 32, 1),
    ("1x128d-stage1", 128, 1, 32, 1),
    ("width3", 96, 32, 32, 1),
    ("width5", 185, 37, 32, 1),
    ("width7", 224, 32, 32, 1),
    ("width8", 256, 32, 32, 1),
    ("width9", 333, 37, 32, 1),
    ("width11", 407, 37, 32, 1),
    ("width12", 336, 28, 32, 1),
    ("width13", 377, 29, 32, 1),
    ("width23", 851, 37, 16, 1),
    ("width7-stride2", 224, 32, 32, 2),
    ("width13-stride2", 377, 29, 32, 2),
]


def flops(channels, groups, side, stride):
    """Of one pass, 2 per multiplication and addition, padding counted as work."""
    pixels = ((side - 1) // stride + 1) ** 2
    return 2 * BATCH * channels * pixels * (channels // groups) * 9
