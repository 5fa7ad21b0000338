"""What a source of samples is: the one protocol that the service knows.

A new kind of source is a module that makes one from its settings, and a line in
``collectors.registry``. Polls yield one result a section as soon as it is known; a section that
fails stops nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, Protocol

import polars as pl

Status = Literal["ok", "partial", "failed", "skipped"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionResult:
    """What one section of a poll yielded.

    Attributes:
        duration_seconds: How long it took, reads included that later sections use as well.
        status: ``ok``: everything asked for is known; ``partial``: some of it is unknown (null
            with a reason in its row); ``failed``: nothing could be read.
        error: Why, for ``partial`` and ``failed``: one line for the operator.
        frames: Table name: rows, without the columns that every sample has.
    """

    section: str
    started_at: datetime
    duration_seconds: float
    status: Status
    error: str | None = None
    frames: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    @staticmethod
    def without_rows(section: str, at: datetime, status: Status, error: str) -> SectionResult:
        """Return the result of what read nothing."""
        return SectionResult(
            section=section, started_at=at, duration_seconds=0.0, status=status, error=error
        )

    @property
    def rows(self) -> int:
        """Rows of all tables together."""
        return sum(frame.height for frame in self.frames.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """Whether one feature of a source can work."""

    feature: str
    works: bool | None  # whether it was read just now; None where it could not be tried
    required: bool  # whether Headroom is of no use without it
    detail: str
    grants: tuple[str, ...] = ()  # commands for an administrator, where rights are missing


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """What of a table a source takes over after a restart.

    Attributes:
        polls: 1: the rows of the last poll. More, of a ``change_only`` table: see ``Lake.written``.
        columns: Which; without any, all of the last poll.
        only: Of the last poll: column, and the value that its rows have. Where several sources
            write into the table, it is the last poll of the one that is named.
        each: Of a table whose rows are written when they change and every hour: the columns that
            name what a row is about. The newest row of each is recalled.
    """

    table: str
    polls: int = 1
    columns: tuple[str, ...] = ()
    only: Mapping[str, str] = field(default_factory=dict)
    each: tuple[str, ...] = ()


class Source(Protocol):
    """Something that is polled: a Kafka cluster, a Connect cluster, a RabbitMQ."""

    @property
    def name(self) -> str:
        """``kafka``, or its kind and its name, for example ``connect/main``."""

    @property
    def cluster(self) -> str:
        """The name that its samples carry."""

    @property
    def interval_seconds(self) -> float:
        """Its cadence."""

    @property
    def cluster_id(self) -> str | None:
        """The id that the cluster gives itself; None before it was read, or if it has none."""

    @property
    def controller(self) -> int | None:
        """Node id of the controller; None before it was read, or where there is none."""

    @property
    def recalls(self) -> Sequence[Recall]:
        """What ``remember`` can make use of."""

    def remember(
        self, tables: Mapping[str, pl.DataFrame], polls: Iterable[pl.DataFrame] = ()
    ) -> None:
        """Take over what the last poll before a restart saw, before the first poll of this one.

        Args:
            tables: Table name: the rows that ``recalls`` asks for, read when they are first looked
                at; a table without any may be missing.
            polls: The rows of the table that is recalled of several polls.
        """

    def poll(self, now: datetime) -> Iterator[SectionResult]:
        """Read everything once; ends within the cadence, whatever the source does."""

    def check(self) -> Sequence[Check]:
        """Try each feature once."""

    def close(self) -> None:
        """Give up all connections."""
