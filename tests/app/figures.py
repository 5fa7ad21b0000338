"""What a page shows, taken out of what was sent to the browser."""

from __future__ import annotations

import json
from typing import Any

from streamlit.testing.v1 import AppTest


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
