"""Rates of a group that is read again, told from a few polls made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from app.views.group import view_model
from app.views.group.fresh_rates import SINCE_RETURN, with_fresh_rates
from lake.schemas.tables import GROUP_OFFSETS
from tests.unit.app.views.made_rows import at, rows, statuses


def sample(seconds: float, end: int | None, committed: int | None) -> dict[str, Any]:
    topic = {"group": "g", "topic": "t", "partition": 0}
    return {**topic, "observed_at": at(seconds), "log_end": end, "committed": committed}


def shown(*samples: dict[str, Any], **given: Any) -> dict[str, Any]:
    rates = {"arrival_per_second": None, "consumption_per_second": None}
    group = statuses({"group": "g", "lag": 400, **rates, **given})
    return with_fresh_rates(group, rows(GROUP_OFFSETS, *samples), 5.0).row(0, named=True)


AWAY = sample(0, None, None)


def test_two_polls_since_the_return_tell_rates_and_when_it_is_drained() -> None:
    row = shown(sample(-5, 0, 0), AWAY, sample(5, 500, 0), sample(15, 600, 200))
    assert (row["arrival_per_second"], row["consumption_per_second"]) == (10.0, 20.0)
    assert row["drain_seconds"] == 40.0
    assert view_model.rates_window(row) == "over 10 s"


@pytest.mark.parametrize(
    "samples",
    [
        pytest.param([], id="no poll"),
        pytest.param([AWAY, sample(5, 500, 0)], id="one poll since"),
        pytest.param([sample(0, 500, 0), sample(5, None, None)], id="not read now"),
        pytest.param([sample(0, 500, 0), sample(60, 600, 0)], id="polls are missing"),
        pytest.param([sample(0, 500, 50), sample(5, 600, 10)], id="went back"),
    ],
)
def test_fewer_polls_tell_no_rates(samples: list[dict[str, Any]]) -> None:
    row = shown(*samples)
    assert row["arrival_per_second"] is None
    assert row[SINCE_RETURN] is None


def test_rates_that_the_status_knows_stay() -> None:
    known = {"arrival_per_second": 1.0, "consumption_per_second": 2.0}
    row = shown(sample(5, 500, 0), sample(15, 600, 200), **known)
    assert {name: row[name] for name in known} == known
    assert view_model.rates_window(row) == "5 min"
