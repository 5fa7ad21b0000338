from __future__ import annotations

import polars as pl
import pytest

from app.ui.advice.forecast import growth, quality


@pytest.mark.parametrize(
    ("row", "said"),
    [
        pytest.param(
            {"generated": None, "held_back_hours": 210, "coverage_90": 0.91},
            "Of 210 hours held back, 91% lay inside such a band.",
            id="measured",
        ),
        pytest.param(
            {"generated": True, "held_back_hours": None, "coverage_90": None},
            "Generated history is behind this forecast. There was too little history to hold any "
            "back and measure the band.",
            id="generated and not measured",
        ),
    ],
)
def test_a_forecast_says_how_far_it_can_be_trusted(row: dict[str, object], said: str) -> None:
    assert quality(row) == said


def test_growth_is_a_weeks_largest_change_first() -> None:
    rows = pl.DataFrame(
        {
            "span_seconds": [86400, 604800, 604800],
            "rank": [1, 2, 1],
            "topic": ["of a day", "second", "first"],
        }
    )
    assert growth(rows)["topic"].to_list() == ["first", "second"]
