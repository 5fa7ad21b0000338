"""Values beside rows by their key."""

from __future__ import annotations

import polars as pl
import pytest

from collectors.kafka.commit_log.row_positions import Places

SCHEMA = {"group": pl.String(), "topic": pl.String(), "partition": pl.Int32(), "at": pl.Int64()}


def frame(*rows: tuple[str, int, int | None]) -> pl.DataFrame:
    """Return rows of group, partition, value."""
    return pl.DataFrame(
        [(group, "orders", partition, at) for group, partition, at in rows], SCHEMA, orient="row"
    )


def beside(places: Places, rows: pl.DataFrame, others: pl.DataFrame) -> list[int | None]:
    found = places.beside(rows.drop("at"), others, "at")
    assert found.columns == ["at"]
    return found["at"].to_list()


ROWS = frame(("b", 1, None), ("a", 0, None), ("c", 0, None))


def test_values_follow_the_rows() -> None:
    places = Places()
    assert beside(places, ROWS, frame(("a", 0, 7), ("x", 0, 8), ("b", 1, 9))) == [9, 7, None]


def test_new_values_of_the_same_keys() -> None:
    places = Places()
    beside(places, ROWS, frame(("a", 0, 7), ("b", 1, 9)))
    assert beside(places, ROWS, frame(("a", 0, 70), ("b", 1, None))) == [None, 70, None]


@pytest.mark.parametrize(
    ("rows", "others", "values"),
    [
        pytest.param(ROWS.reverse(), frame(("a", 0, 1), ("b", 1, 2)), [None, 1, 2], id="rows"),
        pytest.param(ROWS, frame(("b", 1, 2), ("a", 0, 1)), [2, 1, None], id="others"),
        pytest.param(ROWS, frame(("c", 0, 5)), [None, None, 5], id="fewer others"),
        pytest.param(ROWS, frame(), [None, None, None], id="no others"),
        pytest.param(frame(), frame(("a", 0, 1)), [], id="no rows"),
    ],
)
def test_keys_that_changed(
    rows: pl.DataFrame, others: pl.DataFrame, values: list[int | None]
) -> None:
    places = Places()
    beside(places, ROWS, frame(("a", 0, 7), ("b", 1, 9)))
    assert beside(places, rows, others) == values


def test_of_two_values_the_newest_counts() -> None:
    places = Places()
    others = frame(("a", 0, 9), ("a", 0, 3), ("a", 0, None))
    assert beside(places, ROWS, others) == [None, 9, None]
