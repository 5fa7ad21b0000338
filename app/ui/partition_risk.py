"""How many partitions of a cluster were at risk, as the pages that tell of brokers draw it."""

from __future__ import annotations

import plotly.graph_objects as go
import polars as pl

from app.data.history import History
from app.style.charts.base import Axis
from app.style.charts.lines import Line, columns_chart
from app.style.theme import Palette

HELP = (
    "Under-replicated: fewer in-sync replicas (ISR) than replicas. Under min ISR: producers with "
    "acks=all are refused. Offline: no leader, neither read nor written."
)

COUNTS = {
    "under_replicated": "under-replicated",
    "under_min_isr": "under min ISR",
    "offline": "offline",
}
"""Columns of the history of a cluster, the weakest first, and their words."""


def seen(course: pl.DataFrame) -> list[str]:
    """Return which of ``COUNTS`` a history tells of: the weakest, and others where any were."""
    weakest, *worse = COUNTS
    return [weakest, *(name for name in worse if course[name].max())]


def chart(history: History, *, axis: Axis, palette: Palette, height: int = 160) -> go.Figure:
    """Draw a cluster's history of partitions at risk."""
    colours = dict(zip(COUNTS, (palette.watch, palette.act, palette.text), strict=True))
    return columns_chart(
        history.frame,
        [
            Line(
                column=name,
                name=COUNTS[name],
                colour=colours[name],
                steps=True,
                dash="dot" if name == "offline" else "solid",
            )
            for name in seen(history.frame)
        ],
        axis=axis,
        palette=palette,
        step_seconds=history.step_seconds,
        height=height,
    )


def nothing_at_risk(course: pl.DataFrame, cluster: pl.DataFrame | None = None) -> bool:
    """Return whether all of the time is known, and no partition was at risk in it.

    Args:
        course: The history, which lags the present by up to a minute.
        cluster: Rows of ``cluster_status`` where the time ends now; None where it ended.
    """
    is_none = (pl.col(*COUNTS) == 0).fill_null(value=False).all()
    return all(
        frame.height > 0 and all(frame.select(is_none).row(0))
        for frame in (course, cluster)
        if frame is not None
    )
