"""Tables of the pages: numbers as the pages write them, yet sorted as numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from datetime import UTC, datetime
from functools import partial
from math import isinf
from typing import Any, Literal

import pandas as pd  # type: ignore[import-untyped]  # it ships no types
import polars as pl
import streamlit as st

from app.data.context import View
from app.style.format import UNKNOWN, clock, duration, exact, rate, share, size
from app.style.theme import BadgeStyle
from app.ui import routes

Kind = Literal["text", "count", "rate", "duration", "size", "share", "time", "status", "trend"]

NEVER = float("inf")
"""A duration that never ends: a backlog that grows is never drained."""

NONE = -1.0
"""A number that does not apply: there is no backlog to drain."""

NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""A time that there is not, where that has a word of its own: what still goes on."""

DASH = "–"  # noqa: RUF001 (a dash, read by people)
"""What stands where there is nothing to write."""

ROW_LIMIT = 1000
"""Most rows that a table shows; a search finds the others."""

_ROW_PIXELS = 31


# Label and kind stand by position: they are of different types, and each page lists dozens.
@dataclass(frozen=True, slots=True)
class Column:
    """How a column of a frame is shown.

    Attributes:
        kind: How its values are written; all but text and status are sorted as numbers.
        width: In pixels; None lets the table decide.
        never: What is written for ``NEVER``; a dash stands for ``NONE``.
        opens: Page and parameter that a click on the cell leads to.
    """

    label: str
    kind: Kind = "text"
    _: KW_ONLY
    help: str | None = None
    width: int | Literal["small", "medium", "large"] | None = None
    badge_styles: Sequence[BadgeStyle] = ()
    never: str = "never"
    unknown: str = UNKNOWN
    opens: tuple[str, str] | None = None
    pinned: bool = False


_WRITERS: dict[Kind, Callable[[Any], str]] = {
    "count": exact,
    "rate": rate,
    "duration": duration,
    "size": size,
    "share": share,
}


def show(
    frame: pl.DataFrame,
    columns: Mapping[str, Column],
    *,
    view: View,
    key: str,
    alt: str,
    total: int | None = None,
    noun: str = "rows",
    rows_shown: int = 12,
    on_select: Callable[[], None] | None = None,
) -> None:
    """Show rows, and how many of how many they are.

    Args:
        frame: The rows; only the columns that ``columns`` names are sent to the browser.
        columns: How each column is shown, in order.
        view: The frame of the page.
        key: The table's name on the page.
        alt: What it lists, for those who do not see it.
        total: How many rows there are in all, where the frame is a part of them.
        noun: What a row is, in the plural.
        rows_shown: Rows that are seen without scrolling.
        on_select: Called when the viewer has chosen one row.
    """
    shown = frame.select(list(columns)).head(ROW_LIMIT)
    opens = {name: column.opens for name, column in columns.items() if column.opens}
    for name, (page, parameter) in opens.items():
        clicked = st.session_state.get(f"{key}-{name}")
        if clicked is not None:
            routes.go(page, {parameter: clicked["label"]})
    st.dataframe(
        styled(shown, columns, view),
        key=key,
        column_config={name: _config(column, f"{key}-{name}") for name, column in columns.items()},
        hide_index=True,
        placeholder=UNKNOWN,
        height=_ROW_PIXELS * (min(max(1, shown.height), rows_shown) + 1) + 3,
        alt=alt,
        on_select=on_select or "ignore",
        selection_mode="single-row",
    )
    total = max(total or 0, frame.height)
    if total != shown.height:
        st.caption(f"{exact(shown.height)} of {exact(total)} {noun}")


def download(frame: pl.DataFrame, columns: Mapping[str, Column], *, view: View, name: str) -> None:
    """Offer all rows as CSV: with their names, the headings of the table, and empty cells.

    Args:
        frame: The rows, more than a table shows too.
        columns: Those of the table; courses are left out.
        view: The frame of the page.
        name: What the rows are, as the file is called.
    """
    st.download_button(
        "CSV of all rows",
        # Written only where somebody asks for it.
        lambda: csv(frame, columns),
        file_name=f"{name}-{view.cluster}-{view.now:%Y-%m-%dT%H%M}Z.csv",
        mime="text/csv",
        icon=":material/download:",
        type="tertiary",
        key=f"{name}-csv",
        on_click="ignore",
    )


def csv(frame: pl.DataFrame, columns: Mapping[str, Column]) -> str:
    """Write rows as CSV; numbers in the units of their columns, no text that is a formula."""
    written = []
    for name, column in columns.items():
        if column.kind == "trend":
            continue
        value = pl.col(name)
        dtype = frame.schema[name]
        if isinstance(dtype, pl.List):
            value = value.cast(pl.List(pl.String)).list.join(", ")
        elif dtype.is_float():
            value = pl.when(value.is_finite() & (value != NONE)).then(value)
        elif isinstance(dtype, pl.Datetime):
            value = value.dt.to_string("%Y-%m-%dT%H:%M:%SZ")
        elif dtype == pl.String:
            # A spreadsheet would work out a name that begins so.
            is_formula = value.str.contains(r"^[=+\-@\t\r]")
            value = pl.when(is_formula).then(pl.concat_str(pl.lit("'"), value)).otherwise(value)
        unit = {"duration": " (s)", "rate": " (messages/s)", "size": " (bytes)"}.get(
            column.kind, ""
        )
        written.append(value.alias(f"{column.label}{unit}"))
    return frame.select(written).write_csv()


def styled(frame: pl.DataFrame, columns: Mapping[str, Column], view: View) -> Any:
    """Return the rows with each value written as the pages write it."""
    values = pd.DataFrame({name: _values(frame[name], column) for name, column in columns.items()})
    writers = {
        name: partial(_write, writer=writer, column=column)
        for name, column in columns.items()
        if (writer := _writer(column, view)) is not None
    }
    return values.style.format(writers)


def _values(series: pl.Series, column: Column) -> Any:
    if isinstance(series.dtype, pl.List):
        return [None if item is None else list(item) for item in series.to_list()]
    # An empty cell would be written as unknown: what has a word of its own is not empty.
    if isinstance(series.dtype, pl.Datetime):
        return (series if column.unknown == UNKNOWN else series.fill_null(NO_TIME)).to_pandas()
    if series.dtype.is_numeric():
        known = series.cast(pl.Float64)
        return (known if column.unknown == UNKNOWN else known.fill_null(NONE)).to_pandas()
    if column.kind == "text" and not column.opens:
        return [column.unknown if item is None else item for item in series.to_list()]
    return series.to_list()


def _writer(column: Column, view: View) -> Callable[[Any], str] | None:
    if column.kind == "time":
        return lambda moment: clock(moment, view.zone, now=view.now)
    return _WRITERS.get(column.kind)


def _write(value: Any, *, writer: Callable[[Any], str], column: Column) -> str:
    if value is None or value is pd.NaT or value != value:  # NaN differs from itself
        return column.unknown
    if isinstance(value, float) and isinf(value):
        return column.never
    if value == NO_TIME:
        return column.unknown
    if value == NONE:
        return DASH if column.unknown == UNKNOWN else column.unknown
    return writer(value.to_pydatetime() if isinstance(value, pd.Timestamp) else value)


def _config(column: Column, key: str) -> Any:
    common: dict[str, Any] = {
        "label": column.label,
        "help": column.help,
        "width": column.width,
        "pinned": column.pinned,
    }
    if column.opens:
        return st.column_config.ButtonColumn(**common, type="tertiary", alignment="left", key=key)
    if column.kind == "status":
        return st.column_config.MultiselectColumn(
            **common,
            options=[badge_style.label for badge_style in column.badge_styles],
            color=[badge_style.colour for badge_style in column.badge_styles],
        )
    if column.kind == "trend":
        return st.column_config.LineChartColumn(**common, y_min=0)
    if column.kind == "text":
        return st.column_config.TextColumn(**common)
    if column.kind == "time":
        return st.column_config.DatetimeColumn(**common)
    return st.column_config.NumberColumn(**common, alignment="right")
