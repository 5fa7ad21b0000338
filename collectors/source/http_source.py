"""A server that is asked over HTTP, as a source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Generic, Protocol, TypeVar

import polars as pl

from collectors.source.model import Check, Recall, SectionResult
from collectors.source.section import Client, Collector, run_collector
from config.integrations import HttpSettings

# Of the cadence: what a poll may take.
_POLL_FRACTION = 0.8


class PollClient(Client, Protocol):
    """What a server is asked over: ``HttpClient``, or a library's client with the same limits."""

    def begin_poll(self, seconds: float) -> None:
        """Let the requests that follow share this many seconds."""

    def close(self) -> None:
        """Give up all connections."""


C = TypeVar("C", bound=PollClient)
S = TypeVar("S", bound=HttpSettings)


class HttpSource(Generic[C, S]):
    """Polls one server with the collectors of its kind. For one thread."""

    recalls: Sequence[Recall] = ()
    cluster_id: str | None = None
    controller: int | None = None

    def __init__(
        self,
        kind: str,
        settings: S,
        cluster: str,
        interval_seconds: float,
        client: C,
        collectors: Mapping[str, Collector[C, S]],
        check: Callable[[C, S], Sequence[Check]],
    ) -> None:
        self.name = f"{kind}/{settings.name}"
        self.cluster = cluster
        self.interval_seconds = interval_seconds
        self._settings = settings
        self.client = client
        self._collectors = collectors
        self._check = check

    def remember(
        self, tables: Mapping[str, pl.DataFrame], polls: Iterable[pl.DataFrame] = ()
    ) -> None:
        """Take over nothing: a server that is asked over HTTP tells everything at each poll."""

    def poll(self, now: datetime) -> Iterator[SectionResult]:
        """Read everything once; one result a section, as soon as it is known."""
        self.client.begin_poll(self.interval_seconds * _POLL_FRACTION)
        for name, collect in self._collectors.items():
            yield run_collector(name, collect, self.client, self._settings, now)

    def check(self) -> Sequence[Check]:
        """Try each feature once."""
        self.client.begin_poll(self.interval_seconds * _POLL_FRACTION)
        return self._check(self.client, self._settings)

    def close(self) -> None:
        """Give up all connections."""
        self.client.close()
