"""Topics: kind and configuration, written when they change and once an hour."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from typing import Any

import polars as pl

from collectors.errors import SwitchedOffError
from collectors.kafka.cluster.metadata import TopicConfig
from collectors.kafka.cluster.topic_config import config_number
from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.kafka.poll.recall import VALUE_LENGTH
from collectors.kafka.poll.topic_configs import config_problems
from collectors.source.answer import LARGEST_INT
from collectors.source.rows import section_schema
from config.settings import ClusterSettings
from lake.schemas.tables import TOPICS

_CONFIG = "config"
_OF_TOPIC = ("topic", "kind", "tenant", "partitions", "replication_factor")


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the rows of the table ``topics`` that are new, changed, or an hour old."""
    with suppress(SwitchedOffError):
        reads.problems.extend(config_problems(reads.configs.value))
    facts, due = reads.topic_facts.value, reads.topics_due.value
    # Most topics are configured alike: what follows from a configuration is worked out once.
    numbers: dict[int, int] = {}
    distinct: list[TopicConfig | str] = []
    for topic in due:
        config = facts[topic].config
        if id(config) not in numbers:
            numbers[id(config)] = len(distinct)
            distinct.append(config)
    schema = section_schema(TOPICS)
    settings_rows = [_settings(config) for config in distinct]
    columns = [name for name in schema if name not in _OF_TOPIC]
    of_config = pl.DataFrame(
        {name: [row.get(name) for row in settings_rows] for name in columns},
        schema={name: schema[name] for name in columns},
    ).with_row_index(_CONFIG)
    rows = pl.DataFrame(
        [(topic, *facts[topic][:-1], numbers[id(facts[topic].config)]) for topic in due],
        schema={
            **{name: schema[name] for name in _OF_TOPIC},
            _CONFIG: pl.UInt32(),
        },
        orient="row",
    )
    rows = rows.join(of_config, on=_CONFIG, how="left", maintain_order="left")
    return {"topics": rows.select(list(schema))}


def _settings(config: TopicConfig | str) -> dict[str, Any]:
    if isinstance(config, str):
        return {"unknown_reason": config}

    def text(key: str) -> str | None:
        return config.get(key, (None, False))[0]

    # Negative means without a limit: null, and no unknown_reason.
    retention_ms = config_number(config, "retention.ms")
    retention_bytes = config_number(config, "retention.bytes")
    segment_ms = config_number(config, "segment.ms")
    return {
        "min_in_sync_replicas": config_number(config, "min.insync.replicas", LARGEST_INT),
        "retention_seconds": (
            None if retention_ms is None or retention_ms < 0 else retention_ms / 1000
        ),
        "retention_bytes": None if (retention_bytes or -1) < 0 else retention_bytes,
        "cleanup_policy": text("cleanup.policy"),
        "timestamp_type": text("message.timestamp.type"),
        "segment_seconds": None if segment_ms is None else segment_ms / 1000,
        "segment_bytes": config_number(config, "segment.bytes"),
        "configs": [
            {"key": key, "value": (value or "")[:VALUE_LENGTH]}
            for key, (value, own) in sorted(config.items())
            if own
        ],
        "unknown_reason": None,
    }
