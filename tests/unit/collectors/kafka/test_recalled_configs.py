"""What was set on topics before a restart is compared with what is set after it."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from collectors.kafka.cluster.setting_changes import topic_config_changes
from collectors.kafka.source import KafkaSource
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings
from lake.schemas.tables import TOPICS

NOW = datetime(2026, 11, 20, tzinfo=UTC)


def test_what_was_set_on_a_topic_during_a_restart_is_an_event() -> None:
    source = KafkaSource(
        ClusterSettings(name="c", bootstrap_servers="127.0.0.1:1"), 15.0, SharedFacts()
    )
    rows = {
        "altered": [{"key": "retention.ms", "value": "1000"}],
        "set": [],
        "as it was": [{"key": "retention.ms", "value": "1000"}],
        "cut": [{"key": "follower.replication.throttled.replicas", "value": "0" * 256}],
        "unknown": None,
    }
    schema = {name: TOPICS.polars_schema[name] for name in ("topic", "configs")}
    table = pl.DataFrame({"topic": rows.keys(), "configs": rows.values()}, schema=schema)
    try:
        source.remember({"topics": table})
        before = source.view(NOW).memory.configs_seen
    finally:
        source.close()
    now = {
        "altered": {"retention.ms": ("2000", True), "segment.ms": ("9", False)},
        "set": {"retention.ms": ("2000", True), "segment.ms": ("9", False)},
        "as it was": {"retention.ms": ("1000", True), "segment.ms": ("9", False)},
        "cut": {"follower.replication.throttled.replicas": ("0" * 300, True)},
        "unknown": {"retention.ms": ("2000", True)},
    }
    found = [
        (event.subject, event.before, event.after) for event in topic_config_changes(before, now)
    ]
    assert found == [
        ("altered", "retention.ms=1000", "retention.ms=2000"),
        ("set", None, "retention.ms=2000"),
    ]
