"""How much waits for all groups that have no line of their own."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pytest

from app.data.others import without

AT = datetime(2026, 1, 2, 12, tzinfo=UTC)


def cluster(*lags: int | None) -> pl.DataFrame:
    return pl.DataFrame(
        {"window_start": [AT + timedelta(minutes=n) for n in range(len(lags))], "lag_last": lags},
        schema_overrides={"lag_last": pl.Int64},
    )


def groups(*rows: tuple[int, int | None, int | None]) -> pl.DataFrame:
    """Rows of groups: the minute, what is known last, polls at which it was not."""
    return pl.DataFrame(
        [(AT + timedelta(minutes=minute), lag, unknown) for minute, lag, unknown in rows],
        schema={
            "window_start": pl.Datetime("us", "UTC"),
            "lag_last": pl.Int64,
            "unknown_samples": pl.Int32,
        },
        orient="row",
    )


@pytest.mark.parametrize(
    ("of_cluster", "named", "others"),
    [
        pytest.param([100, 90], [(0, 60, 0), (0, 30, 0), (1, 80, 0)], [10, 10], id="the rest"),
        pytest.param([100], [(0, 100, None)], [0], id="nothing waits for others"),
        pytest.param([None], [(0, 60, 0)], [None], id="the cluster is unknown"),
        pytest.param([100], [(0, 60, 0), (0, None, 12)], [40], id="one was never read"),
        pytest.param([100], [(0, 60, 0), (0, 30, 2)], [None], id="one was read at times"),
        pytest.param([50], [(0, 60, 0)], [None], id="not of one moment"),
        pytest.param([100, 90], [(0, 60, 0)], [40], id="groups are not written yet"),
    ],
)
def test_others_have_what_named_groups_have_not(
    of_cluster: list[int | None], named: list[tuple[int, int | None, int]], others: list[int | None]
) -> None:
    found = without(cluster(*of_cluster), groups(*named))
    assert found["value"].to_list() == others
    assert found["time"][0] == AT
