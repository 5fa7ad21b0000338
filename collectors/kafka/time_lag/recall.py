"""Timelines of partitions from the samples of the polls before a restart.

One poll after the other, as they were taken in then, and column by column: a large cluster has ten
million samples in a quarter of an hour.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
import polars as pl

from collectors.kafka.time_lag.time_lags import TimeLags
from collectors.kafka.time_lag.timelines import NON_MONOTONIC, Rows, Timelines

_PLACE = ["topic", "partition"]
_NAMES = [*_PLACE, "topic_id"]
_PLACES_SCHEMA = {"topic": pl.String(), "partition": pl.Int32(), "place": pl.UInt64()}
_IDS_SCHEMA = {"topic_id": pl.String(), "id": pl.UInt64()}


def recalled_times(written: Iterable[pl.DataFrame]) -> TimeLags:
    """Return what was known of partitions before a restart.

    It is what ``TimeLags.record`` makes of the polls one by one.

    Args:
        written: The rows of ``partitions`` as they were written, see ``Lake.written``: topic,
            partition, topic_id, log_end, observed_at, stream, row_kind.
    """
    recalled = _Recalled()
    for rows in written:
        recalled.add(rows)
    return recalled.time_lags()


class _Recalled:
    """What is known while polls are taken in; partitions are numbered as they come."""

    def __init__(self) -> None:
        self._places = pl.DataFrame(schema=_PLACES_SCHEMA)
        self._ids = [pl.DataFrame(schema=_IDS_SCHEMA)]
        # Of the poll before: its rows' names, these with numbers for them, and their partitions.
        self._names = pl.DataFrame()
        self._keyed = pl.DataFrame()
        self._numbers: Rows = np.zeros(0, dtype=np.intp)
        self._stream: str | None = None
        self._timelines = Timelines()
        # Of each partition: whether the poll before saw its end, that end, and its topic's id.
        self._is_there = np.zeros(0, dtype=np.bool_)
        self._ends = np.zeros(0, dtype=np.int64)
        self._topics = np.zeros(0, dtype=np.uint64)

    def add(self, rows: pl.DataFrame) -> None:
        """Take in polls, whose rows may be in any order; later ones than before."""
        if rows.is_empty():
            return
        polls = list(_polls(rows))
        names = [self._names, *(poll.select(_NAMES) for poll in polls)]
        # As a rule they are the same: all partitions of a busy cluster.
        keyed = [None if now.equals(before) else _keyed(now) for before, now in pairwise(names)]
        self._names = names[-1]
        others = [each for each in keyed if each is not None]
        for some in (others[:1], others):  # most partitions are in each poll
            if some:
                self._meet(pl.concat(some))
        for poll, other in zip(polls, keyed, strict=True):
            if other is not None:
                self._keyed, self._numbers = other, self._numbers_of(other["place"])
            self._take(poll)

    def time_lags(self) -> TimeLags:
        """Return what is known now."""
        ids = pl.concat(self._ids).unique("id")
        named = pl.DataFrame({"id": self._topics}).join(
            ids, on="id", how="left", maintain_order="left"
        )
        places = self._places.select(_PLACE).hstack(named.select("topic_id"))
        return TimeLags(places, self._timelines)

    def _meet(self, rows: pl.DataFrame) -> None:
        """Number the partitions that are new."""
        new = (
            rows.select(*_PLACE, "place")
            .join(self._places, on="place", how="anti", maintain_order="left")
            .drop_nulls("topic")  # which say that a poll was read
            .unique("place", maintain_order=True)
        )
        if new.is_empty():
            return
        before, self._places = self._places.height, pl.concat([self._places, new])
        numbers = np.arange(self._places.height)
        self._timelines = self._timelines.chosen(np.where(numbers < before, numbers, -1))
        self._is_there, self._ends, self._topics = (
            np.append(known, np.zeros(new.height, dtype=known.dtype))
            for known in (self._is_there, self._ends, self._topics)
        )

    def _numbers_of(self, places: pl.Series) -> Rows:
        """Return the number of each row's partition; -1 for the row that says there was a poll."""
        found = places.to_frame().join(
            self._places.select("place").with_row_index("number"),
            on="place",
            how="left",
            maintain_order="left",
        )
        return found["number"].cast(pl.Int64).fill_null(-1).to_numpy().astype(np.intp)

    def _take(self, poll: pl.DataFrame) -> None:
        """Take in a poll; what was not written of it is as it was."""
        at, stream = poll["observed_at"][0], poll["stream"][0]
        if stream is None or stream != self._stream:  # whose first poll is complete
            self._is_there[:] = False
        self._stream = stream
        numbers = self._numbers
        is_seen = poll["log_end"].is_not_null().to_numpy()
        # A partition that is gone has neither end nor topic.
        self._is_there[numbers[numbers >= 0]] = is_seen[numbers >= 0]
        seen = np.flatnonzero(is_seen)
        numbers, topics = numbers[seen], self._keyed["id"].to_numpy()[seen]
        self._ends[numbers] = poll["log_end"].fill_null(0).to_numpy()[seen]
        known = self._topics[numbers]
        other = known != topics
        if other.any():
            self._timelines.forget(numbers[other & (known != 0)])
            self._topics[numbers] = topics
            self._ids.append(self._keyed.select(list(_IDS_SCHEMA))[seen[other]].unique("id"))
        there = np.flatnonzero(self._is_there)
        results = self._timelines.record(there, self._ends[there], at.timestamp())
        back = there[results == NON_MONOTONIC]
        self._timelines.forget(back)
        self._timelines.record(back, self._ends[back], at.timestamp())


def _keyed(names: pl.DataFrame) -> pl.DataFrame:
    """Add numbers, which are joined and sorted many times as fast as names."""
    return names.with_columns(
        names.select(_PLACE).hash_rows().alias("place"),
        names.select("topic_id").hash_rows().alias("id"),
    )


def _polls(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Return the polls of rows, the oldest first."""
    runs = rows["observed_at"].rle()
    if runs.struct.field("value").n_unique() < runs.len():  # not as polls are written
        rows = rows.sort("observed_at", maintain_order=True)
        runs = rows["observed_at"].rle()
    lengths, times = runs.struct.field("len"), runs.struct.field("value")
    begins = lengths.cum_sum() - lengths
    for run in times.arg_sort():
        yield rows[begins[run] : begins[run] + lengths[run]]
