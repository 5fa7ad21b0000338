"""How many messages retention deleted before a group had read them, from history and samples."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl
import streamlit as st

from app.data import present
from app.data.context import View
from app.data.queries import recent_of, version
from lake.schemas.current import GROUP_STATUS
from lake.schemas.grain import Grain
from lake.schemas.tables import GROUP_OFFSETS, GROUP_PARTITION_HISTORY
from lake.storage.store import Lake

_LONGEST_BY_MINUTE = timedelta(days=7)
"""Minutes of a longer time are too many rows: its hours are read, which know less."""

SERIES = ("topic", "partition")

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
    left = (pl.col("log_start_last") - pl.col("committed_last")).clip(lower_bound=0)
    before = left.forward_fill().shift(1).over(SERIES).fill_null(0)
    messages = (pl.col("lost_messages_max") - before).clip(lower_bound=0)
    return (
        rows.sort("window_start")
        .with_columns(messages.alias("messages"))
        .drop_nulls("messages")
        .group_by("window_start")
        .agg(pl.col("messages").sum())
        .sort("window_start")
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """Messages deleted unread: how many at the least, and up to which moment they are counted."""

    messages: int
    until: datetime


def by_minute(samples: pl.DataFrame) -> pl.DataFrame:
    """Return samples of ``group_offsets`` as the rows of the history that they will be."""
    return (
        samples.sort("observed_at")
        .group_by(
            pl.col("observed_at").dt.truncate("1m").alias("window_start"),
            *SERIES,
            maintain_order=True,
        )
        .agg(
            pl.col("lost_messages").max().alias("lost_messages_max"),
            pl.col("log_start").drop_nulls().last().alias("log_start_last"),
            pl.col("committed").drop_nulls().last().alias("committed_last"),
        )
    )


def of_group(view: View, group: str, since: datetime, until: datetime | None) -> Deleted | None:
    """Return how much a group lost from one moment to another, at the least.

    The history is minutes behind: what came after it is counted from the samples, up to those that
    the newest evaluation was of. Topics that the group reads no more are left out.

    Args:
        view: The frame of a page, on the cluster of the group.
        group: The group.
        since: When its loss began.
        until: The last moment; None: up to the newest evaluation.

    Returns:
        None where nothing is known of this time.

    Raises:
        LakeError: A table cannot be read.
    """
    kept = view.settings.lake.retention.minute_days
    is_kept = kept is None or view.now - since < timedelta(days=kept)
    is_short = (until or view.now) - since <= _LONGEST_BY_MINUTE
    grain = Grain.MINUTE if is_kept and is_short else Grain.HOUR
    status = present.rows(view, GROUP_STATUS).filter(pl.col("group") == group)
    topics = tuple(status["topics"].explode().drop_nulls().sort().to_list())
    # The minute in which it began is of it; an hour that began earlier may be of another loss.
    first = since.replace(second=0, microsecond=0)
    written = version(view, GROUP_PARTITION_HISTORY)
    history, last = _history(
        view.cache_key, view.cluster, written, group, topics, first, until, grain, view.lake
    )
    begin = last["window_start"].max()
    end = begin + timedelta(seconds=grain.seconds) if isinstance(begin, datetime) else first
    polled_at = status["observed_at"].max()
    last_moment = until or (polled_at if isinstance(polled_at, datetime) else view.now)
    known = [history]
    if end < last_moment:
        samples = recent_of(view, GROUP_OFFSETS, "group", group).filter(
            pl.col("observed_at") <= last_moment,
            *([] if last.is_empty() else [pl.col("observed_at") >= end]),
            *([pl.col("topic").is_in(topics)] if topics else []),
        )
        after = pl.concat([last, by_minute(samples)], how="diagonal_relaxed")
        known.append(deleted_unread(after).filter(pl.col("window_start") >= end))
        newest = samples["observed_at"].max()
        end = newest if isinstance(newest, datetime) else end
    windows = pl.concat(known)
    if windows.is_empty():
        return None
    return Deleted(messages=int(windows["messages"].sum()), until=min(end, last_moment))


@st.cache_resource(ttl=300, max_entries=64, show_spinner=False)
def _history(
    uri: str,
    cluster: str,
    version: int | None,
    group: str,
    topics: tuple[str, ...],
    first: datetime,
    until: datetime | None,
    grain: Grain,
    _lake: Lake,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return what was deleted unread in each window, and the last row of each partition."""
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
            *("window_start", *SERIES),
            *("lost_messages_max", "log_start_last", "committed_last"),
        ],
    )
    last = rows.sort("window_start").unique(SERIES, keep="last")
    return deleted_unread(rows).filter(pl.col("window_start") >= first), last
