"""Windows of samples from the rows that collectors wrote; no input or output."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from operator import itemgetter
from typing import NamedTuple

import polars as pl

from alerting.status.model import CHANGE_SHARE, PartitionWindow, Sample
from lake.schemas.bronze import GROUPS, IN_TOTALS

WINDOW_SECONDS = 600.0
"""How much history a status is decided from."""

HISTORY_SECONDS = 3 * 86400.0
"""How much more of it teaches what is usual, in ever fewer samples."""

_SERIES = ("committed", "log_start", "log_end", "lag", "time_lag_seconds")
_KEY = ("cluster", "group", "topic", "partition")


class GroupKey(NamedTuple):
    """One consumer group."""

    cluster: str
    group: str


def downsampled(samples: Sequence[Sample]) -> tuple[Sample, ...]:
    """Return the samples of a window with a long history: fewer, the older they are."""
    return tuple(samples[index] for index in kept_of([sample.at for sample in samples]))


def kept_of(times: Sequence[float]) -> list[int]:
    """Return which samples of a long history are kept: fewer, the older they are.

    All of the last ten minutes stay. An older one goes where the gap that it leaves is no longer
    than a tenth of its age, so that three days are sixty samples more.
    """
    kept: list[int] = []
    for index, at in enumerate(times):
        age = times[-1] - at
        if age > HISTORY_SECONDS:
            continue
        if (
            age > WINDOW_SECONDS
            and kept
            and times[index + 1] - times[kept[-1]] <= CHANGE_SHARE * age
        ):
            continue
        kept.append(index)
    return kept


def polls_of(
    offsets: pl.DataFrame, groups: pl.DataFrame | None
) -> Iterator[tuple[float, pl.DataFrame, pl.DataFrame]]:
    """Yield the polls of one cluster, in order of time.

    Args:
        offsets: Rows of ``group_offsets``, in any order.
        groups: Rows of ``groups`` of the same polls; without them members and state are unknown.

    Yields:
        Time, rows of ``group_offsets`` without topics that are no longer subscribed, and the rows
        of ``groups``.
    """
    facts = GROUPS.empty if groups is None else groups
    by_time = offsets.filter(IN_TOTALS).group_by(pl.col("observed_at").dt.epoch("us"))
    for (at,), of_poll in sorted(by_time, key=itemgetter(0)):
        is_same = pl.col("poll_id").is_in(of_poll["poll_id"].unique().implode())
        yield at / 1e6, of_poll, facts.filter(is_same)


# Of values in the order of its fields; there may be millions.
_sample = partial(tuple.__new__, Sample)


def build_windows(
    offsets: pl.DataFrame,
    groups: pl.DataFrame | None = None,
    *,
    window_seconds: float = WINDOW_SECONDS,
) -> dict[GroupKey, tuple[PartitionWindow, ...]]:
    """Arrange bronze rows as one window a partition.

    Each group's window ends at its own newest sample. A partition that the newest poll of its
    group no longer has (a deleted topic, an expired offset) is left out, and so is one of a topic
    that the group does not subscribe to any more (``is_subscribed`` false). Where later polls knew
    of the group but could not read its offsets, each window ends in a sample without values.

    Args:
        offsets: Rows of ``group_offsets``, in any order.
        groups: Rows of ``groups`` of the same polls; without them members and state are unknown.
        window_seconds: Older samples than this, before the group's newest, are left out.

    Returns:
        The windows of each group, sorted by topic and partition.
    """
    if offsets.is_empty():
        return {}
    newest = pl.col("observed_at").max().over("cluster", "group")
    recent = offsets.filter(
        pl.col("observed_at") >= newest - pl.duration(milliseconds=int(window_seconds * 1000))
    )
    with_groups = _join_groups(recent, groups)
    rows = (
        with_groups.with_columns(
            (pl.col("observed_at").dt.epoch("us") / 1e6).alias("at"),
            newest.alias("group_newest"),
        )
        .sort("observed_at")
        .group_by(*_KEY, maintain_order=True)
        .agg(
            pl.col("at", *_SERIES, "assigned", "members", "state"),
            pl.col("unknown_reason").last(),
            pl.col("is_subscribed").last(),
            pl.col("observed_at").last().alias("newest"),
            pl.col("group_newest").last(),
        )
        .filter((pl.col("newest") == pl.col("group_newest")) & IN_TOTALS)
        .sort(*_KEY)
    )
    read = recent.group_by("cluster", "group").agg(pl.col("observed_at").max().alias("read_at"))
    unread = unread_since(read, groups)
    windows: dict[GroupKey, list[PartitionWindow]] = {}
    for cluster, group, topic, partition, unknown_reason, *values in rows.select(
        *_KEY, "unknown_reason", "at", *_SERIES, "assigned", "members", "state"
    ).iter_rows():
        samples = tuple(map(_sample, zip(*values, strict=True)))
        key = GroupKey(cluster, group)
        if key in unread:
            unread_at, unknown_reason = unread[key]
            samples = (*samples, Sample(unread_at))
        windows.setdefault(key, []).append(
            PartitionWindow(
                topic=topic, partition=partition, samples=samples, unknown_reason=unknown_reason
            )
        )
    return {key: tuple(found) for key, found in windows.items()}


def _join_groups(offsets: pl.DataFrame, groups: pl.DataFrame | None) -> pl.DataFrame:
    """Add members and state of the same poll, and whether a member holds the partition.

    A poll that could not read a group's members has no member of a partition either: whether it
    is assigned is then unknown, not false.
    """
    if groups is None or groups.is_empty():
        return offsets.with_columns(
            pl.lit(None, pl.Int32).alias("members"),
            pl.lit(None, pl.String).alias("state"),
            pl.when(pl.col("member_id").is_not_null()).then(True).alias("assigned"),
        )
    facts = groups.select("cluster", "group", "poll_id", "members", "state").unique(
        ["cluster", "group", "poll_id"], keep="last"
    )
    return offsets.join(facts, on=["cluster", "group", "poll_id"], how="left").with_columns(
        pl.when(pl.col("member_id").is_not_null())
        .then(True)
        .when(pl.col("members").is_not_null())
        .then(False)
        .alias("assigned")
    )


def unread_since(
    read: pl.DataFrame, groups: pl.DataFrame | None
) -> dict[GroupKey, tuple[float, str]]:
    """Return the groups whose newest poll has no offsets, with its time and the reason.

    Args:
        read: ``cluster``, ``group`` and ``read_at``, when its offsets were last read.
        groups: Rows of ``groups``.
    """
    if groups is None or groups.is_empty():
        return {}
    late = read.filter(pl.col("read_at") < groups["observed_at"].max())
    if late.is_empty():
        return {}
    newest = (
        groups.join(late, on=["cluster", "group"], how="semi")
        .sort("observed_at")
        .group_by("cluster", "group")
        .agg(pl.col("observed_at").last(), pl.col("unknown_reason").last())
    )
    unread = newest.join(late, on=["cluster", "group"]).filter(
        pl.col("observed_at") > pl.col("read_at")
    )
    return {
        GroupKey(cluster, group): (at, reason or "the newest poll could not read its offsets")
        for cluster, group, at, reason in unread.select(
            "cluster", "group", pl.col("observed_at").dt.epoch("us") / 1e6, "unknown_reason"
        ).iter_rows()
    }
