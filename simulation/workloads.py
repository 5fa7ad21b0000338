"""Workloads with known troubles; their sizes, times and strengths vary with the seed.

``workload(name, seed)`` makes one; ``NAMES`` lists them. In each, a consumer does about 100
messages a second, and the mean of what arrives is some 60 % of what consumers at half the
partitions can do. ``rate`` is defined before the start too: ``history`` gives a policy the past
that collectors would have stored by then.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from simulation.model import Consumers, Floats, Rate, SimulatedEvent, Workload
from simulation.rates import (
    WEEK,
    between,
    constant,
    day_season,
    flapping,
    growing,
    times_factors,
    week_season,
)

TOPIC = "orders"
STARTS_AT = 1_767_571_200.0
"""When generated workloads begin: Monday, 5 January 2026, 00:00 UTC."""

_STREAM = 4


class UnknownWorkloadError(ValueError):
    """There is no workload of that name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draw:
    """What all workloads of a seed start from."""

    rng: np.random.Generator
    seed: int
    rate_per_second: float  # of one consumer
    mean: float  # of what arrives, per second

    @classmethod
    def of(cls, seed: int, partitions: int = 24) -> _Draw:
        rng = np.random.default_rng((seed, _STREAM))
        rate = float(rng.uniform(85.0, 115.0))
        utilisation = float(rng.uniform(0.55, 0.65))
        return cls(
            rng=rng, seed=seed, rate_per_second=rate, mean=utilisation * rate * partitions / 2
        )

    def between(self, low: float, high: float) -> float:
        return float(self.rng.uniform(low, high))

    def time_of_day(self, low_hour: float, high_hour: float) -> float:
        return STARTS_AT + round(self.between(low_hour, high_hour) * 3600.0)


def _workload(
    name: str, draw: _Draw, rate: Rate, *, partitions: int = 24, noise: float = 0.15
) -> Workload:
    consumers = Consumers(
        count=max(1, round(partitions / 2)),
        rate_per_second=draw.rate_per_second,
        noise=noise,
        maximum=partitions + 8,
    )
    return Workload(
        name=name,
        topics={TOPIC: partitions},
        rate=rate,
        consumers=consumers,
        burstiness=0.1,
        starts_at=STARTS_AT,
    )


def _steady(name: str, seed: int) -> Workload:
    draw = _Draw.of(seed)
    return _workload(name, draw, constant(draw.mean))


def _diurnal(name: str, seed: int) -> Workload:
    draw = _Draw.of(seed)
    season = day_season(draw.between(0.5, 0.7), draw.between(8, 20) * 3600.0)
    return _workload(name, draw, times_factors(constant(draw.mean), season))


def _weekly(name: str, seed: int) -> Workload:
    draw = _Draw.of(seed)
    season = day_season(draw.between(0.4, 0.6), draw.between(8, 20) * 3600.0)
    rate = times_factors(constant(draw.mean), season, week_season(draw.between(0.3, 0.6)))
    return replace(_workload(name, draw, rate), duration_seconds=WEEK)


def _spike(name: str, seed: int) -> Workload:
    draw = _Draw.of(seed)
    spikes = []
    for hours in ((2, 7), (9, 14), (16, 21)):
        start = draw.time_of_day(*hours)
        spikes.append(between(start, start + draw.between(300, 1800), draw.between(1.8, 2.8), 60.0))
    return _workload(name, draw, times_factors(constant(draw.mean * 0.7), *spikes))


def _step(name: str, seed: int) -> Workload:
    draw = _Draw.of(seed)
    up = draw.time_of_day(4, 10)
    factor = between(up, up + draw.between(6, 10) * 3600.0, draw.between(1.5, 2.2))
    return _workload(name, draw, times_factors(constant(draw.mean * 0.7), factor))


def _ramp(name: str, seed: int) -> Workload:
    draw = _Draw.of(seed)
    start = draw.time_of_day(2, 6)
    factor = growing(start, start + draw.between(8, 14) * 3600.0, draw.between(2.2, 3.0))
    return _workload(name, draw, times_factors(constant(draw.mean * 0.5), factor))


def _hot_partition(name: str, seed: int) -> Workload:
    """One partition gets more than a consumer of its own can do: no number of them helps."""
    draw = _Draw.of(seed)
    weights = np.ones(24)
    hot = draw.rate_per_second * draw.between(1.05, 1.25) / draw.mean
    weights[int(draw.between(0, 24))] = hot / (1 - hot) * 23
    return replace(_workload(name, draw, constant(draw.mean)), weights=weights)


def _slow_member(name: str, seed: int) -> Workload:
    """A consumer on a bad machine does half of the others' work for some hours."""
    draw = _Draw.of(seed)
    at, slot = draw.time_of_day(3, 9), int(draw.between(0, 6))
    factor, until = draw.between(0.4, 0.6), at + draw.between(4, 8) * 3600.0
    events = (
        SimulatedEvent(
            at=at, action=lambda simulation: simulation.set_member_capacity(slot, factor)
        ),
        SimulatedEvent(
            at=until, action=lambda simulation: simulation.set_member_capacity(slot, 1.0)
        ),
    )
    return replace(_workload(name, draw, constant(draw.mean)), events=events)


def _poison_partition(name: str, seed: int) -> Workload:
    """One partition stands still behind a message that cannot be processed."""
    draw = _Draw.of(seed)
    at, partition = draw.time_of_day(3, 9), int(draw.between(0, 24))
    until = at + draw.between(3, 6) * 3600.0
    events = (
        SimulatedEvent(at=at, action=lambda simulation: simulation.freeze(partition)),
        SimulatedEvent(at=until, action=lambda simulation: simulation.thaw(partition)),
    )
    return replace(_workload(name, draw, constant(draw.mean * 0.8)), events=events)


def _shared_downstream_limit(name: str, seed: int) -> Workload:
    """A database behind the consumers is at its limit, for hours, whatever their number."""
    draw = _Draw.of(seed)
    season = day_season(draw.between(0.4, 0.5), draw.between(10, 16) * 3600.0)
    base = _workload(name, draw, times_factors(constant(draw.mean), season))
    limit = draw.mean * draw.between(1.15, 1.25)
    return replace(base, consumers=replace(base.consumers, shared_limit_per_second=limit))


def _prime_number_of_partitions(name: str, seed: int) -> Workload:
    partitions = 23
    draw = _Draw.of(seed, partitions)
    season = day_season(draw.between(0.4, 0.6), draw.between(8, 20) * 3600.0)
    return _workload(name, draw, times_factors(constant(draw.mean), season), partitions=partitions)


def _retention_race(name: str, seed: int) -> Workload:
    """Half of the consumers are gone for a time, and messages are kept for an hour only."""
    draw = _Draw.of(seed)
    at = draw.time_of_day(3, 9)
    until = at + draw.between(2, 4) * 3600.0
    factor = draw.between(0.3, 0.45)
    events = (
        SimulatedEvent(at=at, action=lambda simulation: simulation.set_capacity(factor)),
        SimulatedEvent(at=until, action=lambda simulation: simulation.set_capacity(1.0)),
    )
    return replace(
        _workload(name, draw, constant(draw.mean)), events=events, retention_seconds=3600.0
    )


def _flapping_noise(name: str, seed: int) -> Workload:
    """The rate jumps about every few minutes, consumers are unsteady: nothing to follow."""
    draw = _Draw.of(seed)
    rate = times_factors(constant(draw.mean), flapping(seed, 0.5, 1.5, (120.0, 900.0)))
    return replace(_workload(name, draw, rate, noise=0.35), burstiness=0.25)


_MAKERS: Mapping[str, Callable[[str, int], Workload]] = {
    "steady": _steady,
    "diurnal": _diurnal,
    "weekly": _weekly,
    "spike": _spike,
    "step": _step,
    "ramp": _ramp,
    "hot-partition": _hot_partition,
    "slow-member": _slow_member,
    "poison-partition": _poison_partition,
    "shared-downstream-limit": _shared_downstream_limit,
    "prime-number-of-partitions": _prime_number_of_partitions,
    "retention-race": _retention_race,
    "flapping-noise": _flapping_noise,
}

NAMES = tuple(_MAKERS)
"""The generated workloads."""

NOTHING_TO_GAIN = ("hot-partition", "poison-partition", "shared-downstream-limit")
"""Workloads whose trouble no number of consumers cures."""


def find_name(text: str) -> str:
    """Return the one workload that a text names, in full or by a part of its name.

    Raises:
        UnknownWorkloadError: It names none, or several.
    """
    wanted = "-".join(text.strip().lower().replace("_", " ").replace("-", " ").split())
    if wanted in _MAKERS:
        return wanted
    found = [name for name in NAMES if wanted and wanted in name]
    if len(found) != 1:
        raise UnknownWorkloadError(f"no workload {text}; there are {', '.join(NAMES)}")
    return found[0]


def workload(name: str, seed: int) -> Workload:
    """Make a workload.

    Raises:
        UnknownWorkloadError: There is none of that name.
    """
    found = find_name(name)
    return _MAKERS[found](found, seed)


def history(work: Workload, seed: int, *, seconds: float, grain_seconds: float) -> Floats:
    """Return what arrived before a workload began, as stored history would tell it.

    Returns:
        Messages per second of all partitions together, one an interval, the oldest first.
    """
    count = int(seconds // grain_seconds)
    ago = np.arange(count, 0, -1, dtype=np.float64) - 0.5
    times: Floats = work.starts_at - ago * grain_seconds
    rate = np.asarray(work.rate(times), dtype=np.float64)
    if rate.ndim > 1:
        rate = rate.sum(axis=1)
    rng = np.random.default_rng((seed, _STREAM + 1))
    arrived: Floats = rng.poisson(rate * grain_seconds) / grain_seconds
    return arrived
