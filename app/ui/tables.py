"""Tables of the pages: numbers as the pages write them, yet sorted as numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import isinf
from typing import Any

import pandas as pd  # type: ignore[import-untyped]  # it ships no types
import polars as pl
import streamlit as st

from app.data.context import View
from app.style.columns import (
    DASH,
    NO_TIME,
    NONE,
    ROW_PIXELS,
    UNITS,
    Column,
    above_links,
    fitted,
    rounded,
    writers,
)
from app.style.format import UNKNOWN, brief_beginning, clock, exact, thin
from app.style.theme import BadgeStyle
from app.ui import routes
from app.ui.browser import items
from app.ui.browser.leave import leave
from app.ui.file_names import file_name

ROW_LIMIT = 1000
"""Most rows that a table shows; a search finds the others."""

_CARDS, _SEEN = 20, 4  # rows that a phone shows at once, a card each; short columns seen of a card
_LABELLED, _WIDE = 40, 400
"""Longer texts, and those of wider columns, are sentences: a card leaves their label out."""


def show(
    frame: pl.DataFrame,
    columns: Mapping[str, Column],
    *,
    view: View,
    key: str,
    alt: str,
    total: int | None = None,
    noun: str = "rows",
    sums: str = "",
    rows_shown: int = 50,
    every: Callable[[], pl.DataFrame] | None = None,
    in_file: Mapping[str, Column] | None = None,
    most_cards: int = _CARDS,
) -> None:
    """Show rows, how many of how many they are, and a link to them as a file.

    Args:
        frame: The rows; only the columns that ``columns`` names are sent to the browser.
        columns: How each column is shown, in order.
        view: The frame of the page.
        key: The table's name on the page.
        alt: What it lists, for those who do not see it.
        total: How many rows there are in all, where the frame is a part of them.
        noun: What a row is, in the plural.
        sums: What all of them are together, said behind their number.
        rows_shown: Rows that are seen without scrolling the table.
        every: Returns the rows of the file, where the frame is a part of them.
        in_file: Further columns, of the file alone.
        most_cards: Most rows that a phone has, those after the first few folded.
    """
    flags = [column.at_least for column in columns.values() if column.at_least]
    shown = frame.select(*columns, *flags).head(ROW_LIMIT)
    opens = {name: column.opens for name, column in columns.items() if column.opens}
    for name, (page, parameter) in opens.items():
        if (clicked := st.session_state.get(f"{key}-{name}")) is not None:
            leave(routes.href(page, view, {parameter: clicked["label"]}))
    with st.container(gap="xxsmall"):
        if view.is_phone:
            shown = shown.head(most_cards)
            _show_cards(cards(shown, columns, view), view=view, key=key, alt=alt, noun=noun)
        else:
            st.dataframe(
                styled(shown, columns, view),
                key=key,
                column_config={
                    name: _config(column, f"{key}-{name}") for name, column in columns.items()
                },
                hide_index=True,
                placeholder=UNKNOWN,
                row_height=ROW_PIXELS,
                height=ROW_PIXELS * min(max(1, shown.height), rows_shown) + ROW_PIXELS + 3,
                alt=alt,
            )
        total = max(total or 0, frame.height)
        of = "" if total == shown.height else f" of {exact(total)}"
        # A single row needs no number.
        said = [] if total == 1 else [f"{exact(shown.height)}{of} {noun}"]
        with st.container(
            horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
        ):
            st.caption(". ".join([*said, *([sums] if sums else [])]), width="content")
            rows = partial(_whole, frame, every)
            download(rows, {**columns, **(in_file or {})}, view=view, key=key, alt=alt)


def _whole(frame: pl.DataFrame, every: Callable[[], pl.DataFrame] | None) -> pl.DataFrame:
    return frame if every is None else every()


def download(
    rows: Callable[[], pl.DataFrame],
    columns: Mapping[str, Column],
    *,
    view: View,
    key: str,
    alt: str,
) -> None:
    """Draw the link to rows as a file.

    Args:
        rows: Returns them, once somebody asks for the file.
        columns: Those of the file.
        view: The frame of the page.
        key: The table's name on the page.
        alt: What it lists.
    """
    st.download_button(
        "CSV",
        lambda: csv(rows(), columns),
        file_name=file_name(key, view),
        mime="text/csv",
        key=f"{key}-csv",
        help=f"{alt}: all rows, with the columns of this table.",
        type="tertiary",
        icon=":material/download:",
        on_click="ignore",
    )


def _show_cards(made: Sequence[items.Item], *, view: View, key: str, alt: str, noun: str) -> None:
    items.draw(made[:_CARDS], view=view, key=f"{key}-cards", alt=alt)
    if more := made[_CARDS:]:
        with st.expander(f"{len(more)} more {noun}"):
            items.draw(more, view=view, key=f"{key}-more", alt=alt)


_FORMULA = r"^[=+\-@\t\r]"


def csv(frame: pl.DataFrame, columns: Mapping[str, Column]) -> str:
    """Return rows as CSV: each column in one unit, times in UTC, nothing for what is not known.

    Args:
        frame: All rows, of which the page may show a part.
        columns: The columns of the page, in order; sparklines are left out.
    """
    shown = dict[str, Column]()
    for name, column in columns.items():
        shown |= {} if column.kind == "trend" else {name: column}
        if column.at_least:
            shown[column.at_least] = Column(f"{column.label} then or before")
    # Two columns of one label would be one in the file.
    labels = [_heading(column) for column in shown.values()]
    names = [
        label if labels.count(label) == 1 else f"{label} [{name}]"
        for label, name in zip(labels, shown, strict=True)
    ]
    return frame.select(
        _as_written(frame, name, column).alias(label)
        for (name, column), label in zip(shown.items(), names, strict=True)
    ).write_csv()


def _heading(column: Column) -> str:
    unit = UNITS.get(column.kind)
    return f"{column.label} ({unit})" if unit else column.label


def _as_written(frame: pl.DataFrame, name: str, column: Column) -> pl.Expr:
    kind, value = frame.schema[name], pl.col(name)
    if isinstance(kind, pl.List):
        texts = value.cast(pl.List(pl.String)).list.join(", ")
        # A status has a symbol of one character before its word.
        value = texts.str.replace(r"^\S ", "") if column.kind == "status" else texts
    elif isinstance(kind, pl.Datetime):
        return value.dt.strftime("%Y-%m-%dT%H:%M:%SZ")
    elif kind.is_float():
        # What never ends and what does not apply are no numbers.
        never = pl.when(value.is_infinite()).then(pl.lit(column.never))
        # A change may be of any number.
        none = (value == NONE) & (column.kind != "change")
        known = rounded(value, column.kind).cast(pl.String).replace("0.0", column.zero or "0.0")
        return never.when(none).then(None).otherwise(known)
    elif kind != pl.String:
        return value
    else:
        value = value.map_elements(_sentence, return_dtype=pl.String)
    # A spreadsheet runs what begins like a formula, and names are the text of others.
    return pl.when(value.str.contains(_FORMULA)).then(pl.lit("'") + value).otherwise(value)


def texts(
    frame: pl.DataFrame, columns: Mapping[str, Column], view: View
) -> Iterator[tuple[str, ...]]:
    """Return each row as the texts that the table shows."""
    writers = {name: write or _sentence for name, write in _writers(frame, columns, view).items()}
    for row in frame.iter_rows(named=True):
        yield tuple(
            brief_beginning(
                _write(row[name], writer=writers[name], column=column),
                column.at_least is not None and row[name] is not None and row[column.at_least],
            )
            for name, column in columns.items()
        )


def _is_long(text: str, column: Column) -> bool:
    pixels = _WIDE if column.width == "large" else column.width
    is_wide = isinstance(pixels, int) and pixels >= _WIDE
    return is_wide or len(text) > _LABELLED or text.endswith(".")


def cards(frame: pl.DataFrame, columns: Mapping[str, Column], view: View) -> list[items.Item]:
    """Return each row as a card: its name, its status, and the other columns in words.

    Further ones than the first few are folded.

    The name is the column that is said to be, or else the first one that is no status; what leads
    elsewhere is a link. What stands before the name, such as a time, needs no label. A sparkline is
    left out, and what does not apply.
    """
    written = {name: column for name, column in columns.items() if column.kind != "trend"}
    status = next((name for name, column in written.items() if column.kind == "status"), None)
    others = [name for name in written if name != status]
    title = next((name for name in others if columns[name].names), others[0])
    before = others[: others.index(title)]
    target = columns[title].opens
    found = []
    for number, row in enumerate(texts(frame, written, view)):
        said = dict(zip(written, row, strict=True))
        badge = _badge(frame[status][number], columns[status]) if status else None
        rest = [
            name
            for name in written
            if name not in (title, *before)
            and not (name == status and badge)
            and said[name] not in ("", DASH)
        ]
        long = [name for name in rest if _is_long(said[name], columns[name])]
        short = [name for name in rest if name not in long]
        # The first explains the status beside it, and needs no label.
        sentences = [
            said[name] if name == long[0] else f"{columns[name].label.capitalize()}: {said[name]}"
            for name in long
        ]
        labelled = [f"{columns[name].label} {said[name]}" for name in short]
        found.append(
            items.Item(
                id=f"{number}-{said[title]}",
                badge=badge,
                what=said[title],
                when=" · ".join(said[name] for name in before),
                link=items.Target(
                    label=said[title],
                    page=target[0],
                    parameters={target[1]: str(frame[title][number])},
                )
                if target
                else None,
                why=" ".join(sentences),
                step=" · ".join(labelled[:_SEEN]),
                more=[" · ".join(labelled[_SEEN:])] if labelled[_SEEN:] else [],
            )
        )
    return found


def _badge(label: Any, column: Column) -> BadgeStyle | None:
    labels = [] if label is None else list(label)
    return next((one for one in column.badge_styles if [one.label] == labels), None)


def styled(frame: pl.DataFrame, columns: Mapping[str, Column], view: View) -> Any:
    """Return the rows with each value written as the pages write it.

    What a text has no room for is left out of the cell alone: a double click shows all of it.
    """
    values = pd.DataFrame({name: _values(frame[name], column) for name, column in columns.items()})
    writers = {
        name: partial(_write, writer=write, column=columns[name])
        for name, write in _writers(frame, columns, view).items()
        if write is not None
    }
    cut = {
        name: partial(fitted, width=column.width)
        for name, column in columns.items()
        if column.kind == "text" and not column.opens and column.width
    }
    found = values.style.format(writers | cut)
    for name, column in columns.items():
        if column.at_least:
            is_so = (frame[column.at_least] & frame[name].is_not_null()).fill_null(value=False)
            rows = is_so.arg_true().to_list()
            found = found.format(
                lambda one, write=writers[name]: brief_beginning(write(one), at_least=True),
                subset=pd.IndexSlice[rows, [name]],
            )
    return found


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
        return [column.unknown if item is None else _sentence(item) for item in series.to_list()]
    return series.to_list()


def _sentence(value: Any) -> str:
    """Write the thousands of a sentence as the pages do; a name stays as it is."""
    text = str(value)
    return thin(text) if " " in text else text


def _writers(
    frame: pl.DataFrame, columns: Mapping[str, Column], view: View
) -> dict[str, Callable[[Any], str] | None]:
    values = ((name, one.kind, _known(frame[name], one)) for name, one in columns.items())
    clocks = {
        name: partial(clock, zone=view.zone, now=view.now, to_seconds=one.to_seconds)
        for name, one in columns.items()
        if one.kind == "time"
    }
    return {**writers(values), **clocks}


def _known(values: pl.Series, column: Column) -> Iterator[Any]:
    # What does not apply is no number of the column; a change may be of any.
    return (one for one in values.drop_nulls() if one != NONE or column.kind == "change")


def _write(value: Any, *, writer: Callable[[Any], str], column: Column) -> str:
    if value is None or value is pd.NaT or value != value:  # NaN differs from itself
        return column.unknown
    if isinstance(value, float) and isinf(value):
        return column.never
    if value == 0 and column.zero is not None:
        return column.zero
    if isinstance(value, list):
        return ", ".join(str(one) for one in value)
    if value == NO_TIME:
        return column.unknown
    if value == NONE and column.kind != "change":
        return DASH if column.unknown == UNKNOWN else column.unknown
    return writer(value.to_pydatetime() if isinstance(value, pd.Timestamp) else value)


def _config(column: Column, key: str) -> Any:
    common: dict[str, Any] = {
        "label": above_links(column.label) if column.opens else column.label,
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
