"""What polls of a cluster with faults show, beside what a Java client sees."""

from __future__ import annotations

import polars as pl

from demo.kafka.cluster import KafkaCluster
from tests.kafka.collecting import Poll, Poller
from tests.support import eventually, kafka_tool

INTERVAL_SECONDS = 5.0
GROUPS = [f"reader-{number}" for number in range(24)]
TOPIC_TOOL = "org.apache.kafka.tools.TopicCommand"


def described(cluster: KafkaCluster, option: str) -> set[tuple[str, int]]:
    """Return the partitions that a Java client's metadata puts under an option."""
    servers = ",".join(f"127.0.0.1:{cluster.port(number)}" for number in cluster.running)
    answer = kafka_tool(
        cluster,
        TOPIC_TOOL,
        "--bootstrap-server",
        servers,
        "--describe",
        option,
    )
    assert answer.returncode == 0, answer.stderr
    found = set()
    for line in answer.stdout.splitlines():
        fields = [field.strip() for field in line.split("\t") if field.strip()]
        values = dict(field.split(": ", 1) for field in fields if ": " in field)
        if "Partition" in values:
            found.add((values["Topic"], int(values["Partition"])))
    return found


def under_replicated(poll: Poll) -> set[tuple[str, int]]:
    rows = poll.table("partitions").filter(
        pl.col("in_sync_replicas").list.len() < pl.col("replicas").list.len()
    )
    return set(rows.select("topic", "partition").iter_rows())


def leaderless(poll: Poll) -> set[tuple[str, int]]:
    rows = poll.table("partitions").filter(pl.col("leader").is_null())
    return set(rows.select("topic", "partition").iter_rows())


def healthy(poll: Poll) -> bool:
    return not poll.errors and not under_replicated(poll) and not leaderless(poll)


def all_groups_are_there_and_nothing_is_invented(poll: Poll) -> tuple[set[str], set[str]]:
    """Return the groups that are known and those that are unknown."""
    rows = {row["group"]: row for row in poll.table("groups").to_dicts()}
    assert set(rows) >= set(GROUPS)
    unknown = {group for group in GROUPS if rows[group]["state"] == "unknown"}
    for group in GROUPS:
        offsets = poll.table("group_offsets").filter(pl.col("group") == group)
        assert set(offsets["partition"]) == {0, 1}
        if group in unknown:
            assert rows[group]["unknown_reason"]
            assert rows[group]["members"] is None
            assert offsets["committed"].null_count() == 2
            assert offsets["lag"].null_count() == 2
            assert offsets["unknown_reason"].null_count() == 0
        else:
            assert set(offsets["committed"]) == {1, 2}
    return set(GROUPS) - unknown, unknown


def polls_within_the_interval(poller: Poller) -> Poll:
    poll = poller.poll()
    assert poll.duration_seconds < INTERVAL_SECONDS
    return poll


def until_healthy(poller: Poller) -> None:
    eventually(
        lambda: healthy(polls_within_the_interval(poller)),
        timeout_seconds=60,
        what="healthy poll",
    )
