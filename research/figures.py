"""Draws docs/figures/mirror-pairs.svg and kernel-regime.svg from finished runs: python research/figures.py

By hand, because the project's plots are made by the program from its own answers, and these two
read the tables of the studies.
"""

import importlib.util
import math
import sys
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
FIGURES = HERE.parent / "docs" / "figures"
BLUE, GREY = "#0969da", "#59616a"
STYLE = ('.cg{max-width:100%;height:auto;font:13px system-ui,-apple-system,"Segoe UI",Roboto,Arial,sans-serif}'
         f'.cg text{{fill:#1f2328}} .cg .small{{font-size:12px;fill:{GREY}}} .cg .axis{{stroke:#6b737c;fill:none}}'
         '.cg .grid{stroke:#e4e7ea;fill:none}')


def module(study: str):
    """The analysis of a study, whose folder's name is no name of Python."""
    sys.path.insert(0, str(HERE))
    found = importlib.util.spec_from_file_location(f"figure_{study.replace('-', '_')}", HERE / study / "analyse.py")
    loaded = importlib.util.module_from_spec(found)
    found.loader.exec_module(loaded)
    return loaded


def svg(width: int, height: int, title: str, described: str, parts: list[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="cg" role="img" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}">\n<title>{escape(title)}</title>\n<desc>{escape(described)}</desc>\n'
            f'<style>{STYLE}</style>\n<rect width="{width}" height="{height}" fill="#ffffff"/>\n'
            + "\n".join(parts) + "\n</svg>\n")


def text(x: float, y: float, said: str, anchor: str = "start", kind: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" class="{kind}">{escape(said)}</text>'


def line(x1: float, y1: float, x2: float, y2: float, kind: str = "axis", extra: str = "") -> str:
    return f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" {extra}/>'


def mirror_pairs() -> str:
    """Differences of test errors with their intervals, a row per pair."""
    left, right, low, high = 230, 550, -0.2, 0.5
    x = lambda value: left + (value - low) / (high - low) * (right - left)
    pairs, pooled = module("mirror-pairs").contrasts("mnist")
    rows = [(f"{bracketed(two)} - {bracketed(one)}", found) for (one, two), found in pairs] + [("mean of the pairs", pooled)]
    parts = [text(8, 20, "Test error of the side with more variance less its mirror image's, in points")]
    for tick in (-0.2, -0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        parts += [line(x(tick), 36, x(tick), 40 + 34 * len(rows), "axis" if tick == 0 else "grid"),
                  text(x(tick), 58 + 34 * len(rows), f"{tick:.1f}", "middle", "small")]
    for at, (name, (value, first, last)) in enumerate(rows):
        y, colour = 56 + 34 * at, BLUE if at == len(rows) - 1 else GREY
        parts += [text(8, y + 4, name),
                  line(x(first), y, x(last), y, "", f'stroke="{colour}" stroke-width="2.5"'),
                  f'<circle cx="{x(value):.1f}" cy="{y}" r="5" fill="{colour}"/>',
                  text(right + 10, y + 4, f"{value:.2f} ({first:.2f} to {last:.2f})")]
    return svg(710, 70 + 34 * len(rows), "Mirror pairs on MNIST",
               "Differences of mean test errors of three mirror pairs and their mean, with 95 % intervals.", parts)


def bracketed(name: str) -> str:
    """20x[16,8,28] for fc4-20x16_8_28."""
    members, widths = name.removeprefix("fc4-").split("x")
    return f"{members}x[{widths.replace('_', ',')}]"


def kernel_regime() -> str:
    """Mean test mse over the width of members, a panel per network."""
    study = module("kernel-regime")
    known, cells = study.predictors(), study.load("test_mse")
    wide, high, parts = 236, 196, []
    for at, (network, names) in enumerate(study.plan.designs.NETWORKS.items()):
        left, top = 46 + wide * (at % 3), 34 + high * (at // 3)
        mine = {images: [study.stats.mean(draws) for draws in cell] for (n, images), cell in cells.items() if n == network}
        parts += panel(left, top, network, names.split(), known[network]["variance"], mine)
    left, top = 46 + wide * 2, 34 + high
    for y, (colour, images) in enumerate(((GREY, 250), (BLUE, 1000))):
        parts += [f'<circle cx="{left + 6}" cy="{top + 20 + 24 * y}" r="4" fill="{colour}"/>',
                  text(left + 18, top + 24 + 24 * y, f"{images:,} training images")]
    parts += [line(left + 6, top + 60, left + 6, top + 78, "axis", 'stroke-dasharray="4 3"'),
              text(left + 18, top + 74, "least exact variance"),
              text(left, top + 104, "x: width of members", kind="small"),
              text(left, top + 122, "y: test mse above the lowest, %", kind="small")]
    return svg(3 * wide + 20, 2 * high + 30, "Kernel regression: test error over the width of members",
               "Ridge regression with drawn kernels; eleven designs of equal parameters in each of five networks.", parts)


def panel(left: int, top: int, network: str, names: list[str], variances: list[float], means: dict) -> list[str]:
    across, down = 180, 130
    widths = [int(name.split("x")[1]) for name in names]
    above = {images: [100 * (value / min(found) - 1) for value in found] for images, found in means.items()}
    most = max(max(found) for found in above.values()) * 1.08
    x = lambda n: left + across * math.log(n / min(widths)) / math.log(max(widths) / min(widths))
    y = lambda value: top + 8 + down * (1 - value / most)
    best = names[variances.index(min(variances))]
    parts = [text(left, top - 8, f"{network}: {best}"), line(left, y(0), left + across, y(0)),
             line(x(int(best.split("x")[1])), top + 4, x(int(best.split("x")[1])), y(0), "axis", 'stroke-dasharray="4 3"')]
    step = next(s for s in (0.25, 0.5, 1, 2, 5, 10, 20) if most / s <= 4.5)
    for tick in range(int(most / step) + 1):
        parts += [line(left, y(tick * step), left + across, y(tick * step), "grid"),
                  text(left - 6, y(tick * step) + 4, f"{tick * step:g}", "end", "small")]
    for n in (1, 4, 16, 64, 200):
        if min(widths) <= n <= max(widths):
            parts.append(text(x(n), top + down + 24, str(n), "middle", "small"))
    for (images, found), colour in zip(sorted(above.items()), (GREY, BLUE)):
        points = [(x(n), y(value)) for n, value in zip(widths, found)]
        parts.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="'
                     + " ".join(f"{a:.1f},{b:.1f}" for a, b in points) + '"/>')
        parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.2" fill="{colour}"/>' for a, b in points]
    return parts


def all_figures() -> dict[Path, str]:
    return {FIGURES / "mirror-pairs.svg": mirror_pairs(), FIGURES / "kernel-regime.svg": kernel_regime()}


if __name__ == "__main__":
    for path, drawn in all_figures().items():
        path.write_text(drawn)
