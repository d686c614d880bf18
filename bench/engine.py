"""The CPU engine against PyTorch and ONNX Runtime: the sections of `side_by_side.py` about layers, steps, inference, memory.

Ours and the rival take turns, and the best of each counts. A share of sgemm is ours over the 1024^3 product of the same turns.
"""

from runner import lowest, only, ours, rival, table  # first: it puts rivals/ on the path
from conv_cases import CASES, flops  # isort: skip

DESIGNS = ("37x10d", "10x10d", "4x4d", "1x128d", "3x64d")
INFERRED = ("resnext29-37x10d", "resnext29-10x10d", "resnet50")
PASSES = {"forward": "forward", "data": "data_gradient", "weight": "weight_gradient"}
SGEMM_FLOPS = 2 * 1024**3


def percent(share):
    return f"{100 * share:.0f} %"


def conv():
    """Grouped 3x3 convolutions, three passes, PyTorch's better layout."""
    mine, theirs = [], []
    shapes = {name: f"{groups}x{channels // groups}@{side}/{stride}" for name, channels, groups, side, stride in CASES}
    asked = [word for shape in shapes.values() for word in ("--shape", shape)]
    for _ in range(2):
        mine += ours("nn", "kernels", "--json", "--seconds", "25", *asked)
        theirs += rival("conv_torch", "--seconds", "1")
    best = lowest(mine, lambda line: (line["shape"], line["pass"]))
    rivals = lowest(theirs, lambda line: (line["case"], line["pass"]))
    sgemm = SGEMM_FLOPS / best["sgemm 1024", "reference"]
    rows = []
    for name, *sizes in CASES:
        for short, long in PASSES.items():
            time, rival_time = best[shapes[name], short], rivals[name, long]
            share = flops(*sizes) / time / sgemm
            rows.append((name, short, f"{time:.2f}", percent(share), f"{rival_time:.2f}", f"{rival_time / time:.2f}"))
    table(("shape", "pass", "ours, ms", "of sgemm", "PyTorch, ms", "ratio"), rows)


def steps():
    """Training steps of five designs, batch 16 and 32, PyTorch's better layout."""
    rows = []
    for design in DESIGNS:
        for batch in (16, 32):
            words = ("--json", "--rounds", "4", f"train resnext29-{design} batch {batch}")
            mine = ours("nn", "steps", *words)
            theirs = rival("step_torch", *only("step", design, f"batch={batch}"), "--seconds", "10")
            mine += ours("nn", "steps", *words)
            rows.append(compared(mine, f"{design}, batch {batch}", theirs))
    table(("network", "ours, ms", "of sgemm", "PyTorch, ms", "its form", "ratio"), rows)


def compared(mine, name, theirs):
    """A row: our best time of the only work there is, and the rival's over its forms."""
    best = lowest(mine, lambda line: line.get("work"))
    sgemm = SGEMM_FLOPS / best.pop("sgemm 1024")
    (work, time), = best.items()
    gigaflops = next(line["gigaflops"] for line in mine if line.get("work") == work)
    forms = lowest(theirs, lambda line: line.get("layout") or line.get("form"))
    form = min(forms, key=forms.get)
    share = percent(1e9 * gigaflops / time / sgemm)
    return name, f"{time:.2f}", share, f"{forms[form]:.2f}", form, f"{forms[form] / time:.2f}"


def mlp():
    """A training step of 30 MLPs of width 48, batch 128, Adam."""
    mine, theirs = [], []
    for _ in range(3):
        mine += ours("nn", "steps", "--json", "--rounds", "20", "train fc6-30x48")
        theirs += rival("mlp_torch", "--seconds", "15")
    by_form = {line["form"]: [] for line in theirs if "form" in line}
    for line in theirs:
        by_form.get(line.get("form"), []).append(line)
    rows = [compared(mine, "fc6-30x48", lines) for lines in by_form.values()]
    table(("network", "ours, ms", "of sgemm", "PyTorch, ms", "its form", "ratio"), rows)


def inference():
    """Inference with norms folded, batch 1 and 32: PyTorch's best form, and ONNX Runtime."""
    rows = []
    for network in INFERRED:
        for batch in (1, 32):
            words = ("--json", "--rounds", "5", f"infer {network} batch {batch} folded")
            mine = ours("nn", "steps", *words)
            theirs = rival("inference_torch", *only(network, f"batch={batch}"), "--seconds", "6")
            mine += ours("nn", "steps", *words)
            for runtime in (False, True):
                forms = [line for line in theirs if (line.get("form") == "onnx_runtime") == runtime]
                rows.append(compared(mine, f"{network}, batch {batch}", forms))
    table(("network", "ours, ms", "of sgemm", "rival, ms", "its form", "ratio"), rows)


def memory():
    """Peak resident memory of a fresh process that makes three 37x10d steps at batch 32."""
    mine = ours("nn", "steps", "--json", "--rounds", "2", "train resnext29-37x10d batch 32")
    theirs = rival("step_torch", *only("memory"))
    peak = next(line["peak_megabytes"] for line in mine if "peak_megabytes" in line)
    rows = [("collegial", f"{peak:.0f}", "")]
    for line in theirs:
        if line.get("work") == "memory":
            rows.append((f"PyTorch {line['layout']}", f"{line['peak_megabytes']:.0f}", f"{line['megabytes_after_import']:.0f}"))
    table(("", "peak, MB", "of that its import"), rows)
