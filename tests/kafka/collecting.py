"""What the collectors' tests share: a source for a real cluster, and polls as one object."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import polars as pl

from collectors.kafka.source import KafkaSource
from collectors.source.model import SectionResult
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings
from demo.kafka.cluster import KafkaCluster


@dataclass
class Poll:
    """The results of one poll, by section and by table."""

    results: dict[str, SectionResult]
    duration_seconds: float

    def table(self, name: str) -> pl.DataFrame:
        for result in self.results.values():
            if name in result.frames:
                return result.frames[name]
        raise AssertionError(f"no section yielded {name}: {self.errors}")

    def rows(self, name: str, **equal: object) -> list[dict[str, Any]]:
        """Return rows of a table; none where the poll could not tell."""
        frames = (result.frames.get(name) for result in self.results.values())
        return [
            row for frame in frames if frame is not None for row in frame.filter(**equal).to_dicts()
        ]

    @property
    def errors(self) -> dict[str, str]:
        return {
            name: f"{result.status}: {result.error}"
            for name, result in self.results.items()
            if result.status != "ok"
        }

    def group(self, group: str) -> dict[str, Any] | None:
        rows = self.table("groups").filter(pl.col("group") == group).to_dicts()
        return rows[0] if rows else None

    def offsets(self, group: str, topic: str) -> dict[int, dict[str, Any]]:
        rows = self.table("group_offsets").filter(
            (pl.col("group") == group) & (pl.col("topic") == topic)
        )
        return {row["partition"]: row for row in rows.to_dicts()}

    def dead_letter(self, name: str) -> dict[str, Any]:
        (row,) = self.table("dead_letters").filter(pl.col("name") == name).to_dicts()
        return row


class Poller:
    """A source that is polled by hand, and what other sources reported it."""

    def __init__(self, source: KafkaSource, shared: SharedFacts | None = None) -> None:
        self.source = source
        self.shared = shared or SharedFacts()

    def poll(self) -> Poll:
        start = datetime.now(UTC)
        results = {result.section: result for result in self.source.poll(start)}
        return Poll(results, (datetime.now(UTC) - start).total_seconds())


@contextmanager
def polling(
    cluster: KafkaCluster | str, *, interval_seconds: float = 5.0, **settings: Any
) -> Iterator[Poller]:
    """Give a poller of a cluster; settings are those of ``ClusterSettings``."""
    servers = cluster if isinstance(cluster, str) else cluster.bootstrap_servers
    shared = SharedFacts()
    source = KafkaSource(
        ClusterSettings(name="test", bootstrap_servers=servers, **settings),
        interval_seconds,
        shared,
    )
    try:
        yield Poller(source, shared)
    finally:
        source.close()
