from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from scaling.advice.follow_up import WATCHED, AdviceOutcome, Followed, Point, outcome

START = datetime(2026, 3, 2, 8, tzinfo=UTC)
HOUR = timedelta(hours=1)


def points(counts: list[int | None], late: list[float | None]) -> list[Point]:
    """Return a point each ten minutes from an hour before the advice on."""
    return [
        Point(at=START - HOUR + timedelta(minutes=10 * n), count=count, time_lag_seconds=seconds)
        for n, (count, seconds) in enumerate(zip(counts, late, strict=True))
    ]


def judged(
    history: list[Point],
    *,
    current: int = 4,
    proposed: int | None = 6,
    stands: bool = False,
    now: datetime = START + 24 * HOUR,
) -> AdviceOutcome:
    return outcome(
        current,
        proposed,
        valid_from=START,
        confirmed_at=START + HOUR,
        stands=stands,
        now=now,
        history=history,
        objective_seconds=60.0,
    )


def test_followed_and_worked() -> None:
    found = judged(points([4] * 9 + [6] * 9, [300.0] * 9 + [200.0] + [10.0] * 8))
    assert found.followed is Followed.FOLLOWED and found.worked
    assert found.at == START + timedelta(minutes=30)
    assert (found.before_seconds, found.after_seconds) == (300.0, 10.0)


def test_followed_without_effect() -> None:
    found = judged(points([4] * 9 + [7] * 9, [300.0] * 18))
    assert found.followed is Followed.FOLLOWED and found.worked is False


def test_half_the_time_lag_counts_as_an_effect() -> None:
    assert judged(points([4] * 9 + [6] * 9, [300.0] * 10 + [140.0] * 8)).worked


def test_a_step_down_is_followed_from_above() -> None:
    found = judged(points([4] * 9 + [3] * 9, [5.0] * 18), proposed=3)
    assert found.followed is Followed.FOLLOWED and found.worked


@pytest.mark.parametrize(
    ("stands", "followed"), [(True, Followed.STANDS), (False, Followed.NOT_FOLLOWED)]
)
def test_not_followed(stands: bool, followed: Followed) -> None:
    assert judged(points([4] * 18, [300.0] * 18), stands=stands).followed is followed


def test_that_advice_was_not_followed_is_known_once_it_may_follow_no_more() -> None:
    history = points([4] * 18, [300.0] * 18)
    ended = START + HOUR
    early = judged(history, now=ended + WATCHED - timedelta(minutes=1))
    assert early.followed is Followed.WITHDRAWN
    assert judged(history, now=ended + WATCHED).followed is Followed.NOT_FOLLOWED


def test_unknown_stays_unknown() -> None:
    assert judged([]).followed is Followed.UNKNOWN
    assert judged(points([None] * 18, [1.0] * 18)).followed is Followed.UNKNOWN
    assert judged(points([4] * 9 + [6] * 9, [None] * 18)).worked is None


def test_advice_without_a_number_has_ended_or_stands() -> None:
    found = points([6] * 18, [1.0] * 18)
    assert judged(found, proposed=None).followed is Followed.ENDED
    assert judged(found, proposed=None, stands=True).followed is Followed.STANDS


def test_to_start_somebody_is_followed_once_somebody_is_there() -> None:
    """How many ran before is not known of each group that is to be started."""
    started = points([0] * 9 + [2] * 9, [300.0] * 9 + [10.0] * 9)
    assert judged(started, current=0, proposed=None).followed is Followed.FOLLOWED
    assert judged(points([0] * 18, [1.0] * 18), current=0, proposed=None).followed is (
        Followed.NOT_FOLLOWED
    )
