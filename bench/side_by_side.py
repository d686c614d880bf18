"""Ours and the rivals in one run, with the ratios: python3 bench/side_by_side.py

Needs `bench/setup` once, and a machine that does nothing else. Prints Markdown.
"""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TORCH = [str(ROOT / "bench/.venv-torch/bin/python")]
JAX = [str(ROOT / "bench/.venv-jax/bin/python")]


def lines(command):
    """The JSON lines that a command prints."""
    print("$", " ".join(str(word).replace(str(ROOT) + "/", "") for word in command), file=sys.stderr, flush=True)
    output = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True).stdout
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def table(headings, rows):
    print("| " + " | ".join(headings) + " |")
    print("|" + "---:|" * len(headings))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def draws():
    """Draws per second of the bottleneck block's kernel at one output unit, two threads."""
    ours = lines(["cargo", "bench", "--quiet", "-p", "collegial-ntk", "--bench", "draws"])
    rivals = []
    for width in (64, 256):
        for python, script in ((TORCH, "kernel_draws_torch.py"), (JAX, "kernel_draws_jax.py")):
            rivals += lines([*python, str(ROOT / "bench/rivals" / script), "--only", f"n={width}"])
    rows = []
    for line in ours:
        width = line.get("width")
        mine = line.get("draws_per_second_2")
        theirs = [rival for rival in rivals if rival.get("width") == width and "draws_per_second" in rival]
        for rival in sorted(theirs, key=lambda rival: -rival["draws_per_second"]):
            rate = rival["draws_per_second"]
            rows.append((width, f"{mine:,.0f}", f"{rival['rival']} {rival['form']}", f"{rate:,.0f}", f"{mine / rate:,.0f}"))
    table(("n", "ours, draws/s", "rival and form", "rival, draws/s", "ratio"), rows)
    for line in ours:
        print(json.dumps(line))


if __name__ == "__main__":
    draws()
