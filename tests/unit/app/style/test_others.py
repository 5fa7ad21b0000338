"""The highest series, and the sum of the others."""

from __future__ import annotations

import polars as pl

from app.style.charts.base import note_of_others, top_and_others
from tests.unit.app.style.test_charts import frame


def test_the_highest_are_drawn_and_the_others_added_up() -> None:
    rows = frame(**{f"g{number:02d}": [number * 1.0, number * 2.0] for number in range(12)})
    found, names = top_and_others(rows, by="group", value="lag", limit=10)
    assert names[0] == "g11"
    assert names[-1] == "others (2)"
    rest = found.filter(pl.col("group") == "others (2)").sort("time")
    assert rest["lag"].to_list() == [1.0, 2.0]


def test_a_sum_of_others_says_where_it_lacks_values() -> None:
    def note(rows: pl.DataFrame) -> str:
        return note_of_others(rows, by="group", value="lag", limit=1)

    rows = frame(a=[9.0, 9.0], b=[1.0, None], c=[1.0, 1.0])
    found, _ = top_and_others(rows, by="group", value="lag", limit=1)
    rest = found.filter(pl.col("group") == "others (2, some unknown at times)").sort("time")
    assert rest["lag"].to_list() == [2.0, 1.0]
    unknown = frame(a=[9.0, 9.0], b=[None, 1.0], c=[None, 1.0])
    found, names = top_and_others(unknown, by="group", value="lag", limit=1)
    assert names[-1] == "others (2)", "where none is known there is no sum"
    assert found.filter(pl.col("group") == names[-1]).sort("time")["lag"].to_list() == [None, 2.0]
    assert note(rows) == "Others: where some are unknown, the line is the sum of the others."
    gap = frame(a=[9.0, 9.0], b=[1.0, None], c=[1.0, None])
    assert top_and_others(gap, by="group", value="lag", limit=1)[1] == ["a", "others (2)"]
    assert note(gap) == "Others: the line has a gap where none of them is known."
    assert note(frame(a=[9.0, None], b=[1.0, 1.0], c=[1.0, 1.0])) == ""
