"""How long a whole poll takes, from the first request to the rows in the lake.

Beside it, from the same broker and the same minute, the time of the plain batched client calls
alone: list, describe, committed offsets, first and end offsets. The speed of the machine varies;
the ratio of the two does not.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.support.figures import Figure
from bench.support.kafka_groups import broker_with_groups
from bench.support.process_usage import resident_bytes
from collectors.kafka.cluster.metadata import read_metadata
from collectors.kafka.cluster.offsets import read_offsets
from collectors.kafka.groups.read import read_groups
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.librdkafka import validate
from collectors.kafka.source import KafkaSource
from collectors.service.cluster import lease_of
from collectors.service.rows import Stamp
from collectors.service.writer import LakeWriter
from collectors.source.shared_state import SharedState
from config.settings import ClusterSettings, LakeSettings
from lake.storage.store import Lake
from runtime.spawning import nameless_main

_INTERVAL_SECONDS = 60.0
_PAUSE_SECONDS = 0.2
_WARM_POLLS = 3
_GOAL_SECONDS = {1_000: 0.35, 10_000: 3.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Timing:
    seconds: float
    processor_seconds: float
    rows: int
    resident_bytes: int
    peak_bytes: int


def measure(groups: int, polls: int, on_progress: Callable[[str], None]) -> list[Figure]:
    """Poll a broker with groups over and over."""
    on_progress(f"starting a broker with {groups:,} groups")
    with broker_with_groups(groups) as cluster:
        on_progress(f"{polls} polls of {groups:,} groups")
        return _measure(cluster.bootstrap_servers, groups, polls)


def _measure(servers: str, groups: int, polls: int) -> list[Figure]:
    context = get_context("spawn")
    with (
        TemporaryDirectory(prefix="headroom-bench-lake-") as folder,
        # Each in a process of its own, so that nothing else's memory is taken for the poll's.
        nameless_main(),
        context.Pool(1, _open_poller, (servers, Path(folder))) as poller,
        context.Pool(1, _open_plain, (servers,)) as plain,
    ):
        for _ in range(_WARM_POLLS):
            poller.apply(_poll)
            plain.apply(_plain)
        timings, plains = [], []
        for _ in range(polls):
            timings.append(poller.apply(_poll))
            plains.append(plain.apply(_plain))
            time.sleep(_PAUSE_SECONDS)
        poller.apply(_close_poller)
    memory = [timing.resident_bytes for timing in timings]
    peak = timings[-1].peak_bytes
    name = f"{groups:,} groups"
    whole = statistics.median(timing.seconds for timing in timings)
    calls = statistics.median(timing.seconds for timing in plains)
    tenth = memory[min(9, len(memory) - 1)]
    return [
        Figure(name=f"poll, {name}, median", value=whole, unit="s", most=_GOAL_SECONDS.get(groups)),
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
            name=f"poll against plain calls, {name}", value=whole / calls, unit="times", most=2.5
        ),
        Figure(name=f"rows of a poll, {name}", value=float(timings[-1].rows), unit="rows"),
        Figure(name=f"resident memory, {name}, peak", value=peak / 1e6, unit="MB", most=400.0),
        Figure(
            name=f"resident memory, {name}, growth after the tenth poll",
            value=(statistics.median(memory[-5:]) - tenth) / 1e6,
            unit="MB",
        ),
    ]


class _Poller:
    def __init__(self, servers: str, folder: Path) -> None:
        settings = ClusterSettings(name="bench", bootstrap_servers=servers, commit_log=False)
        self._source = KafkaSource(settings, _INTERVAL_SECONDS, SharedState())
        lake = Lake(LakeSettings(uri=str(folder)))
        self._lease = lease_of(lake, "bench", _INTERVAL_SECONDS)
        self._lease.acquire()
        self._writer = LakeWriter(lake)
        self._writer.start()

    def poll(self) -> int:
        now = datetime.now(UTC)
        stamp = Stamp.new("kafka", "bench", now)
        count = 0
        for result in self._source.poll(now):
            if result.status not in ("ok", "partial"):
                raise RuntimeError(f"{result.section}: {result.error}")
            self._writer.put(result, stamp, _INTERVAL_SECONDS, self._lease)
            if "group_offsets" in result.frames:
                count = result.frames["group_offsets"].height
        self._writer.flush()
        while self._writer.state().waiting_bytes:
            time.sleep(0.002)
        if self._writer.state().lost_rows:
            raise RuntimeError(f"rows were lost: {self._writer.state().losing_because}")
        return count

    def close(self) -> None:
        self._source.close()
        self._writer.stop(10.0)


_poller: _Poller | None = None
_wire: Wire | None = None


def _open_poller(servers: str, folder: Path) -> None:
    global _poller  # of the process that does nothing else
    _poller = _Poller(servers, folder)


def _poll() -> _Timing:
    assert _poller is not None  # noqa: S101 (opened when the process began)
    return _timed(_poller.poll)


def _close_poller() -> None:
    assert _poller is not None  # noqa: S101 (opened when the process began)
    _poller.close()


def _open_plain(servers: str) -> None:
    global _wire  # of the process that does nothing else
    settings = ClusterSettings(name="bench", bootstrap_servers=servers)
    _wire = Wire(servers, validate(settings), "bench")


def _plain() -> _Timing:
    return _timed(_read)


def _read() -> int:
    """Make the batched calls alone: what no collector can do without."""
    assert _wire is not None  # noqa: S101 (opened when the process began)
    _wire.begin_poll()
    deadline = Deadline(_INTERVAL_SECONDS, _INTERVAL_SECONDS)
    metadata = read_metadata(_wire, deadline)
    brokers = [broker.broker_id for broker in metadata.brokers]
    found = read_groups(_wire, brokers, {}, lambda _: True, deadline)
    read_offsets(_wire, metadata.partitions, deadline)
    return found.committed.height


def _timed(work: Callable[[], int]) -> _Timing:
    gc.collect()
    start, processor = time.perf_counter(), time.process_time()
    rows = work()
    seconds, processor_seconds = time.perf_counter() - start, time.process_time() - processor
    return _Timing(
        seconds=seconds,
        processor_seconds=processor_seconds,
        rows=rows,
        resident_bytes=resident_bytes(),
        peak_bytes=_peak_resident_bytes(),
    )


def _peak_resident_bytes() -> int:
    """Return the most memory that this process ever held (Linux)."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("this system does not tell the peak of resident memory")
