"""The one decision: the same at the backtest's cadence and at the job's, and after a pause."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from scaling.facts.capacity import Capacity, CapacityStatus
from scaling.facts.intervals import Floats
from scaling.sizing.assignment import Assignment
from scaling.sizing.decide import Decision, DecisionHistory, SizeFacts, decide
from scaling.sizing.decision_history import AdviceStateError, from_text, to_text
from scaling.sizing.polls import Polls
from scaling.sizing.slow_members import SlowMembers
from scaling.sizing.stability import Stability
from simulation.model import GroupObservation, Workload
from simulation.rates import Factor, between, constant, times_factors
from simulation.simulator import Simulation
from simulation.workloads import workload

BACKTEST_SECONDS = 30.0
JOB_SECONDS = 600.0
WINDOW_SECONDS = 600.0
HOUR = 3600.0


@cache
def watched(
    hours: tuple[float, float], factor: float = 1.6
) -> tuple[Workload, list[GroupObservation]]:
    """Return six hours of a group that nobody scales; more arrives between two hours."""
    begin = workload("steady", 1).starts_at
    return observed(between(begin + hours[0] * HOUR, begin + hours[1] * HOUR, factor), 6 * HOUR)


def observed(more: Factor, seconds: float) -> tuple[Workload, list[GroupObservation]]:
    """Return what is seen of a group that nobody scales, twice as large as is usually needed."""
    base = workload("steady", 1)
    begin = base.starts_at
    arrival = 0.5 * base.consumers.count * base.consumers.rate_per_second
    work = replace(
        base, rate=times_factors(constant(arrival), more), duration_seconds=seconds, events=()
    )
    simulation = Simulation(work, 1)
    seen = []
    while simulation.now < begin + work.duration_seconds:
        simulation.run_until(simulation.now + BACKTEST_SECONDS)
        seen.append(simulation.observe())
    return work, seen


def facts(
    work: Workload, seen: Sequence[GroupObservation], consumers: int | None = None
) -> SizeFacts:
    """Return what is measured at the last of some observations."""
    recent = [one for one in seen if one.at >= seen[-1].at - WINDOW_SECONDS]
    rate = work.consumers.rate_per_second
    return SizeFacts(
        assignment=Assignment(
            partitions=tuple(sorted(work.topics.items())), assignor=work.consumers.assignor
        ),
        polls=Polls(
            at=np.array([one.at for one in recent]),
            log_end=np.array([one.log_end for one in recent]),
            committed=np.array([one.committed for one in recent]),
            time_lag_seconds=np.array([one.time_lag_seconds for one in recent]),
        ),
        member=seen[-1].member,
        assignment_id=str(seen[-1].member.tobytes()),
        consumers=seen[-1].replicas if consumers is None else consumers,
        is_rebalancing=seen[-1].rebalancing,
        capacity=Capacity(
            status=CapacityStatus.IDENTIFIED,
            reason="measured",
            per_second=rate,
            low=0.95 * rate,
            high=1.05 * rate,
            samples=40,
            episodes=4,
        ),
        objective_seconds=work.objective_seconds,
        forecast_peak=lambda now: now,
    )


def replay(
    work: Workload,
    seen: list[GroupObservation],
    every_seconds: float,
    *,
    through_text: bool = False,
) -> dict[float, Decision]:
    """Decide at a cadence; return the decisions by time."""
    history, found = DecisionHistory(), {}
    for number, one in enumerate(seen):
        if (one.at - work.starts_at) % every_seconds == 0:
            decision = decide(facts(work, seen[: number + 1]), history)
            found[one.at - work.starts_at] = decision
            history = decision.history
            if through_text:
                history = from_text(to_text(history))
    return found


@pytest.mark.parametrize(
    ("hours", "factor", "numbers"),
    [
        pytest.param((2.0, 4.0), 1.6, {12, 24}, id="two busy hours"),
        pytest.param((1.05, 1.3), 1.6, {12, 24}, id="a quarter of an hour"),
        pytest.param((1.0, 6.0), 0.4, {12, 4}, id="quiet hours"),
        pytest.param((2.0, 3.5), 0.4, {12, 4}, id="quiet and busy again"),
    ],
)
def test_the_job_decides_as_the_backtest_does_at_the_same_moments(
    hours: tuple[float, float], factor: float, numbers: set[int]
) -> None:
    work, seen = watched(hours, factor)
    often = replay(work, seen, BACKTEST_SECONDS)
    seldom = replay(work, seen, JOB_SECONDS, through_text=True)

    decided = {at: (one.consumers, often[at].consumers) for at, one in seldom.items()}
    differing = {at: pair for at, pair in decided.items() if pair[0] != pair[1]}
    # Trends are of a quarter of an hour, of which the job's window holds ten minutes: in the round
    # in which fewer become possible it may see further down. Steps up are the same ones.
    assert all(max(pair) < work.consumers.count for pair in differing.values()), differing
    assert len(differing) <= 1, differing
    assert {number for number, _ in decided.values()} == numbers


@pytest.mark.parametrize("every_seconds", [420.0, 600.0, 660.0])
def test_advice_on_a_wave_that_nobody_followed_stands(every_seconds: float) -> None:
    """Given a wave of ten minutes, then rounds at its crests and in between say the same."""
    begin = workload("steady", 1).starts_at

    def wave(times: Floats) -> Floats:
        return 1 + 0.8 * np.sin((times - begin) * 2 * np.pi / 600)

    work, seen = observed(wave, 3 * HOUR)
    advised = [one.consumers for one in replay(work, seen, every_seconds).values()]
    more = [number for number in advised if number > work.consumers.count]
    first = advised.index(more[0])
    changes = sum(1 for one, after in pairwise(advised[first:]) if one != after)
    assert min(advised[first:]) > work.consumers.count, advised
    assert changes <= 1, advised


def test_a_burst_of_the_last_minute_is_outvoted_and_a_lasting_rise_is_not() -> None:
    work, seen = watched((2.0, 4.0))
    rises = round(2 * HOUR / BACKTEST_SECONDS)
    # A minute after the rise two of the last four evaluations ask for more, and then all of them.
    soon = decide(facts(work, seen[: rises + 2]), DecisionHistory())
    later = decide(facts(work, seen[: rises + 10]), DecisionHistory())

    assert soon.group_size is not None and soon.group_size.consumers > soon.consumers == 12
    assert "1 of the last 4 evaluations asks for more" in soon.reason
    assert later.consumers == 24


def test_after_a_day_without_the_job_votes_and_windows_begin_anew() -> None:
    work, seen = watched((1.0, 6.0), 0.4)
    begun = replay(work, seen[: round(2 * HOUR / BACKTEST_SECONDS)], JOB_SECONDS)
    before = list(begun.values())[-1]
    now = facts(work, seen[-21:])
    later = replace(now, polls=replace(now.polls, at=now.polls.at + 86400.0))
    found = decide(later, before.history)

    assert before.consumers == 4
    assert found.consumers == 12 and "must have been enough for" in found.reason
    assert min(at for at, _ in found.history.stability.votes) > later.at - WINDOW_SECONDS


def test_what_was_remembered_of_the_future_is_dropped() -> None:
    work, seen = watched((1.0, 6.0), 0.4)
    now = facts(work, seen[:40])
    future = DecisionHistory(at=now.at + 86400.0, consumers=3, stability=Stability(failures=4))

    assert decide(now, future).history == decide(now, DecisionHistory()).history


def test_a_change_counts_when_it_is_seen_whoever_made_it_and_a_step_down_is_on_trial() -> None:
    work, seen = watched((1.0, 6.0), 0.4)
    begun = replay(work, seen[: round(2 * HOUR / BACKTEST_SECONDS)], JOB_SECONDS)
    advised = list(begun.values())[-1].history
    next_round = seen[: round((2 * HOUR + JOB_SECONDS) / BACKTEST_SECONDS)]
    kept = decide(facts(work, next_round), advised)
    followed = decide(facts(work, next_round, consumers=4), advised)
    other = decide(facts(work, next_round, consumers=8), advised)

    assert kept.history.stability.changes == ()
    [(changed_at, step)] = followed.history.stability.changes
    assert (changed_at, step) == (advised.at, 4 - 12)
    assert followed.history.stability.tried == advised.expected_utilisation
    assert followed.inputs is not None and followed.inputs.is_on_trial
    assert other.history.stability.tried is None


def test_a_state_comes_back_as_it_was_written() -> None:
    work, seen = watched((1.0, 6.0), 0.4)
    [*_, last] = replay(work, seen, JOB_SECONDS).values()
    slow = SlowMembers(members={3: 41.5}, found_at=1.0, assignment_id="a", assigned_at=0.5)
    history = replace(last.history, slow=slow)

    assert from_text(to_text(history)) == history
    assert history.stability.votes


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("null", id="nothing"),
        pytest.param("[]", id="no object"),
        pytest.param(to_text(DecisionHistory())[:-3], id="cut"),
        pytest.param(
            to_text(DecisionHistory()).replace('"version": 1', '"version": 2'), id="newer"
        ),
        pytest.param('{"version": 1, "at": "noon"}', id="no number"),
        pytest.param('{"version": 1, "stability": {"votes": [[1]]}}', id="half a vote"),
    ],
)
def test_a_damaged_state_is_told_from_one_that_can_be_read(text: str) -> None:
    with pytest.raises(AdviceStateError):
        from_text(text)
