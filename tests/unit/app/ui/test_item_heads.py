"""What stands above the columns of a list."""

from __future__ import annotations

from typing import Any

import pytest

from app.data.context import View
from app.ui.browser import items
from app.ui.browser.items import Item


def test_a_list_without_steps_has_no_column_of_them(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Any] = []
    monkeypatch.setattr(items, "_component", lambda **given: drawn.append(given["data"]["heads"]))
    heads = ("What", "Next step", "When")
    for step in ("", "Start it."):
        row = Item(id="a", badge=None, what="a stopped", step=step)
        items.draw([row], view=view, key="k", alt="x", heads=heads)
    assert drawn == [["What", "When"], list(heads)]
