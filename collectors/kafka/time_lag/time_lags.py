"""How late a group is in seconds: now minus the time at which its next record was appended.

From the partition's timeline where it reaches; beyond it from the broker's timestamps of single
records. Nothing is extrapolated.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import numpy as np
import polars as pl

from collectors.kafka.protocol.poll_context import PollContext
from collectors.kafka.time_lag.record_lookups import look_up
from collectors.kafka.time_lag.record_times import LookedUp
from collectors.kafka.time_lag.timelines import NON_MONOTONIC, Rows, Timelines
from collectors.kafka.time_lag.timestamp_lookups import Place, Wanted
from config.settings import TimeLagSettings
from lake.schemas.bronze import IN_TOTALS

TIMELINE, RECORD = "timeline", "record"
"""What a time was taken from: watched end offsets, or the broker's timestamps of records."""

_UNSEEN = "time lag: one poll cannot tell when the next record arrived"
_REMOVED = "time lag: retention has removed the next record"
_TURN = "time lag: longer than this partition has been watched; its record waits for its turn"
_BEYOND = "time lag: more than {} s, longer than this partition has been watched"
_ANY_ORDER = "time lag: records of a share group are done with in any order"

_PLACE = ["topic", "partition"]
_RECORD = [*_PLACE, "committed"]
_PARTITIONS_SCHEMA = {"topic": pl.String(), "partition": pl.Int32(), "topic_id": pl.String()}


class TimeLags:
    """What is known of the partitions that groups read, and the time lags that follow from it.

    All partitions at once: there may be hundreds of thousands.

    Attributes:
        partitions: topic, partition, topic_id of those that are known; ``stable``, the last stable
            offset where it is below the end, and ``open_since``, since when it stands there.
        timelines: Theirs, in the same order.
    """

    def __init__(
        self, partitions: pl.DataFrame | None = None, timelines: Timelines | None = None
    ) -> None:
        """Begin with what was known before a restart.

        Args:
            partitions: topic, partition, topic_id.
            timelines: Theirs, in the same order.
        """
        self.partitions = pl.DataFrame(partitions, schema=_PARTITIONS_SCHEMA).with_columns(
            pl.lit(None, pl.Int64()).alias("stable"), pl.lit(None, pl.Float64()).alias("open_since")
        )
        self.timelines = timelines or Timelines()
        self._looked_up: dict[Place, LookedUp] = {}
        self._turn = 0

    def shift(self, seconds: float) -> None:
        """Move what was timed by this machine's clock, which was set; records have a broker's."""
        self.timelines.shift(seconds)
        self.partitions = self.partitions.with_columns(pl.col("open_since") + seconds)

    def record(self, rows: pl.DataFrame, at: datetime, topic_ids: Mapping[str, str | None]) -> None:
        """Take in the ends of the partitions that groups read; forget partitions that are gone.

        A topic that was deleted and created anew has another id; one whose end went backwards
        under the same id was truncated. Either way the old times mean nothing any more.

        Args:
            rows: topic, partition, log_end, last_stable; all that groups read.
            at: When they were read.
            topic_ids: Of every topic that there is.
        """
        now = at.timestamp()
        ends = (
            rows.select(*_PLACE, "log_end", "last_stable")
            .unique(_PLACE, keep="first", maintain_order=True)
            .with_columns(_id_of_topic(topic_ids))
        )
        found = ends.select(list(_PARTITIONS_SCHEMA))
        if not self.partitions.select(list(_PARTITIONS_SCHEMA)).equals(found):
            self._arrange(found)
        # Of a partition without a leader the end is not known: what is known of it waits.
        told = ends["log_end"].is_not_null().to_numpy()
        log_end = ends["log_end"].fill_null(0).to_numpy()
        numbers = np.flatnonzero(told)
        results = self.timelines.record(numbers, log_end[numbers], now)
        back = numbers[results == NON_MONOTONIC]
        self.timelines.forget(back)
        self.timelines.record(back, log_end[back], now)
        self._forget_records(self.partitions[back])
        self._record_stable(ends, back, now)

    def _record_stable(self, ends: pl.DataFrame, begun_anew: Rows, now: float) -> None:
        """Take in where open transactions hold up the partitions that were recorded just now."""
        before = self.partitions["stable"].scatter(begun_anew, None)
        stable = ends.select(
            pl.when(pl.col("log_end").is_null())
            .then(before)
            .when(pl.col("last_stable") < pl.col("log_end"))
            .then("last_stable")
        ).to_series()
        moved = np.flatnonzero((stable.is_not_null() & stable.ne_missing(before)).to_numpy())
        at = self.timelines.time_at(moved, stable[moved].to_numpy().astype(np.int64))
        since = self.partitions["open_since"].scatter(moved, np.where(np.isnan(at), now, at))
        self.partitions = self.partitions.with_columns(
            stable.alias("stable"), pl.when(stable.is_not_null()).then(since).alias("open_since")
        )

    def _arrange(self, found: pl.DataFrame) -> None:
        """Bring what is known into the order of the partitions that were found; forget others."""
        known = self.partitions.with_row_index("row").rename({"topic_id": "id_before"})
        here = found.join(known, on=_PLACE, how="left", maintain_order="left", validate="1:1")
        is_other = (pl.col("topic_id") != pl.col("id_before")).fill_null(False)
        self._forget_records(here.filter(is_other))
        here = here.with_columns(
            pl.when(~is_other).then(name).alias(name) for name in ("row", "stable", "open_since")
        ).with_columns(pl.coalesce("topic_id", "id_before").alias("topic_id"))
        rows = here["row"].cast(pl.Int64).fill_null(-1).to_numpy()
        self.timelines = self.timelines.chosen(rows.astype(np.intp))
        self.partitions = here.drop("row", "id_before")
        if self._looked_up:
            there = set(here.select(_PLACE).iter_rows())
            self._looked_up = {
                place: known for place, known in self._looked_up.items() if place in there
            }

    def _forget_records(self, partitions: pl.DataFrame) -> None:
        for place in partitions.select(_PLACE).iter_rows():
            self._looked_up.pop(place, None)

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
        since = self.partitions.drop_nulls("open_since").select(
            *_PLACE, (pl.col("open_since") * 1e6).cast(pl.Int64()).cast(pl.Datetime("us", "UTC"))
        )
        return rows.join(since, on=_PLACE, how="left", validate="m:1")

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
        now = context.now.timestamp()
        asks = settings.ask_brokers and settings.lookups > 0
        records = self._seen(late)
        seen = records.filter(pl.col("at").is_not_null())
        rest = self._with_records(records.filter(pl.col("at").is_null()), now)
        is_wanted = pl.lit(settings.ask_brokers) & pl.col("is_asked") & pl.col("at").is_null()
        is_removed = is_wanted & (pl.col("committed") < pl.col("log_start")).fill_null(False)
        refusals: dict[Wanted, str] = {}
        if asks and (chosen := self._next_ones(rest.filter(is_wanted, ~is_removed), settings)):
            look_up(context, chosen, self._looked_up, partitions, refusals)
            rest = self._with_records(rest, now)
        why = (
            pl.when(is_removed)
            .then(pl.lit(_REMOVED))
            .when(pl.col("refusal").is_not_null())
            .then("refusal")
            .when(is_wanted & asks)
            .then(pl.lit(_TURN))
            .when(pl.col("points") < 2)
            .then(pl.lit(_UNSEEN))
            .otherwise(pl.format(_BEYOND, (now - pl.col("watched_since")).round(0).cast(pl.Int64)))
        )
        rest = rest.join(_by_record(refusals), on=_RECORD, how="left", validate="1:1")
        lag = (now - pl.col("at")).clip(lower_bound=0.0).alias("time_lag_seconds")
        source = pl.when(pl.col("at").is_not_null())
        return pl.concat(
            [
                seen.select(
                    *_RECORD,
                    lag,
                    pl.lit(TIMELINE).alias("time_lag_source"),
                    pl.lit(None, pl.String()).alias("why"),
                ),
                rest.select(
                    *_RECORD,
                    lag,
                    source.then(pl.lit(RECORD)).alias("time_lag_source"),
                    pl.when(pl.col("at").is_null()).then(why).alias("why"),
                ),
            ]
        )

    def _seen(self, late: pl.DataFrame) -> pl.DataFrame:
        """Return each next record to be read, with what was seen of its partition.

        Returns:
            topic, partition, committed, log_start, and

            - ``is_asked``: whether brokers may be asked for it;
            - ``at``: when it was appended, in seconds since the epoch; null where unknown;
            - ``points``: how many points the timeline has; ``watched_from`` and ``watched_since``
              are the oldest.
        """
        records = late.group_by(_RECORD, maintain_order=True).agg(
            (pl.col("unknown_reason").is_null() & IN_TOTALS).any().alias("is_asked"),
            pl.col("log_start").first(),
        )
        numbers = self.partitions.select(_PLACE).with_row_index("number")
        records = records.join(numbers, on=_PLACE, maintain_order="left", validate="m:1")
        wanted = records["number"].to_numpy().astype(np.intp)
        at = self.timelines.time_at(wanted, records["committed"].to_numpy())
        offsets, times = self.timelines.oldest(wanted)
        return records.drop("number").with_columns(
            pl.Series("at", at).fill_nan(None),
            pl.Series("points", self.timelines.counts[wanted]),
            pl.Series("watched_from", offsets),
            pl.Series("watched_since", times),
        )

    def _with_records(self, records: pl.DataFrame, now: float) -> pl.DataFrame:
        """Add when records were appended according to what was looked up."""
        if not self._looked_up:
            return records
        found: list[float | None] = []
        columns = records.select(*_RECORD, "watched_from", "watched_since")
        for topic, partition, committed, *upper in columns.iter_rows():
            known = self._looked_up.get((topic, partition))
            if known is not None:
                known.upper = (upper[0], upper[1])
            found.append(None if known is None else known.time_at(committed, now))
        return records.with_columns(pl.Series("at", found, pl.Float64()))

    def _next_ones(self, wanted: pl.DataFrame, settings: TimeLagSettings) -> list[Wanted]:
        """Choose whom to ask for in this poll: all of them in the course of several polls."""
        budget = settings.lookups
        if wanted.height > budget:
            wanted = wanted.sort(_RECORD)
            begin = self._turn % wanted.height
            self._turn += budget
            wanted = pl.concat([wanted[begin:], wanted[:begin]]).head(budget)
        chosen = []
        columns = wanted.select(*_RECORD, "watched_from", "watched_since")
        for topic, partition, committed, *upper in columns.iter_rows():
            known = self._looked_up.setdefault((topic, partition), LookedUp())
            known.upper = (upper[0], upper[1])
            chosen.append(Wanted(topic=topic, partition=partition, offset=committed))
        return chosen


def _id_of_topic(topic_ids: Mapping[str, str | None]) -> pl.Expr:
    names, ids = (
        pl.Series(topic_ids.keys(), dtype=pl.String),
        pl.Series(topic_ids.values(), dtype=pl.String),
    )
    found = pl.col("topic").replace_strict(names, ids, default=None, return_dtype=pl.String())
    return found.alias("topic_id")


def _by_record(refusals: Mapping[Wanted, str]) -> pl.DataFrame:
    schema = {
        "topic": pl.String(),
        "partition": pl.Int32(),
        "committed": pl.Int64(),
        "refusal": pl.String(),
    }
    rows = [(item.topic, item.partition, item.offset, why) for item, why in refusals.items()]
    return pl.DataFrame(rows, schema=schema, orient="row")
