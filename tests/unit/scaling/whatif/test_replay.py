from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from scaling.whatif.queue_model import WhatIfChange, WhatIfInputs, even_inputs, what_if
from scaling.whatif.replay import (
    MeasuredMinute,
    forecast,
    replayed,
    why_not_followed,
    why_not_forecast,
)


def _inputs() -> WhatIfInputs:
    # At this very moment much more arrives than in the hour as a whole.
    return even_inputs(
        partitions=12, arrival_per_second=300.0, consumers=2, capacity_per_second=100.0, lag=500
    )


def _minutes(*rates: float | None, lag: float | None = 1200.0) -> list[MeasuredMinute]:
    return [
        MeasuredMinute(
            at=6000.0 + 60.0 * index, arrival_per_second=rate, lag=lag, time_lag_seconds=8.0
        )
        for index, rate in enumerate(rates)
    ]


def test_a_short_peak_is_replayed_as_short_as_it_was() -> None:
    rates = [50.0] * 25 + [300.0] * 10 + [50.0] * 25
    start = replayed(_inputs(), _minutes(*rates))
    assert start is not None
    found = what_if(start, WhatIfChange(consumers=4), hours=6)
    assert found.hours == pytest.approx(1.0)
    assert found.now.lag[0] == 1200
    # Ten minutes of 300 against 200 a second leave some 60,000; held for six hours, two millions.
    assert 45_000 < found.now.lag_peak < 75_000
    assert found.now.lag_end < 1_000
    assert found.changed.lag_peak < 10_000
    assert not any("present rates" in note for note in found.notes)
    held = what_if(_inputs(), WhatIfChange(), hours=6)
    assert held.now.lag_peak > 1_500_000
    assert any("present rates" in note for note in held.notes)


def test_more_messages_are_more_at_each_moment() -> None:
    start = replayed(_inputs(), _minutes(*[50.0] * 40))
    assert start is not None and start.course is not None
    assert start.course(np.array([0.0, 59.0, 2399.0])).tolist() == [50.0, 50.0, 50.0]
    found = what_if(start, WhatIfChange(arrival_factor=6.0))
    assert found.changed.lag_peak > 10 * found.now.lag_peak


def test_unknown_minutes_are_said_and_too_many_give_nothing() -> None:
    rates: list[float | None] = [50.0, None, None, *[70.0] * 40]
    start = replayed(_inputs(), _minutes(*rates, lag=None))
    assert start is not None and start.course is not None
    assert start.course(np.array([119.0, 181.0])).tolist() == [50.0, 70.0]
    assert any(note.startswith("2 minutes are unknown") for note in start.notes)
    assert any("taken for nothing" in note for note in start.notes)
    assert start.lag.sum() == 0
    assert replayed(_inputs(), _minutes(*[50.0] * 29)) is None
    assert replayed(_inputs(), _minutes(*[50.0, *[None] * 60, *[50.0] * 35])) is None


def test_a_replay_does_not_follow_hours_in_which_unread_messages_were_deleted() -> None:
    """A group of 88/s for 90/s whose topic keeps a minute: 90/s leave its backlog all the same."""
    minutes = _minutes(*[90.0] * 60, lag=5400)
    assert why_not_followed(minutes) is None
    deleted = [replace(one, lost_messages=20.0) for one in minutes[:2]]
    said = why_not_followed([*deleted, *minutes[2:]])
    assert said is not None and "unread messages in 2 minutes of that time" in said
    unknown = [replace(one, lost_messages=number) for one in minutes[:1] for number in (None, 0.0)]
    assert why_not_followed(unknown) is None


def test_a_forecast_begins_now_and_is_followed_hour_by_hour() -> None:
    hours = [
        (3600.0 * number, rate) for number, rate in enumerate((900.0, 50.0, 300.0, -1.0, 50.0))
    ]
    start = forecast(_inputs(), hours, 2 * 3600.0 - 600, most=2.0)
    assert start is not None and start.course is not None
    assert start.course(np.array([0.0, 599.0, 601.0, 4300.0])).tolist() == [50.0, 50.0, 300.0, 0.0]
    found = what_if(start, WhatIfChange(consumers=4), hours=6)
    assert (found.hours, found.is_replay) == (2.0, False)
    assert found.now.lag[0] == 500
    # An hour of 300 against 200 a second leaves some 360,000; with four consumers next to nothing.
    assert 250_000 < found.now.lag_peak < 450_000
    assert found.changed.lag_peak < 20_000
    assert not any("present rates" in note for note in found.notes)


@pytest.mark.parametrize(
    ("hours", "why"),
    [
        pytest.param([], "it is over", id="none"),
        pytest.param([(0.0, 5.0)], "it is over", id="over"),
        pytest.param([(7200.0, 5.0), (10800.0, 5.0)], "it begins later", id="later"),
        pytest.param([(3600.0, 5.0), (10800.0, 5.0)], "an hour is missing in it", id="a gap"),
        pytest.param([(600.0, 5.0)], "it ends within 30 minutes", id="nearly over"),
    ],
)
def test_a_forecast_that_does_not_cover_the_next_hours(
    hours: list[tuple[float, float]], why: str
) -> None:
    assert why_not_forecast(hours, 4000.0) == why
    assert forecast(_inputs(), hours, 4000.0, most=6.0) is None
