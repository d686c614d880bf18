"""Counts of every mirror pair are equal to the unit, and what variances predict.

    python research/mirror-pairs/check.py --program collegial
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
RESNEXT = [("32x2_16d", "32x16_2d"), ("16x4_16d", "16x16_4d"), ("64x1_8d", "64x8_1d")]
DENSE = [
    ("fc4-20x16_8_28", "fc4-20x16_34_2"),
    ("fc4-30x12_6_18", "fc4-30x12_20_4"),
    ("fc4-12x24_20_28", "fc4-12x24_42_6"),
]
SLOPE = 0.86  # points per unit of ln variance, docs/prediction.md: 0.69 / ln(0.1353 / 0.0606)
ALPHA = 3.03  # of fully connected networks, the paper's Fig. 3


def ask(program: str, *args: str) -> dict:
    return json.loads(subprocess.run([program, *args, "--json"], check=True, capture_output=True).stdout)


def spec(name: str) -> str:
    return str(HERE / "specs" / f"{name}.toml")


def counts(program: str, name: str) -> tuple[int, int, int]:
    info = ask(program, "info", spec(name))
    return info["parameters"], info["flops"], info["activations"]


def scores(program: str) -> dict[str, dict]:
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as table:
        names = [name for pair in RESNEXT for name in pair]
        table.write("\n".join(["model", *map(spec, names)]) + "\n")
        table.flush()
        return dict(zip(names, ask(program, "score", table.name)["rows"]))


def dense_law(name: str) -> float:
    members, widths = name.removeprefix("fc4-").split("x")
    inverse = 1 / 784 + sum(1 / int(w) for w in widths.split("_"))
    return math.expm1(ALPHA * inverse) / int(members)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", default="collegial")
    program = parser.parse_args().program
    equal = True
    rows = scores(program)
    for first, second in RESNEXT + DENSE:
        one, two = counts(program, first), counts(program, second)
        equal &= one == two
        print(f"{first} / {second}: {one} and {two}: {'equal' if one == two else 'NOT EQUAL'}")
        if (first, second) in RESNEXT:
            equal &= rows[first]["inner_width"] == rows[second]["inner_width"]
            for key in ("score", "white_score", "law"):
                ratio = rows[second][key] / rows[first][key]
                print(f"  {key}: {rows[first][key]:.6f} / {rows[second][key]:.6f}, "
                      f"ratio {ratio:.3f}, {SLOPE * math.log(ratio):.2f} points")
        else:
            low, high = (ask(program, "moments", spec(n))["variance"] for n in (first, second))
            print(f"  exact {low:.4f} / {high:.4f}, ratio {high / low:.2f}; "
                  f"law ratio {dense_law(second) / dense_law(first):.2f}")
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
