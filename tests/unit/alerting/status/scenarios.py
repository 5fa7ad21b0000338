"""Windows of samples as collectors would see them, from a small deterministic queue."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from alerting.status.group_status import PartitionWindow, Sample

START = 1_800_000_000.0


def constant(value: float) -> Callable[[float], float]:
    return lambda _: value


def window(
    *,
    arrival: Callable[[float], float] = lambda _: 100.0,
    capacity: Callable[[float], float] = lambda _: 200.0,
    commit_every: float = 5.0,
    poll: float = 15.0,
    seconds: float = 600.0,
    backlog: int = 0,
    markers: int = 0,
    members: int | None = 3,
    state: str | None = "stable",
    topic: str = "orders",
    partition: int = 0,
    first_offset: int = 1_000_000,
    log_start: int = 0,
    warm_up: float = 300.0,
) -> PartitionWindow:
    """Run a queue in steps of a second; ``t`` is 0 at the first sample.

    The consumer commits where it is every ``commit_every`` seconds. With ``markers`` the log ends
    that many offsets after the last message that can be consumed.
    """
    end = float(first_offset + backlog)
    position = committed = float(first_offset)
    next_commit = -warm_up
    samples = []
    second = -warm_up
    while second <= seconds:
        end += arrival(second)
        position = min(end, position + capacity(second))
        if second >= next_commit and capacity(second) > 0:
            committed = position
            next_commit = second + commit_every
        if second >= 0 and second % poll == 0:
            log_end = int(end) + markers
            samples.append(
                Sample(
                    at=START + second,
                    committed=int(committed),
                    log_start=log_start,
                    log_end=log_end,
                    lag=max(0, log_end - int(committed)),
                    assigned=None if members is None else members > 0,
                    members=members,
                    state=state,
                )
            )
        second += 1.0
    return PartitionWindow(topic=topic, partition=partition, samples=tuple(samples))


def changed(found: PartitionWindow, change: Callable[[float, Sample], Sample]) -> PartitionWindow:
    """Return the window with each sample replaced; ``change`` gets its second and the sample."""
    return replace(
        found, samples=tuple(change(sample.at - START, sample) for sample in found.samples)
    )


def without(found: PartitionWindow, lost: Callable[[float], bool]) -> PartitionWindow:
    """Return the window without the polls whose second ``lost`` accepts."""
    return replace(found, samples=tuple(s for s in found.samples if not lost(s.at - START)))


def moved(sample: Sample, committed: int) -> Sample:
    """Return the sample with another committed offset, and the lag that follows from it."""
    assert sample.log_end is not None
    return sample._replace(committed=committed, lag=max(0, sample.log_end - committed))


def polled(t: float, log_end: int, committed: int, members: int) -> Sample:
    """Return a poll of a group that has members, or none."""
    return Sample(
        at=START + t,
        committed=committed,
        log_start=0,
        log_end=log_end,
        lag=log_end - committed,
        assigned=members > 0,
        members=members,
        state="stable" if members else "empty",
    )
