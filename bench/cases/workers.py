"""Two workers of a Spark cluster against one, on a job large enough to be spread.

Workers are warm: each has loaded its classes and modules on the first minute of the samples before
the clock runs, as a worker of a service has.

On a machine with two cores, which the driver and the master share, elapsed time says little. So
task time is measured as well: the share of the busiest worker is what two machines would need, as
long as the driver does not wait for itself.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from urllib.request import urlopen

from bench.support.figures import Figure
from bench.support.samples import CLUSTER, INTERVAL_SECONDS, START, Workload
from bench.support.spark_cluster import HOST, Standalone
from config.settings import ClusterSettings, LakeSettings, Settings, SparkSettings
from lake.schemas.tables import GROUP_OFFSETS
from lake.storage.store import Lake
from runtime.java import find_java
from runtime.processes import free_ports
from spark_metrics.backfill import backfill
from spark_metrics.session import spark_session
from spark_metrics.stretch import Stretch

SPEEDUP = 1.6


@dataclass(frozen=True, slots=True)
class Run:
    """One run of the job."""

    seconds: float
    tasks: tuple[float, ...]


def measure(rows: int, groups: int, notice: Callable[[str], None]) -> list[Figure]:
    """Compute the history of the same samples with one worker and with two."""
    java = find_java()
    with tempfile.TemporaryDirectory(prefix="headroom-bench-") as name:
        folder = Path(name)
        lake = LakeSettings(uri=str(folder / "lake"))
        notice(f"writing {rows:,} samples")
        end = _fill(Lake(lake), rows, groups)
        runs = []
        with Standalone(java, folder / "spark", worker_memory="1g") as cluster:
            for workers in (1, 2):
                cluster.add_workers(1)
                notice(f"computing history with {workers} worker(s)")
                runs.append(_run(cluster, lake, end, workers))
                shutil.rmtree(folder / "lake" / "gold")
    one, two = runs
    return [
        Figure("samples", rows, "rows"),
        Figure("one worker", one.seconds, "s by the clock"),
        Figure("two workers", two.seconds, "s by the clock"),
        Figure("by the clock", one.seconds / two.seconds, "x", least=SPEEDUP),
        Figure("task time of one worker", sum(one.tasks), "s"),
        Figure("task time of two workers", sum(two.tasks), "s"),
        Figure("of these the busier one", max(two.tasks), "s"),
        Figure("by task time", sum(two.tasks) / max(two.tasks), "x", least=SPEEDUP),
    ]


def _run(cluster: Standalone, lake: LakeSettings, end: datetime, workers: int) -> Run:
    page = free_ports(1)[0]
    properties = cluster.properties("800m") | {
        "spark.ui.enabled": "true",
        "spark.ui.port": str(page),
        "spark.cores.max": str(workers),
        # No task before all workers are there.
        "spark.scheduler.minRegisteredResourcesRatio": "1.0",
    }
    spark_settings = SparkSettings(
        master=cluster.master, shuffle_partitions=8, properties=properties
    )
    settings = Settings(
        clusters=[ClusterSettings(name=CLUSTER, bootstrap_servers="localhost:9092")],
        lake=lake,
        spark=spark_settings,
    )
    spark = spark_session(spark_settings, lake)
    try:
        stretch = Stretch(spark, Lake(lake), settings)
        backfill(stretch, START, START + timedelta(minutes=1))
        application = spark.sparkContext.applicationId
        before = _task_seconds(page, application)
        begun = time.monotonic()
        backfill(stretch, START, end)
        seconds = time.monotonic() - begun
        after = _task_seconds(page, application)
    finally:
        spark.stop()
    return Run(seconds, tuple(after[worker] - before.get(worker, 0.0) for worker in after))


def _task_seconds(page: int, application: str) -> dict[str, float]:
    """Return the seconds that tasks took so far, by worker."""
    url = f"http://{HOST}:{page}/api/v1/applications/{application}/executors"
    with urlopen(url, timeout=30) as answer:
        told = json.load(answer)
    return {one["id"]: one["totalDuration"] / 1000 for one in told if one["id"] != "driver"}


def _fill(lake: Lake, rows: int, groups: int) -> datetime:
    """Append samples; return the end of their time."""
    workload = Workload(groups)
    polls = max(1, rows // workload.rows)
    for _ in range(polls):
        lake.append(GROUP_OFFSETS, workload.poll()[GROUP_OFFSETS.name])
    return START + timedelta(seconds=INTERVAL_SECONDS) * polls
