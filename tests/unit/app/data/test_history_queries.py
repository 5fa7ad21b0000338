"""What charts are drawn from: history, and samples where these tell more."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import polars as pl
import pytest

from app.data.context import View
from app.data.history_queries import lags
from app.data.time_range import RANGES, between
from tests.unit.app.views_of import NOW


def gold(first: float, last: float, *, generated: bool | None = None) -> pl.DataFrame:
    """Return a history from some minutes ago until some minutes ago."""
    times = [NOW - timedelta(minutes=minute) for minute in (first, last)]
    schema = {"window_start": pl.Datetime("us", "UTC"), "generated": pl.Boolean}
    return pl.DataFrame({"window_start": times, "generated": [generated] * 2}, schema=schema)


@pytest.mark.parametrize(
    ("range_", "history", "late"),
    [
        pytest.param("1h", gold(60, 1), False, id="current"),
        pytest.param("1h", gold(60, 4), False, id="on a busy machine"),
        pytest.param("1h", gold(60, 6), True, id="late"),
        pytest.param("1h", gold(4, 1), True, id="has begun"),
        pytest.param("1h", gold(6, 1), False, id="has begun a while ago"),
        pytest.param("1h", gold(60, 1).clear(), True, id="none"),
        pytest.param("1h", gold(60, 1, generated=True), True, id="generated only"),
        pytest.param("6h", gold(300, 1, generated=True), False, id="generated, a longer range"),
        pytest.param("7d", gold(9000, 50), False, id="by the hour"),
    ],
)
def test_samples_tell_more_than_history_only_where_it_is_late(
    view: View, range_: str, history: pl.DataFrame, late: bool
) -> None:
    assert lags(replace(view, range=RANGES[range_]), history) is late


def test_a_range_of_the_past_is_not_late(view: View) -> None:
    ended = NOW - timedelta(hours=5)
    chosen = between(ended - timedelta(hours=1), ended, NOW, None)
    assert not lags(replace(view, range=chosen), gold(360, 301))
