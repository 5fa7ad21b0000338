"""The numbers of one partition that stand beside its status: pure functions."""

from __future__ import annotations

from dataclasses import replace

from alerting.status.features import Measurement
from alerting.status.model import LagNumbers
from alerting.status.trend import Trend


def drain_seconds(lag: int, trend: Trend | None) -> float | None:
    """Return in how long what waits is drained; None while it does not shrink."""
    if trend is None or trend.direction >= 0:
        return None
    return lag / -trend.growth_per_second


def at_a_stand(numbers: LagNumbers) -> LagNumbers:
    """Return the numbers of what reads nothing now, whatever it read in the minutes before.

    When retention will reach it follows from them, too.
    """
    if numbers.consumption_per_second is None:
        return numbers
    return replace(
        numbers,
        consumption_per_second=0.0,
        growth_per_second=numbers.arrival_per_second,
        drain_seconds=None,
    )


def numbers_of(found: Measurement) -> LagNumbers:
    """Return the numbers that a page shows beside a decision."""
    trend = found.trend
    lag = found.newest.lag
    return LagNumbers(
        lag=lag,
        behind_seconds=found.behind_seconds,
        arrival_per_second=trend.arrival_per_second if trend else None,
        consumption_per_second=trend.consumption_per_second if trend else None,
        growth_per_second=trend.growth_per_second if trend else None,
        drain_seconds=drain_seconds(lag, trend) if lag else None,
        lost_messages=found.lost_messages,
        last_lost_at=found.overtaken.last_at if found.lost_messages and found.overtaken else None,
        without_commit_seconds=found.waiting_seconds,
        commit_period_seconds=found.commit_period_seconds,
        members=found.members,
        span_seconds=found.span_seconds,
        samples=len(found.window.samples),
    )
