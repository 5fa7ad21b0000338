"""What is collected from a quiet cluster equals what Kafka's own tool prints."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from demo.kafka.cluster import KafkaCluster
from demo.workload.service import Workload
from tests.support import kafka_tool

ROOT = Path(__file__).parents[3]
TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"

Row = tuple[str, str, int, int | None, int | None, int | None]


@pytest.fixture(scope="module")
def quiet_cluster(kafka_cluster: KafkaCluster, demo_workload: Workload) -> KafkaCluster:
    """The shared cluster with the demo's whole workload on it, at rest."""
    del demo_workload  # the fixture leaves it paused
    return kafka_cluster


def tool_rows(cluster: KafkaCluster) -> list[Row]:
    """Return group, topic, partition, committed, end, lag as Kafka's tool prints them."""
    answer = kafka_tool(cluster, TOOL, "--describe", "--all-groups", "--timeout", "20000")
    assert answer.returncode == 0, answer.stderr
    rows = []
    for line in answer.stdout.splitlines():
        fields = line.split()
        if len(fields) < 6 or fields[0] == "GROUP" or fields[1] == "-":
            continue
        group, topic, partition, committed, end, lag = fields[:6]
        rows.append((group, topic, int(partition), number(committed), number(end), number(lag)))
    return sorted(rows)


def number(field: str) -> int | None:
    return None if field == "-" else int(field)


def once(cluster: KafkaCluster, folder: Path) -> tuple[int, dict[str, Any]]:
    config = folder / "headroom.yaml"
    config.write_text(
        f"clusters:\n  - name: shop\n    bootstrap_servers: {cluster.bootstrap_servers}\n"
    )
    answer = subprocess.run(
        [sys.executable, "-m", "collectors", "once", "--json", "--config", str(config)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert answer.returncode in (0, 3), answer.stderr
    return answer.returncode, json.loads(answer.stdout)["cluster"]["shop"]


def test_once_equals_kafkas_own_tool_in_every_offset_and_lag(
    quiet_cluster: KafkaCluster, tmp_path: Path
) -> None:
    before = tool_rows(quiet_cluster)
    code, collected = once(quiet_cluster, tmp_path)
    after = tool_rows(quiet_cluster)
    # A row that changed between the two runs of the tool was not quiet.
    assert before == after
    ours = sorted(
        (
            group["group"],
            part["topic"],
            part["partition"],
            part["committed"],
            part["log_end"],
            part["lag"],
        )
        for group in collected["groups"]
        for part in group["partitions"]
    )
    assert ours == before
    assert code == 0, collected["collections"]
    # The comparison means something: groups of every kind, with and without lag.
    types = {group["group"]: group["type"] for group in collected["groups"]}
    assert types["fraud-scoring"] == "consumer"
    assert types["ledger-writer"] == "classic"
    assert {row[5] == 0 for row in before if row[5] is not None} == {True, False}


def test_once_names_the_owner_of_each_partition(
    quiet_cluster: KafkaCluster, tmp_path: Path
) -> None:
    answer = kafka_tool(quiet_cluster, TOOL, "--describe", "--all-groups", "--timeout", "20000")
    theirs = set()
    for line in answer.stdout.splitlines():
        fields = line.split()
        if len(fields) >= 9 and fields[0] != "GROUP" and fields[1] != "-" and fields[6] != "-":
            member, host, client = fields[6:9]
            theirs.add((fields[0], fields[1], int(fields[2]), member, client, host.lstrip("/")))
    _, collected = once(quiet_cluster, tmp_path)
    ours = {
        (
            group["group"],
            part["topic"],
            part["partition"],
            part["member_id"],
            part["client_id"],
            part["host"],
        )
        for group in collected["groups"]
        for part in group["partitions"]
        if part["member_id"] is not None
    }
    assert ours == theirs
    assert len(theirs) > 20


def test_once_counts_members_idle_ones_included(
    quiet_cluster: KafkaCluster, tmp_path: Path
) -> None:
    _, collected = once(quiet_cluster, tmp_path)
    members = {group["group"]: group["members"] for group in collected["groups"]}
    assert members["stock-projection"] == 5
    assert members["session-builder"] == 6
    assert members["fraud-scoring"] == 2


def test_once_tells_dead_letters_apart(quiet_cluster: KafkaCluster, tmp_path: Path) -> None:
    _, collected = once(quiet_cluster, tmp_path)
    dead = {row["name"]: row for row in collected["dead_letters"]}
    assert set(dead) >= {"orders.placed-dlt", "warehouse_sink.dlq"}
    spring, connect = dead["orders.placed-dlt"], dead["warehouse_sink.dlq"]
    assert spring["origin"] == connect["origin"] == "orders.placed"
    assert spring["found_by"] == "name"
    assert spring["unprocessed"] is None
    assert "no redrive group" in spring["unknown_reason"]
    assert spring["retained"] == spring["log_end"] > 0
    assert spring["sampled_records"] > 0
    assert sum(spring["reasons"].values()) == spring["sampled_records"]
    assert set(connect["reasons"]) == {"org.apache.kafka.connect.errors.DataException"}
