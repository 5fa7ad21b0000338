"""The service as users start it: rows reach the lake, and a signal ends it cleanly."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from config.settings import LakeSettings
from demo.kafka.cluster import KafkaCluster
from lake.schemas.tables import BROKERS, COLLECTIONS, GROUP_OFFSETS, PARTITIONS, TOPICS
from lake.storage.store import Lake
from tests.support import Names, eventually

ROOT = Path(__file__).parents[3]
INTERVAL_SECONDS = 2.0


@pytest.fixture
def config(kafka_cluster: KafkaCluster, tmp_path: Path) -> Path:
    path = tmp_path / "headroom.yaml"
    path.write_text(
        f"""
clusters:
  - name: shop
    bootstrap_servers: {kafka_cluster.bootstrap_servers}
    poll_interval_seconds: {INTERVAL_SECONDS}
  - name: gone
    bootstrap_servers: 127.0.0.1:1
    poll_interval_seconds: {INTERVAL_SECONDS}
lake:
  uri: {tmp_path}/lake
"""
    )
    return path


@pytest.fixture
def service(config: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "collectors", "run", "--config", str(config)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=10)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_rows_reach_the_lake_and_a_signal_ends_it(
    names: Names, service: subprocess.Popen[str], tmp_path: Path, number: signal.Signals
) -> None:
    topic, group = names.topic("orders", partitions=1), names.group("billing")
    names.produce(topic, 9)
    names.commit(group, topic, {0: 4})
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))

    def polled() -> pl.DataFrame | None:
        rows = lake.read(GROUP_OFFSETS, pl.col("group") == group)
        return rows if rows.height >= 3 else None

    eventually(lambda: polled() is not None, timeout_seconds=40, what="three polls")
    service.send_signal(number)
    start = time.monotonic()
    out, err = service.communicate(timeout=20)
    assert time.monotonic() - start < 10
    assert service.returncode == 0
    assert out == ""
    assert "Traceback" not in err
    assert "cluster=shop source=kafka duration=" in err

    rows = lake.read(GROUP_OFFSETS, pl.col("group") == group).sort("observed_at")
    assert set(rows["lag"]) == {5}
    gaps = rows["observed_at"].diff().drop_nulls()
    assert all(
        abs(gap - timedelta(seconds=INTERVAL_SECONDS)) < timedelta(seconds=0.5) for gap in gaps
    )
    # What a poll read has one moment in every table.
    for table in (PARTITIONS, BROKERS):
        assert set(rows["poll_id"]) <= set(lake.read(table, cluster="shop")["poll_id"])
    # Written once, though polled often; a first read may have run out of its short time.
    written = lake.read(TOPICS, pl.col("topic") == topic, pl.col("unknown_reason").is_null())
    assert written.height == 1

    collections = lake.read(COLLECTIONS)
    worked = collections.filter((pl.col("cluster") == "shop") & (pl.col("status") == "ok"))
    assert set(worked["section"]) >= {"groups", "group_offsets", "partitions", "brokers"}
    gone = collections.filter(pl.col("cluster") == "gone")
    assert set(gone["status"]) <= {"failed", "skipped"}
    assert "127.0.0.1:1" in gone.filter(pl.col("status") == "failed")["error"][0]


def test_once_reads_both_clusters_and_writes_nothing(config: Path, tmp_path: Path) -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "collectors", "once", "--config", str(config)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "COLUMNS": "250"},
    )
    assert answer.returncode == 3
    assert answer.stdout.splitlines()[0].startswith("shop: cluster id ")
    assert "Connection refused" in answer.stdout
    assert not (tmp_path / "lake").exists()
