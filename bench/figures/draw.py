"""Draws comparisons as SVG, for light and dark pages."""

import html
import io
import re
import textwrap

import results

#: Maps each colour for light pages to a colour for dark pages. Other colours must not be used.
PAPER, INK, SOFT, GRID, BAND = "#ffffff", "#1f2328", "#57606b", "#d8dee4", "#eef3f9"
SERIES = ["#0b5cad", "#b4530a", "#1a7f5b", "#a3348f", "#6e40ca", "#8a6d00", "#c4314c", "#40606e",
          "#747c85", "#2b8a9e"]
DARK = {PAPER: "#0d1117", INK: "#e6edf3", SOFT: "#9aa4af", GRID: "#30363d", BAND: "#172131",
        "#0b5cad": "#6cb6ff", "#b4530a": "#f5a560", "#1a7f5b": "#5ad1a2", "#a3348f": "#ea9fdc",
        "#6e40ca": "#bb9aff", "#8a6d00": "#e3c04f", "#c4314c": "#ff8fa0", "#40606e": "#9cc3d2",
        "#747c85": "#aab3bc", "#2b8a9e": "#67d0e4"}
MARKERS = "osD^vP"
WIDTH = 7.8
SETTINGS = {
    "svg.fonttype": "none", "svg.hashsalt": "typedcall", "font.size": 9,
    "font.family": "DejaVu Sans", "text.color": INK,
    "axes.labelcolor": SOFT, "axes.edgecolor": GRID, "axes.facecolor": PAPER,
    "figure.facecolor": PAPER, "savefig.facecolor": PAPER, "xtick.color": SOFT, "ytick.color": SOFT,
    "axes.spines.top": False, "axes.spines.right": False, "axes.spines.left": False,
    "xtick.minor.size": 0, "ytick.minor.size": 0, "axes.unicode_minus": False,
}


def unit_of(value, unit):
    """Returns the scale and the name of the unit in which a value is shown."""
    names = {"s": ((1, "s"), (1e-3, "ms"), (1e-6, "us")), "ns": ((1e6, "ms"), (1e3, "us")),
             "bytes": ((1e6, "MB"), (1e3, "kB")), "times": ()}
    return next(((scale, name) for scale, name in names[unit] if value >= scale), (1, unit))


def number(value):
    """Formats a number, for example "0.97", "13.0", "231", "2,980"."""
    digits = 0 if value >= 99.5 else 1 if value >= 9.95 else 2
    return f"{float(f'{value:.3g}'):,.0f}" if digits == 0 else f"{value:.{digits}f}"


def amount(value, unit):
    """Formats an amount, for example "31 ns", "2.4 s", "110 kB"."""
    scale, name = unit_of(value, unit)
    return f"{number(value / scale)} {name}"


def amounts(rows, unit):
    values = [row["value"][1] for row in rows]
    low, high = amount(min(values), unit), amount(max(values), unit)
    if low == high:
        return low
    number, name = low.split(" ")
    return f"{number if high.endswith(' ' + name) else low} – {high}"


def svg_of(figure, title):
    """Returns the text of the SVG file."""
    stream = io.StringIO()
    figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    text = re.sub(r"(?s)^.*?<svg ", '<svg role="img" ', stream.getvalue(), count=1)
    # Readers may not have matplotlib's font.
    text = text.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, Arial, sans-serif")
    # These rules rely on how matplotlib writes colours.
    rules = "".join(f'[style*="{part}: {light}"]{{{part}:{dark} !important}}\n'
                    for light, dark in DARK.items() for part in ("fill", "stroke"))
    style = f"<style>@media (prefers-color-scheme: dark) {{\n{rules}}}</style>\n"
    return re.sub(r"(<svg [^>]*>)", lambda match: match[1] + f"\n<title>{html.escape(title)}</title>\n"
                  + style, text, count=1)


def wrapped(text, width):
    return "\n".join(textwrap.wrap(text, width))


def heading(figure, title, height):
    text = wrapped(title, 88)
    figure.text(0.015, 1 - 0.09 / height, text, va="top", weight="bold", size=10.5, color=INK)
    return 0.25 + 0.18 * (text.count("\n") + 1)


def scale_of(axis, low, high):
    from matplotlib import ticker
    subs = ((1, 1.2, 1.5, 2, 3, 5, 8) if high / low < 4 else (1, 2, 5) if high / low < 60
            else (1, 3) if high / low < 1000 else (1,))
    axis.set_major_locator(ticker.LogLocator(subs=subs))
    axis.set_major_formatter(ticker.FuncFormatter(
        lambda value, _: f"{value / 1e6:g} M" if value >= 1e6 else f"{value:,.0f}" if value >= 10 else f"{value:.5g}"))
    axis.set_minor_locator(ticker.NullLocator())


def labels_of(comparison, found):
    """Returns the labels that were measured, and (label, reason) for the missing ones."""
    there = {row["label"] for row in found["rows"]}
    return ([label for label in comparison.rows if label in there],
            [(label, reason) for label, reason in found["missing"].items()])


def dots(comparison, found, title):
    from matplotlib import pyplot
    labels, missing = labels_of(comparison, found)
    series = [each for each in comparison.series
              if any(row["series"] == each for row in found["rows"])]
    step = 0.23 + 0.085 * (len(series) - 1)
    below = 0.45 + (0.22 if len(series) > 1 else 0) + 0.17 * len(missing)
    above = 0.3 + 0.18 * (wrapped(title, 88).count("\n") + 1)
    height = above + step * max(len(labels), 1) + below
    figure = pyplot.figure(figsize=(WIDTH, height))
    heading(figure, title, height)
    left = max(0.2, 0.03 + 0.0108 * max(map(len, labels), default=0))
    axes = figure.add_axes((left, below / height, 0.835 - left, (height - above - below) / height))
    axes.set_xscale("log")
    ratios = [value for row in found["rows"] for value in row["ratio"]]
    low, high = min(ratios, default=1), max(ratios, default=1)
    axes.set_xlim(min(low / 1.25, 0.8), max(high * 1.3, 1.6))
    scale_of(axes.xaxis, *axes.get_xlim())
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_yticks(range(len(labels)), labels, color=INK)
    for text, label in zip(axes.get_yticklabels(), labels):
        if label in comparison.ours:
            text.set_weight("bold")
    axes.tick_params(length=0)
    axes.grid(axis="x", color=GRID, linewidth=0.7)
    axes.set_axisbelow(True)
    axes.axvline(1, color=SOFT, linewidth=1)
    for at, label in enumerate(labels):
        rows = [row for row in found["rows"] if row["label"] == label]
        if label in comparison.ours:
            axes.axhspan(at - 0.5, at + 0.5, color=BAND, linewidth=0, zorder=0)
        axes.text(1.02, at, amounts(rows, comparison.unit), transform=axes.get_yaxis_transform(),
                  va="center", color=SOFT)
        for row in rows:
            place = series.index(row["series"])
            y = at + 0.62 * ((place + 0.5) / len(series) - 0.5)
            axes.plot([row["ratio"][0], row["ratio"][2]], [y, y], color=SERIES[place], linewidth=1.3)
            axes.plot(row["ratio"][1], y, MARKERS[place], color=SERIES[place], markersize=4.5,
                      markeredgewidth=0)
    what = {"bytes": "size", "times": "calls"}.get(comparison.unit, "time")
    axes.set_xlabel(f"{what}, {comparison.reference} = 1; dot: median, whisker: quartiles")
    y = 0.1 + 0.17 * len(missing)
    if len(series) > 1:
        for place, each in enumerate(series):
            x = left + (0.835 - left) * place / max(len(series), 4)
            figure.text(x + 0.012, y / height, each, color=SERIES[place], va="center")
            figure.add_artist(pyplot.Line2D([x], [y / height], marker=MARKERS[place], markersize=4.5,
                                            markeredgewidth=0, color=SERIES[place]))
    write_missing(figure, missing, height)
    return figure


def write_missing(figure, missing, height):
    for at, (label, reason) in enumerate(missing):
        figure.text(0.015, (0.05 + 0.17 * at) / height, f"not here: {label}: {reason}"[:110], size=8,
                    color=SOFT, va="bottom")


def apart(places, least):
    """Moves these positions so that they are at least `least` apart."""
    order = sorted(range(len(places)), key=lambda i: places[i])
    moved = [places[i] for i in order]
    for _ in range(200):
        for i in range(len(moved) - 1):
            gap = least - (moved[i + 1] - moved[i])
            if gap > 1e-9:
                moved[i] -= gap / 2
                moved[i + 1] += gap / 2
    back = [0.0] * len(places)
    for i, place in zip(order, moved):
        back[i] = place
    return back


def lines(comparison, found, title):
    from matplotlib import pyplot
    labels, missing = labels_of(comparison, found)
    above = 0.3 + 0.18 * (wrapped(title, 88).count("\n") + 1)
    below = 0.5 + 0.17 * len(missing)
    height = above + 2.9 + below
    figure = pyplot.figure(figsize=(WIDTH, height))
    heading(figure, title, height)
    axes = figure.add_axes((0.09, below / height, 0.6, 2.9 / height))
    most = max((row["x"] for row in found["rows"]), default=1)
    if most > 10:
        axes.set_xscale("log")
        scale_of(axes.xaxis, 1, max(most, 100))
    axes.set_yscale("log")
    ends = []
    for place, label in enumerate(labels):
        rows = sorted((row for row in found["rows"] if row["label"] == label), key=lambda row: row["x"])
        bold = label in comparison.ours
        color = SERIES[place % len(SERIES)]
        x, middle = [row["x"] for row in rows], [row["value"][1] for row in rows]
        axes.plot(x, middle, MARKERS[place % len(MARKERS)] + "-", color=color, markersize=4,
                  markeredgewidth=0, linewidth=2.2 if bold else 1.1)
        axes.vlines(x, [row["value"][0] for row in rows], [row["value"][2] for row in rows],
                    color=color, linewidth=2)
        ends.append((label, middle[-1], color, bold))
    values = [value for row in found["rows"] for value in row["value"]]
    scale_of(axes.yaxis, min(values), max(values))
    axes.yaxis.set_major_formatter(
        lambda value, _: re.sub(r"\.0+ ", " ", amount(value, comparison.unit)))
    axes.autoscale_view()
    axes.tick_params(length=0)
    axes.grid(color=GRID, linewidth=0.7)
    axes.set_xlabel(comparison.x)
    to_axes = axes.transData + axes.transAxes.inverted()
    heights = apart([to_axes.transform((most, value))[1] for _, value, *_ in ends], 0.062)
    for (label, value, color, bold), y in zip(ends, heights):
        axes.text(1.02, y, f"{label}, {amount(value, comparison.unit)}", color=color, va="center",
                  weight="bold" if bold else "normal", transform=axes.transAxes, size=8.5)
    write_missing(figure, missing, height)
    return figure


def draw(comparison, found):
    """Returns the SVG of one comparison."""
    import matplotlib
    matplotlib.use("svg")
    from matplotlib import pyplot
    title = results.finding(comparison.finding, found) or comparison.heading
    with pyplot.rc_context(SETTINGS):
        figure = (lines if comparison.x else dots)(comparison, found, title)
        text = svg_of(figure, title)
        pyplot.close(figure)
    return text
