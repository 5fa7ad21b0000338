"""How members left, and how long they are waited for."""

from __future__ import annotations

from alerting.evaluate.observations import group_observations
from alerting.inputs.windows import GroupKey
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.lifecycle import Alerts, active, advance
from alerting.rules.model import evaluate
from alerting.status.group_status import (
    PartitionWindow,
    Sample,
    Status,
    group_status,
    partition_status,
)
from tests.unit.alerting.status.scenarios import START, polled


def gone(
    seconds: int, *, before: dict[int, int], away: int = 0, unseen: tuple[int, ...] = ()
) -> Status:
    """Return the status of a group without members for some seconds.

    Args:
        seconds: How long since the last one left, at 3,600 s.
        before: From when on how many members there were.
        away: How long an earlier deploy took, at 1,200 s.
        unseen: Polls that are missing.
    """
    samples, committed = [], 0
    for t in range(0, 3600 + seconds + 1, 15):
        members = [count for since, count in before.items() if since <= t][-1]
        if t >= 3600 or 1200 <= t < 1200 + away:
            members = 0
        log_end = 100 * t
        if members:
            committed = min(log_end, committed + 3_000)
        if t not in unseen:
            samples.append(polled(t, log_end, committed, members))
    return partition_status(
        PartitionWindow(topic="orders", partition=0, samples=tuple(samples))
    ).status


def test_members_that_left_one_by_one_are_waited_for_five_minutes() -> None:
    at_once, in_turn = {0: 3}, {0: 3, 3480: 2, 3540: 1}

    assert gone(60, before=at_once) is Status.STOPPED
    assert gone(285, before=in_turn) is Status.NO_MEMBERS
    assert gone(300, before=in_turn) is Status.STOPPED


def test_consumers_that_were_stopped_together_did_not_leave_one_by_one() -> None:
    """Some need seconds longer than others: the poll between sees a part of them."""
    assert gone(60, before={0: 3, 3585: 2}) is Status.STOPPED
    assert gone(60, before={0: 3, 3570: 2}) is Status.NO_MEMBERS


def test_how_members_left_while_nobody_looked_is_not_known() -> None:
    blind = (3540, 3555, 3570, 3585)

    assert gone(60, before={0: 3}, unseen=blind) is Status.STOPPED
    assert gone(60, before={0: 3, 3525: 2}, unseen=blind) is Status.STOPPED
    assert gone(60, before={0: 3, 3480: 2, 3525: 1}, unseen=blind) is Status.NO_MEMBERS


def told(later: dict[int, int | None]) -> list[float]:
    """Return when a stop is told of three members, by polls after 600 s; None: could not be read.

    Until then they read everything, every five seconds.
    """
    samples = [polled(t, 100 * t, 100 * t, 3) for t in range(0, 601, 5)]
    alerts: Alerts = {}
    fired = []
    for t, members in later.items():
        committed = 100 * t if members else 60_000
        unread = Sample(START + t)
        samples.append(unread if members is None else polled(t, 100 * t, committed, members))
        found = group_status([PartitionWindow(topic="t", partition=0, samples=tuple(samples))])
        seen = group_observations({GroupKey("c", "g"): found}, now=START + t)
        alerts = advance(alerts, evaluate(DEFAULT_ALERT_RULES, seen), {}, START + t)
        fired += [t for one in active(alerts.values()) if one.rule == "GroupStopped"]
    return fired


def test_a_stop_is_told_though_polls_fail_before_and_meanwhile() -> None:
    empty = {670: 0, 675: 0, 705: 0, 730: 0, 740: 0, 770: 0}

    assert told(dict(sorted({650: None, **empty, 695: None, 715: None}.items()))) == [770]


def test_a_poll_that_fails_tells_of_no_stop() -> None:
    assert told({605: None, 610: 3, 650: None, 750: None, 760: 3}) == []


def test_a_consumer_that_was_counted_twice_as_it_started_again_did_not_leave_one_by_one() -> None:
    assert gone(60, before={0: 1, 3480: 2, 3510: 1}) is Status.STOPPED
    assert gone(60, before={0: 3, 3420: 2, 3450: 4, 3480: 3}) is Status.STOPPED


def test_who_came_back_and_caught_up_may_be_away_as_long_again() -> None:
    assert gone(180, before={0: 3}) is Status.STOPPED
    assert gone(180, before={0: 3}, away=150) is Status.NO_MEMBERS
    assert gone(300, before={0: 3}, away=150) is Status.STOPPED
