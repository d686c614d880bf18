"""The tangent kernel against PyTorch, JAX and neural-tangents: the sections of `side_by_side.py` about draws and full kernels."""

import json

from runner import lowest, only, ours, rival, table

# Ours: theirs.
MATRICES = {"fc-2": "fc-2", "fc-784": "fc-784", "grouped convolutions, trace": "conv"}


def draws():
    """Draws per second of the bottleneck block's kernel at one output unit, two threads."""
    mine = ours("ntk", "draws")
    rivals = []
    for width in (64, 256):
        for script in ("kernel_draws_torch", "kernel_draws_jax"):
            rivals += rival(script, *only(f"n={width}"))
    rows = []
    for line in mine:
        width = line.get("width")
        rate = line.get("draws_per_second_2")
        theirs = [other for other in rivals if other.get("width") == width and "draws_per_second" in other]
        for other in sorted(theirs, key=lambda other: -other["draws_per_second"]):
            slower = other["draws_per_second"]
            rows.append((width, f"{rate:,.0f}", f"{other['rival']} {other['form']}", f"{slower:,.0f}", f"{rate / slower:,.0f}"))
    table(("n", "ours, draws/s", "rival and form", "rival, draws/s", "ratio"), rows)
    for line in mine:
        print(json.dumps(line))


def ntk():
    """Full kernels, and draws of the block's kernel on a whole 8x8 image, all with explicit weights."""
    mine, matrices, draws = [], [], []
    for _ in range(2):
        mine += ours("ntk", "explicit")
        matrices += rival("ntk_matrix_torch", "--seconds", "3")
        matrices += rival("ntk_matrix_jax", "--seconds", "3")
        draws += rival("block_draws_torch") + rival("block_draws_jax")
    times = lowest(mine, lambda line: line["bench"])
    best = lowest(matrices, lambda line: (line["case"], f"{line['rival']} {line['form']}"))
    rows = []
    for name, case in MATRICES.items():
        for (of, form), time in sorted(best.items(), key=lambda item: item[1]):
            if of == case:
                rows.append((case, f"{times[name]:.2f}", form, f"{time:.2f}", f"{time / times[name]:.1f}"))
    table(("full kernel", "ours, ms", "rival and form", "rival, ms", "ratio"), rows)
    rows = []
    for width in (10, 64):
        rate = max(line["kernels_per_second"] for line in mine if line.get("width") == width)
        forms = {}
        for line in draws:
            if line.get("width") == width and "draws_per_second" in line:
                form = f"{line['rival']} {line['form']}"
                forms[form] = max(line["draws_per_second"], forms.get(form, 0))
        for form, slower in sorted(forms.items(), key=lambda item: -item[1]):
            rows.append((width, f"{rate:,.0f}", form, f"{slower:,.0f}", f"{rate / slower:.1f}"))
    table(("n", "ours, kernels/s", "rival and form", "rival, kernels/s", "ratio"), rows)


def sampling():
    """Draws per second where there is no formula and no short way, two threads; moments must agree within 4.5 standard errors."""
    rows = []
    mine = {line["module"]: line for line in ours("ntk", "general")}
    for module, line in mine.items():
        rate = line["draws_per_second"]
        theirs = [other for other in rival("sampling_torch", *only(module)) if "draws_per_second" in other]
        for other in sorted(theirs, key=lambda other: -other["draws_per_second"]):
            same_moments(line, other)
            slower = other["draws_per_second"]
            rows.append((module, f"{rate:,.0f}", other["form"], other["batch"], f"{slower:,.0f}", f"{rate / slower:,.1f}"))
    table(("module", "ours, draws/s", "PyTorch's form", "batch", "PyTorch, draws/s", "ratio"), rows)


def same_moments(one, other):
    """Raise unless the moments of two samples are within 4.5 standard errors of each other."""
    keys = {"mean": "mean_standard_error", "second_moment_ratio": "standard_error", "off_diagonal": "off_diagonal_standard_error"}
    for key, error in keys.items():
        if key in one and key in other:
            gap = abs(one[key] - other[key])
            allowed = 4.5 * (one[error] ** 2 + other[error] ** 2) ** 0.5
            if gap > allowed:
                raise AssertionError(f"{one['module']}: {key} is {one[key]} here and {other[key]} in {other['form']}")
