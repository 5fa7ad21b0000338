"""The colours of lines, kept from one drawing of a page to the next."""

from __future__ import annotations

from itertools import combinations

from streamlit.testing.v1 import AppTest

from app.style.charts.colours import colours_of
from app.style.theme import LIGHT


def draw() -> None:
    from types import SimpleNamespace
    from typing import Any, cast

    import streamlit as st

    from app.style.theme import LIGHT
    from app.ui import line_colours

    view = cast(Any, SimpleNamespace(palette=LIGHT))
    st.session_state["drawn"] = line_colours.of(view)(st.session_state["names"])


def test_who_was_drawn_first_keeps_its_colour_when_another_comes_and_goes() -> None:
    alike = (
        pair
        for pair in combinations([f"g{number}" for number in range(40)], 2)
        if colours_of(pair[:1], LIGHT)[pair[0]] == colours_of(pair[1:], LIGHT)[pair[1]]
    )
    earlier, later = next(alike)
    test = AppTest.from_function(draw)

    def drawn(*names: str) -> dict[str, str]:
        test.session_state["names"] = names
        test.run()
        assert not test.exception
        found: dict[str, str] = test.session_state["drawn"]
        return found

    alone = drawn(later)
    both = drawn(earlier, later)
    assert both[later] == alone[later] != both[earlier]
    assert drawn(earlier)[earlier] == both[earlier]
