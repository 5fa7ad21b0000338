"""Recorded arrivals as workloads: CSV files with the columns ``timestamp`` and ``value``.

A value is the number of events in the interval that begins at its timestamp (no zone: UTC; a number
is Unix time in seconds). Files may have gaps, odd intervals, rows in any order and further columns.
The series is scaled so that its mean is 60 % of what consumers at half the partitions can do.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from datetime import UTC, datetime
from math import isfinite
from pathlib import Path

import numpy as np

from simulation.model import Consumers, Floats, Workload
from simulation.rates import DAY

_STREAM = 6
_POINTS = 20_001


class TraceError(ValueError):
    """A file or folder of recorded arrivals cannot be used."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """A recorded series.

    Attributes:
        times: Where each interval begins, Unix time in seconds, ascending.
        per_second: Events per second in it.
        interval_seconds: The usual length of an interval.
    """

    name: str
    times: Floats
    per_second: Floats
    interval_seconds: float
    skipped: int

    @property
    def ends_at(self) -> float:
        """Where the last interval ends."""
        return float(self.times[-1]) + self.interval_seconds

    def rate(self, times: Floats) -> Floats:
        """Return events per second at some times, drawn straight between intervals and over gaps.

        Before the first and after the last interval their rates go on.
        """
        middle = self.times + self.interval_seconds / 2
        rate: Floats = np.interp(times, middle, self.per_second)
        return rate


def read_trace(path: Path) -> Trace:
    """Read one file.

    Raises:
        TraceError: It cannot be read, lacks a column, or has fewer than two usable rows.
    """
    seen: dict[float, float] = {}
    skipped = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            reader = csv.DictReader(lines)
            names = {(name or "").strip().lower(): name for name in reader.fieldnames or ()}
            if not {"timestamp", "value"} <= set(names):
                raise TraceError(f"{path}: no columns timestamp and value")
            for row in reader:
                point = _point(row[names["timestamp"]], row[names["value"]])
                if point is None:
                    skipped += 1
                else:
                    seen[point[0]] = seen.get(point[0], 0.0) + point[1]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise TraceError(f"{path}: {error}") from error
    if len(seen) < 2:
        raise TraceError(f"{path}: {len(seen)} usable rows, at least two are needed")
    times = np.array(sorted(seen))
    values = np.array([seen[time] for time in times])
    steps = np.diff(times)
    usual = float(np.median(steps))
    # An interval lasts until the next one begins; before a gap it is as long as usual.
    lengths = np.append(np.where(steps < 1.5 * usual, steps, usual), usual)
    return Trace(
        name=path.stem,
        times=times,
        per_second=values / lengths,
        interval_seconds=usual,
        skipped=skipped,
    )


def read_traces(folder: Path) -> tuple[list[Trace], list[str]]:
    """Read all CSV files of a folder, or one file.

    Returns:
        The series by name, and one line for each file that is none.

    Raises:
        TraceError: There is no such folder, or not one usable file in it.
    """
    if not folder.exists():
        raise TraceError(f"{folder}: does not exist")
    files = sorted(folder.glob("*.csv")) if folder.is_dir() else [folder]
    traces, problems = [], []
    for file in files:
        try:
            traces.append(read_trace(file))
        except TraceError as error:
            problems.append(str(error))
    if not traces:
        raise TraceError("; ".join(problems) or f"{folder}: no CSV file in it")
    return traces, problems


def trace_workload(
    trace: Trace, seed: int, *, partitions: int = 24, days: float = 3.0, utilisation: float = 0.6
) -> Workload:
    """Make a workload from some days of a recorded series.

    Args:
        trace: The series.
        seed: Chooses which days, and how fast a consumer is.
        partitions: Of the topic.
        days: How many; all that there are where the series is shorter.
        utilisation: Mean of the whole series ÷ capacity of consumers at half the partitions.
    """
    rng = np.random.default_rng((seed, _STREAM))
    per_consumer = float(rng.uniform(85.0, 115.0))
    begins, length = float(trace.times[0]), trace.ends_at - float(trace.times[0])
    duration = min(days * DAY, length)
    # Late enough for a past to learn from, where the series is long enough.
    room = max(0.0, length - duration)
    start = begins + float(rng.uniform(min(0.5 * room, 14 * DAY), room)) if room else begins
    count = max(1, partitions // 2)
    mean = float(trace.rate(np.linspace(begins, trace.ends_at, _POINTS)).mean())
    scale = utilisation * per_consumer * count / mean if mean > 0 else 0.0
    return Workload(
        name=trace.name,
        topics={"events": partitions},
        rate=lambda times: trace.rate(times) * scale,
        consumers=Consumers(count=count, rate_per_second=per_consumer, maximum=partitions + 8),
        burstiness=0.1,
        starts_at=float(np.floor(start)),
        duration_seconds=float(np.ceil(duration)),
    )


def _point(timestamp: str | None, value: str | None) -> tuple[float, float] | None:
    try:
        number = float(value or "")
        time = _seconds((timestamp or "").strip())
    except (ValueError, OverflowError):
        return None
    return (time, number) if isfinite(number) and isfinite(time) and number >= 0 else None


def _seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        moment = datetime.fromisoformat(text)
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
