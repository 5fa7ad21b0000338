"""Data that retention deletes before it is read."""

from __future__ import annotations

from dataclasses import replace

import pytest

from alerting.checks.retention_deadline import Retention
from alerting.status.group_status import Status
from scaling.advice.model import AdviceKind, AdviceSeverity
from scaling.advisers.impact import consequence
from scaling.advisers.retention import group_deadline
from tests.unit.alerting.status.scenarios import changed, constant, window
from tests.unit.scaling.advisers.advising import advice_on, evidence, facts, kinds, six


def test_close_to_retention_overrides_patience() -> None:
    kept = Retention(seconds=1200.0)
    late = facts(
        six(arrival=constant(100.0), capacity=constant(60.0), backlog=60_000, warm_up=0.0),
        retention=kept,
    )

    found = advice_on(late)

    assert late.status.status is Status.FALLING_BEHIND
    assert kinds(found) == [AdviceKind.RETENTION_DEADLINE, AdviceKind.ADD_CONSUMERS]
    assert all(one.severity is AdviceSeverity.ACT_NOW for one in found)
    # 60,000 + 600 s x 40/s wait, 840 s old at 100/s; the age grows by 1 - 60/100.
    assert evidence(found[0])["time until retention"] == pytest.approx((1200 - 840) / 0.4, rel=0.02)
    assert found[0].reason.startswith("Keep messages of orders for 1 d instead of 20 min. ")
    change = found[0].artefacts[0].text
    assert change.endswith("--entity-name orders --add-config retention.ms=86400000")


@pytest.mark.parametrize(
    ("objective_hours", "is_said"), [(1, True), (500, False)], ids=["soon too", "weeks later"]
)
def test_what_comes_much_later_than_the_loss_is_not_said_beside_it(
    objective_hours: float, is_said: bool
) -> None:
    late = facts(
        six(arrival=constant(100.0), capacity=constant(60.0), backlog=60_000, warm_up=0.0),
        retention=Retention(seconds=1200.0),
        objective_seconds=objective_hours * 3600.0,
    )

    said = consequence(late, advice_on(late)[0]) or ""

    assert "etention deletes unread messages" in said
    assert ("objective" in said) is is_said


def test_without_a_change_a_group_that_loses_data_may_lose_more() -> None:
    """Given 60/s of 100/s: the objective would be missed in hours, and the loss is there now."""
    parts = six(arrival=constant(100.0), capacity=constant(60.0), warm_up=0.0)
    losing = facts(
        [changed(one, lambda t, s: s._replace(log_start=(s.committed or 0) + 9)) for one in parts],
        objective_seconds=4 * 3600.0,
    )

    advice = advice_on(losing)[0]

    assert advice.kind is AdviceKind.DATA_LOST
    assert advice.consequence == "Retention may delete more unread messages, at the present rates."


def test_what_a_group_that_loses_data_is_advised_cannot_wait() -> None:
    """Given a status that lasts longer than the loss that led to it, advice is as urgent."""
    late = facts(
        six(arrival=constant(100.0), capacity=constant(60.0), warm_up=0.0), objective_seconds=1e6
    )
    assert {one.severity for one in advice_on(late)} == {AdviceSeverity.WATCH}
    losing = replace(late, status=replace(late.status, status=Status.LOSING_DATA))
    assert {one.severity for one in advice_on(losing)} == {AdviceSeverity.ACT_NOW}


def test_half_used_retention_is_watched_though_the_group_keeps_up() -> None:
    steady = facts(
        six(arrival=constant(100.0), capacity=constant(100.0), backlog=20_000, warm_up=0.0),
        retention=Retention(seconds=300.0),
    )

    [advice] = advice_on(steady)

    assert steady.status.status is Status.OK
    assert advice.kind is AdviceKind.RETENTION_DEADLINE
    assert advice.severity is AdviceSeverity.WATCH
    assert "no deadline" in (advice.unknown_reason or "")


def test_dead_letters_that_are_redriven_as_fast_as_they_come_are_near_no_loss() -> None:
    steady = facts(
        six(arrival=constant(100.0), capacity=constant(100.0), backlog=20_000, warm_up=0.0),
        retention=Retention(seconds=220.0),
    )
    dead = {name: replace(one, kind="dead letter") for name, one in steady.topics.items()}
    redriven = replace(steady, topics=dead)
    assert kinds(advice_on(steady)) == [AdviceKind.RETENTION_DEADLINE]
    assert kinds(advice_on(redriven)) == [AdviceKind.KEEP]
    assert group_deadline(redriven) is None


def test_dead_letters_that_retention_reaches_first_are_told_of() -> None:
    late = facts(
        six(arrival=constant(100.0), capacity=constant(60.0), backlog=60_000, warm_up=0.0),
        retention=Retention(seconds=1200.0),
    )
    dead = {name: replace(one, kind="dead letter") for name, one in late.topics.items()}
    assert kinds(advice_on(replace(late, topics=dead)))[0] is AdviceKind.RETENTION_DEADLINE


def test_lost_data_is_reported_and_evaluation_goes_on() -> None:
    parts = six(members=0, state="empty", capacity=constant(0.0), backlog=5000)
    parts[2] = changed(parts[2], lambda t, s: s._replace(log_start=(s.committed or 0) + 70))
    losing = facts(parts, holders=lambda p: None)

    found = advice_on(losing)

    assert losing.status.status is Status.LOSING_DATA
    assert kinds(found)[0] is AdviceKind.DATA_LOST
    assert AdviceKind.START_CONSUMERS in kinds(found)
    assert evidence(found[0])["lost of late"] == 70
    assert evidence(found[0])["topics"] == "orders"
    assert found[0].reason.startswith(
        "Keep messages of orders for 8 d instead of 7 d. In the last ten minutes, or since its "
        "last commit"
    )


def test_a_group_that_loses_data_is_advised_to_keep_messages_though_no_loss_was_read() -> None:
    """As its alert says, whose memory is longer."""
    late = facts(six(arrival=constant(100.0), capacity=constant(60.0), warm_up=0.0))
    losing = replace(late, status=replace(late.status, status=Status.LOSING_DATA))

    found = advice_on(losing)

    assert kinds(found)[0] is AdviceKind.DATA_LOST
    assert evidence(found[0])["lost of late"] is None
    assert evidence(found[0])["topics"] == "orders"


def test_the_text_and_the_command_keep_messages_for_as_long() -> None:
    parts = six(members=0, state="empty", capacity=constant(0.0), backlog=5000)
    parts[2] = changed(parts[2], lambda t, s: s._replace(log_start=(s.committed or 0) + 70))

    first = advice_on(facts(parts, holders=lambda p: None, retention=Retention(seconds=60.0)))[0]

    assert first.reason.startswith("Keep messages of orders for 1 d instead of 1 min. ")
    assert first.artefacts[0].text.endswith("retention.ms=86400000")


def test_how_long_to_keep_messages_is_not_said_where_the_present_limit_is_unknown() -> None:
    unread = Retention(unknown_reason="the topic's settings were not read")
    parts = six(members=0, state="empty", capacity=constant(0.0), backlog=5000)
    parts[2] = changed(parts[2], lambda t, s: s._replace(log_start=(s.committed or 0) + 70))
    found = advice_on(facts(parts, holders=lambda p: None, retention=unread))
    assert found[0].kind is AdviceKind.DATA_LOST
    assert found[0].reason.startswith("In the last ten minutes")


def test_poison_partition_that_already_loses_data_is_still_blocked() -> None:
    parts = six()
    parts[4] = changed(
        window(partition=4, poll=5.0, capacity=lambda t: 200.0 if t < 200 else 0.0),
        lambda t, s: s._replace(log_start=(s.committed or 0) + 7) if t > 400 else s,
    )

    blocked = [AdviceKind.DATA_LOST, AdviceKind.BLOCKED_PARTITION]
    assert kinds(advice_on(facts(parts))) == blocked
    near = facts(parts, retention=Retention(seconds=600.0))
    assert kinds(advice_on(near)) == blocked, "what loses data is not about to"


def test_thin_margin_of_a_group_that_keeps_up_is_its_deadline() -> None:
    steady = facts(
        six(arrival=constant(100.0), capacity=constant(100.0), backlog=20_000, warm_up=0.0),
        retention=Retention(seconds=220.0),
    )

    found = group_deadline(steady)

    assert steady.status.status is Status.OK
    assert found is not None
    assert found[1].seconds == pytest.approx(20, abs=3)
    assert "a pause of" in found[1].reason
    advice = advice_on(steady)[0]
    assert advice.severity is AdviceSeverity.ACT_NOW
    assert "does not fall further behind" in advice.reason
    assert "deletes" not in (advice.consequence or "")  # not at the present rates


def test_group_that_keeps_up_with_room_to_spare_has_no_deadline() -> None:
    assert group_deadline(facts(six(), retention=Retention(seconds=3600.0))) is None


@pytest.mark.parametrize(
    ("kept", "advised"),
    [
        pytest.param(6 * 3600.0, False, id="a tenth of the retention used, hours left"),
        pytest.param(3 * 3600.0, True, id="less than four hours left"),
    ],
)
def test_deadline_is_advice_of_its_own_only_when_near(kept: float, advised: bool) -> None:
    reads_for_two_minutes = six(capacity=lambda t: 150.0 if t < 120 else 0.0, warm_up=0.0)
    stuck = facts(reads_for_two_minutes, retention=Retention(seconds=kept))

    found = advice_on(stuck)

    assert (AdviceKind.RETENTION_DEADLINE in kinds(found)) is advised
    assert any("time until retention" in evidence(one) for one in found)


def test_whoever_stopped_is_started_before_messages_are_kept_for_longer() -> None:
    parts = six(members=0, state="empty", capacity=constant(0.0), backlog=5000)
    stopped = facts(parts, holders=lambda p: None, retention=Retention(seconds=1800.0))

    assert kinds(advice_on(stopped)) == [
        AdviceKind.START_CONSUMERS,
        AdviceKind.RETENTION_DEADLINE,
    ]
