"""How long a whole poll takes, from the first request to the rows in the lake.

Beside it, from the same broker and the same minute, the time of the plain batched client calls
alone: list, describe, committed offsets, first and end offsets. The speed of the machine varies;
the ratio of the two does not. Far away it is the difference that counts: the number of round trips.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.support.figures import Figure
from bench.support.kafka_groups import CLIENT, broker_with_groups
from bench.support.poller import (
    INTERVAL_SECONDS,
    Timing,
    close_poller,
    open_poller,
    poll_once,
    timed,
)
from collectors.kafka.cluster.metadata import read_metadata
from collectors.kafka.cluster.offsets import read_offsets
from collectors.kafka.groups.read import read_groups
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.librdkafka import validate
from collectors.memory import use_little
from config.settings import ClusterSettings
from runtime.spawning import nameless_main

_PAUSE_SECONDS = 0.2
_WARM_POLLS = 3
_GOAL_SECONDS = {"1,000 groups": 0.35, "10,000 groups": 3.0}


def measure(
    groups: int, polls: int, round_trip_ms: float | None, on_progress: Callable[[str], None]
) -> list[Figure]:
    """Poll a broker with groups over and over.

    Args:
        groups: How many.
        polls: How many.
        round_trip_ms: How far away the broker is, behind TLS and SCRAM; None: neither.
        on_progress: Is told what happens.
    """
    on_progress(f"starting a broker with {groups:,} groups")
    seconds = None if round_trip_ms is None else round_trip_ms / 1000
    with broker_with_groups(groups, seconds) as settings:
        on_progress(f"{polls} polls of {groups:,} groups")
        timings, plains = _measure(settings, polls)
    if round_trip_ms is None:
        return _near(timings, plains, f"{groups:,} groups")
    return _far(timings, plains, f"{groups:,} groups {round_trip_ms:g} ms away")


def _measure(settings: ClusterSettings, polls: int) -> tuple[list[Timing], list[Timing]]:
    """Return timings of whole polls, and of the plain calls, made in turn."""
    context = get_context("spawn")
    use_little()  # as the service does; said here, since the new processes import Polars at once
    with (
        TemporaryDirectory(prefix="headroom-bench-lake-") as folder,
        # Each in a process of its own, so that nothing else's memory is taken for the poll's.
        nameless_main(),
        context.Pool(1, open_poller, (settings, Path(folder))) as poller,
        context.Pool(1, _open_plain, (settings,)) as plain,
    ):
        for _ in range(_WARM_POLLS):
            poller.apply(poll_once)
            plain.apply(_plain)
        timings, plains = [], []
        for _ in range(polls):
            timings.append(poller.apply(poll_once))
            plains.append(plain.apply(_plain))
            time.sleep(_PAUSE_SECONDS)
        poller.apply(close_poller)
    return timings, plains


def _far(timings: list[Timing], plains: list[Timing], name: str) -> list[Figure]:
    whole = statistics.median(timing.seconds for timing in timings)
    calls = statistics.median(timing.seconds for timing in plains)
    slowest = max(timing.seconds for timing in timings)
    return [
        Figure(name=f"poll, {name}, median", value=whole, unit="s"),
        Figure(name=f"poll, {name}, slowest", value=slowest, unit="s"),
        Figure(name=f"plain client calls, {name}, median", value=calls, unit="s"),
        Figure(name=f"poll beyond plain calls, {name}", value=whole - calls, unit="s", most=1.5),
    ]


def _near(timings: list[Timing], plains: list[Timing], name: str) -> list[Figure]:
    memory = [timing.resident_bytes for timing in timings]
    peak = timings[-1].peak_bytes
    whole = statistics.median(timing.seconds for timing in timings)
    calls = statistics.median(timing.seconds for timing in plains)
    tenth = memory[min(9, len(memory) - 1)]
    return [
        Figure(name=f"poll, {name}, median", value=whole, unit="s", most=_GOAL_SECONDS.get(name)),
        Figure(
            name=f"poll, {name}, slowest", value=max(timing.seconds for timing in timings), unit="s"
        ),
        Figure(
            name=f"poll, {name}, processor time",
            value=statistics.median(timing.processor_seconds for timing in timings),
            unit="s",
        ),
        Figure(name=f"plain client calls, {name}, median", value=calls, unit="s"),
        Figure(
            name=f"poll against plain calls, {name}", value=whole / calls, unit="times", most=1.5
        ),
        Figure(name=f"rows of a poll, {name}", value=float(timings[-1].rows), unit="rows"),
        Figure(name=f"resident memory, {name}, peak", value=peak / 1e6, unit="MB", most=400.0),
        Figure(
            name=f"resident memory, {name}, growth after the tenth poll",
            value=(statistics.median(memory[-5:]) - tenth) / 1e6,
            unit="MB",
        ),
    ]


_wire: Wire | None = None


def _open_plain(settings: ClusterSettings) -> None:
    global _wire  # of the process that does nothing else
    use_little()
    _wire = Wire(settings.bootstrap_servers, validate(settings), CLIENT)


def _plain() -> Timing:
    return timed(_read)


def _read() -> int:
    """Make the batched calls alone: what no collector can do without."""
    assert _wire is not None  # noqa: S101 (opened when the process began)
    _wire.begin_poll()
    deadline = Deadline(INTERVAL_SECONDS, INTERVAL_SECONDS)
    metadata = read_metadata(_wire, deadline)
    brokers = [broker.broker_id for broker in metadata.brokers]
    found = read_groups(_wire, brokers, {}, lambda _: True, deadline)
    read_offsets(_wire, metadata.partitions, deadline)
    return found.committed.height
