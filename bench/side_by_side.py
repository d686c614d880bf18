"""Ours and the rivals in one run, with the ratios: python3 bench/side_by_side.py draws|conv|steps|mlp|inference|memory|ntk|sampling|train|all

Needs `bench/setup` once, and a machine that does nothing else. Several words run several sections; none is `draws`. Each takes
three to ten minutes and prints Markdown; commands go to stderr.
"""

import sys

import engine
import kernels
import training

SECTIONS = {
    "draws": kernels.draws,
    "conv": engine.conv,
    "steps": engine.steps,
    "mlp": engine.mlp,
    "inference": engine.inference,
    "memory": engine.memory,
    "ntk": kernels.ntk,
    "sampling": kernels.sampling,
    "train": training.train,
}


def main(words):
    unknown = [word for word in words if word not in (*SECTIONS, "all")]
    if unknown:
        raise SystemExit(f"there is no section {unknown[0]!r}; there are {', '.join(SECTIONS)} and all")
    for name, section in SECTIONS.items():
        if "all" in words or name in (words or ["draws"]):
            print(f"## {name}\n\n{section.__doc__}\n", flush=True)
            section()


if __name__ == "__main__":
    main(sys.argv[1:])
