"""What was set on topics before a restart is compared with what is set after it."""

from __future__ import annotations

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
