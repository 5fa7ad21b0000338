"""What Headroom's services cost on the demo: processor time and memory of their processes."""

from __future__ import annotations

import json
import math
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from bench.support.figures import Figure
from bench.support.process_usage import usage_of_tree
from config.settings import LakeSettings
from lake.schemas.tables import JOBS
from lake.storage.store import Lake
from runtime.processes import free_ports

SERVICES = ("alerting", "collectors", "dashboard", "spark")
MOST_OF_A_CORE = 15.0
MOST = {"spark": 8.0}
"""Of a core, by service."""
MOST_BYTES = {"spark": 1.2e9}
MOST_SECONDS_OF_A_BATCH = 4.0
_START_SECONDS = 600.0


class DemoFailedError(RuntimeError):
    """The demo did not start, or ended while it was measured."""


def measure(
    warm_seconds: float, seconds: float, on_progress: Callable[[str], None]
) -> list[Figure]:
    """Start the demo, let it become warm, and watch its services for a while.

    Nobody looks at the dashboard. The brokers, the workload, Connect and RabbitMQ are not
    Headroom's, and do not count.
    """
    with TemporaryDirectory(prefix="headroom-bench-demo-") as folder:
        data = Path(folder) / "data"
        (port,) = free_ports(1)
        command = [sys.executable, "-m", "demo", "up", "--data", str(data), "--port", str(port)]
        output = Path(folder) / "output"
        on_progress("starting the demo")
        with output.open("w") as handle:
            demo = subprocess.Popen(command, stdout=handle, stderr=subprocess.STDOUT)  # noqa: S603 (the demo's own command)
        try:
            _wait_until_all_run(demo, output)
            on_progress(f"letting it become warm for {warm_seconds:.0f} s")
            time.sleep(warm_seconds)
            before, began = _usage(_services(data)), time.monotonic()
            on_progress(f"watching its services for {seconds:.0f} s")
            time.sleep(seconds)
            after, took = _usage(_services(data)), time.monotonic() - began
            batch = _seconds_of_a_batch(data, took)
        finally:
            demo.send_signal(signal.SIGTERM)
            demo.wait()
    if [pid for pid, *_ in before.values()] != [pid for pid, *_ in after.values()]:
        raise DemoFailedError("a service was started anew while it was watched")
    used = {name: (after[name][1] - before[name][1]) / took * 100 for name in SERVICES}
    return [
        Figure(
            name="all four services on the demo",
            value=sum(used.values()),
            unit="% of a core",
            most=MOST_OF_A_CORE,
        ),
        *(
            Figure(name=f"of it {name}", value=percent, unit="% of a core", most=MOST.get(name))
            for name, percent in used.items()
        ),
        *(
            Figure(
                name=f"{name}: resident memory",
                value=after[name][2],
                unit="bytes",
                most=MOST_BYTES.get(name),
            )
            for name in SERVICES
        ),
        Figure(
            name="a micro-batch of history, median",
            value=batch,
            unit="s",
            most=MOST_SECONDS_OF_A_BATCH,
        ),
    ]


def _wait_until_all_run(demo: subprocess.Popen[bytes], output: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while "Ctrl-C ends everything" not in output.read_text():
        if demo.poll() is not None or time.monotonic() > deadline:
            raise DemoFailedError(f"the demo did not start: {output.read_text()[-2000:]}")
        time.sleep(0.5)


def _seconds_of_a_batch(data: Path, seconds: float) -> float:
    """Return how long a micro-batch of history took, the median of the last ``seconds``."""
    since = datetime.now(UTC) - timedelta(seconds=seconds)
    done = pl.col("job") == "history", pl.col("status") == "ok"
    rows = Lake(LakeSettings(uri=str(data / "lake"))).read(JOBS, *done, since=since)
    took = (rows["finished_at"] - rows["started_at"]).dt.total_microseconds()
    return statistics.median(took) / 1e6 if took.len() else math.nan


def _services(data: Path) -> dict[str, int]:
    """Return the processes that lead the services."""
    answer = subprocess.run(  # noqa: S603 (the demo's own command)
        [sys.executable, "-m", "demo", "status", "--json", "--data", str(data)],
        capture_output=True,
        text=True,
        check=True,
    )
    running = json.loads(answer.stdout)["services"]
    return {name: running[name] for name in SERVICES}


def _usage(services: Mapping[str, int]) -> dict[str, tuple[int, float, int]]:
    """Return each service's process, processor seconds and resident bytes, descendants with it."""
    return {name: (pid, *usage_of_tree(pid)) for name, pid in services.items()}
