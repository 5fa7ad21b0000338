"""How long the collectors take from their start to their first poll of a large cluster.

Beside the poll itself that is the start of the process, and what it reads of the polls before: a
quarter of an hour of ends, from which time lag is known at once. The cluster is played.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import UUID

import polars as pl
import yaml

from bench.support.figures import Figure
from bench.support.process_usage import peak_resident_bytes
from bench.support.synthetic_cluster import (
    COMMITTED,
    END,
    GROUP_TOPICS,
    PARTITIONS,
    START,
    Size,
    synthetic_cluster,
    topic_name,
)
from collectors.kafka.time_lag.timelines import CAPACITY
from config.settings import LakeSettings
from lake.change_encoding.compact import ChangeEncoder
from lake.schemas.tables import TABLES
from lake.storage.store import Lake

_CLUSTER = "bench"
_INTERVAL_SECONDS = 15.0
_PATIENCE_SECONDS = 120.0
_LIMIT_MB = 1000.0  # of the collectors' pod in deploy/kubernetes: whoever holds more is killed
_POLLED = re.compile(r"source=kafka duration=([0-9.]+)s")


class RestartFailedError(Exception):
    """The collectors ended or did not poll in time; the text is what they logged last."""


def measure(groups: int, on_progress: Callable[[str], None]) -> list[Figure]:
    """Fill a lake with what a process saw before, then start another one on it."""
    topics = groups * GROUP_TOPICS
    partitions = topics * PARTITIONS
    with (
        TemporaryDirectory(prefix="headroom-bench-") as folder,
        synthetic_cluster(Size(topics=topics, groups=groups)) as servers,
    ):
        on_progress(f"{CAPACITY} polls of {partitions:,} partitions that read before")
        _fill(Lake(LakeSettings(uri=str(Path(folder) / "lake"))), topics)
        on_progress("the collectors start")
        seconds, poll_seconds, peak_bytes = _start(Path(folder), servers)
    name = f"{partitions:,} partitions"
    return [
        Figure(name=f"from start to first poll, {name}", value=seconds, unit="s", most=5.0),
        Figure(name=f"of it that poll, {name}", value=poll_seconds, unit="s"),
        Figure(
            name=f"resident memory until then, {name}, peak",
            value=peak_bytes / 1e6,
            unit="MB",
            most=_LIMIT_MB,
        ),
    ]


def _fill(lake: Lake, topics: int) -> None:
    """Append what polls saw until now: logs that grew by a record between two of them."""
    number = pl.int_range(topics * PARTITIONS, eager=True)
    names = pl.Series([topic_name(topic) for topic in range(topics)])
    ids = pl.Series([str(UUID(int=topic + 1)) for topic in range(topics)])
    partitions = pl.DataFrame(
        {
            "topic": names.gather(number // PARTITIONS),
            "topic_id": ids.gather(number // PARTITIONS),
            "partition": (number % PARTITIONS).cast(pl.Int32),
        }
    ).with_columns(log_start=pl.lit(START, pl.Int64))
    group = pl.format(
        "synthetic-group-{}",
        (number // (PARTITIONS * GROUP_TOPICS)).cast(pl.String).str.zfill(5),
    )
    offsets = partitions.select("topic", "partition").with_columns(
        group=group, committed=pl.lit(COMMITTED, pl.Int64)
    )
    now = datetime.now(UTC)
    encoders = {table: ChangeEncoder(TABLES[table]) for table in ("partitions", "group_offsets")}
    for poll in range(CAPACITY):
        behind = CAPACITY - poll
        end = pl.lit(END - behind, pl.Int64).alias("log_end")
        stamp = (
            pl.lit(_CLUSTER).alias("cluster"),
            pl.lit(
                now - timedelta(seconds=behind * _INTERVAL_SECONDS), pl.Datetime("us", "UTC")
            ).alias("observed_at"),
            pl.lit(f"{poll:032x}").alias("poll_id"),
        )
        frames: Mapping[str, pl.DataFrame] = {"partitions": partitions, "group_offsets": offsets}
        for table, rows in frames.items():
            whole = rows.with_columns(*stamp, end)
            lake.append(TABLES[table], encoders[table].compact(_CLUSTER, whole))


def _start(folder: Path, servers: str) -> tuple[float, float, int]:
    """Run the service until it has polled; return both times in seconds, and its memory's peak."""
    config = folder / "headroom.yaml"
    config.write_text(
        yaml.safe_dump(
            {
                "clusters": [
                    {
                        "name": _CLUSTER,
                        "bootstrap_servers": servers,
                        "poll_interval_seconds": _INTERVAL_SECONDS,
                        "commit_log": False,
                    }
                ],
                "lake": {"uri": str(folder / "lake")},
            }
        )
    )
    log = folder / "collectors.log"
    command = [sys.executable, "-m", "collectors", "run", "--config", str(config)]
    began = time.perf_counter()
    with log.open("wb") as output:
        process = subprocess.Popen(  # noqa: S603 (our own service)
            command, stdout=output, stderr=output
        )
    try:
        while time.perf_counter() < began + _PATIENCE_SECONDS and process.poll() is None:
            found = _POLLED.search(log.read_text(encoding="utf-8"))
            if found:
                seconds = time.perf_counter() - began
                return seconds, float(found[1]), peak_resident_bytes(process.pid)
            time.sleep(0.02)
    finally:
        process.terminate()
        process.wait(_PATIENCE_SECONDS)
    raise RestartFailedError(log.read_text(encoding="utf-8")[-500:])
