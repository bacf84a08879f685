"""The look of every chart: large type, few lines, the page's own typeface."""

import base64
import io
from collections.abc import Callable
from typing import Any

import matplotlib
import matplotlib.figure
from matplotlib.ticker import MaxNLocator

from labelwise.report.markup import Markup, tag

# Okabe and Ito's palette, safe for the colour-blind.
BLUE, SKY, VERMILION, PURPLE = "#0072B2", "#56B4E9", "#D55E00", "#AA4499"
INK, SOFT, FAINT = "#1d2733", "#5b6673", "#d9dee4"
TYPE = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif"
SIZE = (6.4, 4.4)  # inches; a phone shows them at half size, hence the large type
RC: Any = {
    "svg.fonttype": "none",  # text stays text, in the reader's typeface
    "svg.hashsalt": "labelwise",  # the same chart gives the same bytes
    "font.family": ["DejaVu Sans"],  # comes with matplotlib: the same layout everywhere
    "font.size": 13.5,
    "axes.labelsize": 13.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": FAINT,
    "grid.linewidth": 0.8,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "legend.fontsize": 13,
    "legend.handlelength": 1.6,
    "text.color": INK,
    "lines.linewidth": 2.4,
    "axes.unicode_minus": True,
    "axes.formatter.useoffset": False,
}


def chart(draw: Callable[[Any], None], alt: str, size: tuple[float, float] = SIZE) -> Markup:
    """Draw on fresh axes; `alt` says in words and numbers what is to be seen."""
    with matplotlib.rc_context(RC):
        figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        buffer = io.StringIO()
        metadata = {"Date": None, "Creator": None, "Format": None, "Type": None}
        figure.savefig(buffer, format="svg", dpi=200, metadata=metadata, transparent=True)
    # Laid out with DejaVu Sans, which is wide: what a reader has instead will fit.
    svg = buffer.getvalue().replace("'DejaVu Sans'", TYPE)
    code = base64.b64encode(svg.encode()).decode("ascii")
    width, height = (round(side * 96) for side in size)
    return tag(
        "img", src=f"data:image/svg+xml;base64,{code}", alt=alt, width=width, height=height
    )


def figure(title: str, image: Markup, *caption: Any) -> Markup:
    """Put a title above a chart and its explanation below."""
    return tag("figure", tag("h3", title), image, tag("figcaption", *caption))


def whole_steps(axes: Any) -> None:
    """Counts have no fractions, and start at none."""
    axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
