"""The names of lines beside each other above the plot."""

from __future__ import annotations

from collections.abc import Sequence

from app.style.charts.base import LEGEND_LINE, Axis, Plot
from app.style.columns import text_pixels

_SIGN_PIXELS = 45
"""Of the line before a name in a legend, and of what parts it from the next."""
_LEGEND_FONT = 12


def put_legend(made: Plot, axis: Axis) -> None:
    """Give each name of the legend its own width, and further lines of it a height of their own.

    Plotly gives all names of several lines the width of the longest, but for those of groups.

    Args:
        made: The figure with its lines.
        axis: Its time axis, which is as long as the legend may be.
    """
    widths = []
    for trace in made.traces:
        trace["legendgroup"] = trace["name"]
        widths.append(_SIGN_PIXELS + text_pixels(trace["name"], font=_LEGEND_FONT))
    made.layout["legend"]["tracegroupgap"] = 0
    if made.layout["showlegend"]:
        made.height += LEGEND_LINE * max(0, _lines_of(widths, axis.pixels) - made.legend_lines)


def _lines_of(widths: Sequence[float], room: float) -> int:
    """Return how many lines things beside each other take."""
    lines, used = 1, 0.0
    for width in widths:
        if used and used + width > room:
            lines, used = lines + 1, 0.0
        used += width
    return lines
