"""Asks `collegial.torch` about the world's image classifiers and writes a table: what it rebuilds,
what it leaves alone, and why.

    python interop/survey.py --out docs/torch-models.md

Takes all of torchvision's classifiers and timm's, up to --per-family of a family and three times as
many where blocks are bottlenecks. Models are made
on the meta device where they can be, so that they need no memory, each in a process of its own with
a limit on memory and time: one that breaks it is a crash in the table. Every model is asked for a
suggestion by the law with a fixed alpha (depthwise ones by draws), under its parameters, converted by
both objectives, counted and run. Where there is nothing to gain, its blocks are given one member
more, each three channels wider, and run with those, so that every served model has been rebuilt.
"""

import argparse
import collections
import csv
import json
import math
import multiprocessing
import resource
import sys
from pathlib import Path

ALPHA = 1.60
# Families of timm's whose blocks are bottlenecks: three times as many of them are asked.
BOTTLENECKS = ["byoanet", "byobnet", "cspnet", "dla", "hrnet", "nfnet", "regnet", "resnet", "resnetv2", "senet", "tresnet"]
FORK = multiprocessing.get_context("fork")


def names(per_family):
    """Every model's name, timm's with `timm/` in front; of large families evenly spaced ones."""
    import timm
    import torchvision

    yield from torchvision.models.list_models(module=torchvision.models)
    families = collections.defaultdict(list)
    for name in timm.list_models():
        families[timm.models._registry._model_to_module[name]].append(name)
    for family, members in sorted(families.items()):
        count = min(3 * per_family if family in BOTTLENECKS else per_family, len(members))
        yield from (f"timm/{members[index * len(members) // count]}" for index in range(count))


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
    from collegial.torch.suggest import suggested

    model = make(name)
    row = {"model": name, "family": type(model).__module__.rsplit(".", 1)[-1]}
    try:
        found = find_blocks(model)
        suggestion = suggested(model, found, "under", math.inf, quick(found.blocks))
    except Refused as refused:
        return {**row, "verdict": refused.kind.value, "reason": refused.refusals[0].reason}
    blocks = [type(model.get_submodule(block)).__name__ for block in suggestion.blocks if block in dict(model.named_modules())]
    skipped = [refusal.reason for refusal in suggestion.skipped]
    reason = f"{len(skipped)} left alone: {skipped[0]}" if skipped else ""
    row.update(verdict="served", reason=reason, blocks=len(suggestion.blocks), classes=sorted(set(blocks)))
    row["shape"] = shape(found.blocks[0])
    for objective in ("primal", "dual"):
        row[objective] = _converted(model, found, suggestion, objective)
    return row


def quick(blocks):
    """Options that make a search short: this asks whether conversions run, not how good they are."""
    return {"precision": 0.1} if any(block.depthwise for block in blocks) else {"alpha": ALPHA}


def shape(block):
    """What was found, for a person to check: channels in, members and their width, channels out, the
    kernel, gates and activations."""
    gate = ", gated" if block.gated else ""
    widths = f"{block.inputs} -> {block.members}x{block.width}d -> {block.outputs}"
    return f"{widths}, {block.kernel}x{block.kernel}{gate}, {block.activated}"


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
        if "nothing to gain" not in str(error):
            raise
        better, expected, tried = _wider(model, found)
    count = sum(parameter.numel() for parameter in better.parameters())
    assert count == expected, f"{count:,} parameters instead of {expected:,}"
    # A model without values is run on shapes, in both modes, by the conversion or by `_wider`.
    if not next(better.parameters()).is_meta:
        with torch.no_grad():
            outputs = better.eval()(torch.zeros(1, found.trial.example[0].shape[1], 64, 64))
        assert all(tensor.isfinite().all() for tensor in tensors_in(outputs)), "its outputs are not finite"
    return f"nothing to gain; rebuilt with {tried}" if tried else announced.design


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

    torch.set_num_threads(1)
    resource.setrlimit(resource.RLIMIT_DATA, (memory << 30, memory << 30))
    # Of the process, not of the clock: on a busy machine a model is not a crash.
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        row = judge(name)
    except Exception as error:  # noqa: BLE001: what this looks for
        row = {"model": name, "family": "?", "verdict": "crash", "reason": f"{type(error).__name__}: {str(error)[:200]}"}
    pipe.send(row)


def asked(name, options):
    """The row of a model, whatever becomes of its process; forked, so that PyTorch is loaded once.
    """
    ours, theirs = FORK.Pipe(duplex=False)
    process = FORK.Process(target=child, args=(name, options.memory, options.seconds, theirs))
    process.start()
    theirs.close()
    try:
        row = ours.recv()
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
    left = [name for name in chosen if name not in done]
    options.rows.parent.mkdir(parents=True, exist_ok=True)
    with options.rows.open("a") as file:
        for number, name in enumerate(left, 1):
            done[name] = asked(name, options)
            print(json.dumps(done[name]), file=file, flush=True)
            print(f"{number} of {len(left)}: {name} {done[name]['verdict']}", file=sys.stderr)
    return [done[name] for name in chosen if name in done]


def page(rows, table):
    """The table by family, in Markdown; `table` is the file with a line per model."""
    import timm
    import torch
    import torchvision

    plain = lambda library: library.__version__.split("+")[0]
    verdicts = collections.Counter(row["verdict"] for row in rows)
    theirs = sum(row["model"].startswith("timm/") for row in rows)
    best = [row for row in rows if any("nothing to gain" in row.get(objective, "") for objective in ("primal", "dual"))]
    rebuilt = [row for row in best if "rebuilt" in row["primal"] + row["dual"]]
    lines = [
        "# Models of torchvision and timm",
        "",
        f"What `collegial.torch` makes of all {len(rows) - theirs} image classifiers of torchvision {plain(torchvision)} and of {theirs} of timm {plain(timm)},",
        f"some of every family, with PyTorch {plain(torch)}: **{verdicts['served']} are served, {verdicts['outside the theory']} are outside the theory, "
        f"{verdicts['not supported']} are not supported, {verdicts['crash']} crashed.**",
        "",
        "- *Served*: bottleneck blocks (1x1, k x k, 1x1, with an activation between, then a sum or an end without an activation) were found. The conversions by both",
        f"  objectives ran and had the announced number of parameters. Where there was nothing to gain by one of them ({len(best)} models), the blocks were given one member more, each three channels",
        f"  wider, and the model ran with those ({len(rebuilt)} models). Where the k x k convolution is in groups or depthwise already, the question is which group width to grow or shrink to.",
        "- *Outside the theory*: its blocks have one hidden layer, so that m of them in parallel are one again: splitting changes nothing there.",
        "- *Not supported*: the theory may have an answer, but the blocks cannot be rebuilt here, for the reason given.",
        "",
        f"What was asked is whether conversions run, not how good they are: designs are those of the law with alpha = {ALPHA:.2f} (`alpha={ALPHA:.2f}, rule=\"under\"`), of depthwise blocks those of",
        "variances drawn to 10 % (`precision=0.1, rule=\"under\"`). `suggest(model)` without options computes exactly, and of networks that it knows by name over all blocks, so that its designs differ.",
        "",
        f"A line per model, with the first block that was found and both designs, is in [{table.name}]({table.name}). Written by `python interop/survey.py --out",
        "docs/torch-models.md`, which asks every model in a process of its own; a sample of forty is asked by the tests.",
        "",
        "| family | of | models | served | outside the theory | not supported | blocks served | most frequent reason |",
        "|---|---|---:|---:|---:|---:|---|---|",
    ]
    families = collections.defaultdict(list)
    for row in rows:
        families[row["family"], "timm" if row["model"].startswith("timm/") else "torchvision"].append(row)
    for (family, library), members in sorted(families.items()):
        counts = collections.Counter(row["verdict"] for row in members)
        reasons = collections.Counter(row["reason"] for row in members if row["reason"])
        classes = sorted({name for row in members for name in row.get("classes", [])})
        numbers = [counts[verdict] or "" for verdict in ("served", "outside the theory", "not supported")]
        reason = reasons.most_common(1)[0][0] if reasons else ""
        cells = [family, library, len(members), *numbers, ", ".join(classes), reason]
        lines.append("| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def write_table(path, rows):
    """A line per model as CSV."""
    columns = ["model", "family", "verdict", "blocks", "shape", "primal", "dual", "reason"]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="the page to write")
    parser.add_argument("--rows", type=Path, default=Path("target/torch-models.jsonl"), help="a line per model that was asked [%(default)s]")
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
        table = options.out.with_suffix(".csv")
        write_table(table, rows)
        options.out.write_text(page(rows, table))
    return int(any(row["verdict"] == "crash" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
