from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.status.group_status import (
    DEFAULT_STATUS_RULES,
    PartitionWindow,
    Sample,
    Status,
    group_status,
)
from tests.unit.alerting.status.scenarios import START, changed, constant, moved, window


def test_one_stuck_partition_makes_the_group_stalled_and_is_named() -> None:
    parts = [window(partition=p) for p in range(5)]
    parts.append(window(partition=5, capacity=lambda t: 200.0 if t < 100 else 0.0))

    status = group_status(parts)

    assert status.status is Status.STALLED
    waits = sum(part.numbers.lag or 0 for part in status.partitions if part.partition == 5)
    assert status.reason == (
        f"No commit on 1 of 6 partitions (orders-5) while {waits:,} messages wait there."
    ), "since when is said beside it"
    assert status.count(Status.OK) == 5
    assert status.since == pytest.approx(START + 100, abs=15)


def test_stuck_partition_of_a_new_group_is_told_by_its_peers() -> None:
    parts = [window(partition=p, seconds=45.0, backlog=5000) for p in range(3)]
    parts.append(
        window(partition=3, seconds=45.0, backlog=5000, capacity=constant(0.0), warm_up=0.0)
    )

    status = group_status(parts)

    assert status.status is Status.STALLED
    assert "1 of 4 partitions (orders-3)" in status.reason


def test_stopped_group_adds_up_what_waits() -> None:
    parts = [
        window(
            partition=p,
            capacity=constant(0.0),
            arrival=constant(10.0),
            backlog=1000,
            warm_up=0.0,
            members=0,
            state="empty",
        )
        for p in range(3)
    ]

    status = group_status(parts)

    assert status.status is Status.STOPPED
    assert status.numbers.lag == 3 * (1000 + 601 * 10)
    assert status.reason.endswith(
        " behind with 21,030 messages: nobody consumes, 30/s more arrive."
    )
    assert status.began_before_window
    parts[1] = changed(parts[1], lambda t, s: Sample(s.at, members=0, state="empty"))
    some = group_status(parts).reason
    assert ": nobody consumes 2 of 3 partitions (1 unknown)" in some
    assert "the lag of" not in some, "it is said once"


def test_empty_group_with_nothing_waiting_is_ok() -> None:
    parts = [window(partition=p, arrival=constant(0.0), members=0, state="empty") for p in range(3)]

    assert group_status(parts).status is Status.OK


def test_group_that_falls_behind_speaks_of_all_its_partitions() -> None:
    parts = [
        window(partition=p, arrival=constant(100.0), capacity=constant(60.0)) for p in range(6)
    ]

    status = group_status(parts)

    assert status.status is Status.FALLING_BEHIND
    assert ", evenly on all 6 partitions" in status.reason
    assert ": 600/s arrive, 360/s consumed" in status.reason


def test_a_group_whose_lag_grows_does_not_keep_up_though_it_is_not_late() -> None:
    def said(capacity: float) -> tuple[Status, str]:
        parts = [window(partition=p, capacity=constant(capacity), warm_up=0.0) for p in range(6)]
        status = group_status(parts)
        return status.status, status.reason.partition(": ")[0]

    assert said(96.0) == (Status.OK, "Not late, but its lag grows")
    assert said(120.0) == (Status.OK, "Keeps up")


@pytest.mark.parametrize("partitions", [1, 6])
def test_a_group_that_stays_later_than_a_short_objective_is_not_said_to_be_in_time(
    partitions: int,
) -> None:
    """Given two minutes of messages that neither grow nor shrink, which five minutes allow."""
    parts = [
        window(partition=number, capacity=constant(100.0), backlog=12_000, warm_up=0.0)
        for number in range(partitions)
    ]

    def said(objective_seconds: float) -> tuple[Status, str]:
        rules = replace(DEFAULT_STATUS_RULES, objective_seconds=objective_seconds)
        status = group_status(parts, rules=rules)
        return status.status, status.reason.partition(": ")[0]

    assert said(300.0) == (Status.OK, "Keeps up")
    assert said(60.0) == (Status.OK, "Later than its objective of 1 min, but keeps up")


def test_one_hot_partition_falls_behind() -> None:
    parts = [window(partition=p, arrival=constant(20.0)) for p in range(11)]
    parts.append(window(partition=11, arrival=constant(400.0), capacity=constant(200.0)))

    status = group_status(parts)

    assert status.status is Status.FALLING_BEHIND
    assert ", on orders-11 (1 of 12): 400/s arrive, 200/s consumed" in status.reason
    assert status.numbers.arrival_per_second == pytest.approx(11 * 20 + 400, rel=0.01)


def test_rates_are_of_the_partitions_that_a_sentence_is_about() -> None:
    fine = [window(partition=p, arrival=constant(20.0)) for p in range(3)]
    one = window(partition=3, arrival=constant(40.0), capacity=constant(80.0), backlog=60_000)

    some = group_status([*fine, one])
    every = group_status([one, replace(one, partition=4)])

    assert some.status is every.status is Status.CATCHING_UP
    assert "; behind on orders-3 (1 of 4): 40/s arrive, 80/s" in some.reason
    assert "; behind evenly on both partitions" in every.reason
    assert ": 80/s arrive, 160/s consumed" in every.reason


def test_the_objective_is_missed_later_than_the_group_falls_behind() -> None:
    """Given 60/s of 100/s from 120 s on, then it is a minute late 150 s after that."""
    rules = replace(DEFAULT_STATUS_RULES, objective_seconds=60.0)
    slower = window(capacity=lambda t: 60.0 if t >= 120 else 200.0)

    status = group_status([slower], rules=rules)

    assert status.status is Status.FALLING_BEHIND
    assert status.over_objective_seconds > 0
    assert status.since is not None and status.since < START + 200
    assert status.over_objective_since == pytest.approx(START + 270, abs=20)
    assert not status.over_objective_before_window
    assert group_status([slower]).over_objective_since is None, "within five minutes"


def test_losing_data_is_worse_than_everything_else() -> None:
    parts = [
        window(partition=0, capacity=constant(0.0), backlog=100),
        changed(
            window(partition=1, capacity=constant(0.0), backlog=9000),
            lambda t, s: s._replace(log_start=(s.committed or 0) + 7),
        ),
    ]

    status = group_status(parts)

    assert status.status is Status.LOSING_DATA
    assert status.numbers.lost_messages == 7
    assert status.reason == (
        "At least 7 messages lost on orders-1 (1 of 2), since the last commit."
    )


@pytest.mark.parametrize(
    ("lost_from", "when"),
    [
        pytest.param((0, 0), "since the last commit", id="before what is looked at"),
        pytest.param((300, 300), "in the last 10 min", id="meanwhile"),
        pytest.param((0, 300), "in the last 10 min or since the last commit", id="both"),
    ],
)
def test_losing_data_says_in_what_time(lost_from: tuple[int, int], when: str) -> None:
    def part(number: int, begin: int) -> PartitionWindow:
        stands = window(partition=number, capacity=constant(0.0), backlog=9000)
        return changed(
            stands, lambda t, s: s._replace(log_start=(s.committed or 0) + 7) if t >= begin else s
        )

    status = group_status([part(number, begin) for number, begin in enumerate(lost_from)])

    assert status.reason.endswith(f"evenly on both partitions, {when}.")


def test_one_unknown_partition_makes_a_healthy_group_unknown_and_its_sum_incomplete() -> None:
    parts = [window(partition=p, commit_every=7.0) for p in range(3)]
    parts[1] = changed(parts[1], lambda t, s: Sample(s.at, members=3, state="stable"))

    status = group_status(parts)

    assert status.status is Status.UNKNOWN
    assert status.unknown_partitions == 1
    assert status.numbers.arrival_per_second is None


def test_unknown_does_not_hide_a_real_problem_and_is_still_said() -> None:
    parts = [window(partition=0, capacity=constant(60.0)), window(partition=1)]
    parts[1] = changed(parts[1], lambda t, s: Sample(s.at, members=3, state="stable"))

    status = group_status(parts)

    assert status.status is Status.FALLING_BEHIND
    assert "the lag of 1 partition is unknown" in status.reason


def test_partition_never_committed_without_traffic_does_not_decide() -> None:
    untouched = changed(
        window(partition=1, arrival=constant(0.0)),
        lambda t, s: s._replace(committed=None, lag=None),
    )

    status = group_status([window(partition=0), untouched])

    assert status.status is Status.OK
    assert status.unknown_partitions == 1
    assert group_status([untouched]).status is Status.UNKNOWN


def test_partition_never_committed_with_traffic_is_unknown() -> None:
    unread = changed(window(partition=1), lambda t, s: s._replace(committed=None, lag=None))

    assert group_status([window(partition=0), unread]).status is Status.UNKNOWN


def test_topic_that_is_no_longer_subscribed_does_not_alarm() -> None:
    left = changed(
        window(topic="old", capacity=constant(0.0), backlog=900),
        lambda t, s: s._replace(assigned=False),
    )

    status = group_status([window(), left])

    assert status.status is Status.OK
    assert not status.partitions[1].subscribed
    assert status.numbers.lag is not None and status.numbers.lag < 900


def test_partition_without_a_member_in_a_subscribed_topic_is_stalled() -> None:
    left = changed(
        window(partition=1, capacity=lambda t: 200.0 if t < 200 else 0.0),
        lambda t, s: s._replace(assigned=t < 200),
    )

    status = group_status([window(), left])

    assert status.status is Status.STALLED
    assert "no member holds it" in status.partitions[1].reason


def test_transactional_pipeline_is_ok() -> None:
    parts = [window(partition=p, markers=1 + p % 2, arrival=constant(2.0 * p)) for p in range(4)]

    assert group_status(parts).status is Status.OK


def test_next_generation_group_is_judged_alike() -> None:
    parts = [
        changed(
            window(partition=p, capacity=constant(60.0)),
            lambda t, s: s._replace(state="reconciling" if t == 300 else "stable"),
        )
        for p in range(2)
    ]

    assert group_status(parts).status is Status.FALLING_BEHIND


def test_deliberate_reset_to_earliest() -> None:
    parts = [
        changed(window(partition=p), lambda t, s: moved(s, 0) if t >= 300 else s) for p in range(3)
    ]

    status = group_status(parts)

    assert status.status is Status.REWOUND
    assert status.reason.endswith("; 3 of 3 partitions were rewound.")


def test_no_partitions_is_unknown() -> None:
    status = group_status([])

    assert status.status is Status.UNKNOWN
    assert status.numbers.lag is None
    assert not status.partitions
