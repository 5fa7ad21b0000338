"""When a size is followed, and when not."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from scaling.sizing.size import GroupSize, LimitingFactor, SizeDecision
from scaling.sizing.stability import Stability, StabilityRules, move

RULES = StabilityRules(
    required_votes=3,
    last_votes=4,
    down_window_seconds=600.0,
    cooldown_seconds=120.0,
    changes_a_day=5,
)


def group_size(consumers: int, **more: Any) -> GroupSize:
    base = GroupSize(
        decision=SizeDecision.SIZED,
        consumers=consumers,
        limiting_factor=LimitingFactor.STEADY,
        needs=(),
        utilisation=0.5,
        allowed_utilisation=0.9,
        is_late=False,
        is_too_late=False,
        hopeless=(),
        reason="because",
    )
    return replace(base, **more)


def step(one: GroupSize, now: Stability, *, at: float, current: int) -> tuple[int, Stability]:
    """Decide and follow at once."""
    found = move(one, now, at=at, current=current, rules=RULES)
    by = found.consumers - current
    expected = one.utilisations.get(found.consumers)
    return found.consumers, found.stability.changed(at, by, expected) if by else found.stability


def follow(
    answers: list[tuple[float, GroupSize]], current: int, now: Stability | None = None
) -> list[int]:
    now = now or Stability()
    found = []
    for at, one in answers:
        current, now = step(one, now, at=at, current=current)
        found.append(current)
    return found


def test_up_when_enough_answers_agree_and_then_only_to_what_all_of_them_ask() -> None:
    asked = [group_size(12), group_size(24), group_size(12)]

    assert follow([(15.0 * n, one) for n, one in enumerate(asked)], 8) == [8, 8, 12]


def test_one_odd_answer_changes_nothing() -> None:
    asked = [
        group_size(8),
        group_size(24),
        group_size(8),
        group_size(8),
        group_size(24),
        group_size(8),
    ]

    assert set(follow([(15.0 * n, one) for n, one in enumerate(asked)], 8)) == {8}


def test_up_at_once_where_the_objective_is_in_danger() -> None:
    assert follow([(0.0, group_size(24, is_late=True))], 8) == [24]


def test_urgent_answer_waits_for_the_last_change() -> None:
    urgent: dict[str, Any] = {"is_late": True}
    asked = [
        (0.0, group_size(12, **urgent)),
        (15.0, group_size(24, **urgent)),
        (130.0, group_size(24, **urgent)),
    ]

    assert follow(asked, 8) == [12, 12, 24]


def test_down_after_the_whole_window_to_its_largest_need() -> None:
    asked = [(30.0 * n, group_size(6 if n == 5 else 4)) for n in range(24)]
    found = follow(asked, 12)

    assert found[:20] == [12] * 20
    assert found[20] == 6


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"is_late": True}, id="backlog"),
        pytest.param({"decision": SizeDecision.UNKNOWN_CAPACITY}, id="capacity unknown"),
    ],
)
def test_never_down_while(more: dict[str, Any]) -> None:
    asked = [(30.0 * n, group_size(4, **more)) for n in range(100)]

    assert set(follow(asked, 12)) == {12}


def test_backlog_begins_the_window_anew() -> None:
    asked = [(30.0 * n, group_size(4, is_late=n == 18)) for n in range(50)]
    found = follow(asked, 12)

    assert found.index(4) == 38


def test_steps_down_have_a_budget_a_day_and_steps_up_have_none() -> None:
    answers: list[tuple[float, GroupSize]] = []
    at = 0.0
    for _ in range(6):
        for number, seconds in ((4, 1500.0), (12, 1500.0)):
            for _ in range(int(seconds / 30)):
                answers.append((at, group_size(number)))
                at += 30.0
    found = follow(answers, 12)
    downs = sum(1 for a, b in pairwise(found) if b < a)

    assert downs == 2
    assert found[-1] == 12


def test_step_down_that_failed_is_not_tried_again_at_the_same_load() -> None:
    busy = {8: 0.9, 12: 0.6, 24: 0.3}
    calm = {8: 0.8, 12: 0.53, 24: 0.27}
    down = group_size(8, utilisations=busy)
    late = group_size(12, utilisations=busy, is_late=True)
    times = [15.0 * number for number in range(41)]
    now, current = Stability(), 12
    for at in times:
        current, now = step(down, now, at=at, current=current)
    assert current == 8
    current, now = step(late, now, at=700.0, current=8)
    assert current == 12

    longest = RULES.longest_window_seconds
    hours = [700.0 + 15.0 * number for number in range(1, int(longest / 15.0) + 45)]
    assert set(follow([(at, down) for at in hours], 12, now)) == {12}
    less = [(at, replace(down, utilisations=calm)) for at in hours]
    assert follow(less, 12, now)[-1] == 8


def test_failure_of_members_that_had_time_to_spare_says_nothing_about_their_number() -> None:
    idle = {8: 0.6, 12: 0.4}
    asked = [(15.0 * number, group_size(8, utilisations=idle)) for number in range(42)]
    now, current = Stability(), 12
    for at, one in asked:
        current, now = step(one, now, at=at, current=current)
    assert current == 8
    late = group_size(12, utilisations=idle, is_late=True)
    found = move(late, now, at=700.0, current=8, rules=RULES)
    # Nobody follows, and the next evaluation says the same: it is the same failure.
    again = move(late, found.stability, at=730.0, current=8, rules=RULES)

    assert found.consumers == again.consumers == 12
    assert found.stability.failures == again.stability.failures == 1
    assert again.stability.refuted == ()


def test_step_down_leaves_room_for_the_steps_back_up() -> None:
    used = {4: 0.8, 6: 0.6, 8: 0.4, 12: 0.3}
    # Of five changes a day one is gone; down to four, and three steps up again, would be four more.
    now = Stability(changes=((0.0, -4),), since=0.0)
    near = [(700.0 + 15.0 * number, group_size(6, utilisations=used)) for number in range(45)]
    far = [(700.0 + 15.0 * number, group_size(4, utilisations=used)) for number in range(45)]
    one_more = Stability(changes=((0.0, -2), (1.0, -2)), since=0.0)

    assert follow(near, 8, now)[-1] == 6
    assert follow(far, 8, now)[-1] == 4
    assert follow(far, 8, one_more)[-1] == 8


@pytest.mark.parametrize(
    ("rounds", "advised"),
    [
        pytest.param([(12, 12), (8, 12), (12, 12), (8, 12)], 12, id="a wave"),
        pytest.param([(12, 12), (8, 12), (8, 12), (8, 8)], 12, id="it is over"),
        pytest.param([(24, 12), (12, 12), (24, 24)], 12, id="more once, and again"),
        pytest.param([(24, 24), (12, 24), (12, 24), (12, 12)], 24, id="fewer at last"),
    ],
)
def test_more_that_nobody_followed_stands_until_time_shows_another_number(
    rounds: list[tuple[int, int]], advised: int
) -> None:
    """Given rounds of ten minutes of three votes each, with what they ask and what is advised."""
    rules = replace(RULES, down_window_seconds=1500.0)
    now, start = Stability(), 0.0
    for asked, said in rounds:
        for vote in range(3):
            found = move(
                *(group_size(asked), now),
                at=start + 30.0 * vote,
                current=8,
                advised=advised,
                rules=rules,
            )
            now = found.stability
        advised = found.consumers
        assert advised == said
        start += 600.0


def test_a_late_group_gets_more_at_once_whatever_stands() -> None:
    late = group_size(24, is_late=True)
    assert move(late, Stability(), at=0.0, current=8, advised=12, rules=RULES).consumers == 24
