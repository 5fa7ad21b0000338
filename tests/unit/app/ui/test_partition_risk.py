"""How many partitions were at risk, and when it is said that none was."""

from __future__ import annotations

from datetime import UTC

import polars as pl
import pytest

from app.data.history import History
from app.style.charts.base import Axis
from app.style.theme import LIGHT
from app.ui.partition_risk import COUNTS, chart, nothing_at_risk
from lake.schemas.current import CLUSTER_STATUS
from tests.unit.app.views.made_rows import START, at


def course(**counts: list[int | None]) -> pl.DataFrame:
    length = len(next(iter(counts.values())))
    values = dict.fromkeys(COUNTS, [0] * length) | counts
    return pl.DataFrame(
        {"time": [at(60 * number) for number in range(length)], **values},
        schema={"time": pl.Datetime("us", "UTC"), **dict.fromkeys(COUNTS, pl.Float64)},
    )


@pytest.mark.parametrize(
    ("under_replicated", "folded"),
    [
        pytest.param([0, 0], True, id="nothing"),
        pytest.param([0, 3], False, id="something"),
        pytest.param([0, None], False, id="unknown is not zero"),
        pytest.param([], False, id="no history"),
    ],
)
def test_a_chart_of_nothing_is_a_line(under_replicated: list[int | None], folded: bool) -> None:
    assert nothing_at_risk(course(under_replicated=under_replicated)) is folded


@pytest.mark.parametrize(
    ("now", "folded"),
    [
        pytest.param(0, True, id="fine"),
        pytest.param(70, False, id="at risk"),
        pytest.param(None, False, id="unknown"),
    ],
)
def test_no_risk_is_said_only_where_the_present_has_none(now: int | None, folded: bool) -> None:
    row = {"cluster": "c", "evaluated_at": START, **dict.fromkeys(COUNTS, 0)}
    cluster = pl.DataFrame([row | {"under_replicated": now}], schema=CLUSTER_STATUS.polars_schema)
    assert nothing_at_risk(course(offline=[0]), cluster) is folded
    assert not nothing_at_risk(course(offline=[0]), cluster.clear())


def test_what_never_was_has_no_line() -> None:
    def drawn(**counts: list[int | None]) -> list[str]:
        made = chart(
            History(frame=course(**counts), step_seconds=60),
            axis=Axis(start=START, end=at(600), zone=UTC),
            palette=LIGHT,
        )
        return [trace.name for trace in made.data]

    assert drawn(under_replicated=[0, 3]) == ["under-replicated"]
    assert drawn(offline=[None, 1]) == ["under-replicated", "offline"]
