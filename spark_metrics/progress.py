"""Where the history job stands, kept in the lake so that another process can go on."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

import polars as pl
from pydantic import TypeAdapter

from lake.schemas.tables import JOBS
from lake.storage.store import Lake

JOB = "history"
MINUTE = timedelta(minutes=1)
_RECENT = timedelta(hours=36)
"""Rows older than this are looked for only where there is none since."""


class TimeRange(NamedTuple):
    """Whole minutes from ``start`` to ``end`` (exclusive)."""

    start: datetime
    end: datetime

    @classmethod
    def around(cls, first: datetime, last: datetime) -> TimeRange:
        """Return the minutes that hold the moments from first to last, both inclusive."""
        return cls(start=minute_of(first), end=minute_of(last) + MINUTE)

    def before(self, moment: datetime) -> TimeRange | None:
        """Return the part before a moment, None if there is none."""
        end = min(self.end, moment)
        return self._replace(end=end) if end > self.start else None

    def overlaps(self, other: TimeRange) -> bool:
        """Return whether a minute is in both."""
        return self.start < other.end and other.start < self.end


EVER = TimeRange(start=datetime.min.replace(tzinfo=UTC), end=datetime.max.replace(tzinfo=UTC))


def minute_of(moment: datetime) -> datetime:
    """Return the beginning of a moment's minute."""
    return moment.replace(second=0, microsecond=0)


def merge(ranges: Iterable[TimeRange]) -> tuple[TimeRange, ...]:
    """Return the same minutes as few ranges, in order."""
    merged: list[TimeRange] = []
    for time_range in sorted(ranges, key=lambda time_range: time_range.start):
        if merged and time_range.start <= merged[-1].end:
            merged[-1] = TimeRange(start=merged[-1].start, end=max(merged[-1].end, time_range.end))
        else:
            merged.append(time_range)
    return tuple(merged)


def without(ranges: Iterable[TimeRange], done: TimeRange) -> tuple[TimeRange, ...]:
    """Return the minutes of ranges that are not in ``done``."""
    left = []
    for time_range in ranges:
        left.append(TimeRange(start=time_range.start, end=min(time_range.end, done.start)))
        left.append(TimeRange(start=max(time_range.start, done.end), end=time_range.end))
    return merge(time_range for time_range in left if time_range.start < time_range.end)


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What has been read, and what of it is not in the history yet.

    Attributes:
        stream: The stream that reads samples; the name of its checkpoint.
        tables: Delta's ids of the bronze tables that it reads: one made anew has another.
        pending: Minutes that must be computed (again).
        hours: Hours whose minutes changed since the hour was computed.
        newest: The newest sample that was read.
        late_before: Samples before this are too late, in all batches of the look that goes on;
            None once it has ended.
        longest_interval: The longest interval between polls that was read of, in seconds.
        number: How many rows said where the job stands, this one included: clocks go back.
    """

    stream: str = field(default_factory=lambda: uuid.uuid4().hex)
    tables: Mapping[str, str] = field(default_factory=dict)
    pending: tuple[TimeRange, ...] = ()
    hours: frozenset[datetime] = frozenset()
    newest: datetime | None = None
    late_before: datetime | None = None
    longest_interval: float | None = None
    number: int = 0

    @property
    def is_done(self) -> bool:
        """Whether the history has all that was read."""
        return not self.pending and not self.hours

    def to_json(self) -> str:
        """Return the progress as text."""
        return _AS_JSON.dump_json(self).decode()

    @classmethod
    def from_json(cls, text: str) -> Progress:
        """Read what ``to_json`` wrote."""
        return _AS_JSON.validate_json(text)


_AS_JSON = TypeAdapter(Progress)


@dataclass(frozen=True, slots=True, kw_only=True)
class MicroBatch:
    """What one micro-batch did, for the page on the collection's health.

    Attributes:
        started_at: When it began.
        status: ``read`` (new samples were noted), ``ok`` (history was computed), ``failed``, or
            ``waiting`` (nothing was due).
        rows_read: Samples that were new.
        late_rows: Of these, samples that came too late and wait for a backfill.
        delay_seconds: Age of the newest sample in the history when the micro-batch ended.
        error: One line, where it failed.
    """

    started_at: datetime
    status: str
    rows_read: int = 0
    late_rows: int = 0
    delay_seconds: float | None = None
    error: str | None = None


class JobRecords:
    """The job's micro-batches in the table ``jobs``: the last one says where it stands."""

    def __init__(self, lake: Lake, job: str = JOB) -> None:
        self._lake = lake
        self._job = job

    def last(self) -> Progress | None:
        """Return where the last micro-batch that worked left off, None before the first.

        Raises:
            LakeError: The table cannot be read.
        """
        for since in (datetime.now(UTC) - _RECENT, None):
            rows = self._lake.read(
                JOBS,
                pl.col("job") == self._job,
                pl.col("progress").is_not_null(),
                since=since,
                columns=["finished_at", "progress"],
            )
            if not rows.is_empty():
                number = pl.col("progress").str.json_path_match("$.number").cast(pl.Int64)
                return Progress.from_json(str(rows.sort(number, "finished_at")["progress"][-1]))
        return None

    def add(self, micro_batch: MicroBatch, progress: Progress | None) -> None:
        """Write down a micro-batch; ``progress`` is None when it failed.

        The row's number follows that of ``progress``, which goes on from the last row.

        Raises:
            LakeError: The row could not be written.
        """
        noted = None if progress is None else replace(progress, number=progress.number + 1)
        row = asdict(micro_batch) | {
            "job": self._job,
            "finished_at": datetime.now(UTC),
            "progress": None if noted is None else noted.to_json(),
        }
        types = {name: type_ for name, type_ in JOBS.polars_schema.items() if name in row}
        self._lake.append(JOBS, pl.DataFrame([row], schema=types))
