"""When a group is overdue: later than its objective, and it does not come back within it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace
from math import inf

from simulation.scenarios.model import Scenario, ScenarioPartition, Truth

OBJECTIVE_SECONDS = 300.0
"""What alerting and scaling take where no objective was agreed; a test sees to that."""


def overdue_times(scenario: Scenario, begin: float, end: float) -> list[tuple[float, float]]:
    """Return from when to when the group was overdue in a part of a scenario.

    It is overdue where the oldest unread message is older than the objective at every poll for as
    long as the objective, as the scenario goes on to show. A dip of less than that is no end of it.
    """
    late: dict[float, bool] = {}
    for part in scenario.partitions:
        for at, age in _ages(part):
            if begin <= at <= end:
                late[at] = late.get(at, False) or age >= OBJECTIVE_SECONDS
    spans: list[tuple[float, float]] = []
    run: float | None = None
    for at in sorted(late):
        if not late[at]:
            run = None
            continue
        run = at if run is None else run
        if spans and at - spans[-1][1] < OBJECTIVE_SECONDS:
            spans[-1] = (spans[-1][0], at)
        elif at - run >= OBJECTIVE_SECONDS:
            spans.append((run, at))
    return spans


def open_while_overdue(scenario: Scenario, until: float = inf) -> Scenario:
    """Return a scenario of which it is open whether to alert while the group is overdue.

    That is the truth of a peak that has no yesterday. While it lasts nobody can tell it from a rise
    that stays, which must be told; that it recovers is known only afterwards.

    Args:
        scenario: One in which nothing needs to be told.
        until: From when on a yesterday is known, in seconds.
    """
    [whole] = scenario.truth
    truth: list[Truth] = []
    at = whole.begin
    for begin, end in overdue_times(scenario, whole.begin, min(whole.end, until)):
        truth += [
            replace(whole, begin=at, end=begin),
            replace(whole, begin=begin, end=end, status="FALLING_BEHIND", should_alert=None),
        ]
        at = end
    return replace(scenario, truth=(*truth, replace(whole, begin=at)))


def _ages(part: ScenarioPartition) -> Iterator[tuple[float, float]]:
    """Yield the age of the oldest unread message at each poll that could be read."""
    times: list[float] = []
    ends: list[int] = []
    for sample in part.samples:
        if sample.log_end is None or sample.committed is None:
            continue
        if ends and sample.log_end < ends[-1]:
            times, ends = [], []  # another log
        times.append(sample.t)
        ends.append(sample.log_end)
        index = bisect_right(ends, sample.committed)
        if index == len(ends):
            yield sample.t, 0.0
        elif index == 0:
            yield sample.t, sample.t - times[0]  # older than all that was seen
        else:
            share = (sample.committed - ends[index - 1]) / (ends[index] - ends[index - 1])
            arrived = times[index - 1] + share * (times[index] - times[index - 1])
            yield sample.t, sample.t - arrived
