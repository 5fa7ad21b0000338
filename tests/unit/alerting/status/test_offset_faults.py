"""Offsets that were rewound, lost or committed beyond the end, and topics that were recreated."""

from __future__ import annotations

import pytest

from alerting.status.group_status import PartitionWindow, Sample, Status, partition_status
from tests.unit.alerting.status.scenarios import START, changed, constant, moved, window


def test_rewind_tells_from_where_to_where() -> None:
    found = changed(
        window(capacity=constant(150.0), poll=5.0),
        lambda t, s: moved(s, 1_000_000 + int(150 * (t - 450))) if t >= 450 else s,
    )

    status = partition_status(found)

    assert status.status is Status.REWOUND
    assert status.since == START + 450
    assert "to 1,000,000" in status.reason


def test_rewind_that_was_caught_up_is_over() -> None:
    found = changed(
        window(poll=5.0), lambda t, s: moved(s, (s.committed or 0) - 5000) if t == 300 else s
    )

    assert partition_status(found).status is Status.OK


def test_late_commit_of_a_former_owner_is_no_rewind() -> None:
    found = changed(
        window(poll=5.0), lambda t, s: moved(s, (s.committed or 0) - 400) if t == 600 else s
    )

    assert partition_status(found).status is Status.OK


def test_losing_data_counts_what_was_lost() -> None:
    found = changed(
        window(capacity=constant(0.0), backlog=10_000, members=0, state="empty"),
        lambda t, s: s._replace(log_start=(s.committed or 0) + 1204) if t >= 300 else s,
    )

    status = partition_status(found)

    assert status.status is Status.LOSING_DATA
    assert status.numbers.lost_messages == 1204
    assert status.reason.startswith("1,204 messages lost in the last 10 min")
    assert status.since == START + 300


def test_loss_that_the_next_commit_hides_still_counts() -> None:
    def overtaken(t: float, s: Sample) -> Sample:
        return s._replace(log_start=(s.committed or 0) + (290 if t in (300, 400) else -50))

    found = changed(window(capacity=constant(98.0), poll=5.0), overtaken)

    status = partition_status(found)

    assert status.status is Status.LOSING_DATA
    assert status.numbers.lost_messages == 580, "of both times, and not the largest alone"
    assert status.reason == "580 messages lost in the last 10 min, at 2 times."
    assert status.since == START + 300
    assert status.numbers.last_lost_at == START + 400
    assert not status.began_before_window


def test_what_is_lost_step_by_step_adds_up_until_the_group_commits() -> None:
    steps = {300: 100, 310: 250, 320: 400}

    def overtaken(t: float, s: Sample) -> Sample:
        lost = max((steps[at] for at in steps if at <= t), default=-50)
        return s._replace(log_start=(s.committed or 0) + (lost if t < 400 else -50))

    status = partition_status(changed(window(capacity=constant(98.0), poll=5.0), overtaken))

    assert status.numbers.lost_messages == 400, "and not the largest step"
    assert status.reason.endswith("in the last 10 min."), "one time"
    assert status.since == START + 300


def test_what_was_read_in_time_is_not_lost_twice() -> None:
    """It commits what it had fetched of what is deleted; then more is deleted."""

    def offsets(t: float, s: Sample) -> Sample:
        start, committed = (150, 100) if t < 400 else (150, 140) if t < 500 else (200, 140)
        if t < 300:
            start = 100
        return s._replace(log_start=start, committed=committed, log_end=9_000, lag=8_000)

    status = partition_status(changed(window(poll=5.0), offsets))

    assert status.numbers.lost_messages == 60, "not 50 and 50"


def test_a_loss_from_before_the_window_is_since_the_last_commit() -> None:
    found = changed(
        window(capacity=constant(0.0), backlog=10_000, members=0, state="empty"),
        lambda t, s: s._replace(log_start=(s.committed or 0) + 1204),
    )

    status = partition_status(found)

    assert status.reason.startswith("1,204 messages lost since its last commit")
    assert status.began_before_window


def test_recreated_topic_forgets_the_old_log() -> None:
    old = window(capacity=constant(50.0), seconds=300.0, poll=5.0)
    new = window(first_offset=0, seconds=300.0, poll=5.0, warm_up=0.0)
    later = tuple(s._replace(at=s.at + 305) for s in new.samples)

    status = partition_status(
        PartitionWindow(topic="orders", partition=0, samples=old.samples + later)
    )

    assert status.status is Status.OK
    assert status.numbers.arrival_per_second == pytest.approx(100, rel=0.05)


def test_commit_beyond_the_end_is_unknown() -> None:
    found = changed(window(), lambda t, s: s._replace(log_end=20, lag=0) if t == 600 else s)

    status = partition_status(found)

    assert status.status is Status.UNKNOWN
    assert "recreated or truncated" in status.reason


@pytest.mark.parametrize(("beyond", "expected"), [(590.0, Status.UNKNOWN), (600.0, Status.STALLED)])
def test_nobody_commits_into_a_new_log_in_which_messages_arrive(
    beyond: float, expected: Status
) -> None:
    """Given a topic made anew while its only consumer hangs,
    then that is reported once a consumer that works would have committed."""
    old = window(seconds=300.0, poll=5.0)
    committed = old.samples[-1].committed
    new = window(first_offset=0, seconds=beyond, poll=5.0, warm_up=0.0)
    later = tuple(s._replace(at=s.at + 305, committed=committed, lag=0) for s in new.samples)
    quiet = tuple(s._replace(log_end=later[0].log_end) for s in later)

    status = partition_status(
        PartitionWindow(topic="orders", partition=0, samples=old.samples + later)
    )
    of_quiet = partition_status(
        PartitionWindow(topic="orders", partition=0, samples=old.samples + quiet)
    )

    assert status.status is expected
    assert "recreated or truncated" in status.reason
    assert of_quiet.status is Status.UNKNOWN


def test_what_was_committed_in_the_old_log_is_no_past_of_the_new_one() -> None:
    """Given a consumer that comes to a new log in which much waits, then it catches up."""
    old = window(seconds=300.0, poll=5.0)
    committed = old.samples[-1].committed
    new = window(
        first_offset=0,
        seconds=1200.0,
        poll=5.0,
        warm_up=0.0,
        capacity=lambda t: 400.0 if t > 900 else 0.0,
    )
    later = tuple(
        s._replace(at=s.at + 305, committed=committed, lag=0)
        if s.at < START + 900
        else s._replace(at=s.at + 305)
        for s in new.samples
    )
    seen = tuple(s for s in later if s.at < START + 305 + 960)

    status = partition_status(
        PartitionWindow(topic="orders", partition=0, samples=old.samples + seen)
    )

    assert status.status is Status.CATCHING_UP
