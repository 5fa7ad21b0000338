"""The colours of the lines on all pages: a name keeps its own while somebody looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

import streamlit as st

from app.data.context import View
from app.style.charts.colours import places_of
from app.style.theme import Palette

_KEPT = "_line_places"
_MOST = 200
"""Names whose colours are kept: the newest."""


def of(view: View) -> Callable[[Sequence[str]], Mapping[str, str]]:
    """Return what gives the names in a chart their colours."""
    return partial(_colours, palette=view.palette)


def _colours(names: Sequence[str], *, palette: Palette) -> dict[str, str]:
    kept: dict[str, int] = st.session_state.get(_KEPT, {})
    places = places_of(names, len(palette.series), kept)
    st.session_state[_KEPT] = dict(list((kept | places).items())[-_MOST:])
    return {name: palette.series[place] for name, place in places.items()}
