"""The lake's disk is full, and the process is killed while it appends: nothing wrong is stored."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from config.settings import LakeSettings
from demo.kafka.cluster import KafkaCluster
from lake.schemas.tables import BROKERS, COLLECTIONS, PARTITIONS
from lake.storage.store import Lake
from tests.selection import exhaustive
from tests.support import Names, eventually

ROOT = Path(__file__).parents[2]
INTERVAL_SECONDS = 1.0
BATCH_ROWS = 60_000

# Appends batches of one poll each until it is killed.
APPEND_FOR_EVER = f"""
import sys
from datetime import UTC, datetime
from itertools import count
import polars as pl
from config.settings import LakeSettings
from lake.storage.store import Lake
from lake.schemas.tables import PARTITIONS

lake = Lake(LakeSettings(uri=sys.argv[1]))
for number in count():
    lake.append(PARTITIONS, pl.DataFrame({{
        "cluster": "shop",
        "observed_at": datetime.now(UTC),
        "poll_id": f"{{sys.argv[2]}}-{{number}}",
        "topic": [f"topic-{{index}}" for index in range({BATCH_ROWS})],
        "partition": pl.Series(range({BATCH_ROWS}), dtype=pl.Int32),
        "log_end": range({BATCH_ROWS}),
    }}))
"""


@pytest.fixture
def service(kafka_cluster: KafkaCluster, tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The collecting service with a lake in ``tmp_path/lake``."""
    config = tmp_path / "headroom.yaml"
    config.write_text(
        f"""
clusters:
  - name: shop
    bootstrap_servers: {kafka_cluster.bootstrap_servers}
    poll_interval_seconds: {INTERVAL_SECONDS}
lake:
  uri: {tmp_path}/lake
"""
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "collectors", "run", "--config", str(config)],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait(10)


@pytest.mark.kafka
def test_the_disk_is_full_and_has_space_again(
    service: subprocess.Popen[bytes], names: Names, tmp_path: Path
) -> None:
    """A limit on the size of files takes the place of a full disk: every write fails."""
    names.topic("orders", partitions=3)
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))

    def polls() -> int:
        return lake.read(BROKERS)["poll_id"].n_unique() if lake.exists(BROKERS) else 0

    eventually(lambda: polls() >= 2, timeout_seconds=60, what="two polls in the lake")
    _, hard = resource.prlimit(service.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (0, hard))
    when_full = polls()
    time.sleep(4 * INTERVAL_SECONDS)  # several polls whose rows are lost
    assert service.poll() is None
    assert polls() == when_full
    resource.prlimit(service.pid, resource.RLIMIT_FSIZE, (hard, hard))
    again_at = datetime.now(UTC)

    def reported() -> list[dict[str, Any]]:
        return lake.read(COLLECTIONS).filter(pl.col("section") == "lake").to_dicts()

    rows = eventually(reported, timeout_seconds=60, what="row about the lost rows")
    assert {row["status"] for row in rows} == {"failed"}
    assert "rows were not written" in rows[0]["error"]
    assert "cannot append" in rows[0]["error"]

    def later() -> bool:
        found = lake.read(BROKERS).filter(pl.col("observed_at") > again_at)
        return found["poll_id"].n_unique() >= 2

    eventually(later, timeout_seconds=30, what="polls after the disk had space again")
    # What is there is whole: each poll has its brokers.
    counts = lake.read(BROKERS).group_by("poll_id").len()["len"]
    assert set(counts) == {3}


@pytest.mark.parametrize("kills", [1, *exhaustive(4)])
def test_killed_in_the_middle_of_an_append(tmp_path: Path, kills: int) -> None:
    """Killed when the data are written and the commit is not: the rows are not there."""
    lake = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    folder = tmp_path / "lake" / PARTITIONS.layer / PARTITIONS.name
    for turn in range(kills):
        process = subprocess.Popen(
            [sys.executable, "-c", APPEND_FOR_EVER, str(tmp_path / "lake"), f"run-{turn}"], cwd=ROOT
        )
        try:
            stop_in_an_append_that_is_not_committed(folder, process)
        finally:
            process.kill()
            process.wait(10)
        if lake.exists(PARTITIONS):
            counts = lake.read(PARTITIONS).group_by("poll_id").len()
            assert set(counts["len"]) <= {BATCH_ROWS}
    files = len(list(folder.glob("date=*/*.parquet")))
    statistics = lake.statistics(PARTITIONS)
    assert statistics is not None
    assert files >= statistics.files + kills  # each cut an append off
    # The next one finds nothing in its way.
    now = datetime.now(UTC)
    row = pl.DataFrame({"cluster": "shop", "observed_at": now, "poll_id": "after", "topic": "t"})
    assert lake.append(PARTITIONS, row) == 1
    assert lake.read(PARTITIONS).filter(pl.col("poll_id") == "after").height == 1


def stop_in_an_append_that_is_not_committed(folder: Path, process: subprocess.Popen[bytes]) -> None:
    """Stop the process with a new data file and no commit of it, after one whole append."""
    log = folder / "_delta_log"

    def state() -> tuple[int, int]:
        commits = len(list(log.glob("*.json"))) if log.exists() else 0
        return commits, len(list(folder.glob("date=*/*.parquet")))

    started, _ = state()
    deadline = time.monotonic() + 60
    seen = state()
    while time.monotonic() < deadline:
        assert process.poll() is None
        now = state()
        if now[0] > started + 1 and now[0] == seen[0] and now[1] > seen[1]:
            process.send_signal(signal.SIGSTOP)
            os.waitpid(process.pid, os.WUNTRACED)
            if state()[0] == now[0]:
                return
            process.send_signal(signal.SIGCONT)  # the commit was quicker
        seen = now
    pytest.fail("no append was seen")
