from __future__ import annotations

from dataclasses import replace

from alerting.status.group_status import (
    GroupStatus,
    PartitionWindow,
    Sample,
    Status,
    group_status,
    partition_status,
)
from alerting.status.model import FINE
from tests.unit.alerting.status.scenarios import START, changed, moved, polled, window


def test_a_group_never_seen_to_run_is_waited_for_some_hours_not_for_a_day() -> None:
    """It is first seen without members and with nothing waiting; then lag builds up."""
    samples = tuple(
        Sample(
            START + 300.0 * index,
            1000,
            0,
            1000 + 50 * index,
            50 * index,
            assigned=False,
            members=0,
            state="empty",
        )
        for index in range(90)
    )

    def status_after(hours: float) -> Status:
        seen = tuple(sample for sample in samples if sample.at - START <= hours * 3600)
        return partition_status(PartitionWindow(topic="orders", partition=0, samples=seen)).status

    assert status_after(5.5) is Status.OK
    assert status_after(6.5) is Status.STOPPED


def test_a_group_that_stopped_moments_before_it_was_first_seen_is_no_job() -> None:
    """Less waits at first sight than arrives from one poll to the next, but something does."""
    samples = tuple(
        Sample(START + at, 240, 0, 269 + 10 * at, 29 + 10 * at, None, False, 0, "empty")
        for at in range(0, 125, 5)
    )
    windows = [
        PartitionWindow(topic="shipments", partition=number, samples=samples) for number in range(3)
    ]

    assert partition_status(windows[0]).status is Status.STOPPED
    assert group_status(windows).status is Status.STOPPED


def test_who_left_while_messages_arrive_is_not_said_to_keep_up() -> None:
    """Its rates of the last minutes still look fine, and a restart looks the same."""

    def after(seconds: int) -> GroupStatus:
        samples = tuple(
            polled(t, 100 * t, 100 * min(t, 595), 3 if t < 600 else 0)
            for t in range(0, 600 + seconds + 1, 5)
        )
        still = tuple(
            polled(t, 100, 100, 3 if t < 600 else 0) for t in range(0, 600 + seconds + 1, 5)
        )
        return group_status(
            [
                PartitionWindow(topic="orders", partition=0, samples=samples),
                PartitionWindow(topic="orders", partition=1, samples=still),
            ]
        )

    now, later, at_last = after(0), after(15), after(30)

    assert (now.status, later.status) == (Status.NO_MEMBERS, Status.NO_MEMBERS)
    assert at_last.status is Status.STOPPED
    assert now.since == later.since == at_last.since == START + 600
    assert now.reason == "No members now: 5 s behind with 500 messages, 100/s more arrive."
    assert later.reason == (
        "No members for 15 s: 20 s behind with 2,000 messages, 100/s more arrive."
    )
    assert later.numbers.consumption_per_second == 0.0
    assert later.numbers.grows
    assert later.numbers.drain_seconds is None


def test_what_was_read_to_the_end_needs_no_members() -> None:
    samples = tuple(polled(t, 100, 100, 3 if t < 600 else 0) for t in range(0, 621, 5))
    found = group_status([PartitionWindow(topic="orders", partition=0, samples=samples)])

    assert found.status is Status.OK


def test_a_job_between_runs_is_not_said_to_keep_up() -> None:
    samples = tuple(
        Sample(START + at, 240, 0, 240 + at, at, None, False, 0, "empty")
        for at in range(0, 600, 15)
    )
    found = group_status(
        [PartitionWindow(topic="orders", partition=number, samples=samples) for number in range(3)]
    )
    assert found.status is Status.OK
    assert found.reason.startswith("Nobody consumes at the moment: ")


def test_members_that_come_and_go_without_a_commit_are_no_restart() -> None:
    def status_after(seconds: int) -> Status:
        samples = tuple(
            Sample(
                START + at,
                1000 + 10 * min(at, 300),
                0,
                1005 + 10 * at,
                5 + 10 * max(0, at - 300),
                assigned=is_there,
                members=int(is_there),
                state="stable" if is_there else "empty",
            )
            for at in range(0, seconds + 1, 15)
            for is_there in [at <= 300 or at // 30 % 2 == 0]
        )
        return partition_status(
            PartitionWindow(topic="orders", partition=0, samples=samples)
        ).status

    assert status_after(345) in FINE
    assert status_after(600) is Status.STALLED
    assert status_after(615) is Status.STALLED


def leaving(**more: object) -> PartitionWindow:
    """Consumers that leave 600 s before the end of an hour."""
    found = window(
        seconds=3600.0,
        capacity=lambda t: 200.0 if t < 3000 else 0.0,
        **more,  # type: ignore[arg-type]
    )
    return replace(
        found,
        samples=tuple(
            sample
            if sample.at < START + 3000
            else sample._replace(members=0, assigned=False, state="empty")
            for sample in found.samples
        ),
    )


def at(found: PartitionWindow, second: float, **values: object) -> PartitionWindow:
    """Change the sample at a second."""
    return replace(
        found,
        samples=tuple(
            sample._replace(**values) if sample.at == START + second else sample  # type: ignore[arg-type]
            for sample in found.samples
        ),
    )


def test_a_stop_is_told_though_the_last_commit_is_seen_after_it() -> None:
    stopped = leaving()
    last = next(s for s in stopped.samples if s.at == START + 3000)
    assert last.committed is not None and last.lag is not None

    late = at(stopped, 3000, committed=last.committed - 500, lag=last.lag + 500)
    unread = at(stopped, 3000, committed=None, lag=None)

    for found in (stopped, late, unread):
        assert partition_status(found).status is Status.STOPPED


def test_a_stop_stays_one_while_members_cannot_be_read() -> None:
    stopped = leaving()
    for second in (3240, 3405, 3600):
        stopped = at(stopped, second, members=None, state=None, assigned=None)

    for end in range(3150, 3601, 15):
        seen = replace(stopped, samples=tuple(s for s in stopped.samples if s.at <= START + end))
        assert partition_status(seen).status is Status.STOPPED, end


def test_offsets_moved_while_nobody_consumes_do_not_end_a_stop() -> None:
    stopped = leaving()
    moved_on = replace(
        stopped,
        samples=tuple(
            s._replace(committed=s.committed + 10_000, lag=s.lag - 10_000)
            if s.at >= START + 3300 and s.committed is not None and s.lag is not None
            else s
            for s in stopped.samples
        ),
    )

    assert partition_status(moved_on).status is Status.STOPPED


def test_a_backlog_that_shrinks_slowly_is_being_caught_up_with() -> None:
    slow = window(
        seconds=3600.0,
        backlog=100_000,
        warm_up=0.0,
        capacity=lambda t: 103.0 + (40.0 if (t // 150) % 2 else -40.0),
    )

    assert partition_status(slow).status in (Status.CATCHING_UP, Status.OK)


def test_markers_that_lay_idle_do_not_make_new_messages_old() -> None:
    found = window(
        seconds=3600.0,
        markers=1,
        commit_every=60.0,
        arrival=lambda t: 100.0 if t < 600 or t > 3590 else 0.0,
        capacity=lambda t: 200.0 if t < 3590 else 0.0,
    )

    status = partition_status(found)

    assert status.numbers.lag and status.numbers.lag > 100
    assert status.numbers.behind_seconds is not None
    assert status.numbers.behind_seconds < 60
    assert status.status is Status.OK


def test_who_comes_back_catches_up_since_then_and_not_since_it_stopped() -> None:
    """Given consumers that were away for three minutes and are back, then that is two dates."""
    samples = [
        polled(t, 100_000 + 100 * t, 100_000 + 100 * min(t, 600), 0 if 615 <= t < 795 else 3)
        for t in range(0, 811, 15)
    ]

    def seen_until(end: int) -> PartitionWindow:
        seen = tuple(one for one in samples if one.at <= START + end)
        return PartitionWindow(topic="orders", partition=0, samples=seen)

    stopped, back = group_status([seen_until(780)]), group_status([seen_until(810)])
    assert (stopped.status, back.status) == (Status.STOPPED, Status.CATCHING_UP)
    assert stopped.since is not None
    assert stopped.since <= START + 630
    assert back.since == START + 795


def comes_and_goes(seconds: int, *, reads: float) -> PartitionWindow:
    """A minute without members, half a minute in which a share of what came is read."""
    samples, committed = [], 100_000
    for t in range(0, seconds + 1, 15):
        log_end = 100_000 + 100 * t
        is_there = t < 600 or (t - 600) % 90 >= 60
        if t < 600:
            committed = log_end - 50
        elif is_there:
            committed += min(int(4_500 * reads), log_end - committed)
        samples.append(polled(t, log_end, committed, 3 if is_there else 0))
    return PartitionWindow(topic="orders", partition=0, samples=tuple(samples))


def test_a_crash_loop_that_commits_a_little_is_falling_behind_in_each_of_its_rounds() -> None:
    reported = [partition_status(comes_and_goes(end, reads=0.4)) for end in range(2400, 3600, 15)]

    assert {status.status for status in reported} == {Status.FALLING_BEHIND}
    assert all(status.is_lasting for status in reported)


def test_who_comes_back_again_and_again_and_reads_everything_is_not_falling_behind() -> None:
    for end in range(2400, 3600, 15):
        status = partition_status(comes_and_goes(end, reads=1.6))
        assert status.status is not Status.FALLING_BEHIND, status.reason


def test_a_crash_loop_that_ends_in_no_members_has_stopped() -> None:
    found = comes_and_goes(3600, reads=0.4)
    frozen = next(s.committed for s in found.samples if s.at >= START + 3200)
    assert frozen is not None
    gone = changed(
        found,
        lambda t, s: (
            moved(s._replace(members=0, state="empty", assigned=False), frozen) if t >= 3200 else s
        ),
    )

    assert partition_status(gone).status is Status.STOPPED


def test_a_job_of_many_runs_is_waited_for_three_of_its_absences() -> None:
    samples, committed = [], 0
    for t in range(0, 5 * 3600 + 1, 60):
        log_end = 10 * t
        is_there = t <= 2 * 3600 and t % 1200 >= 960
        if is_there:
            committed = log_end
        samples.append(polled(t, log_end, committed, 1 if is_there else 0))

    def after(seconds: int) -> Status:
        seen = tuple(s for s in samples if s.at <= START + 2 * 3600 + seconds)
        return partition_status(PartitionWindow(topic="orders", partition=0, samples=seen)).status

    assert after(1800) is Status.OK
    assert after(2700) is Status.OK
    assert after(3000) is Status.STOPPED
    assert after(2 * 3600) is Status.STOPPED


def test_a_pause_that_was_made_good_is_known_the_next_time() -> None:
    def status_of(first_pause: int) -> Status:
        pauses = [(1200, 1200 + first_pause), (1800, 2000)]
        return partition_status(
            window(
                seconds=1920.0,
                capacity=lambda t: 0.0 if any(a <= t < b for a, b in pauses) else 300.0,
            )
        ).status

    assert status_of(0) is Status.STALLED
    assert status_of(120) is not Status.STALLED
