"""How plots look: the colours, marks and sizes of the program's own figures."""

from __future__ import annotations

from ._optional import need

#: Colours by what they show, as in the program's figures in light mode.
PALETTE = {
    "card": "#ffffff", "ink": "#1f2328", "soft": "#59616a", "faint": "#eef0f2",
    "cost": "#0b5fa5", "variance": "#0a7a58", "base": "#6b737c", "law": "#c2410c", "drawn": "#8e3b8e", "other": "#866a00",
}


def pair():
    """Two axes side by side in a new figure."""
    return need("matplotlib.pyplot", "plot", "plot").subplots(1, 2, figsize=(12.4, 4.4), layout="constrained")[1]


def axes(ax, title, x, y, **scales):
    """Axes in the look of the program's figures: a new one where none is given."""
    if ax is None:
        ax = need("matplotlib.pyplot", "plot", "plot").subplots(figsize=(7.2, 4.4), layout="constrained")[1]
    # Names above the highest points stay clear of the title, those below the lowest of the axis.
    ax.set_title(title, loc="left", color=PALETTE["ink"], fontsize=12, fontweight="bold", pad=14)
    ax.margins(y=0.12)
    ax.set_xlabel(x, color=PALETTE["soft"])
    ax.set_ylabel(y, color=PALETTE["soft"])
    ax.set(**scales)
    ax.set_axisbelow(True)
    ax.grid(True, color=PALETTE["faint"], linewidth=1)
    ax.tick_params(colors=PALETTE["soft"], which="both")
    for side, spine in ax.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(PALETTE["base"])
    return ax


def line(ax, xs, ys, tone, label=None, style="-"):
    """A curve."""
    ax.plot(xs, ys, style, color=PALETTE[tone], linewidth=2, solid_capstyle="round", label=label)


def dots(ax, xs, ys, tone, label=None, size=6):
    """Filled points, with a rim that keeps neighbours apart."""
    ax.plot(xs, ys, "o", color=PALETTE[tone], markersize=size, markeredgecolor=PALETTE["card"], markeredgewidth=1, label=label)


def ring(ax, x, y, label, name):
    """The baseline: a hollow point with its name."""
    ax.plot([x], [y], "o", color=PALETTE["card"], markersize=8, markeredgecolor=PALETTE["base"], markeredgewidth=2, label=label)
    ax.annotate(name, (x, y), xytext=(-8, 6), textcoords="offset points", ha="right", color=PALETTE["ink"])


def optimum(ax, x, y, tone, name, lowest=False):
    """The best: a larger point with its name in bold, on the side of the curve that is free."""
    dots(ax, [x], [y], tone, size=10)
    offset, side = ((0, -9), "top") if lowest else ((0, 9), "bottom")
    words = {"ha": "center", "va": side, "color": PALETTE["ink"], "fontweight": "bold"}
    ax.annotate(name, (x, y), xytext=offset, textcoords="offset points", **words)


def plain_ticks(ax):
    """Numbers instead of powers of ten on logarithmic axes."""
    ticker = need("matplotlib.ticker", "plot", "plot")
    for axis, scale in ((ax.xaxis, ax.get_xscale()), (ax.yaxis, ax.get_yscale())):
        if scale == "log":
            axis.set_major_locator(ticker.LogLocator(base=10, subs=(1, 2, 5)))
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(ticker.NullFormatter())


def legend(ax):
    """Names without a frame, where there are any."""
    if ax.get_legend_handles_labels()[1]:
        ax.legend(frameon=False, labelcolor=PALETTE["soft"])
