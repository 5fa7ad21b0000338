"""What a consumer group is doing, decided from ten minutes of samples: pure functions.

Rates and slopes over the window decide, never one sample. The group's own commits teach how long
a pause is normal; an unknown value is neither zero nor fine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import TypeVar

from alerting.status.classify import Peers, classify
from alerting.status.features import Measurement, measure
from alerting.status.model import (
    DEFAULT_STATUS_RULES,
    WORST_FIRST,
    GroupStatus,
    LagNumbers,
    PartitionStatus,
    PartitionWindow,
    Sample,
    Status,
    StatusRules,
)
from alerting.status.no_data import unread_since
from alerting.status.numbers import at_a_stand, numbers_of
from alerting.status.on_time import late, on_time
from alerting.status.phrases import (
    compared_rates,
    duration,
    messages,
    on_partitions,
    plural,
    rate,
    rates,
)

__all__ = [
    "DEFAULT_STATUS_RULES",
    "GroupStatus",
    "LagNumbers",
    "PartitionStatus",
    "PartitionWindow",
    "Peers",
    "Sample",
    "Status",
    "StatusRules",
    "complete_sum",
    "group_status",
    "partition_status",
]


_NO_PEERS = Peers()
_Number = TypeVar("_Number", int, float)


def partition_status(
    window: PartitionWindow,
    *,
    peers: Peers = _NO_PEERS,
    now: float | None = None,
    rules: StatusRules = DEFAULT_STATUS_RULES,
) -> PartitionStatus:
    """Decide what one partition of a group is doing.

    Args:
        window: About ten minutes of samples, oldest first.
        peers: What the group's other partitions show.
        now: The present in Unix seconds; where given, samples that are too old say nothing.
        rules: Thresholds.
    """
    return classify(window, measure(window, rules), peers, now, rules)


def group_status(
    partitions: Sequence[PartitionWindow],
    *,
    now: float | None = None,
    rules: StatusRules = DEFAULT_STATUS_RULES,
) -> GroupStatus:
    """Decide what a group is doing: its worst partition, in words about the group.

    A topic of which no member holds a partition while the group reads other topics is no longer
    subscribed: its old commits are no lag that anybody waits for.

    Args:
        partitions: The windows of all partitions with a committed offset or a member.
        now: The present in Unix seconds; where given, samples that are too old say nothing.
        rules: Thresholds.
    """
    if not partitions:
        return GroupStatus(
            status=Status.UNKNOWN,
            reason="No committed offset of this group is known.",
            numbers=LagNumbers(),
        )
    measured = [measure(window, rules) for window in partitions]
    subscribed = _subscribed_topics(measured)
    peers = peers_of(measured, rules)
    decisions = tuple(
        classify(window, found, peers, now, rules)
        if subscribed is None or window.topic in subscribed
        else _unsubscribed(window, found)
        for window, found in zip(partitions, measured, strict=True)
    )
    deciding = [v for v in decisions if v.subscribed and v.decides] or [
        v for v in decisions if v.subscribed
    ]
    worst = min(deciding, key=_badness)
    alike = [v for v in deciding if v.status is worst.status]
    dated = [v for v in alike if v.since is not None]
    first = min(dated, key=lambda v: v.since or 0.0) if dated else None
    numbers = _totals(decisions, worst)
    if worst.status is Status.NO_MEMBERS:
        numbers = at_a_stand(numbers)  # a partition that is read to its end is read no more, too
    unknown = sum(1 for v in decisions if v.subscribed and v.numbers.lag is None)
    is_lasting = _is_lasting(alike, rules)
    over = 0.0
    if is_lasting and worst.status is Status.FALLING_BEHIND:
        over = max(0.0, (numbers.behind_seconds or 0.0) - rules.objective_seconds)
    over_since, over_before = _over_since(decisions, measured, rules) if over else (None, False)
    return GroupStatus(
        status=worst.status,
        reason=_group_sentence(worst, alike, deciding, numbers, unknown, rules),
        since=_since(first, partitions, decisions) if first else None,
        began_before_window=first.began_before_window if first else False,
        numbers=numbers,
        unknown_partitions=unknown,
        partitions=decisions,
        is_lasting=is_lasting,
        over_objective_seconds=over,
        over_objective_since=over_since,
        over_objective_before_window=over_before,
        objective_seconds=rules.objective_seconds,
    )


def _since(
    first: PartitionStatus,
    partitions: Sequence[PartitionWindow],
    decisions: Sequence[PartitionStatus],
) -> float | None:
    """Return since when a group does what ``first`` of its partitions did before the others."""
    if first.since is None or first.status is not Status.UNKNOWN:
        return first.since
    counted = [
        window
        for window, one in zip(partitions, decisions, strict=True)
        if one.subscribed and one.decides
    ]
    return min(first.since, unread_since(counted) or first.since)


def _over_since(
    decisions: Sequence[PartitionStatus],
    measured: Sequence[Measurement | None],
    rules: StatusRules,
) -> tuple[float | None, bool]:
    """Return since when a partition that counts is later than the objective, or before that."""
    known = [
        over
        for decision, found in zip(decisions, measured, strict=True)
        if decision.subscribed
        and found is not None
        and (over := found.older_since(rules.objective_seconds)) is not None
    ]
    if not known:
        return None, False
    # Of partitions that are late alike the one counts of which the begin was not seen.
    return min(known, key=lambda over: (over[0], not over[1]))


def _is_lasting(alike: Sequence[PartitionStatus], rules: StatusRules) -> bool:
    """Return whether half of the partitions that fall behind will go on, or one is too late."""
    lasting = [decision for decision in alike if decision.is_lasting]
    return (bool(lasting) and len(lasting) >= len(alike) / 2) or any(
        (decision.numbers.behind_seconds or 0.0) >= rules.objective_seconds for decision in lasting
    )


def _subscribed_topics(measured: Sequence[Measurement | None]) -> set[str] | None:
    """Return the topics of which a member holds a partition; None where that is not certain."""
    newest = [found for found in measured if found is not None]
    if not newest or any(found.newest.assigned is None for found in newest):
        return None
    if any(found.is_rebalancing or not found.members for found in newest):
        return None
    held = {found.window.topic for found in newest if found.newest.assigned}
    return held or None


def _unsubscribed(window: PartitionWindow, found: Measurement | None) -> PartitionStatus:
    return PartitionStatus(
        topic=window.topic,
        partition=window.partition,
        status=Status.OK if found is not None and found.newest.lag is not None else Status.UNKNOWN,
        reason="No longer subscribed: the group reads other topics, no member holds this one.",
        since=None,
        began_before_window=False,
        numbers=numbers_of(found) if found is not None else LagNumbers(),
        subscribed=False,
    )


def peers_of(measured: Sequence[Measurement | None], rules: StatusRules) -> Peers:
    found = [one for one in measured if one is not None]
    advances = [one.last_advance_at for one in found if one.last_advance_at is not None]
    periods = [one.commit_period_seconds for one in found if one.commit_period_seconds is not None]
    draining = any(
        one.recent is not None
        and one.recent.direction < 0
        and (one.behind_seconds or 0.0) >= rules.slight_seconds
        for one in found
    )
    return Peers(
        advanced_at=max(advances) if advances else None,
        advances_alone=max(
            (one.absence.advances for one in found if one.absence is not None), default=0
        ),
        commit_period_seconds=median(periods) if periods else None,
        are_draining=draining,
    )


def _badness(decision: PartitionStatus) -> tuple[int, float, float]:
    numbers = decision.numbers
    return (
        WORST_FIRST.index(decision.status),
        -(numbers.behind_seconds or 0.0),
        -float(numbers.lost_messages or numbers.lag or 0),
    )


def _totals(decisions: Sequence[PartitionStatus], worst: PartitionStatus) -> LagNumbers:
    """Add up the partitions; a rate is known only where every partition's is."""
    rows = [decision.numbers for decision in decisions if decision.subscribed]
    lags = [row.lag for row in rows if row.lag is not None]
    lost = [row.lost_messages for row in rows if row.lost_messages is not None]
    last_lost = [row.last_lost_at for row in rows if row.last_lost_at is not None]
    behind = [row.behind_seconds for row in rows if row.behind_seconds is not None]
    moving = [
        decision.numbers for decision in decisions if decision.subscribed and decision.decides
    ]
    arrival = complete_sum([row.arrival_per_second for row in moving])
    consumption = complete_sum([row.consumption_per_second for row in moving])
    growth = complete_sum([row.growth_per_second for row in moving])
    drains = [row.drain_seconds for row in rows if row.drain_seconds is not None]
    return replace(
        worst.numbers,
        lag=sum(lags) if lags else None,
        lost_messages=sum(lost) if lost else None,
        last_lost_at=max(last_lost, default=None),
        behind_seconds=max(behind) if behind else None,
        arrival_per_second=arrival,
        consumption_per_second=consumption,
        growth_per_second=growth,
        drain_seconds=max(drains) if drains and (growth or 0.0) < 0 else None,
    )


def complete_sum(values: Iterable[_Number | None]) -> _Number | None:
    """Return the sum; None where a value is unknown, or there is none."""
    found = list(values)
    known = [value for value in found if value is not None]
    return sum(known) if known and len(known) == len(found) else None


def _group_sentence(
    worst: PartitionStatus,
    alike: Sequence[PartitionStatus],
    deciding: Sequence[PartitionStatus],
    numbers: LagNumbers,
    unknown: int,
    rules: StatusRules,
) -> str:
    lag = numbers.lag or 0
    missing = f"; the lag of {plural(unknown, 'partition')} is unknown" if unknown else ""
    where = worst.name
    many = len(deciding) > 1
    of_all = f"{len(alike)} of {plural(len(deciding), 'partition')}"
    if not many:
        return worst.reason
    how_late = late(lag, numbers.behind_seconds)
    # A sentence about some of the partitions has their rates, not those of all.
    there = numbers if len(alike) == len(deciding) else _totals(alike, worst)
    told = rates if worst.status is Status.OK else compared_rates
    # One is named right before them.
    flow = _flow(told, there, "" if there is numbers or len(alike) == 1 else " there")
    # What decides comes first: tables show the first words only.
    late_on = f"{on_partitions(_amounts(alike), len(deciding))}{flow}{missing}"
    match worst.status:
        case Status.OK:
            waiting = f"{flow}{'; ' if flow else ': '}{how_late}{missing}"
            if numbers.members == 0 and lag and not numbers.consumption_per_second:
                return f"Nobody consumes at the moment{waiting}."
            return f"{on_time(numbers, rules)}{waiting}."
        case Status.CATCHING_UP:
            left = (
                f", drained in {duration(numbers.drain_seconds)}" if numbers.drain_seconds else ""
            )
            return f"{how_late}, catching up{left}; behind {late_on}."
        case Status.NO_MEMBERS:
            how_long = worst.reason.partition(":")[0]
            more = numbers.arrival_per_second
            arriving = f", {rate(more)} more arrive" if more else ""
            return f"{how_long}: {how_late}{arriving}{missing}."
        case Status.FALLING_BEHIND:
            return f"{how_late}, {late_on}."
        case Status.STALLED:
            # Since when is told beside it.
            waits = sum(decision.numbers.lag or 0 for decision in alike)
            verb = "waits" if waits == 1 else "wait"
            return f"No commit on {of_all} ({where}) while {messages(waits)} {verb} there{missing}."
        case Status.STOPPED:
            how_late = late(there.lag or 0, there.behind_seconds)
            more = there.arrival_per_second
            arriving = f", {rate(more)} more arrive" if more else ""
            others = f" ({unknown} unknown)" if unknown else ""
            some = f" {of_all}{others}" if len(alike) < len(deciding) else ""
            return f"{how_late}: nobody consumes{some}{arriving}{'' if some else missing}."
        case Status.REWOUND:
            return f"{worst.reason.rstrip('.')} on {where}; {of_all} were rewound{missing}."
        case Status.LOSING_DATA:
            lost = {one.name: float(one.numbers.lost_messages or 0) for one in alike}
            # What was lost before the window was lost since the last commit.
            before = [one.began_before_window for one in alike]
            window = f"in the last {duration(rules.window_seconds)}"
            when = "since the last commit" if all(before) else window
            if any(before) and not all(before):
                when = f"{window} or since the last commit"
            return (
                f"At least {messages(numbers.lost_messages or 0)} lost "
                f"{on_partitions(lost, len(deciding))}, {when}{missing}."
            )
        case Status.UNKNOWN:
            return f"{worst.reason.rstrip('.')}; on {of_all}, such as {where}."


def _amounts(alike: Sequence[PartitionStatus]) -> dict[str, float]:
    """Return how late each partition is; how much waits, where not all know how late."""
    late_by = {one.name: one.numbers.behind_seconds for one in alike}
    known = {name: seconds for name, seconds in late_by.items() if seconds is not None}
    if len(known) == len(late_by):
        return known
    return {one.name: float(one.numbers.lag or 0) for one in alike}


def _flow(told: Callable[[float, float, str], str], numbers: LagNumbers, where: str) -> str:
    """Return what arrives and is consumed, as a clause; nothing where it is unknown."""
    arrival, consumption = numbers.arrival_per_second, numbers.consumption_per_second
    if arrival is None or consumption is None:
        return ""
    return f": {told(arrival, consumption, where)}"
