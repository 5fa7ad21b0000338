"""Sources whose polls follow a script."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import polars as pl

from collectors.service.polling import Plan
from collectors.source.model import Check, Recall, SectionResult

INTERVAL_SECONDS = 0.4
FAULT = RuntimeError("a fault of the source")


class Script:
    """A source whose polls take as long as the script says; 0 when it is used up, and None until
    they are let go on.
    """

    def __init__(
        self,
        name: str,
        durations: Sequence[float | None] = (),
        error: BaseException | None = None,
        kind: str = "script",
        interval_seconds: float = INTERVAL_SECONDS,
    ) -> None:
        self.name = kind
        self.cluster = name
        self.cluster_id = None
        self.controller = None
        self.interval_seconds = interval_seconds
        self.begun: list[float] = []
        self.closed = threading.Event()
        self.goes_on = threading.Event()  # for a poll without an end, of a duration of None
        self.recalled: Sequence[Recall] = [Recall(table="brokers"), Recall(table="groups")]
        self.remembered: Mapping[str, pl.DataFrame] = {}
        self.remembered_polls: Sequence[pl.DataFrame] = []
        self._durations = list(durations)
        self._error = error

    @property
    def recalls(self) -> Sequence[Recall]:
        return self.recalled

    def remember(
        self, tables: Mapping[str, pl.DataFrame], polls: Iterable[pl.DataFrame] = ()
    ) -> None:
        self.remembered = dict(tables)
        self.remembered_polls = list(polls)

    def poll(self, now: datetime) -> Iterator[SectionResult]:
        self.begun.append(time.monotonic())
        if self._error is not None:
            raise self._error
        if self._durations:
            self.goes_on.wait(self._durations.pop(0))
        frame = pl.DataFrame(
            {"broker_id": [1, 2], "is_alive": [True, False], "host": [self.name] * 2}
        )
        yield SectionResult(
            section="brokers",
            started_at=now,
            duration_seconds=0.01,
            status="ok",
            error=None,
            frames={"brokers": frame},
        )
        yield SectionResult(
            section="groups",
            started_at=now,
            duration_seconds=0.02,
            status="failed",
            error="no broker answered",
        )

    def check(self) -> Sequence[Check]:
        return []

    def close(self) -> None:
        self.closed.set()


def fixed(*sources: Script) -> Plan:
    """Return a plan of sources that a test made."""
    return Plan(make=lambda: sources)


def polls(source: Script, count: int) -> threading.Event:
    """Return an event that is set once a source was polled so often."""
    reached = threading.Event()

    def watch() -> None:
        deadline = time.monotonic() + 10
        while len(source.begun) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        reached.set()

    threading.Thread(target=watch, daemon=True).start()
    return reached
