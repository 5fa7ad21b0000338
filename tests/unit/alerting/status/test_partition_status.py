"""The status of a partition, and of a group of partitions, from its samples."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.inputs.windows import downsampled
from alerting.status.group_status import (
    PartitionWindow,
    Peers,
    Sample,
    Status,
    partition_status,
)
from tests.unit.alerting.status.scenarios import START, changed, constant, window, without


def burst(second: float) -> float:
    return 900.0 if second % 120 < 10 else 20.0


@pytest.mark.parametrize("poll", [5.0, 15.0, 30.0])
@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(dict(), Status.OK, id="healthy"),
        pytest.param(dict(arrival=constant(0.0)), Status.OK, id="idle"),
        pytest.param(
            dict(arrival=constant(0.0), backlog=0, members=0, state="empty"),
            Status.OK,
            id="empty group with nothing waiting",
        ),
        pytest.param(dict(arrival=burst), Status.OK, id="bursts that are worked off"),
        pytest.param(dict(commit_every=60.0), Status.OK, id="commits each minute"),
        pytest.param(dict(commit_every=150.0), Status.OK, id="commits in batches of 150 s"),
        pytest.param(
            dict(arrival=constant(1 / 60), commit_every=5.0), Status.OK, id="a message a minute"
        ),
        pytest.param(dict(markers=1), Status.OK, id="transaction markers under load"),
        pytest.param(
            dict(arrival=constant(0.0), markers=1), Status.OK, id="transaction marker, idle"
        ),
        pytest.param(
            dict(arrival=constant(0.0), markers=2, members=0, state="empty"),
            Status.OK,
            id="transaction markers, idle, nobody",
        ),
        pytest.param(
            dict(capacity=constant(90.0), warm_up=600.0), Status.FALLING_BEHIND, id="slow growth"
        ),
        pytest.param(
            dict(arrival=lambda t: 100.0 + max(0.0, t), capacity=constant(300.0)),
            Status.FALLING_BEHIND,
            id="peak overtakes capacity",
        ),
        pytest.param(
            dict(backlog=200_000, capacity=constant(220.0), warm_up=0.0),
            Status.CATCHING_UP,
            id="catches up after a deploy",
        ),
        pytest.param(
            dict(
                arrival=lambda t: 500.0 if t < 200 else 100.0,
                capacity=constant(300.0),
            ),
            Status.CATCHING_UP,
            id="peak that recovers",
        ),
        pytest.param(
            dict(capacity=lambda t: 200.0 if t < 400 else 0.0),
            Status.STALLED,
            id="stuck since 200 s",
        ),
        pytest.param(
            dict(capacity=constant(0.0), backlog=500, seconds=2000.0),
            Status.STALLED,
            id="stuck all the time",
        ),
        pytest.param(
            dict(arrival=constant(0.0), capacity=constant(0.0), backlog=500, seconds=2000.0),
            Status.STALLED,
            id="stuck, nothing arrives",
        ),
        pytest.param(
            dict(capacity=constant(0.0), backlog=500, members=0, state="empty"),
            Status.STOPPED,
            id="stopped",
        ),
        pytest.param(
            dict(
                arrival=constant(0.0),
                capacity=constant(0.0),
                backlog=500,
                members=None,
                state="empty",
            ),
            Status.STOPPED,
            id="stopped, only the state is known",
        ),
        pytest.param(
            dict(arrival=constant(100.0), members=0, state="empty"),
            Status.OK,
            id="assigns its partitions itself, so has no members",
        ),
        pytest.param(
            dict(backlog=400_000, capacity=constant(100.0)),
            Status.FALLING_BEHIND,
            id="an hour behind and no nearer",
        ),
        pytest.param(
            dict(capacity=constant(0.0), backlog=500, members=None, state=None, seconds=2000.0),
            Status.STALLED,
            id="frozen, members unreadable",
        ),
    ],
)
def test_status_at_any_poll_interval(
    found: dict[str, object], expected: Status, poll: float
) -> None:
    status = partition_status(window(poll=poll, **found))  # type: ignore[arg-type]

    assert status.status is expected, status.reason


def wave(second: float) -> float:
    return 500.0 if 200 <= second < 500 else 100.0


@pytest.mark.parametrize(
    ("seconds", "more", "expected"),
    [
        pytest.param(495, {}, Status.FALLING_BEHIND, id="it grows"),
        pytest.param(540, {}, Status.FALLING_BEHIND, id="shrinks for less than a minute"),
        pytest.param(570, {}, Status.CATCHING_UP, id="shrinks for a minute, at each poll"),
        pytest.param(
            570, {"commit_every": 60.0}, Status.FALLING_BEHIND, id="a commit a minute is a step"
        ),
        pytest.param(
            570,
            {"arrival": lambda t: wave(t) + (300.0 if 540 <= t < 555 else 0.0)},
            Status.FALLING_BEHIND,
            id="grew once in that minute",
        ),
        pytest.param(
            570,
            {"arrival": lambda t: 280.0 if t >= 500 else wave(t)},
            Status.FALLING_BEHIND,
            id="hardly more is consumed than arrives",
        ),
    ],
)
def test_a_wave_that_is_worked_off_catches_up_before_the_trend_of_minutes_says_so(
    seconds: float, more: dict[str, object], expected: Status
) -> None:
    given: dict[str, object] = {"arrival": wave, "capacity": constant(300.0), **more}
    status = partition_status(window(seconds=seconds, **given))  # type: ignore[arg-type]

    assert status.status is expected, status.reason
    if expected is Status.CATCHING_UP:
        assert status.numbers.drain_seconds is not None
        assert "100/s arrive, 300/s consumed" in status.reason.replace("\u202f", "")


def test_falling_behind_says_both_rates_and_since_when() -> None:
    status = partition_status(
        window(
            arrival=lambda t: 1240.0 if t > 200 else 500.0,
            capacity=constant(900.0),
            poll=5.0,
        )
    )

    assert status.status is Status.FALLING_BEHIND
    assert "1,240/s arrive, 900/s consumed" in status.reason
    assert status.since == pytest.approx(START + 200, abs=15)
    assert not status.began_before_window
    assert status.numbers.growth_per_second == pytest.approx(340, rel=0.05)


def test_catching_up_says_when_it_will_be_done() -> None:
    status = partition_status(
        window(backlog=200_000, capacity=constant(220.0), warm_up=0.0, poll=5.0)
    )

    assert status.numbers.drain_seconds == pytest.approx((200_000 - 600 * 120) / 120, rel=0.05)
    assert "drained in 17 min" in status.reason


def test_stalled_tells_since_when_and_for_how_long() -> None:
    status = partition_status(window(capacity=lambda t: 200.0 if t < 450 else 0.0, poll=5.0))

    assert status.status is Status.STALLED
    assert status.since == pytest.approx(START + 450, abs=6)
    assert status.numbers.without_commit_seconds == pytest.approx(150, abs=6)
    assert status.reason.startswith("No commit with ")
    assert status.reason.endswith(" messages waiting, while messages keep arriving.")


def test_stalled_is_told_within_a_minute_where_commits_were_regular() -> None:
    found = window(capacity=lambda t: 200.0 if t < 540 else 0.0, poll=5.0)

    assert partition_status(found).status is Status.STALLED
    assert partition_status(without(found, lambda t: t > 560)).status is Status.OK


def test_stopped_since_the_members_left() -> None:
    found = changed(
        window(capacity=lambda t: 200.0 if t < 300 else 0.0),
        lambda t, s: s._replace(members=0, state="empty", assigned=False) if t >= 300 else s,
    )

    status = partition_status(found)

    assert status.status is Status.STOPPED
    assert status.since == START + 300
    assert not status.began_before_window
    assert "nobody consumes" in status.reason
    assert "100/s more arrive" in status.reason


@pytest.mark.parametrize(
    ("members", "status"), [(0, Status.STOPPED), (3, Status.STALLED)], ids=["left", "stands"]
)
def test_what_has_just_come_to_a_stand_consumes_nothing(members: int, status: Status) -> None:
    found = changed(
        window(capacity=lambda t: 200.0 if t < 450 else 0.0, poll=5.0),
        lambda t, s: s._replace(members=members, assigned=members > 0) if t >= 450 else s,
    )

    decided = partition_status(found)

    assert decided.status is status
    assert decided.numbers.consumption_per_second == 0.0, "whatever the minutes before say"
    assert decided.numbers.arrival_per_second == pytest.approx(100, rel=0.05)
    assert decided.numbers.growth_per_second == decided.numbers.arrival_per_second
    assert decided.numbers.drain_seconds is None


def test_short_absence_of_members_is_a_restart() -> None:
    found = changed(
        window(capacity=lambda t: 200.0 if t < 585 else 0.0, poll=5.0),
        lambda t, s: s._replace(members=0, state="empty", assigned=False) if t >= 585 else s,
    )

    assert partition_status(found).status is Status.NO_MEMBERS


@pytest.mark.parametrize("state", ["preparing_rebalance", "PreparingRebalance", "assigning"])
def test_rebalance_of_half_a_minute_is_no_alarm(state: str) -> None:
    found = changed(
        window(capacity=lambda t: 200.0 if t < 565 else 0.0, poll=5.0),
        lambda t, s: s._replace(state=state, assigned=False) if t >= 565 else s,
    )

    assert partition_status(found).status is Status.OK


def test_rebalance_without_end_is_a_stall() -> None:
    found = changed(
        window(capacity=lambda t: 200.0 if t < 200 else 0.0),
        lambda t, s: s._replace(state="preparing_rebalance", assigned=False) if t >= 200 else s,
    )

    assert partition_status(found).status is Status.STALLED


def test_first_sight_of_a_lagging_group_is_unknown_not_ok() -> None:
    found = window(backlog=50_000, capacity=constant(100.0), seconds=15.0, warm_up=0.0)

    status = partition_status(found)

    assert status.status is Status.UNKNOWN
    assert "a direction takes 1 min" in status.reason


def test_first_sight_at_the_end_is_ok() -> None:
    found = window(seconds=0.0, commit_every=1.0, markers=1)

    assert len(found.samples) == 1
    assert partition_status(found).status is Status.OK


def test_first_sight_without_members_waits_before_it_calls_it_stopped() -> None:
    kwargs = dict(capacity=constant(0.0), backlog=5_000, members=0, state="empty", warm_up=0.0)

    assert partition_status(window(seconds=0.0, **kwargs)).status is Status.UNKNOWN  # type: ignore[arg-type]
    assert partition_status(window(seconds=45.0, **kwargs)).status is Status.STOPPED  # type: ignore[arg-type]


def test_lag_of_one_that_was_zero_before_is_no_marker() -> None:
    found = window(
        arrival=lambda t: 1.0 if t in (20, 100) else 0.0,
        capacity=lambda t: float(t < 50),
        seconds=900.0,
    )

    status = partition_status(found)

    assert status.numbers.lag == 1
    assert status.status is Status.STALLED


def test_a_marker_that_retention_deletes_is_no_lost_message() -> None:
    found = changed(
        window(arrival=constant(0.0), markers=1), lambda _, s: s._replace(log_start=s.log_end)
    )

    assert partition_status(found).status is Status.OK


def test_a_wait_is_counted_although_its_samples_are_downsampled() -> None:
    found = window(
        commit_every=400.0, capacity=lambda t: 200.0 if t < 2500 else 0.0, seconds=5500.0
    )

    status = partition_status(replace(found, samples=downsampled(found.samples)))

    assert status.status is Status.STALLED
    assert status.since is not None
    assert status.since < START + 2600


def test_a_group_of_which_no_two_commits_were_seen_does_not_fall_behind() -> None:
    found = window(capacity=constant(0.0), seconds=1200.0)

    assert partition_status(found).status is Status.UNKNOWN


def test_what_was_left_for_ever_at_the_end_is_no_stall() -> None:
    found = window(arrival=constant(0.0), capacity=constant(0.0), backlog=5, seconds=3000.0)

    assert partition_status(found).status is Status.OK


def test_pauses_of_long_ago_are_known_though_their_samples_are_downsampled() -> None:
    """Given a group that pauses for four minutes every fifteen, with the samples that are kept of
    five hours, then another of these pauses is none to tell, and a longer one is."""

    def capacity(at: float) -> float:
        return 300.0 if at % 900 >= 240 and at < 18_000 else 0.0

    samples: tuple[Sample, ...] = ()
    statuses = {}
    for sample in window(capacity=capacity, seconds=18_600.0).samples:
        samples = downsampled((*samples, sample))
        if sample.at >= START + 17_100:
            of_now = partition_status(PartitionWindow(topic="orders", partition=0, samples=samples))
            statuses[sample.at - START] = of_now.status

    assert Status.STALLED not in {one for at, one in statuses.items() if at <= 18_240}
    assert statuses[18_600.0] is Status.STALLED


def test_peers_teach_the_commit_period() -> None:
    found = window(capacity=constant(0.0), backlog=500, seconds=45.0, warm_up=0.0)

    unlearnt = partition_status(found)
    taught = partition_status(found, peers=Peers(advanced_at=START + 40, commit_period_seconds=5.0))

    assert unlearnt.status is Status.UNKNOWN
    assert taught.status is Status.STALLED
    assert "other partitions of the group advance" in taught.reason
