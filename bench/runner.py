"""Running ours and the rivals: commands that print JSON lines, and Markdown tables of what they printed."""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ENVIRONMENTS = {"torch": ROOT / "bench/.venv-torch/bin/python", "jax": ROOT / "bench/.venv-jax/bin/python"}
THREADS = 2

sys.path.append(str(ROOT / "bench/rivals"))


def lines(command):
    """The JSON lines that a command prints."""
    print("$", " ".join(str(word).replace(str(ROOT) + "/", "") for word in command), file=sys.stderr, flush=True)
    environment = os.environ | {"RAYON_NUM_THREADS": str(THREADS)}
    output = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, check=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def ours(crate, bench, *words):
    """A benchmark of ours."""
    return lines(["cargo", "bench", "--quiet", "-p", f"collegial-{crate}", "--bench", bench, "--", *words])


def ours_built():
    """Our program, built now."""
    subprocess.run(["cargo", "build", "--quiet", "--release"], cwd=ROOT, check=True)
    return str(pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release/collegial")


def rival(script, *words):
    """A rival's script; its name ends with the environment it needs."""
    python = ENVIRONMENTS[script.rsplit("_", 1)[1]]
    return lines([str(python), str(ROOT / f"bench/rivals/{script}.py"), *words])


def only(*words):
    return [argument for word in words for argument in ("--only", word)]


def lowest(measurements, key, value="milliseconds"):
    """The lowest value for every key; what a rival cannot run has none."""
    best = {}
    for line in measurements:
        if value in line:
            best[key(line)] = min(line[value], best.get(key(line), float("inf")))
    return best


def table(headings, rows):
    print("| " + " | ".join(headings) + " |")
    print("|" + "---:|" * len(headings))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print(flush=True)
