"""What happens if advice on a group is not followed: from its rates and its deadline."""

from __future__ import annotations

from math import ceil

from alerting.status.model import Status
from alerting.status.phrases import duration, time_left
from scaling.advice.model import AdviceKind, Recommendation
from scaling.advisers.group_evidence import partition_names
from scaling.advisers.retention import WATCH_WITHIN_SECONDS, coming_deadline
from scaling.facts.group_facts import GroupFacts
from scaling.sizing.size import LimitingFactor

_MONTH_HOURS = 24 * 30
_HOUR_SECONDS = 3600.0
_FAR, _SOON_SECONDS = 10.0, 300.0
"""What comes so many times later than another loss is left out beside it."""


def objective_missed_in(facts: GroupFacts) -> float | None:
    """Return the time until the group's time lag exceeds its objective, at the present rates.

    While messages arrive at λ and are consumed at μ < λ, the age of the oldest unread message
    grows by 1 - μ/λ a second.

    Returns:
        Seconds, 0 if it is exceeded; None where the group keeps up or a rate is unknown.
    """
    numbers = facts.status.numbers
    behind, arrival, consumption = (
        numbers.behind_seconds,
        numbers.arrival_per_second,
        numbers.consumption_per_second,
    )
    if behind is not None and behind >= facts.objective_seconds and numbers.lag:
        return 0.0
    if behind is None or not arrival or consumption is None or consumption >= arrival:
        return None
    return ceil((facts.objective_seconds - behind) / (1 - consumption / arrival))


def misses_objective(facts: GroupFacts) -> bool:
    """Return whether a group is alerted to miss its objective: it goes on falling behind."""
    status = facts.status
    return (
        status.status is Status.FALLING_BEHIND
        and status.is_lasting
        and objective_missed_in(facts) == 0
    )


def consequence(facts: GroupFacts, advice: Recommendation) -> str | None:
    """Return what happens if advice on a group is not followed; None where that is nothing."""
    if advice.kind is AdviceKind.KEEP or advice.kind is AdviceKind.UNKNOWN:
        return None
    if advice.saving:
        return f"{advice.saving * _MONTH_HOURS} consumer-hours a month are spent for nothing."
    parts = []
    missed = objective_missed_in(facts)
    deadline = coming_deadline(facts)
    left = deadline[1].seconds if deadline is not None else None
    is_lost = any(p.status.subscribed and p.status.numbers.lost_messages for p in facts.partitions)
    if is_lost:
        left = 0.0
    if missed is not None and (
        _may_pass(facts, missed) or (left is not None and missed > _FAR * max(left, _SOON_SECONDS))
    ):
        missed = None
    if missed == 0:
        parts.append(f"the objective of {duration(facts.objective_seconds)} remains missed")
    elif missed is not None:
        # Within the hour a figure of minutes is old before the next round of advice.
        when = "soon" if missed < _HOUR_SECONDS else time_left(missed)
        parts.append(f"the objective of {duration(facts.objective_seconds)} is missed {when}")
    if left is not None and left <= WATCH_WITHIN_SECONDS:
        # Rates cannot tell whether it goes on: what is skipped counts as consumed.
        parts.append(f"retention {'may delete more' if is_lost else 'deletes'} unread messages")
    if not parts and (grows := _what_grows(facts)):
        parts.append(grows)
    is_ahead = advice.limiting_factor == LimitingFactor.FORECAST.value
    if not parts and is_ahead and facts.forecast.per_second is not None:
        return "The group may fall behind when that much arrives."
    if not parts:
        return None
    text = " and ".join(parts)
    return f"{text[0].upper()}{text[1:]}, at the present rates."


def _may_pass(facts: GroupFacts, missed: float) -> bool:
    """Return whether a peak of arrivals may be over before the objective is missed."""
    status = facts.status
    is_peak = status.status is Status.FALLING_BEHIND and not status.is_lasting
    return is_peak and missed > _SOON_SECONDS


def _what_grows(facts: GroupFacts) -> str:
    """Say whose backlog grows, or that it is not drained; nothing where neither is so."""
    if facts.status.numbers.grows:
        return "the backlog grows"
    growing = [p.status for p in facts.partitions if p.status.subscribed and p.status.numbers.grows]
    if growing:
        return f"the backlog of {partition_names(growing)} grows"
    return "the backlog is not drained" if facts.status.status is Status.FALLING_BEHIND else ""
