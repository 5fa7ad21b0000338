"""The rows that evaluations look back to, kept in memory: each evaluation reads what is new."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from alerting.inputs.frames import KAFKA, Frames
from alerting.inputs.lake_rows import LOOK_BACK
from lake.change_encoding.expand import REWRITTEN_AFTER, expand, expand_next, still_needed
from lake.errors import LakeError
from lake.schemas.model import Table
from lake.schemas.tables import COLLECTIONS, DEAD_LETTERS, TOPICS
from lake.storage.store import Lake
from lake.storage.tail import Tail

OVERLAP = timedelta(seconds=120)
"""Rows that arrive this late are still found: sections of a poll are written one by one."""

PROMETHEUS = "prometheus"

MOST_ROWS = 300_000
"""Of a change-only table: beyond it fewer of the older polls are kept."""

_NEWEST_POLLS = 2
_LEAST_OLDER_POLLS = 2
_RECENT = timedelta(minutes=20)
_MOST_CHUNKS = 16
_SHORTEST = timedelta(microseconds=1)
_TRIMMED_EVERY = 4

Reduce = Callable[[pl.DataFrame, datetime], pl.DataFrame]


class RecentRows:
    """Keeps the rows of some clusters; one thread at a time may use it."""

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self._kept: dict[tuple[str, str], _Kept] = {}
        self._kinds: dict[str, set[str]] = {}

    def frames(self, cluster: str, now: float, watched_since: float = 0.0) -> Frames:
        """Read what is new of a cluster; a table that cannot be read is an error of the frames."""
        at = datetime.fromtimestamp(now, UTC)
        tables: dict[str, pl.DataFrame] = {}
        errors: dict[str, str] = {}
        for table, length in LOOK_BACK:
            if not self._may_have(cluster, table):
                tables[table.name] = table.empty
                continue
            kept = self._kept.get((cluster, table.name))
            if kept is None:
                kept = _Kept(Tail(self._lake, table), table, cluster, length)
                self._kept[cluster, table.name] = kept
            try:
                tables[table.name] = kept.take(at)
            except LakeError as error:
                errors[table.name] = str(error)
            if table is COLLECTIONS:
                self._note_sources(cluster, tables.get(table.name, table.empty))
        return Frames(
            cluster=cluster, now=now, tables=tables, errors=errors, watched_since=watched_since
        )

    def _note_sources(self, cluster: str, collections: pl.DataFrame) -> None:
        names = collections["source"].fill_null(KAFKA).unique()
        self._kinds.setdefault(cluster, set()).update(name.partition("/")[0] for name in names)

    def _may_have(self, cluster: str, table: Table) -> bool:
        """Return whether one of the sources that were ever seen of a cluster fills a table."""
        kinds = self._kinds.get(cluster)
        if not kinds or not table.collected_by or PROMETHEUS in kinds:
            return True  # what is backfilled from a Prometheus lies in tables of Kafka
        return not kinds.isdisjoint(table.collected_by)


class _Kept:
    """The rows of one table and cluster."""

    def __init__(self, tail: Tail, table: Table, cluster: str, look_back: timedelta) -> None:
        self._tail = tail
        self._table = table
        self._cluster = cluster
        self._look_back = look_back
        self._reduce = _REDUCE.get(table, _as_they_are)
        self._rows = table.empty
        self._written = self._rows
        self._newest: datetime | None = None
        self._since_trimmed = 0

    def take(self, now: datetime) -> pl.DataFrame:
        """Read what is new and return the rows of the look-back up to a moment."""
        first = now - self._look_back
        reach = REWRITTEN_AFTER if self._table.change_only else timedelta(0)
        near = first if self._newest is None else max(first, self._newest - OVERLAP)
        added = self._tail.read(self._cluster, near, since_anew=first - reach)
        if added is not None:
            if added.is_anew:
                self._rows, self._written = self._rows.clear(), self._written.clear()
                self._newest = None
            (self._add_changes if self._table.change_only else self._add)(added.rows, first)
        self._rows = self._reduce(_between(self._rows, first, None), now)
        return _between(self._rows, None, now)

    def _add(self, rows: pl.DataFrame, first: datetime) -> None:
        """Add rows; those that are there already are left out."""
        del first
        new = _unknown(rows, self._rows, self._newest, self._table.key)
        if new.is_empty():
            return
        self._rows = _in_order([self._rows, new])
        self._newest = _newest(self._rows)

    def _add_changes(self, rows: pl.DataFrame, first: datetime) -> None:
        """Add rows of a change-only table, and fill in what they leave out."""
        table = self._table
        new = _unknown(rows, self._written, self._newest, ("stream", "row_kind", *table.key))
        if new.is_empty():
            return
        written = pl.concat([self._written, new])
        earliest = max(first, *_times(new)[:1])
        known = _between(self._rows, None, earliest - _SHORTEST)
        before = self._poll_before(new)
        if before is None:
            filled = _filled(table, written, earliest)
        else:
            filled = [expand_next(table, before, new)]
        self._rows = _in_order([known, *filled])
        self._rows = _fewer_polls(self._rows, self._look_back)
        self._newest = _newest(self._rows)
        self._written, self._since_trimmed = written, self._since_trimmed + 1
        if self._newest is not None and self._since_trimmed >= _TRIMMED_EVERY:
            self._written = still_needed(table, written, self._newest - OVERLAP)
            self._since_trimmed = 0

    def _poll_before(self, new: pl.DataFrame) -> pl.DataFrame | None:
        """Return the newest poll where the new rows are the next one of its stream; else None."""
        if self._newest is None or new["observed_at"].min() != new["observed_at"].max():
            return None
        newest = _between(self._rows, self._newest, None)
        streams = {*newest["stream"].unique(), *new["stream"].unique()}
        is_next = new["observed_at"][0] > self._newest and len(streams) == 1 and None not in streams
        return newest if is_next else None


def _unknown(
    rows: pl.DataFrame, known: pl.DataFrame, newest: datetime | None, key: Sequence[str]
) -> pl.DataFrame:
    """Return the rows whose key is not known, each once."""
    if rows.is_empty():
        return rows
    earliest: Any = rows["observed_at"].min()
    if newest is not None and earliest > newest:
        return rows  # one poll after the other, as nearly always
    once = rows.unique(key, keep="first", maintain_order=True)
    near = known.filter(pl.col("observed_at") >= earliest)
    return once.join(near, on=key, how="anti", nulls_equal=True, maintain_order="left")


def _in_order(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    rows = pl.concat(frames)
    if not rows["observed_at"].is_sorted():
        rows = rows.sort("observed_at", maintain_order=True)
    return rows.rechunk() if rows.n_chunks() > _MOST_CHUNKS else rows


def _between(rows: pl.DataFrame, first: datetime | None, last: datetime | None) -> pl.DataFrame:
    """Return the rows from a moment to another, of rows in order of time."""
    times = rows["observed_at"]
    # Python's search asks for a few values; that of Polars builds a query each time.
    begin = 0 if first is None else bisect_left(times, first)
    end = rows.height if last is None else bisect_right(times, last, lo=begin)
    return rows if end - begin == rows.height else rows[begin:end]


def _times(rows: pl.DataFrame) -> list[datetime]:
    """Return the moments of the rows' polls in order."""
    return rows["observed_at"].unique().sort().to_list()


def _newest(rows: pl.DataFrame) -> datetime | None:
    newest = rows["observed_at"].max()
    return newest if isinstance(newest, datetime) else None


def _filled(table: Table, written: pl.DataFrame, since: datetime) -> list[pl.DataFrame]:
    """Return the polls from a moment on, whole: all of them, or fewer where they are too many."""
    polls = _times(written.filter(pl.col("observed_at") >= since))
    if not polls:  # what was written last is older, such as after collectors were away
        return []
    series = written.select(pl.struct(table.series).n_unique()).item()
    kept = _kept_polls(polls, series * len(polls), polls[-1] - polls[0])
    if len(kept) == len(polls):
        return [expand(table, written, since=since)]
    return [expand(table, written, since=at, until=at + _SHORTEST) for at in kept]


def _fewer_polls(rows: pl.DataFrame, look_back: timedelta) -> pl.DataFrame:
    """Leave polls out of rows in order of time, where these are too many."""
    if rows.height <= MOST_ROWS:
        return rows
    kept = _kept_polls(_times(rows), rows.height, look_back)
    return pl.concat([_between(rows, at, at) for at in kept])


def _kept_polls(polls: Sequence[datetime], rows: int, look_back: timedelta) -> Sequence[datetime]:
    """Return which polls are kept: the newest, and as many older ones as ``MOST_ROWS`` allows."""
    if rows <= MOST_ROWS:
        return polls
    older, newest = polls[:-_NEWEST_POLLS], polls[-_NEWEST_POLLS:]
    most = max(_LEAST_OLDER_POLLS, MOST_ROWS * len(polls) // rows - _NEWEST_POLLS)
    kept: list[datetime] = []
    for at in older:
        if not kept or at - kept[-1] >= look_back / most:
            kept.append(at)
    return [*kept, *newest]


def _as_they_are(rows: pl.DataFrame, now: datetime) -> pl.DataFrame:
    del now
    return rows


def newest_of_topics(rows: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Keep the newest row of each topic: nobody asks for an older one."""
    del now
    return rows.unique(["cluster", "topic"], keep="last", maintain_order=True)


def known_reasons(rows: pl.DataFrame, now: datetime) -> pl.DataFrame:
    """Keep the newest polls of dead letters, and of each hour before what tells known reasons.

    These are the first row of each topic and the first row with each reason.
    """
    is_recent = pl.col("observed_at") >= now - _RECENT
    older = rows.filter(~is_recent)
    if older.is_empty():
        return rows
    numbered = older.with_row_index("_row").with_columns(
        pl.col("observed_at").dt.truncate("1h").alias("_hour")
    )
    hour = ["source", "name", "_hour"]
    reasons = numbered.explode("reasons").with_columns(
        pl.col("reasons").struct.field("key").alias("_key")
    )
    kept = pl.concat(
        [
            numbered.unique(hour, keep="first")["_row"],
            reasons.unique([*hour, "_key"], keep="first")["_row"],
        ]
    ).unique()
    return pl.concat([older[kept.sort()], rows.filter(is_recent)])


_REDUCE: dict[Table, Reduce] = {TOPICS: newest_of_topics, DEAD_LETTERS: known_reasons}
