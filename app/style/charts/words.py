"""What the lines of a figure say, in a sentence for those who do not see them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from html import unescape
from typing import Any

import plotly.graph_objects as go

from app.style.charts.lines import LEVEL_DASHES
from app.style.format import UNKNOWN, short

_NAMED = 5
"""Most lines that are told one by one."""
_DAY = timedelta(days=1)


def in_words(made: go.Figure) -> str:
    """Return the last and the highest value of each line over time, and when; else nothing.

    Bands, levels and what is no line over time are left out.
    """
    lines = [
        (unescape(trace.meta or trace.name or ""), said)
        for trace in made.data
        if trace.type == "scatter"
        and trace.hoverinfo != "skip"
        and trace.line.dash not in LEVEL_DASHES
        if (said := _line(trace.x or (), trace.y or (), trace.customdata))
    ]
    told = [said if len(lines) == 1 else f"{name}: {said}" for name, said in lines[:_NAMED]]
    more = [f"{len(lines) - _NAMED} more lines"] if len(lines) > _NAMED else []
    return f"{'; '.join([*told, *more])}." if told else ""


def _line(
    times: Sequence[Any], values: Sequence[float | None], words: Sequence[str] | None
) -> str | None:
    """Say a line's last and highest value; None where it is none over time, or has no value."""
    known = [at for at, value in enumerate(values) if value is not None]
    if not known or not isinstance(times[0], datetime):
        return None

    def written(at: int) -> str:
        return (
            UNKNOWN if values[at] is None else words[at] if words is not None else short(values[at])
        )

    highest = max(known, key=lambda at: values[at] or 0.0)
    form = "%H:%M" if times[-1] - times[0] <= _DAY else "%-d %b %H:%M"
    return f"last {written(-1)}, highest {written(highest)} at {times[highest]:{form}}"
