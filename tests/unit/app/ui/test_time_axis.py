"""The time axis of a page: what is said where a part of the range is not known."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.data.context import View
from app.data.history import CLUSTER, History
from app.data.history_queries import nothing_yet
from app.ui.time_axis import drawn_up_to, how_much, page_axis

NOW = datetime(2026, 11, 25, 15, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("first", "said"),
    [
        pytest.param(NOW - 15 * DAY, "Known is 15 d of 90 d: from 10 Nov 15:00 on.", id="a part"),
        pytest.param(NOW - 85 * DAY, None, id="nearly all"),
        pytest.param(NOW - 99 * DAY, None, id="more"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_a_range_of_which_little_is_known_says_how_much(
    first: datetime | None, said: str | None
) -> None:
    assert how_much(first, NOW - 90 * DAY, NOW, zone=UTC, now=NOW) == said


@pytest.mark.parametrize(
    ("seconds", "step_seconds", "is_late", "said"),
    [
        pytest.param(120, 60, False, None, id="the minute that runs"),
        pytest.param(
            300,
            60,
            False,
            "Drawn up to 14:56: the newest minute that is complete.",
            id="minutes behind",
        ),
        pytest.param(2400, 60, True, "Drawn up to 14:21: history is late.", id="late"),
        pytest.param(5000, 3600, False, None, id="the hour that runs"),
        pytest.param(60, 15, False, None, id="samples"),
    ],
)
def test_lines_that_lag_behind_the_figures_say_where_they_end(
    seconds: int, step_seconds: float, is_late: bool, said: str | None
) -> None:
    last = NOW - timedelta(seconds=seconds)
    assert drawn_up_to(last, step_seconds, zone=UTC, now=NOW, is_late=is_late) == said
    assert drawn_up_to(None, step_seconds, zone=UTC, now=NOW, is_late=is_late) is None


def test_labels_of_marks_have_the_room_of_their_figure(view: View) -> None:
    nothing = History(frame=nothing_yet(CLUSTER), step_seconds=60)
    whole, half = (page_axis(view, nothing, part=part).pixels for part in (1.0, 0.5))
    phone = page_axis(replace(view, is_phone=True), nothing, part=0.5).pixels
    assert whole > 2 * half >= 2 * phone
