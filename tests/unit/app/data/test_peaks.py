"""Which groups a chart of the highest lag draws: by their peaks in the range."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest

from app.data.context import View
from app.data.peaks import highest_lag
from app.data.time_range import RANGES, TimeRange, between
from lake.schemas.current import CLUSTER_STATUS, GROUP_COURSE, GROUP_STATUS
from lake.schemas.tables import GROUP_HISTORY
from tests.unit.app.views_of import NOW

PAST = between(NOW - timedelta(hours=5), NOW - timedelta(hours=4), NOW, None)


def ago(minutes: float) -> datetime:
    return NOW - timedelta(minutes=minutes)


def put_history(
    view: View, *rows: tuple[str, float, int | None], grain: int = 60, generated: bool = False
) -> None:
    """Write rows of a group, minutes before now and the highest lag."""
    found = pl.DataFrame(
        [(group, ago(minutes), lag) for group, minutes, lag in rows],
        schema={
            "group": pl.String,
            "window_start": GROUP_HISTORY.polars_schema["window_start"],
            "lag_max": pl.Int64,
        },
        orient="row",
    )
    view.lake.append(
        GROUP_HISTORY,
        found.with_columns(
            cluster=pl.lit("east"),
            grain_seconds=pl.lit(grain, pl.Int32),
            generated=pl.lit(generated),
        ),
    )


def put_now(view: View, status: dict[str, int | None], course: dict[str, int]) -> None:
    """Write what the newest evaluations found: the lag of groups."""
    told = [
        (GROUP_STATUS, pl.DataFrame({"group": list(status), "lag": list(status.values())})),
        (
            GROUP_COURSE,
            pl.DataFrame({"group": list(course), "lag": list(course.values())}).with_columns(
                observed_at=pl.lit(ago(2))
            ),
        ),
        (CLUSTER_STATUS, pl.DataFrame({"lag": [1]})),
    ]
    for table, rows in told:
        whole = rows.with_columns(cluster=pl.lit("east"), evaluated_at=pl.lit(NOW))
        view.lake.current.replace(
            table, "east", pl.concat([table.empty, whole], how="diagonal_relaxed")
        )


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        pytest.param(RANGES["1h"], ["over", "course", "busy"], id="a range that ends now"),
        pytest.param(PAST, ["past", "busy"], id="one of the past knows nothing of now"),
    ],
)
def test_what_is_over_by_now_is_drawn_before_what_waits_now(
    view: View, chosen: TimeRange, names: list[str]
) -> None:
    here = replace(view, range=chosen)
    put_history(here, ("over", 20, 26_000), ("over", 1, 0), ("busy", 20, 300), ("idle", 20, 1))
    put_history(here, ("past", 270, 9000), ("busy", 270, 20), ("unknown", 270, None))
    put_now(here, {"over": 0, "busy": 400, "idle": 2}, {"course": 500})
    assert highest_lag(here, len(names)) == names


def test_a_long_range_has_its_first_minutes_its_hours_and_its_last_minutes(view: View) -> None:
    chosen = replace(RANGES["6h"], end=ago(30))
    here = replace(view, range=chosen)
    put_history(
        here, ("first", 385, 40), ("before", 395, 900), ("last", 31, 20), ("after", 20, 900)
    )
    hours = (("middle", 180, 30), ("reaches over", 60, 900), ("begins before", 420, 900))
    put_history(here, *hours, grain=3600)
    assert highest_lag(here, 9) == ["first", "middle", "last"]


def test_what_was_generated_counts_where_it_is_drawn(view: View) -> None:
    here = replace(view, range=RANGES["1h"])
    put_history(here, ("made up", 20, 900), generated=True)
    put_history(here, ("real", 20, 1))
    put_now(here, {}, {})
    assert highest_lag(here, 9) == ["real"]
    long = replace(here, range=RANGES["24h"])
    assert highest_lag(long, 9) == ["made up", "real"]


def test_without_history_the_groups_of_now_are_drawn(view: View) -> None:
    here = replace(view, range=PAST)
    put_now(here, {"a": 1, "b": None, "c": 2}, {})
    assert highest_lag(here, 2) == ["c", "a"]
