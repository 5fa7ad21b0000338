"""How many consumers a group should have now, by what is measured and what was advised before.

The one decision: the advice job, the page, ``recommend`` and the backtest all call ``decide``.
Pure. What is remembered between two calls is a ``DecisionHistory``; it is written in times, never
in numbers of calls, so that callers may come every 30 seconds or every ten minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from scaling.facts.capacity import Capacity
from scaling.facts.intervals import Booleans, Floats, Integers
from scaling.sizing.assignment import Assignment
from scaling.sizing.demand import SHORT_SECONDS, demand
from scaling.sizing.polls import Polls
from scaling.sizing.size import LATE_ON_TRIAL, GroupSize, SizeInputs, hot_partitions, size
from scaling.sizing.slow_members import SlowMembers, slowdown
from scaling.sizing.stability import DEFAULT_STABILITY_RULES, Stability, StabilityRules, move

BLOCKED_SECONDS = 240.0
STANDING_STILL_SECONDS = 30.0
GROWING_SECONDS = 60.0
_JOIN_SECONDS = 30.0

ForecastPeak = Callable[[float], float | None]
"""The highest arrival ahead, given the present one, messages per second; None: not known."""


def no_peak(_: float) -> None:
    """Expect nothing: there is too little history."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeFacts:
    """What is measured of a group now.

    Arrays have one value a partition, in the order of ``assignment``.

    Attributes:
        polls: Up to a quarter of an hour of polls, the newest last.
        member: The member, from 0, that holds each partition; negative: nobody.
        assignment_id: A text that changes when partitions change hands.
        changed_at: The last time at which there was another number; None: not in these polls.
        stalled: Partitions whose status says that they are blocked; None: none.
        pause_seconds: How long a rebalance stops those whom it touches.
        deadline_seconds: Time until retention reaches an unread message; None: none is coming.
    """

    assignment: Assignment
    polls: Polls
    member: Integers
    assignment_id: str
    consumers: int
    capacity: Capacity
    objective_seconds: float
    changed_at: float | None = None
    is_rebalancing: bool = False
    forecast_peak: ForecastPeak = no_peak
    stalled: Booleans | None = None
    startup_seconds: float = 30.0
    pause_seconds: float = 10.0
    commit_seconds: float = 5.0
    deadline_seconds: float | None = None

    @property
    def at(self) -> float:
        """The time of the newest poll, Unix seconds."""
        return float(self.polls.at[-1])


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionHistory:
    """What is remembered of earlier decisions about a group.

    Attributes:
        expected_utilisation: The utilisation of the busiest member that it was expected to lead to.
        ages: Time, and age of the oldest unread message, of the decisions of the last minute.
    """

    at: float | None = None
    consumers: int | None = None
    advised: int | None = None
    expected_utilisation: float | None = None
    ages: tuple[tuple[float, float], ...] = ()
    stability: Stability = field(default_factory=Stability)
    slow: SlowMembers = field(default_factory=SlowMembers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """How many consumers there should be now.

    Attributes:
        inputs: The question that the size answers; None while nothing can be decided.
        group_size: The size, whether it is followed already or not; None with ``inputs``.
    """

    consumers: int
    reason: str
    history: DecisionHistory
    inputs: SizeInputs | None = None
    group_size: GroupSize | None = None


def decide(
    facts: SizeFacts, history: DecisionHistory, *, rules: StabilityRules = DEFAULT_STABILITY_RULES
) -> Decision:
    """Return how many consumers a group should have now.

    Who calls seldom does not lose what happened in between: the moments that can matter are
    evaluated from the polls. They are the last ones where more consumers are asked for or the group
    is late, and the busiest one where fewer would do, or fewer than were advised.
    """
    history = _without_gap(facts, history, rules)
    found = _evaluated(facts, history, rules)
    moments = _missed(facts, history, found, rules)
    for at in moments:
        history = _evaluated(replace(facts, polls=facts.polls.until(at)), history, rules).history
    return _evaluated(facts, history, rules) if moments else found


def _without_gap(
    facts: SizeFacts, history: DecisionHistory, rules: StabilityRules
) -> DecisionHistory:
    """Drop what cannot be trusted after a pause, or where time went backwards."""
    if history.at is None:
        return history
    if history.at > facts.at:
        return DecisionHistory()
    if facts.at - history.at <= rules.longest_gap_seconds:
        return history
    stability = replace(history.stability, votes=(), since=None)
    return replace(history, stability=stability, slow=SlowMembers())


def _missed(
    facts: SizeFacts, history: DecisionHistory, found: Decision, rules: StabilityRules
) -> list[float]:
    """Return the moments without an evaluation that matter to a decision, oldest first."""
    if found.group_size is None or found.inputs is None:
        return []
    begun = [float(facts.polls.at[0]), history.at, facts.changed_at]
    after = max(one for one in begun if one is not None)
    every = rules.vote_every_seconds
    number = int((facts.at - after) / every)
    moments = [facts.at - every * back for back in range(number - 1, 0, -1)]
    age = found.inputs.time_lag_seconds or 0.0
    asked, advised = found.group_size.consumers, history.advised or 0
    matters: list[float] = []
    if asked > facts.consumers or age > LATE_ON_TRIAL * facts.objective_seconds:
        matters = moments[-(rules.last_votes - 1) :]
    elif asked < facts.consumers and moments:
        matters = [_busiest(facts.polls, np.array(moments))]
    if facts.consumers < advised and asked < advised and moments:
        # More was advised and is not followed yet: what comes in waves asks for it at its crest.
        matters = sorted({*matters, _busiest(facts.polls, np.array(moments))})
    return matters


def _busiest(polls: Polls, moments: Floats) -> float:
    """Return the moment in the minute before which most arrived."""
    total = polls.log_end.sum(axis=1)
    arrived = np.interp(moments, polls.at, total) - np.interp(
        moments - SHORT_SECONDS, polls.at, total
    )
    return float(moments[np.argmax(arrived)])


def _evaluated(facts: SizeFacts, history: DecisionHistory, rules: StabilityRules) -> Decision:
    at, polls = facts.at, facts.polls
    history = _with_change(facts, history)
    if len(polls) < 2:
        return _wait(facts, history, "a rate needs two polls")
    blocked = polls.blocked(facts.member, seconds=BLOCKED_SECONDS)
    if facts.stalled is not None:
        blocked = blocked | facts.stalled
    history = replace(history, slow=_slow(facts, history.slow, blocked))
    if facts.is_rebalancing or bool((facts.member < 0).all()):
        return _wait(facts, history, "partitions are being reassigned")
    inputs, ages = _inputs(facts, history, blocked, rules)
    group_size = size(inputs)
    found = move(
        group_size,
        history.stability,
        at=at,
        current=facts.consumers,
        advised=history.advised,
        rules=rules,
    )
    consumers = found.consumers
    if inputs.peak is None and consumers < facts.consumers:
        # Who does not know the next peak goes down one useful step at a time.
        consumers = max(consumers, *(n for n in facts.assignment.counts if n < facts.consumers))
    kept = replace(
        history,
        at=at,
        consumers=facts.consumers,
        advised=consumers,
        expected_utilisation=group_size.utilisations.get(consumers),
        ages=ages,
        stability=found.stability,
    )
    return Decision(
        consumers=consumers,
        reason=found.reason,
        history=kept,
        inputs=inputs,
        group_size=group_size,
    )


def _wait(facts: SizeFacts, history: DecisionHistory, reason: str) -> Decision:
    seen = replace(history, at=facts.at, consumers=facts.consumers)
    return Decision(consumers=facts.consumers, reason=reason, history=seen)


def _with_change(facts: SizeFacts, history: DecisionHistory) -> DecisionHistory:
    """Notice that the number of consumers changed since the last decision, on advice or not."""
    if history.at is None or history.consumers is None or history.consumers == facts.consumers:
        return history
    changed_at = history.at if facts.changed_at is None else max(history.at, facts.changed_at)
    step = facts.consumers - history.consumers
    expected = history.expected_utilisation if history.advised == facts.consumers else None
    changed = history.stability.changed(changed_at, step, expected)
    return replace(history, consumers=facts.consumers, stability=changed)


def _slow(facts: SizeFacts, slow: SlowMembers, blocked: Booleans) -> SlowMembers:
    """Look for members that are slower than they were."""
    at = facts.at
    since = slow.assigned_at if slow.assignment_id == facts.assignment_id else None
    if facts.is_rebalancing or since is None:
        return slow.assigned(facts.assignment_id, at)
    slow = slow.expired(at)
    polls = facts.polls.since(since)
    member = np.where(blocked, -1, facts.member)
    found = slowdown(polls.at, polls.log_end, polls.committed, member, facts.capacity)
    return slow.looked(found, at)


def _inputs(
    facts: SizeFacts, history: DecisionHistory, blocked: Booleans, rules: StabilityRules
) -> tuple[SizeInputs, tuple[tuple[float, float], ...]]:
    """Return the question that the size answers, and the ages to remember."""
    at, polls, slow = facts.at, facts.polls, history.slow
    lead = facts.startup_seconds + facts.pause_seconds + _JOIN_SECONDS
    forecast = demand(polls.at, polls.log_end, lead_seconds=lead)
    capacity = slow.applied(facts.capacity)
    still = polls.blocked(facts.member, seconds=STANDING_STILL_SECONDS) | blocked
    hopeless = hot_partitions(np.maximum(forecast.now, forecast.lasting), capacity.low or np.inf)
    # A member with a hopeless partition is behind with its other partitions too.
    behind = np.isin(facts.member, facts.member[hopeless & (facts.member >= 0)])
    age = _oldest(polls.time_lag_seconds[-1][~(still | behind)])
    recent = tuple(one for one in history.ages if at - GROWING_SECONDS <= one[0] < at)
    ages = (*recent, (at, age or 0.0))
    inputs = SizeInputs(
        assignment=facts.assignment,
        consumers=facts.consumers,
        arrival=forecast.now,
        soon=forecast.soon,
        lag=np.where(still | behind, 0.0, np.nan_to_num(polls.lag)),
        capacity=capacity,
        objective_seconds=facts.objective_seconds,
        slowed=slow.members,
        peak=_peak(facts.forecast_peak, forecast.now),
        lasting=forecast.lasting,
        blocked=blocked,
        time_lag_seconds=age,
        is_growing=(age or 0.0) > ages[0][1],
        is_on_trial=history.stability.is_on_trial(at, rules),
        startup_seconds=facts.startup_seconds,
        pause_seconds=facts.pause_seconds,
        commit_seconds=facts.commit_seconds,
        deadline_seconds=facts.deadline_seconds,
    )
    return inputs, ages


def _oldest(ages: Floats) -> float | None:
    known = ages[~np.isnan(ages)]
    return float(known.max()) if len(known) else None


def _peak(forecast: ForecastPeak, now: Floats) -> Floats | None:
    """Share the expected peak out over the partitions as the present arrival is."""
    total = float(now.sum())
    high = forecast(total)
    if high is None or total <= 0:
        return None
    peak: Floats = now * (high / total)
    return peak
