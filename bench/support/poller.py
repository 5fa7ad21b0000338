"""Polls as the service makes them, in a process that does nothing else."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import SecretStr

from bench.support.process_usage import resident_bytes
from collectors.kafka.source import KafkaSource
from collectors.memory import use_little
from collectors.service.cluster import lease_of
from collectors.service.rows import Stamp
from collectors.service.writer import LakeWriter
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings, LakeSettings
from lake.storage.store import Lake

INTERVAL_SECONDS = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What one poll took."""

    seconds: float
    processor_seconds: float
    rows: int
    resident_bytes: int
    peak_bytes: int


class _Poller:
    def __init__(self, settings: ClusterSettings, folder: Path) -> None:
        self._source = KafkaSource(settings, INTERVAL_SECONDS, SharedFacts())
        lake = Lake(LakeSettings(uri=str(folder)))
        self._lease = lease_of(lake, "bench", INTERVAL_SECONDS)
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
            self._writer.put(result, stamp, INTERVAL_SECONDS, self._lease)
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


def polled(
    servers: str, properties: Mapping[str, str | SecretStr] | None = None
) -> ClusterSettings:
    """Return the settings of a cluster that is polled."""
    return ClusterSettings(
        name="bench",
        bootstrap_servers=servers,
        properties=dict(properties or {}),
        commit_log=False,
    )


def open_poller(settings: ClusterSettings, folder: Path) -> None:
    """Prepare a process to poll."""
    global _poller  # of the process that does nothing else
    use_little()
    _poller = _Poller(settings, folder)


def poll_once() -> Timing:
    """Poll, and wait for the rows to be in the lake."""
    assert _poller is not None  # noqa: S101 (opened when the process began)
    return timed(_poller.poll)


def close_poller() -> None:
    """Write what waits and end."""
    assert _poller is not None  # noqa: S101 (opened when the process began)
    _poller.close()


def timed(work: Callable[[], int]) -> Timing:
    """Measure what returns a number of rows."""
    gc.collect()
    start, processor = time.perf_counter(), time.process_time()
    rows = work()
    seconds, processor_seconds = time.perf_counter() - start, time.process_time() - processor
    return Timing(
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
