"""Asks `collegial.torch` about the world's image classifiers and writes a table: what it rebuilds,
what it leaves alone, and why.

    python interop/survey.py --out docs/torch-models.md

Takes all of torchvision's classifiers and timm's, up to --per-family of a family and three times as
many where blocks are bottlenecks: first one of every family, the smallest by its name, then a second
one, and so on, so that a run that was stopped has some of every family. The page is made from the
rows there are. Models are made on the meta device where they can be, so that they need no memory,
each in a process of its own with a limit on memory and time: one that breaks it is a crash in the
table. What is known of a model is kept, so that a run that was stopped goes on. Every model is asked
the default way, `suggest(model)`, converted by both objectives, counted, and run forward and backward.
Where there is nothing to gain, its blocks are given one member more, each three channels wider, and
run with those, so that every model with blocks has been rebuilt.
"""

import argparse
import collections
import csv
import json
import math
import multiprocessing
import re
import resource
import statistics
import sys
import textwrap
from importlib import metadata
from pathlib import Path

# Families of timm's whose blocks are bottlenecks: three times as many of them are asked.
BOTTLENECKS = ["byoanet", "byobnet", "cspnet", "dla", "hrnet", "nfnet", "regnet", "resnet", "resnetv2", "senet", "tresnet"]
FORK = multiprocessing.get_context("fork")


def names(per_family):
    """Every model's name, timm's with `timm/` in front."""
    import timm
    import torchvision

    families = collections.defaultdict(list)
    for name in torchvision.models.list_models(module=torchvision.models):
        family = torchvision.models.get_model_builder(name).__module__.rsplit(".", 1)[-1]
        families["torchvision", family].append(name)
    for name in timm.list_models():
        families["timm", timm.models._registry._model_to_module[name]].append(f"timm/{name}")
    asked = lambda library, family: 3 * per_family if family in BOTTLENECKS else per_family
    chosen = [
        (place, name)
        for (library, family), members in families.items()
        for place, name in enumerate(sorted(members, key=size))
        if library == "torchvision" or place < asked(library, family)
    ]
    # First one of every family, and so on; torchvision's larger families have an end too.
    return [name for _, name in sorted(chosen, key=lambda each: each[0])]


# What names call sizes, the smallest first.
SIZES = [
    ["zepto"], ["atto", "xxt", "xxs", "xx"], ["femto", "xt", "xs", "x"], ["pico", "lite", "lightweight"], ["nano", "mini"], ["tiny", "t", "t0", "s0", "b0", "f0"],
    ["small", "s", "s1", "t1", "b1", "f1"], ["medium", "m", "mediumd", "t2", "b2", "f2"], ["base", "b", "b3", "f3"], ["large", "l", "b4", "f4"],
    ["xlarge", "xl", "b5", "f5"], ["huge", "h", "b6"], ["giant", "g", "b7"], ["gigantic", "enormous", "2b", "3b", "7b", "b8"],
]  # fmt: skip


def size(name):
    """The order of a family's members: by the words for sizes in a name, then by its numbers."""
    words = re.split("[_-]", name.rsplit("/", 1)[-1])
    ranks = [rank for rank, same in enumerate(SIZES) for word in words if word in same]
    numbers = [int(number) for number in re.findall(r"\d+", name)]
    return max(ranks, default=6), sum(numbers), name


def make(name):
    """The model, without values where that is possible."""
    import timm
    import torch
    import torchvision

    build = lambda: timm.create_model(name[5:]) if name.startswith("timm/") else torchvision.models.get_model(name, weights=None)
    try:
        with torch.device("meta"):
            return build()
    except Exception:  # noqa: BLE001: a few compute with values while they are built
        return build()


def judge(name):
    """One row of the table."""
    from collegial.torch import Refused
    from collegial.torch.blocks import find_blocks
    from collegial.torch.suggest import gains, suggested

    model = make(name)
    row = {"model": name, "family": type(model).__module__.rsplit(".", 1)[-1], "on": next(model.parameters()).device.type}
    try:
        found = find_blocks(model)
        suggestion = suggested(model, found, None, math.inf, {})
    except Refused as refused:
        return {**row, "verdict": refused.verdict.value, "layers": _layers(refused.verdicts), "reason": refused.refusals[0].reason}
    blocks = [type(model.get_submodule(block)).__name__ for block in suggestion.blocks if block in dict(model.named_modules())]
    skipped = [refusal.reason for refusal in suggestion.skipped]
    reason = f"{len(skipped)} left alone: {skipped[0]}" if skipped else ""
    verdict = "served" if any(gains(suggestion, objective) for objective in ("primal", "dual")) else "no gain"
    row.update(verdict=verdict, layers=_layers(suggestion.verdicts), reason=reason, blocks=len(suggestion.blocks), classes=sorted(set(blocks)))
    row.update(shape=shape(found.blocks[0]), scope=suggestion.scope, network=suggestion.network or "", untouched=suggestion.untouched)
    if gains(suggestion, "primal"):
        row["less_variance"] = suggestion.primal.variance_reduction
    if gains(suggestion, "dual"):
        row["fewer_parameters"] = suggestion.baseline.parameters / suggestion.dual.parameters
    for objective in ("primal", "dual"):
        row[objective] = _converted(model, found, suggestion, objective)
    return row


def _layers(verdicts):
    """The verdict of every kind of layers, in a line."""
    return "; ".join(f"{row['count']} {row['layers']}: {row['verdict']}" for row in verdicts)


def shape(block):
    """What was found, for a person to check: channels in, members and their width, channels out, the
    kernel, gates and activations."""
    if block.hidden is not None:
        return f"{block.inputs} -> {block.hidden} x {block.width} -> {block.outputs}, fully connected, {block.activated}"
    gate = ", gated" if block.gated else ""
    widths = f"{block.inputs} -> {block.members}x{block.width}d -> {block.outputs}"
    kernels = " and ".join(f"{kernel}x{kernel}" for kernel in block.kernels)
    return f"{widths}, {kernels}{gate}, {block.activated}"


def _converted(model, found, suggestion, objective):
    """What became of a conversion: the design, or that there is nothing to gain and which other design
    was tried in its place."""
    import torch

    from collegial import CollegialError
    from collegial.torch.convert import converted
    from collegial.torch.flow import tensors_in

    announced, tried = suggestion[objective], ""
    try:
        better = converted(model, found, suggestion, objective)
        expected = announced.parameters
    except CollegialError as error:
        if not any(words in str(error) for words in ("nothing to gain", "decide no gain")):
            raise
        better, expected, tried = _wider(model, found)
    count = sum(parameter.numel() for parameter in better.parameters())
    assert count == expected, f"{count:,} parameters instead of {expected:,}"
    without = _without_gradient(better, found)
    without -= _without_gradient(model, found) if without else set()
    assert not without, f"{min(without)} has no gradient"
    if not next(better.parameters()).is_meta:
        with torch.no_grad():
            outputs = better.eval()(torch.zeros(1, found.trial.example[0].shape[1], 64, 64))
        assert all(tensor.isfinite().all() for tensor in tensors_in(outputs)), "its outputs are not finite"
    return f"nothing to gain; rebuilt with {tried}" if tried else announced.design


def _without_gradient(model, found):
    """The parameters that a forward and a backward pass on shapes leave without a gradient: a few models
    have layers that they do not use."""
    import torch

    from collegial.torch.flow import tensors_in
    from collegial.torch.trial import meta_model

    model = meta_model(model).train()
    outputs = model(*(torch.empty_like(tensor, device="meta") for tensor in found.trial.example))
    sum(tensor.sum() for tensor in tensors_in(outputs) if tensor.requires_grad).backward()
    return {name for name, parameter in model.named_parameters() if parameter.requires_grad and parameter.grad is None}


def _wider(model, found):
    """The model with one member more in every block and three channels more in each; its parameters by
    the blocks' own count, and the design of the first block."""
    from collegial.torch.resize import resize
    from collegial.torch.trial import copied

    def rebuilt(target):
        for block in found.blocks:
            resize(target, block.slots, block.members + 1, block.width + 3)
        return target

    failure = found.trial.failure(rebuilt(found.trial.meta_copy()))
    assert failure is None, failure
    count = sum(parameter.numel() for parameter in model.parameters())
    more = sum(block.parameters(block.members + 1, block.width + 3) - block.parameters() for block in found.blocks)
    first = found.blocks[0]
    return rebuilt(copied(model)), count + more, f"{first.members + 1}x{first.width + 3}d"


def child(name, memory, seconds, pipe):
    """The body of a model's own process."""
    import torch

    from collegial.torch import block_search

    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_DATA, (memory << 30, memory << 30))
    # Of the process, not of the clock: on a busy machine a model is not a crash.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        row = judge(name)
    except Exception as error:  # noqa: BLE001: what this looks for
        row = {"model": name, "family": "?", "verdict": "crash", "reason": f"{type(error).__name__}: {str(error)[:200]}"}
    pipe.send((row, block_search.SEARCHED))


def asked(name, options):
    """The row of a model, whatever becomes of its process; forked, so that PyTorch is loaded once.
    """
    from collegial.torch import block_search

    ours, theirs = FORK.Pipe(duplex=False)
    process = FORK.Process(target=child, args=(name, options.memory, options.seconds, theirs))
    process.start()
    theirs.close()
    try:
        row, searched = ours.recv()
        # So that the next model with such a block does not draw it again.
        block_search.SEARCHED.update(searched)
    except EOFError:
        row = None
    process.join()
    if row is None:
        row = {"model": name, "family": "?", "verdict": "crash", "reason": f"its process ended with {process.exitcode}"}
    return row


def survey(chosen, options):
    """Rows of all models; those that are in the file of rows already are not asked again."""
    done = {}
    if options.rows.is_file():
        done = {row["model"]: row for row in map(json.loads, options.rows.read_text().splitlines())}
    left = [] if options.only_known else [name for name in chosen if name not in done]
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    with options.rows.open("a") as file:
        for number, name in enumerate(left, 1):
            done[name] = asked(name, options)
            print(json.dumps(done[name]), file=file, flush=True)
            print(f"{number} of {len(left)}: {name} {done[name]['verdict']}", file=sys.stderr)
    return [done[name] for name in chosen if name in done]


# The heading below which the page is written by hand.
CASES = "## Case by case"
VERDICTS = ("served", "no gain", "split-neutral", "not-covered")


def page(rows, tables):
    """The tables by kind and by family, in Markdown; `tables` are the files with a line per model."""
    versions = {library: metadata.version(library).split("+")[0] for library in ("torch", "torchvision", "timm")}
    verdicts = collections.Counter(row["verdict"] for row in rows)
    theirs = sum(of_timm(row) for row in rows)
    counts = ", ".join(f"{verdicts[verdict]} {verdict}" for verdict in VERDICTS)
    of = [f"{len(rows) - theirs} of torchvision {versions['torchvision']}"] if len(rows) > theirs else []
    of += [f"{theirs} of timm {versions['timm']}"] if theirs else []
    links = " and ".join(f"[{table.name}]({table.name})" for table in tables)
    lines = [
        "# Which networks does this help?",
        "",
        *_wrapped(
            f"`collegial.torch.suggest(model)` was asked about {len(rows)} image classifiers, {' and '.join(of)}, with PyTorch {versions['torch']}: "
            f"{counts}; {verdicts['crash']} crashed."
        ),
        "",
        *_summary(rows),
        "",
        "## The verdicts",
        "",
        *_wrapped("- `variance`: there are bottleneck blocks (1x1, one or several k x k, 1x1) or a fully connected part with two hidden layers. "
                  "*Served*: a design has less kernel variance or fewer parameters. *No gain*: the model has the best design already, or the draws "
                  "decide no gain.", "  "),
        *_wrapped("- `split-neutral`: blocks have one hidden layer (ResNet-18, ConvNeXt, feed-forward branches of transformers), and m of them in "
                  "parallel are one again. Kernel variance does not choose: choose by speed.", "  "),
        *_wrapped("- `not-covered`: the theory may have an answer, but no variance is known here, or the blocks cannot be rebuilt.", "  "),
        "",
        *_wrapped(_conversions(rows)),
        "",
        *_wrapped(f"Variances are those at initialisation, not errors of trained networks. A line per model is in {links}. "
                  "Written by `python interop/survey.py --out docs/torch-models.md`; the tests ask some models of every verdict."),
        "",
        "## By family",
        "",
        "| family | of | models | served | no gain | split-neutral | not-covered | most frequent reason |",
        "|---|---|---:|---:|---:|---:|---:|---|",
    ]  # fmt: skip
    for (family, library), members in sorted(_families(rows).items()):
        counts = collections.Counter(row["verdict"] for row in members)
        reasons = collections.Counter(row["reason"] for row in members if row["reason"])
        reason = reasons.most_common(1)[0][0] if reasons else ""
        cells = [family, library, len(members), *(counts[verdict] or "" for verdict in VERDICTS), reason]
        lines.append("| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def of_timm(row):
    return row["model"].startswith("timm/")


def _conversions(rows):
    """What was run of the models with blocks, and where."""
    served = sum(row["verdict"] == "served" for row in rows)
    rebuilt = [row for row in rows if row["verdict"] in ("served", "no gain")]
    values = sum(row.get("on", "meta") != "meta" for row in rebuilt)
    also = f" {values} of the {len(rebuilt)} models with blocks cannot be made without values, and ran forward with these too." if values else ""
    return (
        f"Models were asked without options. Of each of the {served} served both conversions had the announced number of parameters and ran "
        "forward and backward, on PyTorch's meta device: shapes without values. Where one problem has no gain, the model was rebuilt with one "
        f"member more in every block, each three channels wider, and run in the same way.{also}"
    )


def kept(path):
    """What people wrote below the tables."""
    text = path.read_text() if path.is_file() else ""
    return "\n" + text[text.index(CASES):] if CASES in text else ""


def _families(rows):
    families = collections.defaultdict(list)
    for row in rows:
        families[row["family"], "timm" if row["model"].startswith("timm/") else "torchvision"].append(row)
    return families


def _wrapped(text, indent=""):
    return textwrap.wrap(text, 100, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)


# Kinds of networks as people call them: families by what their names begin with, and their own.
KINDS = [
    {"resnet": "ResNet, ResNeXt", "resnetv2": "pre-activation ResNet", "senet": "SENet", "tresnet": "TResNet"},
    {"regnet": "RegNet"},
    {"mobilenet": "MobileNet", "efficientnet": "EfficientNet", "mnasnet": "MNASNet", "rexnet": "ReXNet"},
    {"cspnet": "CSPNet", "dla": "DLA", "hrnet": "HRNet", "dpn": "DPN"},
    {"byobnet": "ByobNet (GENet, RepVGG, ...)", "byoanet": "ByoaNet (BoTNet, ...)"},
    {"nfnet": "NFNet"},
    {"vgg": "VGG", "alexnet": "AlexNet"},
    {"convnext": "ConvNeXt", "convmixer": "ConvMixer", "metaformer": "MetaFormer", "inception_next": "InceptionNeXt", "fasternet": "FasterNet",
     "fastvit": "FastViT", "starnet": "StarNet", "mambaout": "MambaOut", "rdnet": "RDNet", "csatv2": "CSATv2", "repvit": "RepViT"},
    {"densenet": "DenseNet", "inception": "Inception", "googlenet": "GoogLeNet", "squeezenet": "SqueezeNet", "vovnet": "VoVNet", "hgnet": "HGNet",
     "selecsls": "SelecSLS", "lcnet": "LCNet"},
    {"shufflenet": "ShuffleNet", "ghostnet": "GhostNet", "repghost": "RepGhost", "xception": "Xception", "nasnet": "NASNet", "pnasnet": "PNASNet"},
    {"efficientformer": "EfficientFormer", "efficientvit": "EfficientViT", "efficientvim": "EfficientViM", "edgenext": "EdgeNeXt", "levit": "LeViT",
     "lowformer": "LowFormer", "cpubone": "CPUBone", "nextvit": "Next-ViT", "tiny_vit": "TinyViT", "visformer": "Visformer", "swiftformer": "SwiftFormer",
     "shvit": "SHViT", "maxvit": "MaxViT", "maxxvit": "MaxxViT", "coat": "CoaT", "iformer": "iFormer", "pvt": "PVT", "mobilenetv5": "MobileNetV5"},
    {"vision_transformer": "ViT", "swin": "Swin", "deit": "DeiT", "beit": "BEiT", "cait": "CaiT", "convit": "ConViT", "crossvit": "CrossViT",
     "davit": "DaViT", "deepseek": "DeepSeek-ViT", "eva": "EVA", "focalnet": "FocalNet", "gcvit": "GCViT", "gemma": "Gemma's ViT", "hiera": "Hiera",
     "mlp_mixer": "MLP-Mixer", "mvit": "MViT", "naflexvit": "NaFlexViT", "nest": "NesT", "pit": "PiT", "qwen": "Qwen's ViT", "sequencer": "Sequencer",
     "tnt": "TNT", "twins": "Twins", "volo": "VOLO", "xcit": "XCiT"},
]  # fmt: skip
# As many families are named in a row's label.
NAMED = 6


def _kind(family):
    """The kind that a family is of and its own name there; the longest beginning decides:
    InceptionNeXt is no Inception."""
    fitting = [(len(word), place, name) for place, kind in enumerate(KINDS) for word, name in kind.items() if family.startswith(word)]
    return max(fitting)[1:] if fitting else (len(KINDS), family)


def _label(members):
    """The families that these models are of, in the order of KINDS."""
    named = {_kind(row["family"])[1] for row in members}
    known = [name for kind in KINDS for name in kind.values()]
    ordered = [*(name for name in known if name in named), *sorted(named - set(known))]
    more = len(ordered) - NAMED
    return ", ".join(ordered[:NAMED]) + (f" and {more} more" if more > 0 else "")


def _summary(rows):
    """A table that is read in a minute."""
    median = lambda values: f"{statistics.median(values):.2f} x" if values else ""
    grouped = collections.defaultdict(list)
    for row in rows:
        grouped[_kind(row["family"])[0]].append(row)
    lines = [
        "| networks | models | helped | less variance, same parameters | fewer parameters, same variance | otherwise |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for place in range(len(KINDS) + 1):
        members = grouped[place]
        if members:
            counts = collections.Counter(row["verdict"] for row in members)
            others = ", ".join(f"{counts[verdict]} {verdict}" for verdict in VERDICTS[1:] if counts[verdict])
            less, fewer = (median([row[key] for row in members if key in row]) for key in ("less_variance", "fewer_parameters"))
            lines.append(f"| {_label(members)} | {len(members)} | {counts['served']} | {less} | {fewer} | {others} |")
    return [*lines, "", "Factors are medians over the models that are helped."]


def write_table(path, rows):
    """A line per model as CSV."""
    columns = [
        "model", "family", "verdict", "on", "layers", "scope", "network", "blocks", "shape", "untouched", "primal", "less_variance", "dual",
        "fewer_parameters", "reason",
    ]
    rounded = lambda row: {key: f"{value:.3g}" if isinstance(value, float) else value for key, value in row.items()}
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(rounded, rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="the page to write")
    parser.add_argument("--rows", type=Path, default=Path("target/torch-models.jsonl"), help="a line per model that was asked [%(default)s]")
    parser.add_argument("--only-known", action="store_true", help="ask no more models: the page of the rows there are")
    parser.add_argument("--per-family", type=int, default=5, help="of timm's [%(default)s]")
    parser.add_argument("--memory", type=int, default=8, help="GiB that a process may take [%(default)s]")
    parser.add_argument("--seconds", type=int, default=300, help="of a processor that a model may take [%(default)s]")
    parser.add_argument("names", nargs="*", help="only these models")
    options = parser.parse_args()
    # Loaded here once, for all the processes that are forked.
    import collegial.torch  # noqa: F401
    rows = survey(options.names or list(names(options.per_family)), options)
    for row in rows:
        if row["verdict"] == "crash":
            print(f"{row['model']}: {row['reason']}", file=sys.stderr)
    if options.out:
        tables = {}
        for ending, timms in ((".csv", False), ("-timm.csv", True)):
            if some := [row for row in rows if of_timm(row) is timms]:
                tables[options.out.with_name(options.out.stem + ending)] = sorted(some, key=lambda row: (row["family"], row["model"]))
        for table, some in tables.items():
            write_table(table, some)
        options.out.write_text(page(rows, list(tables)) + kept(options.out))
    return int(any(row["verdict"] == "crash" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
