"""How late a group is in seconds: now minus the time at which its next record was appended.

From the partition's timeline where it reaches; beyond it from the broker's timestamps of single
records. Nothing is extrapolated.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from datetime import datetime

import polars as pl

from collectors.kafka.protocol.poll_context import PollContext
from collectors.kafka.time_lag.partition_times import PartitionTimes
from collectors.kafka.time_lag.timestamp_lookups import (
    NOT_PERMITTED,
    NOTHING_SENT,
    Place,
    Wanted,
    fetch_times,
    first_from,
)
from config.settings import TimeLagSettings
from lake.schemas.bronze import IN_TOTALS

_UNSEEN = "time lag: one poll cannot tell when the next record arrived"
_REMOVED = "time lag: retention has removed the next record"
_TURN = "time lag: longer than this partition has been watched; its record waits for its turn"
_ANY_ORDER = "time lag: records of a share group are done with in any order"
Record = tuple[str, int, int]
"""Topic, partition and offset."""

_RECORD = ["topic", "partition", "committed"]
_TOLD_SCHEMA = {
    "topic": pl.String(),
    "partition": pl.Int32(),
    "committed": pl.Int64(),
    "time_lag_seconds": pl.Float64(),
    "time_lag_source": pl.String(),
    "why": pl.String(),
}
_REFUSAL_SECONDS = 600.0
_SEARCH_ROUNDS = 8
_LOOKUP_FRACTION = 0.25  # of what is left of the poll's time


class TimeLags:
    """What is known of partitions over time, and the time lags that follow from it."""

    def __init__(self, times: Mapping[Place, PartitionTimes] | None = None) -> None:
        """Begin with what was known before a restart."""
        self._times = dict(times or {})
        self._turn = 0

    def of(self, topic: str, partition: int) -> PartitionTimes | None:
        """Return what is known of a partition."""
        return self._times.get((topic, partition))

    def shift(self, seconds: float) -> None:
        """Move what was timed by this machine's clock, which was set."""
        for times in self._times.values():
            times.shift(seconds)

    def record(self, rows: pl.DataFrame, at: datetime, topic_ids: Mapping[str, str | None]) -> None:
        """Take in the ends of the partitions that groups read; forget partitions that are gone.

        Args:
            rows: topic, partition, log_end, last_stable.
            at: When they were read.
            topic_ids: Of every topic that there is.
        """
        now = at.timestamp()
        columns = ("topic", "partition", "log_end", "last_stable")
        ends = rows.select(columns).unique(columns[:2]).drop_nulls("log_end")
        kept: dict[Place, PartitionTimes] = {}
        for topic, partition, end, stable in ends.iter_rows():
            place = (topic, partition)
            topic_id = topic_ids.get(topic)
            times = kept[place] = self._times.get(place) or PartitionTimes(topic_id=topic_id)
            times.record(end, now, topic_id)
            if stable is None or stable >= end:
                times.stable = None
            elif times.stable is None or times.stable[0] != stable:
                times.stable = (stable, times.timeline.time_at(stable) or now)
        # A partition without a leader is not gone: what is known of it waits.
        for place, times in self._times.items():
            if place not in kept and topic_ids.get(place[0]) == times.topic_id is not None:
                kept[place] = times
        self._times = kept

    def add(
        self,
        context: PollContext,
        settings: TimeLagSettings,
        rows: pl.DataFrame,
        partitions: pl.DataFrame,
    ) -> pl.DataFrame:
        """Add ``time_lag_seconds``, ``time_lag_source`` and ``open_since``.

        Time lag is 0 where lag is 0. Where it is null, ``unknown_reason`` says why, unless it
        already says why the lag is unknown. ``open_since`` is the time since when the last stable
        offset stands still below the end: the oldest open transaction is at least that old.

        Args:
            context: How brokers are asked for the times of records that the timelines do not reach.
            settings: Whether they are asked, and for how many.
            rows: Those of ``group_offsets``, whose ends were recorded.
            partitions: topic, partition, leader.
        """
        lag, in_order = pl.col("lag"), pl.col("lag") == pl.col("log_end") - pl.col("committed")
        late = rows.filter((lag > 0) & in_order)
        reported = self._reported(context, settings, late, partitions)
        rows = rows.join(
            reported, on=_RECORD, how="left", maintain_order="left", validate="m:1"
        ).with_columns(
            pl.when((lag == 0) & pl.col("unknown_reason").is_null())
            .then(0.0)
            .when(in_order)
            .then("time_lag_seconds")
            .alias("time_lag_seconds"),
            pl.when(in_order).then("time_lag_source").alias("time_lag_source"),
            pl.coalesce(
                "unknown_reason", pl.when((lag > 0) & ~in_order).then(pl.lit(_ANY_ORDER)), "why"
            ).alias("unknown_reason"),
        )
        rows = rows.drop("why")
        since = _open_since(self._times)
        return rows.join(since, on=["topic", "partition"], how="left", validate="m:1")

    def _reported(
        self,
        context: PollContext,
        settings: TimeLagSettings,
        late: pl.DataFrame,
        partitions: pl.DataFrame,
    ) -> pl.DataFrame:
        """Return the age of each next record to be read, and its source, or why it is unknown.

        Several groups may stand at the same record.
        """
        times, now = self._times, context.now.timestamp()
        found: dict[Record, tuple[float, str] | None] = {
            record: _time_at(times, record, now)
            for record in late.select(_RECORD).unique().iter_rows()
        }
        refusals: dict[Wanted, str] = {}
        if settings.ask_brokers:
            removed, wanted = _wanted(late, times, found)
            refusals = dict.fromkeys(removed, _REMOVED)
            if wanted and settings.lookups:
                refusals.update(dict.fromkeys(wanted, _TURN))
                chosen = self._next_ones(wanted, settings.lookups)
                _look_up(context, chosen, times, partitions, refusals)
        rows: list[tuple[str, int, int, float | None, str | None, str | None]] = []
        for record, known in found.items():
            reported = known or _time_at(times, record, now)  # what was looked up just now
            if reported is None:
                why = refusals.get(
                    Wanted(topic=record[0], partition=record[1], offset=record[2])
                ) or _reason(times.get(record[:2]), now)
                rows.append((*record, None, None, why))
            else:
                rows.append((*record, max(0.0, now - reported[0]), reported[1], None))
        return pl.DataFrame(rows, schema=_TOLD_SCHEMA, orient="row")

    def _next_ones(self, wanted: list[Wanted], budget: int) -> list[Wanted]:
        """Choose whom to ask for in this poll: all of them in the course of several polls."""
        if len(wanted) <= budget:
            return wanted
        wanted.sort(key=lambda item: (item.topic, item.partition, item.offset))
        begin = self._turn % len(wanted)
        self._turn += budget
        return [*wanted[begin:], *wanted[:begin]][:budget]


def _time_at(
    times: Mapping[Place, PartitionTimes], record: Record, now: float
) -> tuple[float, str] | None:
    known = times.get(record[:2])
    return known.time_at(record[2], now) if known else None


def _open_since(times: Mapping[Place, PartitionTimes]) -> pl.DataFrame:
    found = [(*place, item.stable[1]) for place, item in times.items() if item.stable is not None]
    schema = {"topic": pl.String(), "partition": pl.Int32(), "open_since": pl.Float64()}
    return pl.DataFrame(found, schema=schema, orient="row").with_columns(
        (pl.col("open_since") * 1e6).cast(pl.Int64()).cast(pl.Datetime("us", "UTC"))
    )


def _look_up(
    context: PollContext,
    chosen: Iterable[Wanted],
    times: Mapping[Place, PartitionTimes],
    partitions: pl.DataFrame,
    refusals: dict[Wanted, str],
) -> None:
    """Ask brokers for records beyond the timelines; note why some are still not known."""
    now = context.now.timestamp()
    leaders = {
        (topic, partition): leader
        for topic, partition, leader in partitions.select(
            "topic", "partition", "leader"
        ).iter_rows()
        if leader is not None
    }
    by_search = [item for item in chosen if _is_refused(times[item.place], context.tick)]
    wanted = set(chosen).difference(by_search)
    outcomes = fetch_times(context.wire, wanted, leaders, context.deadline)
    for item, outcome in outcomes.items():
        if outcome == NOT_PERMITTED:
            times[item.place].refused_at = context.tick
            by_search.append(item)
        elif outcome == NOTHING_SENT:  # of a batch that is larger than what is asked for
            by_search.append(item)
        elif isinstance(outcome, str):
            refusals[item] = f"time lag: {outcome}"
        else:
            # It lies before everything that was watched, whatever its producer's clock says.
            oldest = times[item.place].timeline.oldest
            times[item.place].records.add(item.offset, min(outcome, oldest[1] if oldest else now))
    _search(context, by_search, times, leaders, refusals)


def _wanted(
    late: pl.DataFrame,
    times: Mapping[Place, PartitionTimes],
    found: Mapping[Record, tuple[float, str] | None],
) -> tuple[list[Wanted], list[Wanted]]:
    """Return the records that retention has removed, and those that must be asked for."""
    truncated, wanted = [], []
    asked = late.filter(pl.col("unknown_reason").is_null() & IN_TOTALS)
    for *record, start in asked.select(*_RECORD, "log_start").unique().iter_rows():
        topic, partition, committed = record
        if (topic, partition) not in times or found[topic, partition, committed] is not None:
            continue
        item = Wanted(topic=topic, partition=partition, offset=committed)
        if start is not None and committed < start:
            truncated.append(item)
        else:
            wanted.append(item)
    return truncated, wanted


def _is_refused(times: PartitionTimes, tick: float) -> bool:
    return times.refused_at is not None and tick - times.refused_at < _REFUSAL_SECONDS


def _search(
    context: PollContext,
    wanted: Iterable[Wanted],
    times: Mapping[Place, PartitionTimes],
    leaders: Mapping[Place, int],
    refusals: dict[Wanted, str],
) -> None:
    """Find the time of records by asking for offsets at times, which needs DESCRIBE alone.

    The first question is for the oldest record; each further one for the time at which the wanted
    record lies if records came evenly. The points found stay for the next polls.
    """
    now = context.now.timestamp()
    open_items = {item.place: item for item in wanted}
    until = time.monotonic() + _LOOKUP_FRACTION * context.deadline.left_seconds
    for _ in range(_SEARCH_ROUNDS):
        if not open_items or time.monotonic() > until:
            return
        guesses = {}
        for place, item in open_items.items():
            known = times[place]
            around = known.records.bracket(item.offset, known.timeline.oldest)
            if around is None:
                guesses[place] = 0.0
                continue
            (low, low_time), (high, high_time) = around
            share = (item.offset - low) / (high - low)
            # Never quite at an end: that question would be answered by the record known already.
            guesses[place] = low_time + (high_time - low_time) * min(0.95, max(0.05, share))
        answers = first_from(context.wire, guesses, leaders, context.deadline)
        for place, outcome in answers.items():
            item = open_items[place]
            known = times[place]
            if isinstance(outcome, str):
                refusals[item] = f"time lag: {outcome}"
                del open_items[place]
                continue
            if outcome is not None:
                oldest = known.timeline.oldest
                known.records.add(outcome[0], min(outcome[1], oldest[1] if oldest else now))
            if outcome is None or known.time_at(item.offset, now) is not None:
                del open_items[place]


def _reason(times: PartitionTimes | None, now: float) -> str:
    oldest = times.timeline.oldest if times else None
    if oldest is None or times is None or len(times.timeline) < 2:
        return _UNSEEN
    return (
        f"time lag: more than {now - oldest[1]:.0f} s, longer than this partition has been watched"
    )
