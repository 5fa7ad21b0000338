"""How long a poll of very many topics takes, and how much memory.

No broker of one machine holds them: their answers are played by a process of its own. The
configurations of topics are read in the course of many polls, so that each of the polls reads some.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.support.figures import Figure
from bench.support.poller import open_poller, poll_once, polled
from bench.support.synthetic_cluster import PARTITIONS, Size, synthetic_cluster
from collectors.memory import use_little
from runtime.spawning import nameless_main

_GROUPS = 1_000


def measure(topics: int, polls: int, on_progress: Callable[[str], None]) -> list[Figure]:
    """Poll a cluster of many topics over and over."""
    use_little()  # as the service does; said here, since the new process imports Polars at once
    on_progress(f"{polls} polls of {topics:,} topics")
    with (
        TemporaryDirectory(prefix="headroom-bench-lake-") as folder,
        synthetic_cluster(Size(topics=topics, groups=_GROUPS)) as servers,
        nameless_main(),
        get_context("spawn").Pool(1, open_poller, (polled(servers), Path(folder))) as poller,
    ):
        timings = [poller.apply(poll_once) for _ in range(polls)]
    name = f"{topics:,} topics x {PARTITIONS} partitions"
    return [
        Figure(name=f"first poll, {name}", value=timings[0].seconds, unit="s", most=10.0),
        Figure(
            name=f"poll, {name}, median of those after it",
            value=statistics.median(timing.seconds for timing in timings[1:] or timings),
            unit="s",
            most=10.0,
        ),
        Figure(
            name="the same, processor time",
            value=statistics.median(timing.processor_seconds for timing in timings[1:] or timings),
            unit="s",
        ),
        Figure(
            name=f"resident memory, {name}, peak",
            value=timings[-1].peak_bytes / 1e6,
            unit="MB",
            most=700.0,
        ),
    ]
