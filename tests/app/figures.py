"""What a page shows, taken out of what was sent to the browser."""

from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest

ROOM = 1104
"""Pixels that a table has beside the menu in a window of 1,440 pixels."""


def figure(test: AppTest, key: str) -> dict[str, Any]:
    """Return a chart of the page by its key."""
    for element in test.get("plotly_chart"):
        if key in element.proto.id:
            return json.loads(element.proto.spec)
    raise AssertionError(f"no chart {key}")


def names(test: AppTest, key: str) -> list[str]:
    return [trace.get("name") for trace in figure(test, key)["data"]]


def metric(test: AppTest, label: str) -> str:
    return next(one.value for one in test.metric if one.label == label)


def assert_fits(test: AppTest, *last: str) -> None:
    """Assert that the last column that somebody acts on ends within the room of its table.

    Args:
        test: The page.
        last: That column, which only the table has or is the first one to have.
    """
    for column in last:
        table = next(one for one in test.dataframe if column in one.value)
        shown, settings = list(table.value), json.loads(table.proto.columns)
        width = sum(settings[name]["width"] for name in shown[: shown.index(column) + 1])
        assert width <= ROOM, f"{column}: {width}"


def assert_fits_whole(test: AppTest, column: str) -> None:
    """Assert that all columns of a table have room beside each other.

    Args:
        test: The page.
        column: A column that only the table has or is the first one to have.
    """
    table = next(one for one in test.dataframe if column in one.value)
    columns = json.loads(table.proto.columns)
    assert sum(columns[name]["width"] for name in table.value) <= ROOM
