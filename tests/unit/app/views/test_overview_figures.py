"""What the tiles and charts of the Overview say in words."""

from __future__ import annotations

import polars as pl
import pytest

from app.views.overview import view_model as overview_view_model
from tests.unit.app.views.made_rows import at, history, statuses


def test_how_much_lag_has_grown_until_now() -> None:
    def grown(now: int | None, *lags: int | None) -> str | None:
        return overview_view_model.growth(history(lag=list(lags)), "lag", now, at(240))

    assert grown(12, None, 5, 9) == "+7 in 3 min"
    assert grown(4, 9, 5) == "-5 in 4 min"
    assert grown(4) is None
    assert grown(None, 9, 5) is None


@pytest.mark.parametrize(
    ("idle_groups", "members", "said"),
    [
        pytest.param(2, [2, 3], "in 2 groups", id="known"),
        pytest.param(0, [2], "in no group", id="none"),
        pytest.param(1, [2, None], "in 1 group of those known", id="some known"),
        pytest.param(None, [2, None], "1 group not read", id="unknown"),
        pytest.param(None, [], "no group is known", id="no group"),
    ],
)
def test_where_consumers_are_idle_as_far_as_it_is_known(
    idle_groups: int | None, members: list[int | None], said: str
) -> None:
    groups = pl.DataFrame(
        {"members": members, "idle_members": members},
        schema={"members": pl.Int32, "idle_members": pl.Int32},
    )
    assert overview_view_model.where_idle(idle_groups, groups) == said


def test_the_sum_of_others_is_named_with_how_many_it_is_of_and_what_it_lacks() -> None:
    groups = statuses(
        {"group": "a"}, {"group": "b"}, {"group": "c"}, {"group": "d", "unknown_partitions": 2}
    )
    assert overview_view_model.others_name(groups, ["a", "d"]) == "others (2)"
    assert overview_view_model.others_name(groups, ["a"]) == "others (3, 1 not known now)"
    assert overview_view_model.others_name(groups, ["a", "b", "c", "d"]) == ""
