"""Topics: kind and configuration, written when they change and once an hour."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import polars as pl

from collectors.errors import SwitchedOffError
from collectors.kafka.cluster.kinds import hono_tenant, mirror_aliases, topic_kind
from collectors.kafka.cluster.metadata import TopicConfig
from collectors.kafka.cluster.topic_config import config_number
from collectors.kafka.poll.reads import PollView
from collectors.source.answer import LARGEST_INT
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import TOPICS, WRITTEN_EVERY_SECONDS

VALUE_LENGTH = 256


def collect(client: PollView, settings: ClusterSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the rows of the table ``topics`` that are new, changed, or an hour old."""
    configs: Mapping[str, TopicConfig | str] = {}
    unread = "its configuration was not read"
    try:
        configs = client.configs
        client.problems += client.config_problems
    except SwitchedOffError as error:
        unread = str(error)
    rows = _rows(client, configs, unread)
    written = client.memory.topics_written
    due = []
    for row in rows:
        topic = row["topic"]
        last = written.get(topic)
        if (
            last is None
            or last[0] != row
            or client.tick - last[1] >= WRITTEN_EVERY_SECONDS[TOPICS.name]
        ):
            due.append(row)
            written[topic] = (row, client.tick)
    for gone in written.keys() - {row["topic"] for row in rows}:
        del written[gone]
    return {"topics": frame(TOPICS, due)}


def _rows(
    client: PollView, configs: Mapping[str, TopicConfig | str], unread: str
) -> list[dict[str, Any]]:
    grouped = client.partitions.group_by("topic", maintain_order=True).agg(
        pl.len().alias("partitions"),
        pl.col("replicas").list.len().min().alias("replication_factor"),
        pl.col("internal").first(),
    )
    dead = client.dead_letters
    mirrors = mirror_aliases(client.all_topics)
    rows = []
    for topic, partitions, factor, internal in grouped.iter_rows():
        kind = topic_kind(topic, internal=internal, dead_letter=topic in dead, mirrors=mirrors)
        config = configs.get(topic, unread)
        rows.append(
            {
                "topic": topic,
                "kind": kind,
                "tenant": hono_tenant(topic),
                "partitions": partitions,
                "replication_factor": factor,
                **_settings(config),
            }
        )
    return rows


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
