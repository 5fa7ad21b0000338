"""The newest rows of every source: what ``/metrics`` is built from.

Polls hand over each section's result as soon as it is known; scrapes read what is there. Neither
waits for the other: a state is never changed, only replaced by the next one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import count

import polars as pl

from collectors.source.model import SectionResult, Source, Status
from collectors.source.rows import section_schema
from lake.schemas.tables import CLUSTER_EVENTS, REBALANCES, TABLES, TOPICS

OUTDATED_INTERVALS = 3
"""A section's rows are dropped after this many intervals without a successful read."""

POLL = "poll"
"""The section of polls that were skipped or broke off: no section is read under this name."""

_TOPICS_KEPT = timedelta(hours=2)
"""Rows of ``topics`` come when they change and once an hour."""

_TAKEN_AT = "_taken_at"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """The newest rows of a table.

    Attributes:
        rows: With every column of the table but those that all samples share.
        taken_at: When they were read (monotonic clock, seconds).
        version: No two sets of rows share it.
    """

    rows: pl.DataFrame
    taken_at: float
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionState:
    """How the reads of a section go.

    Attributes:
        error: Why, where it is not ``ok``.
        succeeded_at: When the last one that yielded rows began (UTC); None if there was none.
        counts: How many ended with each status since the service began.
    """

    status: Status
    error: str | None
    duration_seconds: float
    rows: int
    succeeded_at: datetime | None
    succeeded_clock: float | None
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceState:
    """A source as its last sections left it.

    Attributes:
        polled_at: When its last poll ended, whatever it yielded (monotonic clock).
        events: Kind: how many rows of ``cluster_events`` since the service began.
        rebalances: Group: how many rows of ``rebalances`` since the service began.
    """

    cluster: str
    source: str
    interval_seconds: float
    cluster_id: str | None = None
    polled_at: float | None = None
    sections: Mapping[str, SectionState] = field(default_factory=dict)
    tables: Mapping[str, TableState] = field(default_factory=dict)
    events: Mapping[str, int] = field(default_factory=dict)
    rebalances: Mapping[str, int] = field(default_factory=dict)

    def fresh_tables(self, clock: float) -> dict[str, TableState]:
        """Return the tables that are not outdated at that moment of the monotonic clock."""
        oldest = clock - OUTDATED_INTERVALS * self.interval_seconds
        return {name: table for name, table in self.tables.items() if table.taken_at >= oldest}


class Snapshots:
    """The states of all sources. Safe among threads."""

    def __init__(
        self, sources: Iterable[Source] = (), clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.clock = clock
        self._lock = threading.Lock()
        self._versions = count()
        self._states: dict[tuple[str, str], SourceState] = {}
        self.keep_only(sources)

    def states(self) -> list[SourceState]:
        """Return all sources' states, in the order of the sources."""
        with self._lock:
            return list(self._states.values())

    def follow(self, source: Source) -> None:
        """Begin anew with a source: what was known of it is not shown any more."""
        fresh = SourceState(
            cluster=source.cluster, source=source.name, interval_seconds=source.interval_seconds
        )
        with self._lock:
            self._states[source.cluster, source.name] = fresh

    def clear(self, cluster: str) -> None:
        """Show nothing of a cluster until its sources are polled again."""
        with self._lock:
            self._states = {
                key: SourceState(
                    cluster=key[0], source=key[1], interval_seconds=state.interval_seconds
                )
                if key[0] == cluster
                else state
                for key, state in self._states.items()
            }

    def keep_only(self, sources: Iterable[Source]) -> None:
        """Forget every source that is not among those; and follow those that are new."""
        known = list(sources)
        wanted = {(source.cluster, source.name) for source in known}
        with self._lock:
            self._states = {key: state for key, state in self._states.items() if key in wanted}
            new = [each for each in known if (each.cluster, each.name) not in self._states]
        for source in new:
            self.follow(source)

    def take(self, source: Source, result: SectionResult) -> None:
        """Take over what a section yielded; of a source that is not followed, nothing."""
        clock = self.clock()
        key = (source.cluster, source.name)
        # A source is polled by one thread, so that nobody else replaces this state meanwhile.
        state = self._states.get(key)
        if state is None:
            return
        tables = dict(state.tables)
        for name, frame in result.frames.items():
            rows = _fitted(name, frame)
            if name == TOPICS.name:
                before = tables.get(name)
                rows = _merged(before.rows if before else None, rows, result.started_at)
            tables[name] = TableState(rows=rows, taken_at=clock, version=next(self._versions))
        following = replace(
            state,
            cluster_id=source.cluster_id,
            sections={
                **state.sections,
                result.section: _section(state.sections.get(result.section), result, clock),
            },
            tables=tables,
            events=_counted(state.events, result.frames.get(CLUSTER_EVENTS.name), "kind"),
            rebalances=_counted(state.rebalances, result.frames.get(REBALANCES.name), "group"),
        )
        with self._lock:
            if key in self._states:
                self._states[key] = following

    def poll_ended(self, source: Source) -> None:
        """Note that a poll of a source came to its end."""
        key = (source.cluster, source.name)
        with self._lock:
            if key in self._states:
                self._states[key] = replace(self._states[key], polled_at=self.clock())


def by_cluster(sources: Iterable[Source]) -> dict[str, list[Source]]:
    """Return sources by the name that their samples carry."""
    found: dict[str, list[Source]] = {}
    for source in sources:
        found.setdefault(source.cluster, []).append(source)
    return found


def _section(before: SectionState | None, result: SectionResult, clock: float) -> SectionState:
    counts = dict(before.counts) if before else {}
    counts[result.status] = counts.get(result.status, 0) + 1
    succeeded = result.status in ("ok", "partial")
    return SectionState(
        status=result.status,
        error=result.error,
        duration_seconds=result.duration_seconds,
        rows=result.rows,
        succeeded_at=(result.started_at if succeeded else before.succeeded_at if before else None),
        succeeded_clock=(
            clock - result.duration_seconds
            if succeeded
            else before.succeeded_clock
            if before
            else None
        ),
        counts=counts,
    )


def _fitted(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with every column of its table, so that nobody has to ask for one."""
    missing = [
        pl.lit(None, type_).alias(column)
        for column, type_ in section_schema(TABLES[name]).items()
        if column not in frame.columns
    ]
    return frame.with_columns(missing)


def _merged(before: pl.DataFrame | None, new: pl.DataFrame, at: datetime) -> pl.DataFrame:
    """Return the newest row of each topic; those long unheard of are gone."""
    new = new.with_columns(pl.lit(at).cast(pl.Datetime("us", "UTC")).alias(_TAKEN_AT))
    if before is None:
        return new
    kept = before.filter(pl.col(_TAKEN_AT) >= at - _TOPICS_KEPT).join(new, on="topic", how="anti")
    return pl.concat([new, kept], how="diagonal_relaxed")


def _counted(before: Mapping[str, int], rows: pl.DataFrame | None, by: str) -> Mapping[str, int]:
    """Add how many rows there are of each value of a column."""
    if rows is None or rows.is_empty():
        return before
    counts = dict(before)
    for value, number in rows[by].value_counts().iter_rows():
        counts[value] = counts.get(value, 0) + number
    return counts
