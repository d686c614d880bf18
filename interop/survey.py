"""Asks `collegial.torch` about the world's image classifiers and writes a table: what it rebuilds,
what it leaves alone, and why.

    python interop/survey.py --out docs/torch-models.md

Takes all of torchvision's classifiers and timm's, up to --per-family of a family. Models are made
on the meta device where they can be, so that they need no memory, each in a process of its own with
a limit on memory and time: one that breaks it is a crash in the table. Every model is asked for a
suggestion with a fixed alpha, converted by both objectives, counted and run.
"""

import argparse
import collections
import json
import multiprocessing
import resource
import sys
from pathlib import Path

ALPHA = 1.60
FORK = multiprocessing.get_context("fork")


def names(per_family):
    """Every model's name, timm's with `timm/` in front; of large families evenly spaced ones."""
    import timm
    import torchvision

    yield from torchvision.models.list_models(module=torchvision.models)
    families = collections.defaultdict(list)
    for name in timm.list_models():
        families[timm.models._registry._model_to_module[name]].append(name)
    for _, members in sorted(families.items()):
        count = min(per_family, len(members))
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
    from collegial.torch import Refused, suggest
    from collegial.torch.blocks import find_blocks

    model = make(name)
    row = {"model": name, "family": type(model).__module__.rsplit(".", 1)[-1]}
    try:
        suggestion = suggest(model, alpha=ALPHA)
    except Refused as refused:
        first = refused.refusals[0].reason if refused.refusals else "it has no bottleneck block"
        return {**row, "verdict": refused.kind.value, "reason": first}
    blocks = [type(model.get_submodule(block)).__name__ for block in suggestion.blocks if block in dict(model.named_modules())]
    skipped = [refusal.reason for refusal in suggestion.skipped]
    reason = f"{len(skipped)} blocks left alone: {skipped[0]}" if skipped else ""
    row.update(verdict="served", reason=reason, blocks=len(suggestion.blocks), classes=sorted(set(blocks)))
    trial = find_blocks(model).trial
    for objective in ("primal", "dual"):
        row[objective] = _converted(model, objective, suggestion[objective], trial)
    return row


def _converted(model, objective, announced, trial):
    """What became of a conversion: the design, or that there is nothing to gain."""
    import torch

    from collegial import CollegialError
    from collegial.torch import convert

    try:
        better = convert(model, objective, alpha=ALPHA)
    except CollegialError as error:
        if "nothing to gain" in str(error):
            return "nothing to gain"
        raise
    count = sum(parameter.numel() for parameter in better.parameters())
    assert count == announced.parameters, f"{count:,} parameters instead of {announced.parameters:,}"
    # What is returned is run, on its own device: shapes where the model has no values, a small
    # image where it has.
    device = next(better.parameters()).device
    shape = trial.example[0].shape[1:] if device.type == "meta" else (trial.example[0].shape[1], 64, 64)
    with torch.no_grad():
        better.eval()(torch.zeros(1, *shape, device=device))
    return announced.design


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


def page(rows):
    """The table by family, in Markdown."""
    import timm
    import torch
    import torchvision

    plain = lambda library: library.__version__.split("+")[0]
    verdicts = collections.Counter(row["verdict"] for row in rows)
    lines = [
        "# The world's models",
        "",
        f"What `collegial.torch` makes of {len(rows)} image classifiers of torchvision {plain(torchvision)} and timm {plain(timm)}",
        f"(PyTorch {plain(torch)}): {verdicts['served']} are served, {verdicts['outside the theory']} are outside the theory, "
        f"{verdicts['not supported']} are not supported, {verdicts['crash']} crashed.",
        "",
        "Served: bottleneck blocks were found; the conversions by both objectives ran and had the announced parameters, or",
        "there was nothing to gain. Outside the theory: blocks with one hidden layer, where splitting changes nothing. Not",
        "supported: everything else, with the reason.",
        "Written by `python interop/survey.py`.",
        "",
        "| family | library | models | served | outside the theory | not supported | crashed | blocks served | most frequent reason |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    families = collections.defaultdict(list)
    for row in rows:
        families[row["family"], "timm" if row["model"].startswith("timm/") else "torchvision"].append(row)
    for (family, library), members in sorted(families.items()):
        counts = collections.Counter(row["verdict"] for row in members)
        reasons = collections.Counter(row["reason"] for row in members if row["reason"])
        classes = sorted({name for row in members for name in row.get("classes", [])})
        numbers = [counts[verdict] for verdict in ("served", "outside the theory", "not supported", "crash")]
        reason = reasons.most_common(1)[0][0] if reasons else ""
        cells = [family, library, len(members), *numbers, ", ".join(classes), reason]
        lines.append("| " + " | ".join(str(cell).replace("|", "/") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, help="the page to write")
    parser.add_argument("--rows", type=Path, default=Path("target/torch-models.jsonl"), help="a line per model that was asked [%(default)s]")
    parser.add_argument("--per-family", type=int, default=40, help="[%(default)s]")
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
        options.out.write_text(page(rows))
    return int(any(row["verdict"] == "crash" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
