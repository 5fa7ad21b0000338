"""Fixed time ranges: how they stand in the address, and the grain they are read at."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from app.data.time_range import (
    POINT_BUDGET,
    RANGES,
    SHORTEST,
    between,
    interval_text,
    read_interval,
)
from app.ui.browser.zoom import moments
from lake.schemas.grain import Grain

NOW = datetime(2026, 11, 24, 18, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "2026-11-24T17:00:00Z/2026-11-24T18:00:00Z",
        "2026-11-24T17:00Z/2026-11-24T18:00Z",
        " 2026-11-24 17:00 / 2026-11-24 18:00 ",
        "2026-11-24T18:00+01:00/2026-11-24T19:00+01:00",
    ],
)
def test_an_interval_is_read_in_utc(text: str) -> None:
    assert read_interval(text) == (NOW - timedelta(hours=1), NOW)


def test_an_interval_is_read_as_it_was_written() -> None:
    berlin = timezone(timedelta(hours=1))
    start, end = NOW - timedelta(days=40), NOW - timedelta(hours=7)
    assert read_interval(interval_text(start.astimezone(berlin), end)) == (start, end)


@pytest.mark.parametrize(
    "text",
    [
        *("", "yesterday", "2026-11-24T17:00Z", "a/b", "2026-11-24/"),
        # No moment lies before the first, in any zone, and none behind the last.
        "0001-01-01T00:00+14:00/2026-11-24T18:00Z",
        "0001-01-01T00:00Z/2026-11-24T18:00Z",
        "2026-11-24T18:00Z/9999-12-31T23:59Z",
    ],
)
def test_what_is_no_interval_says_what_is_expected(text: str) -> None:
    with pytest.raises(ValueError, match="two times"):
        read_interval(text)


def test_an_interval_begins_before_it_ends() -> None:
    with pytest.raises(ValueError, match="begin before"):
        read_interval("2026-11-24T18:00Z/2026-11-24T17:00Z")


@pytest.mark.parametrize(
    ("ago", "length", "kept", "grain"),
    [
        pytest.param(timedelta(days=1), timedelta(hours=1), 30, Grain.MINUTE, id="yesterday"),
        pytest.param(timedelta(days=40), timedelta(hours=1), 30, Grain.HOUR, id="minutes gone"),
        pytest.param(timedelta(days=40), timedelta(hours=1), None, Grain.MINUTE, id="all kept"),
        pytest.param(timedelta(days=9), timedelta(days=9), 30, Grain.HOUR, id="days"),
        pytest.param(timedelta(days=90), timedelta(days=80), 30, Grain.DAY, id="months"),
    ],
)
def test_the_grain_follows_from_length_and_what_is_kept(
    ago: timedelta, length: timedelta, kept: int | None, grain: Grain
) -> None:
    found = between(NOW - ago, NOW - ago + length, NOW, kept)
    assert found.grain is grain
    assert found.until(NOW) == NOW - ago + length
    assert length.total_seconds() / found.step_seconds <= POINT_BUDGET
    first = found.start(NOW)
    assert timedelta() <= (NOW - ago) - first < timedelta(seconds=found.step_seconds)


def test_a_range_of_seconds_is_widened() -> None:
    found = between(NOW - timedelta(hours=1), NOW - timedelta(hours=1, seconds=-5), NOW, None)
    assert found.length == SHORTEST


def test_a_range_that_is_not_fixed_ends_now() -> None:
    assert RANGES["6h"].until(NOW) == NOW
    assert RANGES["6h"].start(NOW) == NOW - timedelta(hours=6)


def test_a_zoom_is_read_by_the_viewers_clock() -> None:
    zone = timezone(timedelta(hours=2))
    found = moments(["2026-11-24 18:30:12.25", "2026-11-24 19:00"], zone)
    assert found is not None
    assert found[0].astimezone(UTC) == datetime(2026, 11, 24, 16, 30, 12, 250_000, UTC)
    assert found[1].astimezone(UTC) == datetime(2026, 11, 24, 17, 0, tzinfo=UTC)


@pytest.mark.parametrize("sent", [None, "x", [], ["a", "b"], ["2026-11-24", "2026-11-23"], [1, 2]])
def test_what_is_no_zoom_is_left_alone(sent: object) -> None:
    assert moments(sent, UTC) is None
