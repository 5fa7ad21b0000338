from __future__ import annotations

import polars as pl
import pytest

from app.ui.advice.forecast import growth, quality


@pytest.mark.parametrize(
    ("row", "is_shaded", "said"),
    [
        pytest.param(
            {"generated": None, "held_back_hours": 210, "coverage_90": 0.91},
            False,
            "Of 210 hours held back, 91\u202f% lay inside such a band.",
            id="measured",
        ),
        pytest.param(
            {"generated": True, "held_back_hours": None, "coverage_90": None},
            True,
            "Generated history (shaded) is behind this forecast. There was too little history to "
            "hold any back and measure the band.",
            id="generated and not measured",
        ),
    ],
)
def test_a_forecast_says_how_far_it_can_be_trusted(
    row: dict[str, object], is_shaded: bool, said: str
) -> None:
    assert quality(row, is_shaded=is_shaded) == said


def test_growth_is_a_weeks_largest_change_first() -> None:
    rows = pl.DataFrame(
        {
            "span_seconds": [86400, 604800, 604800],
            "rank": [1, 2, 1],
            "topic": ["of a day", "second", "first"],
            "before_per_second": [1.0, None, 10.0],
            "now_per_second": [2.0, 0.5, 12.0],
            "change_per_second": [1.0, 0.5, 2.0],
        }
    )
    assert growth(rows)["topic"].to_list() == ["first", "second"]


def test_growth_leaves_out_what_has_hardly_changed() -> None:
    rows = pl.DataFrame(
        {
            "span_seconds": [604800] * 3,
            "rank": [1, 2, 3],
            "topic": ["more", "the same", "less"],
            "before_per_second": [10.0, 100.0, 1.0],
            "now_per_second": [12.0, 100.9, 0.9],
            "change_per_second": [2.0, 0.9, -0.1],
        }
    )
    assert growth(rows)["topic"].to_list() == ["more", "less"]
