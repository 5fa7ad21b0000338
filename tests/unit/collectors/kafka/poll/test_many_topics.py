"""A poll of a cluster with 100,000 topics, which is only played."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl

from bench.support import synthetic_cluster as cluster
from collectors.kafka.poll.topic_configs import CONFIG_WAITS
from collectors.kafka.source import KafkaSource
from collectors.source.model import SectionResult
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings

TOPICS, GROUPS = 100_000, 20
PARTITIONS = TOPICS * cluster.PARTITIONS
INTERVAL_SECONDS = 600.0
"""A busy machine is not what is tested."""


def test_every_partition_of_100_000_topics_has_its_row() -> None:
    with cluster.synthetic_cluster(cluster.Size(topics=TOPICS, groups=GROUPS)) as servers:
        settings = ClusterSettings(
            name="many",
            bootstrap_servers=servers,
            request_timeout_seconds=120.0,
            commit_log=False,
        )
        source = KafkaSource(settings, INTERVAL_SECONDS, SharedFacts())
        try:
            results = {result.section: result for result in source.poll(datetime.now(UTC))}
        finally:
            source.close()
    assert not [result for result in results.values() if result.status == "failed"]
    rows = _rows(results, "partitions")
    assert rows.select("topic", "partition").n_unique() == rows.height == PARTITIONS
    same = rows.select(pl.exclude("topic", "partition", "topic_id", "leader")).select(
        "log_start", "log_end", "last_stable", "size_bytes", "follower_lag", "unknown_reason"
    )
    assert same.unique().rows() == [
        (cluster.START, cluster.END, cluster.END, cluster.SIZE_BYTES, 0, None)
    ]
    led = rows["leader"].value_counts().sort("leader").rows()
    assert led == [(broker, PARTITIONS // 3) for broker in range(3)]
    offsets = _rows(results, "group_offsets")
    assert offsets.height == GROUPS * cluster.GROUP_TOPICS * cluster.PARTITIONS
    assert offsets["lag"].unique().to_list() == [cluster.END - cluster.COMMITTED]
    topics = _rows(results, "topics")
    assert topics.height == TOPICS
    assert topics["partitions"].unique().to_list() == [cluster.PARTITIONS]
    # The configurations of the first ones are known, those of the others wait for their turn.
    known = topics.filter(pl.col("unknown_reason").is_null())
    assert known.height >= 500
    assert known["retention_seconds"].unique().to_list() == [3600.0]
    waiting = topics.filter(pl.col("unknown_reason") == CONFIG_WAITS)
    assert known.height + waiting.height == TOPICS
    (brokers,) = {tuple(row) for row in _rows(results, "brokers").select("leaders").rows()}
    assert brokers == (PARTITIONS // 3,)


def _rows(results: dict[str, SectionResult], table: str) -> pl.DataFrame:
    return results[table].frames[table]
