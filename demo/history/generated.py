"""The demo's generated history: what its groups did in the days before it was started.

Seasons, forecasts and comparisons need weeks of history, which a demo of some minutes does not
have. So each group is simulated over the days before, with a daily and a weekly season that is at
its highest, the group's real rate, when the demo starts. Its consumers can do what arrives: the
troubles that the demo shows begin with the demo. Two things happened in that history, to be found:
a deploy made one group's consumers slower for some hours, and payments have been growing.
"""

from __future__ import annotations

from datetime import datetime
from zlib import crc32

import numpy as np
import polars as pl

from demo.workload.model import Catalogue, Group
from simulation.assignors import Assignor
from simulation.model import Consumers, Rate, SimulatedEvent, Steps, Workload
from simulation.rates import DAY, constant, day_season, growing, times_factors, week_season
from simulation.simulator import Simulation

DAYS = 15
MINUTE_SECONDS = 60.0

_HOUR = 3600.0
_SLOWER_GROUP, _SLOWER_FROM, _SLOWER_TO = "order-fulfilment", 232 * _HOUR, 224 * _HOUR
# When it is night in the demo, eight to sixteen hours after the hour of the start: of few weeks,
# an hour's season counts the same hour of other days too, and would hold what waited then usual.
_TOO_LITTLE = 0.7
"""Capacity of slower consumers, as a fraction of the peak arrival rate."""
_GROWING_TOPIC, _GROWN_FROM, _GROWING_SINCE = "payments.authorised", 0.65, 6.0 * DAY
_DAY_SWING, _QUIET_DAYS = 0.35, 0.8
_READ_SHAPE, _READ_SCALE = 2.0, 0.45
"""How many seconds a message waits to be fetched and read, a gamma distribution: about one, and
within an hour three at the most, as in the demo itself."""
_ENOUGH = 1.25
"""Capacity of consumers, as a multiple of the peak arrival rate."""
_SATURDAY = 5


def simulate_history(catalogue: Catalogue, until: datetime, *, days: float = DAYS) -> pl.DataFrame:
    """Simulate what the groups did in the days before a time.

    Returns:
        A row a group, partition and minute: group, topic, partition, at (the minute's beginning),
        lag, time_lag_seconds, arrived, consumed (messages in the minute), members. The same rows
        for the same arguments.
    """
    return pl.concat(_minutes(group, catalogue, until, days) for group in catalogue.groups)


def mean_rate(catalogue: Catalogue, topic: str) -> float:
    """Return the messages per second that a topic gets on average, from whomever writes to it."""
    own = sum(stream.rate.mean for stream in catalogue.streams if stream.topic == topic)
    if own:
        return own  # what is sent back to it from its dead letters is next to nothing
    rate = 0.0
    for group in catalogue.groups:
        dead = group.dead_letters
        if dead is not None and dead.topic == topic:
            rate += mean_rate(catalogue, group.topic) / dead.one_in
        elif group.forwards_to == topic:
            rate += mean_rate(catalogue, group.topic)
    return rate


def _minutes(group: Group, catalogue: Catalogue, until: datetime, days: float) -> pl.DataFrame:
    partitions = catalogue.topic(group.topic).partitions
    workload = _workload(group, catalogue, until, days)
    found: list[Steps] = []
    # One seed a topic: its groups see the same messages.
    seed = crc32(group.topic.encode())
    simulation = Simulation(workload, seed, step_seconds=MINUTE_SECONDS, on_steps=found.append)
    simulation.run_until(until.timestamp())
    times = np.concatenate([steps.times for steps in found])
    arrived = np.concatenate([steps.arrived for steps in found])
    ends = np.concatenate([steps.log_end for steps in found])
    positions = np.concatenate([steps.position for steps in found])
    ages = np.concatenate([steps.age_seconds for steps in found])
    # Within a minute commits come often: the last one before its end was up to an interval ago, and
    # told of what had been read by then.
    rng = np.random.default_rng((seed, crc32(group.name.encode())))
    each = (len(times), 1)
    ago = rng.uniform(0.0, group.commit_seconds, size=each) + group.delay_seconds
    ago = np.minimum(ago + rng.gamma(_READ_SHAPE, _READ_SCALE, size=each), MINUTE_SECONDS)
    done = np.diff(positions, axis=0, prepend=positions[:1])
    committed = np.floor(positions - done * ago / MINUTE_SECONDS)
    lag = ends - committed
    consumed = np.maximum(np.diff(committed, axis=0, prepend=committed[:1]), 0.0)
    length = len(times)
    began = (times - MINUTE_SECONDS) * 1e6
    return pl.DataFrame(
        {
            "partition": np.tile(np.arange(partitions), length),
            "at": np.repeat(began, partitions),
            "lag": lag.ravel(),
            "time_lag_seconds": np.where(lag > 0, ages + ago, 0.0).ravel(),
            "arrived": arrived.ravel(),
            "consumed": consumed.ravel(),
        }
    ).select(
        pl.lit(group.name).alias("group"),
        pl.lit(group.topic).alias("topic"),
        pl.col("partition").cast(pl.Int32),
        pl.col("at").cast(pl.Int64).cast(pl.Datetime("us")).dt.replace_time_zone("UTC"),
        pl.col("lag").cast(pl.Int64),
        "time_lag_seconds",
        pl.col("arrived", "consumed").cast(pl.Int64),
        pl.lit(group.members, pl.Int32).alias("members"),
    )


def _workload(group: Group, catalogue: Catalogue, until: datetime, days: float) -> Workload:
    topic = catalogue.topic(group.topic)
    mean, end = mean_rate(catalogue, group.topic), until.timestamp()
    rate = _rate(group.topic, mean, until)
    busiest = -(-topic.partitions // min(group.members, topic.partitions)) / topic.partitions
    capacity = max(group.capacity_per_second, _ENOUGH * mean * busiest)
    events: tuple[SimulatedEvent, ...] = ()
    if group.name == _SLOWER_GROUP:
        peak = float(rate(np.arange(end - _SLOWER_FROM, end - _SLOWER_TO, 600.0)).max())
        slower = _TOO_LITTLE * peak * busiest / capacity
        events = (
            SimulatedEvent(
                at=end - _SLOWER_FROM, action=lambda simulation: simulation.set_capacity(slower)
            ),
            SimulatedEvent(
                at=end - _SLOWER_TO, action=lambda simulation: simulation.set_capacity(1.0)
            ),
        )
    return Workload(
        name=group.name,
        topics={group.topic: topic.partitions},
        rate=rate,
        consumers=Consumers(
            count=group.members,
            rate_per_second=capacity,
            noise=0.1,
            noise_seconds=300.0,
            assignor=Assignor.UNIFORM if group.protocol == "consumer" else Assignor.RANGE,
            commit_seconds=MINUTE_SECONDS,
            maximum=group.members,
        ),
        burstiness=0.08,
        starts_at=end - days * DAY,
        duration_seconds=days * DAY,
        events=events,
    )


def _rate(topic: str, mean: float, until: datetime) -> Rate:
    end = until.timestamp()
    busy_weekend = until.weekday() >= _SATURDAY
    factors = [
        day_season(_DAY_SWING, peak_at=end % DAY),
        week_season(1 / _QUIET_DAYS if busy_weekend else _QUIET_DAYS),
    ]
    if topic == _GROWING_TOPIC:
        grown = growing(end - _GROWING_SINCE, end, 1 / _GROWN_FROM)
        factors.append(lambda times: _GROWN_FROM * grown(times))
    shape = times_factors(constant(1.0), *factors)
    now = float(shape(np.array([end]))[0])
    return lambda times: shape(times) * (mean / now)
