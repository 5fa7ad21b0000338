"""Why a group has its status: what was measured of it, beside what it is compared with. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from alerting.status.features import Measurement, measure
from alerting.status.group_status import group_status, peers_of
from alerting.status.model import GroupStatus, PartitionStatus, PartitionWindow, StatusRules
from alerting.status.phrases import (
    compared_rates,
    count,
    duration,
    messages,
    plural,
    rate,
    share,
)
from alerting.status.stall_timeout import stall_timeout

GROUP = "the group"
_GROWTH = "growth since the lag was lowest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One thing that was measured.

    Attributes:
        of: What it was measured of: a partition, by its name, or ``GROUP``.
        compared: What it is compared with, and what follows; empty where it is only shown.
    """

    of: str
    name: str
    value: str
    compared: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a group has its status.

    Attributes:
        partition: The one that decides; None where no partition is known.
        features: What was measured of it, and of the group.
    """

    status: GroupStatus
    partition: PartitionStatus | None
    features: tuple[Feature, ...]

    @property
    def decides(self) -> str:
        """Who decides, in a clause: the worst partition of those that the group reads."""
        if self.partition is None:
            return "No partition decides"
        total = sum(1 for one in self.status.partitions if one.subscribed)
        return f"{f'Of {total} partitions ' if total > 1 else ''}{self.partition.name} decides"


def explain(
    windows: Sequence[PartitionWindow], *, now: float | None, rules: StatusRules
) -> Explanation:
    """Explain a group by the partition that decides on its status.

    Args:
        windows: The windows of all its partitions, as ``group_status`` takes them.
        now: The present in Unix seconds.
        rules: The thresholds.
    """
    status = group_status(windows, now=now, rules=rules)
    alike = [part for part in status.partitions if part.status is status.status]
    if not alike:
        return Explanation(status=status, partition=None, features=())
    worst = max(alike, key=lambda part: part.numbers.behind_seconds or 0.0)
    measured = [measure(window, rules) for window in windows]
    found = next(
        one
        for window, one in zip(windows, measured, strict=True)
        if (window.topic, window.partition) == (worst.topic, worst.partition)
    )
    period = peers_of(measured, rules).commit_period_seconds
    sums = _sums(status, [one for one in measured if one is not None])
    features = () if found is None else (*sums, *_features(found, period, rules))
    return Explanation(status=status, partition=worst, features=features)


def _sums(status: GroupStatus, measured: Sequence[Measurement]) -> Iterator[Feature]:
    """Yield what is summed up over partitions, where there are several: it decides nothing."""
    numbers, parts = status.numbers, [one for one in status.partitions if one.subscribed]
    if len(parts) < 2:
        return
    alike = sum(1 for one in parts if one.status is status.status)
    yield Feature(
        of=GROUP,
        name="messages that wait",
        value="unknown" if numbers.lag is None else messages(numbers.lag),
        compared=f"the sum; {alike} of {len(parts)} partitions have the group's status",
    )
    arrival, consumption = numbers.arrival_per_second, numbers.consumption_per_second
    if arrival is not None and consumption is not None:
        yield Feature(
            of=GROUP,
            name="rates",
            value=compared_rates(arrival, consumption),
            compared="the sums of its partitions",
        )
    read = {(one.topic, one.partition) for one in parts}
    grown = [
        one.newest.lag - one.growth.lowest
        for one in measured
        if one.growth is not None
        and one.newest.lag is not None
        and (one.window.topic, one.window.partition) in read
    ]
    if grown:
        yield Feature(
            of=GROUP,
            name=_GROWTH,
            value=messages(sum(grown)),
            compared=f"the sum of {plural(len(grown), 'partition')} whose lag has risen",
        )


def _features(
    found: Measurement, peers_period: float | None, rules: StatusRules
) -> Iterator[Feature]:
    newest, name = found.newest, f"{found.window.topic}-{found.window.partition}"
    yield Feature(
        of=name,
        name="messages that wait",
        value="unknown" if newest.lag is None else messages(newest.lag),
        compared=f"up to {found.end_lag} count as none; "
        f"up to {rules.minimum_messages} tell no trend",
    )
    yield Feature(
        of=name,
        name="age of the oldest of them",
        value=_seconds(found.behind_seconds),
        compared=f"objective {duration(rules.objective_seconds)}; "
        f"under {duration(rules.slight_seconds)} is on time",
    )
    yield Feature(
        of=name,
        name=f"the same, {duration(rules.confirm_seconds)} earlier",
        value=_seconds(found.behind_before_seconds),
        compared=f"objective {duration(rules.objective_seconds)}",
    )
    yield Feature(
        of=name,
        name="time without a commit",
        value=_seconds(found.waiting.seconds),
        compared=f"stalled from {duration(stall_timeout(found, peers_period, rules))} on",
    )
    pauses = found.waiting.pauses
    yield Feature(
        of=name,
        name="usual pause between commits",
        value=_seconds(pauses.usual_seconds),
        compared=f"{pauses.seen} pauses seen",
    )
    away = None if found.absence is None else newest.at - found.absence.since
    yield Feature(
        of=GROUP,
        name="members",
        value="unknown" if found.members is None else str(found.members),
        compared=""
        if away is None
        else f"none for {duration(away)}; stopped from {duration(rules.slight_seconds)} on, "
        "unless it is a job",
    )
    trend = found.trend
    if trend is not None:
        yield Feature(
            of=name,
            name=f"rates of the last {duration(trend.span_seconds)}",
            value=compared_rates(trend.arrival_per_second, trend.consumption_per_second),
            compared=f"lag {'+' if trend.growth_per_second >= 0 else '-'}"
            f"{rate(abs(trend.growth_per_second))}; a direction from "
            f"{rate(trend.noise_per_second)} on",
        )
    growth = found.growth
    if growth is not None and newest.lag is not None:
        lasts = "it lasts" if growth.is_lasting else "it may pass, as a wave does"
        yield Feature(
            of=name,
            name=_GROWTH,
            value=f"from {messages(growth.lowest)} to {count(newest.lag)} "
            f"in {duration(growth.seconds)}",
            compared=f"{count(growth.messages)} of them are no steps of commits: the least of the "
            f"last {duration(growth.swing_seconds)} counts; {lasts}",
        )
    if growth is not None and growth.is_swinging:
        more = {None: "no yesterday is known", True: "more", False: "as much as yesterday"}
        yield Feature(
            of=name,
            name="arrivals swing",
            value=f"{share(growth.read_share)} of what arrives is read",
            compared=f"under {share(1 - rules.much_share)}, or not as yesterday "
            f"({more[found.exceeds_yesterday]}): the objective counts; else "
            f"{duration(rules.peak_seconds)}",
        )
    if found.rewind is not None:
        yield Feature(
            of=name,
            name="offsets went back",
            value=messages(found.rewind.before - found.rewind.after),
            compared="meant: the group had no members then" if found.rewind.was_meant else "",
        )


def _seconds(value: float | None) -> str:
    return "unknown" if value is None else duration(value)
