"""How many messages retention deleted before a group had read them, from the history."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl
import streamlit as st

from app.data import present
from app.data.context import View
from app.data.queries import version
from lake.schemas.current import GROUP_STATUS
from lake.schemas.grain import Grain
from lake.schemas.tables import GROUP_PARTITION_HISTORY
from lake.storage.store import Lake

_LONGEST_BY_MINUTE = timedelta(days=7)
"""Minutes of a longer time are too many rows: its hours are read, which know less."""

_BEFORE = timedelta(minutes=10)
"""What was lost by then is older: the history so far before tells how much that is."""


def deleted_unread(rows: pl.DataFrame) -> pl.DataFrame:
    """Return how many messages were deleted unread in each window, at the least.

    A window has the most that lay below the log start and were not committed at one time. What was
    so at the end of the window before was counted there. Where retention overtook the group more
    than once in a window, the largest time counts.

    Args:
        rows: Rows of ``group_partition_history`` of one group and grain.

    Returns:
        ``window_start`` and ``messages``; no row of a window of which nothing is known.
    """
    series = ("topic", "partition")
    left = (pl.col("log_start_last") - pl.col("committed_last")).clip(lower_bound=0)
    before = left.forward_fill().shift(1).over(series).fill_null(0)
    messages = (pl.col("lost_messages_max") - before).clip(lower_bound=0)
    return (
        rows.sort("window_start")
        .with_columns(messages.alias("messages"))
        .drop_nulls("messages")
        .group_by("window_start")
        .agg(pl.col("messages").sum())
        .sort("window_start")
    )


def of_group(view: View, group: str, since: datetime, until: datetime | None) -> int | None:
    """Return how many messages a group lost from one moment to another, at the least.

    Those of topics that it reads no more are not counted.

    Args:
        view: The frame of a page, on the cluster of the group.
        group: The group.
        since: When its loss began.
        until: The last moment; None: up to now.

    Returns:
        The number; None where the history knows nothing of this time.

    Raises:
        LakeError: A table cannot be read.
    """
    kept = view.settings.lake.retention.minute_days
    is_kept = kept is None or view.now - since < timedelta(days=kept)
    is_short = (until or view.now) - since <= _LONGEST_BY_MINUTE
    grain = Grain.MINUTE if is_kept and is_short else Grain.HOUR
    status = present.rows(view, GROUP_STATUS).filter(pl.col("group") == group)
    topics = status["topics"].explode().drop_nulls().sort().to_list()
    # The minute in which it began is of it; an hour that began earlier may be of another loss.
    first = since.replace(second=0, microsecond=0)
    written = version(view, GROUP_PARTITION_HISTORY)
    windows = _windows(
        view.cache_key, view.cluster, written, group, tuple(topics), first, until, grain, view.lake
    )
    return None if windows.is_empty() else int(windows["messages"].sum())


@st.cache_resource(ttl=300, max_entries=64, show_spinner=False)
def _windows(
    uri: str,
    cluster: str,
    version: int | None,
    group: str,
    topics: tuple[str, ...],
    first: datetime,
    until: datetime | None,
    grain: Grain,
    _lake: Lake,
) -> pl.DataFrame:
    rows = _lake.read(
        GROUP_PARTITION_HISTORY,
        pl.col("grain_seconds") == grain.seconds,
        pl.col("group") == group,
        *([pl.col("topic").is_in(topics)] if topics else []),
        *([pl.col("window_start") <= until] if until else []),
        since=first - max(_BEFORE, timedelta(seconds=grain.seconds)),
        until=until,
        cluster=cluster,
        columns=[
            *("window_start", "topic", "partition"),
            *("lost_messages_max", "log_start_last", "committed_last"),
        ],
    )
    return deleted_unread(rows).filter(pl.col("window_start") >= first)
