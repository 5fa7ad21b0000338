"""How late a group is in seconds: now minus the time at which its next record was appended."""

from __future__ import annotations

import polars as pl

from collectors.kafka.timeline import OffsetTimeline, RecordResult
from collectors.kafka.view import View

_UNSEEN = "time lag: one poll cannot tell when the next record arrived"


def time_lags(view: View, rows: pl.DataFrame) -> pl.DataFrame:
    """Add ``time_lag_seconds``: 0 where lag is 0, from the partition's timeline where it reaches.

    Elsewhere it is null, and ``unknown_reason`` says why unless it already tells why the lag itself
    is unknown. Nothing is extrapolated.

    Args:
        view: The poll; its memory holds a timeline a partition, which takes in this poll's ends.
        rows: Rows of group_offsets with topic, partition, committed, log_end, lag, unknown_reason.
    """
    at = view.now.timestamp()
    timelines = _record(view, rows, at)
    late: list[float | None] = []
    reasons: list[str | None] = []
    reasons_of: dict[tuple[str, int], str] = {}
    columns = ("topic", "partition", "committed", "lag", "unknown_reason")
    for topic, partition, committed, lag, reason in rows.select(columns).iter_rows():
        if lag is None or lag == 0:
            late.append(None if lag is None or reason else 0.0)
            reasons.append(reason)
            continue
        timeline = timelines[topic, partition]
        appended = timeline.time_at(committed)
        late.append(None if appended is None else max(0.0, at - appended))
        if appended is None and reason is None:
            key = (topic, partition)
            reason = reasons_of.get(key)
            if reason is None:
                reason = reasons_of[key] = _reason(timeline, at)
        reasons.append(reason)
    return rows.with_columns(
        pl.Series("time_lag_seconds", late, pl.Float64()),
        pl.Series("unknown_reason", reasons, pl.String()),
    )


def _record(view: View, rows: pl.DataFrame, at: float) -> dict[tuple[str, int], OffsetTimeline]:
    """Take in the ends of the partitions that groups read, and forget the partitions that are gone.

    A topic that was deleted and created anew has another id; one whose end went backwards under
    the same id was truncated. Either way the old times mean nothing any more.
    """
    ends = rows.select("topic", "partition", "log_end").unique().drop_nulls("log_end")
    topic_ids = view.topic_ids
    memory = view.memory.timelines
    kept: dict[tuple[str, int], tuple[str | None, OffsetTimeline]] = {}
    for topic, partition, end in ends.iter_rows():
        key = (topic, partition)
        topic_id = topic_ids.get(topic)
        known_id, timeline = memory.get(key) or (topic_id, OffsetTimeline())
        if known_id != topic_id:
            timeline.reset()
        if timeline.record(end, at) is RecordResult.NON_MONOTONIC:
            timeline.reset()
            timeline.record(end, at)
        kept[key] = (topic_id, timeline)
    # A partition without a leader is not gone: its timeline waits for it.
    for key, entry in memory.items():
        if key not in kept and topic_ids.get(key[0]) == entry[0] and key[0] in topic_ids:
            kept[key] = entry
    view.memory.timelines = kept
    return {key: timeline for key, (_, timeline) in kept.items()}


def _reason(timeline: OffsetTimeline, at: float) -> str:
    oldest = timeline.oldest_at
    if oldest is None or len(timeline) < 2:
        return _UNSEEN
    return f"time lag: more than {at - oldest:.0f} s, longer than this partition has been watched"
