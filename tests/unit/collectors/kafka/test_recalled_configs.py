"""What is recalled after a restart: what was set on topics, and what groups had read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.cluster.metadata import PARTITIONS_SCHEMA
from collectors.kafka.poll.outcome import Outcome
from collectors.kafka.poll.recall import recalled
from lake.schemas.tables import TOPICS


def test_what_was_set_on_a_topic_during_a_restart_is_an_event() -> None:
    rows = {
        "altered": [{"key": "retention.ms", "value": "1000"}],
        "set": [],
        "as it was": [{"key": "retention.ms", "value": "1000"}],
        "cut": [{"key": "follower.replication.throttled.replicas", "value": "0" * 256}],
        "unknown": None,
    }
    schema = {name: TOPICS.polars_schema[name] for name in ("topic", "configs")}
    table = pl.DataFrame({"topic": rows.keys(), "configs": rows.values()}, schema=schema)
    now = {
        "altered": {"retention.ms": ("2000", True), "segment.ms": ("9", False)},
        "set": {"retention.ms": ("2000", True), "segment.ms": ("9", False)},
        "as it was": {"retention.ms": ("1000", True), "segment.ms": ("9", False)},
        "cut": {"follower.replication.throttled.replicas": ("0" * 300, True)},
        "unknown": {"retention.ms": ("2000", True)},
    }
    changes = recalled({"topics": table}).changes
    names = pl.DataFrame([{"topic": name} for name in now], schema=PARTITIONS_SCHEMA)
    metadata: Any = SimpleNamespace(brokers=())
    topics: Any = SimpleNamespace(partitions=names, watched=list(now), all=dict.fromkeys(now))
    unknown = Outcome[Any](error=CollectorError("unknown"))
    found = changes.compare(
        metadata=metadata,
        topics=topics,
        controller=None,
        quorum=unknown,
        registrations=unknown,
        ends=unknown,
        configs=Outcome(found=now),
        settings={},
        known_brokers=(),
    )
    assert [(event.subject, event.before, event.after) for event in found.events] == [
        ("altered", "retention.ms=1000", "retention.ms=2000"),
        ("set", None, "retention.ms=2000"),
    ]


class Tables(Mapping[str, pl.DataFrame]):
    """Tables of a lake; notes which are read."""

    def __init__(self, **tables: pl.DataFrame) -> None:
        self._tables = tables
        self.read: list[str] = []

    def __getitem__(self, table: str) -> pl.DataFrame:
        self.read.append(table)
        return self._tables[table]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)


def test_what_groups_had_read_is_read_only_when_it_is_needed() -> None:
    rows = pl.DataFrame({"group": ["billing"], "topic": ["orders"], "partition": [0]})
    tables = Tables(group_offsets=rows)
    memory = recalled(tables)
    assert "group_offsets" not in tables.read
    found = memory.group_partitions()
    assert found is not None
    assert found.equals(rows)
