"""A poll that cannot read how much waits: what stands still is not well for it."""

from __future__ import annotations

from dataclasses import replace

from alerting.status.model import Status
from scaling.advice.model import AdviceKind
from scaling.facts.group_facts import GroupFacts
from tests.unit.alerting.status.scenarios import constant, window
from tests.unit.scaling.advisers.advising import advice_on, evidence, facts, six


def unread(group: GroupFacts) -> GroupFacts:
    """Return a group whose status is known, and whose lag the newest poll could not read."""
    parts = tuple(
        replace(part, status=replace(part.status, numbers=replace(part.status.numbers, lag=None)))
        for part in group.partitions
    )
    numbers = replace(group.status.numbers, lag=None)
    return replace(group, partitions=parts, status=replace(group.status, numbers=numbers))


def test_a_stopped_group_is_to_be_started_all_the_same() -> None:
    stopped = facts(
        six(members=0, state="empty", capacity=constant(0.0), backlog=500), holders=lambda p: None
    )
    [advice] = advice_on(unread(stopped))
    assert advice.kind is AdviceKind.START_CONSUMERS
    assert advice.reason.endswith("How much waits could not be read.")
    assert evidence(advice)["lag"] is None


def test_a_blocked_partition_is_blocked_all_the_same() -> None:
    parts = six()
    parts[4] = window(partition=4, poll=5.0, capacity=lambda t: 200.0 if t < 200 else 0.0)
    [advice] = advice_on(unread(facts(parts, holders=lambda p: f"m{p // 2}")))
    assert advice.kind is AdviceKind.BLOCKED_PARTITION
    assert evidence(advice)["waiting there"] is None


def test_a_group_that_stands_still_is_never_said_to_keep_up() -> None:
    still = facts(six(capacity=lambda t: 200.0 if t < 200 else 0.0))
    calm = replace(still, partitions=())
    [advice] = advice_on(unread(calm))
    assert advice.kind is AdviceKind.UNKNOWN
    assert advice.unknown_reason == still.status.reason.rstrip(".")


def test_a_group_whose_members_just_left_is_never_said_to_keep_up() -> None:
    calm = replace(facts(six()), members=0, partitions=())
    gone = replace(calm.status, status=Status.NO_MEMBERS, reason="No members for 15 s.")
    [advice] = advice_on(replace(calm, status=gone))
    assert advice.kind is AdviceKind.UNKNOWN
    # The status beside it says that they left; the step is what is new.
    assert "are to be started again" in (advice.unknown_reason or "")
