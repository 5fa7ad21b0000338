"""The parts that pages are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import plotly.graph_objects as go
import polars as pl
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from alerting.rules.model import AlertSeverity
from app.data import alert_store
from app.data.context import View, current
from app.style.charts.base import CONFIG
from app.style.charts.words import in_words
from app.style.format import duration, escape
from app.style.theme import Badge, BadgeStyle
from app.ui import present_incidents, routes
from lake.errors import LakeError

_BROKEN = "_broken_tables"
_LOOK = Path(__file__).with_name("components.css")


def begin_page() -> None:
    """Forget which tables the last drawing of a page could not read."""
    st.session_state[_BROKEN] = set()
    st.html(_LOOK)


def tab_title(view: View, *parts: str) -> None:
    """Name the browser's tab; before the name stands how many causes need somebody now."""
    try:
        acknowledged = alert_store.looked_after(view)
        number: int | str = sum(
            1
            for one in present_incidents.here(view)
            if one.needs(AlertSeverity.CRITICAL) and not one.is_acknowledged(acknowledged)
        )
    except LakeError:
        number = "?"
    said = " · ".join([*parts, "Headroom"])
    st.set_page_config(page_title=f"({number}) {said}" if number else said)


@contextmanager
def guarded() -> Iterator[None]:
    """Draw a part of the page; a table that cannot be read takes down this part alone."""
    try:
        yield
    except LakeError as error:
        show_broken(error)


@contextmanager
def required(headline_without: str) -> Iterator[None]:
    """Read what the page cannot do without; a table that cannot be read ends the page."""
    try:
        yield
    except LakeError as error:
        headline(headline_without)
        show_broken(error)
        st.stop()


def show_broken(error: LakeError) -> None:
    """Say once a page which table cannot be read, and mark each further part that needs it."""
    table, _, reason = str(error).partition(": ")
    seen: set[str] = st.session_state.setdefault(_BROKEN, set())
    if table in seen:
        st.caption(f":material/error: Needs the table {escape(table)}, which cannot be read.")
        return
    seen.add(table)
    first_line = reason.splitlines()[0] if reason else "no reason was given"
    if len(first_line) > 240:
        first_line = f"{first_line[:240]} …"
    st.error(
        f"**The table {escape(table)} cannot be read.** What needs it is left out.  \n"
        f"{escape(first_line)}",
        icon=":material/database_off:",
    )


def code(text: str) -> None:
    """Draw text to be copied as it is, wrapped: colours of a language are too pale to read."""
    st.code(text, language=None, wrap_lines=True)


def show_left_out(problems: Sequence[str]) -> None:
    """Say what was left out so that everything else goes on; nothing where nothing was."""
    if problems:
        lines = [f"- {escape(problem)}" for problem in problems]
        st.error("\n".join(lines), icon=":material/rule:")


@contextmanager
def section(
    title: str,
    *,
    anchor: str | None = None,
    help_text: str | None = None,
    unit: str | None = None,
    log_key: str | None = None,
    is_folded: bool = False,
) -> Iterator[bool]:
    """Draw a titled part of the page that fails alone.

    Args:
        title: Its title.
        anchor: What a link on the page leads to it by.
        help_text: What its words mean, on hover.
        unit: What its chart counts.
        log_key: Where given, a switch of this name makes the figure's y logarithmic.
        is_folded: Whether only its title is seen until it is opened, as on a phone.

    Yields:
        Whether that switch is on.
    """
    if is_folded:
        with st.expander(title), guarded():
            if unit:
                st.caption(unit)
            yield False
        return
    with heading(title, anchor=anchor, help_text=help_text, unit=unit):
        log = log_switch(log_key) if log_key else False
    with guarded():
        yield log


def heading(
    title: str,
    *,
    anchor: str | None = None,
    help_text: str | None = None,
    unit: str | None = None,
) -> DeltaGenerator:
    """Draw the title of a part of the page; see ``section`` for the arguments.

    Returns:
        The place at the right end of its row for the chart's controls. Their order is the same on
        all pages: what to compare with, the log switch, and on a page's first chart its marks.
    """
    row = st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    )
    row.header(with_unit(title, unit), anchor=anchor or False, help=help_text, width="content")
    return row.container(horizontal=True, width="content", vertical_alignment="center", gap="small")


def with_unit(title: str, unit: str | None) -> str:
    """Return a chart's title with its unit behind it, small and grey, as markdown."""
    return f"{title} :small[:gray[{unit}]]" if unit else title


def log_switch(key: str) -> bool:
    """Draw the switch that makes a chart's y logarithmic; return whether it is on."""
    return st.toggle("log", key=key)


def headline(sentence: str, detail: str | None = None) -> None:
    """Begin a page with the one sentence that answers its question."""
    st.title(sentence, anchor=False)
    if detail:
        st.markdown(detail)


def say_what_is_of_now(view: View) -> None:
    """Say below a headline of now that the chosen time, which is over, is that of other parts."""
    if view.range.end is not None and view.range.end < view.now:
        st.markdown(
            ":blue-badge[:material/schedule: Now] This, the tiles and the rows are of now; charts "
            "and history are of the chosen time."
        )


def badge(badge_style: BadgeStyle, *, note: str = "") -> None:
    """Show a status: word, symbol and colour; its meaning, and what else is to be known, on hover.

    Args:
        badge_style: How it is written.
        note: What must be known to read it.
    """
    st.badge(
        badge_style.word,
        icon=badge_style.icon,
        color=badge_style.colour,
        help=f"{badge_style.meaning} {note}".rstrip(),
    )


def nothing(text: str, *, icon: str = ":material/inbox:") -> None:
    """Say that there is nothing to show, and why or what to do."""
    with st.container(border=True):
        st.markdown(f":gray[{icon} {text}]")


def chart(
    made: go.Figure,
    *,
    key: str,
    alt: str,
    title: str | None = None,
    unit: str | None = None,
    note: str | None = None,
) -> None:
    """Show a figure.

    Args:
        made: The figure.
        key: Its name on the page: what the viewer zoomed stays so at each refresh.
        alt: What it shows, for those who do not see it; what its lines say is added.
        title: Its own title, where several stand below one heading.
        unit: What it counts, beside that title.
        note: What must be known to read it.
    """
    words = in_words(made)
    alt = f"{alt}. {words}" if words else alt
    if title:
        st.markdown(with_unit(f"**{title}**", unit))
    st.plotly_chart(made, key=key, theme=None, config=CONFIG, alt=alt)
    if note:
        st.caption(note)


def tile(
    label: str,
    value: str,
    *,
    delta: str | None = None,
    colour: Badge | Literal["off"] = "off",
    value_colour: Badge | None = None,
    help_text: str | None = None,
) -> None:
    """Show a figure with its change.

    Args:
        label: What it is.
        value: The figure, written.
        delta: A clause below it.
        colour: The colour of the clause; ``off`` is grey.
        value_colour: That of the figure, where it is itself what is to be seen.
        help_text: What the figure means, on hover.
    """
    st.metric(
        label,
        f":{value_colour}[{value}]" if value_colour else value,
        # A blank keeps the tiles of a row alike in height.
        delta=delta or "\u00a0",
        delta_color=colour,
        delta_arrow="off",
        border=True,
        height="stretch",
        help=help_text,
    )


def age_colour(seconds: float | None, interval_seconds: float) -> Badge:
    """Return the colour of an age: amber beyond two polls, red beyond four."""
    if seconds is None or seconds > 4 * interval_seconds:
        return "red"
    return "orange" if seconds > 2 * interval_seconds else "gray"


def since(moment: datetime | None, view: View) -> str:
    """Write how long something has been so."""
    if moment is None:
        return "unknown"
    return duration(max(0.0, (view.now - moment).total_seconds()))


def filters(view: View) -> DeltaGenerator:
    """Return the place for what narrows a page's list; on a phone it is folded."""
    return st.expander("Search and filters") if view.is_phone else st.container()


def search(key: str, placeholder: str) -> str:
    """Draw the box that narrows a page's list; what is typed stands in the address.

    Returns:
        What was typed; empty: nothing.
    """
    typed = st.text_input(
        "Search",
        key=key,
        bind="query-params",
        persist_state="session",
        placeholder=placeholder,
        icon=":material/search:",
        live=True,
        # The placeholder says it to who sees it.
        label_visibility="collapsed",
    )
    return typed or ""


def choice_in_address(
    label: str, names: Sequence[str], *, key: str, **look: Any
) -> tuple[str | None, str | None]:
    """Draw a choice that stands in the address; each is a step for the browser's "back".

    It is not bound to the address: Streamlit takes out of it what is not among the names.

    Returns:
        What the address asks for, known or not, and what is chosen of the names.
    """
    asked = st.query_params.get(key)
    # Set in each run, so that the browser is told in each; see range_choice.
    st.session_state[key] = asked if asked in names else None
    name = st.selectbox(
        label, names, index=None, key=key, on_change=put_into_address, args=(key,), **look
    )
    return asked, name


def put_into_address(key: str) -> None:
    """Put a choice into the address; for callbacks, which run before it is drawn."""
    if st.session_state[key] is None:
        st.query_params.pop(key, None)
    else:
        st.query_params[key] = st.session_state[key]


def chosen(kind: str, names: pl.Series, list_page: str, missing: str) -> tuple[str, DeltaGenerator]:
    """Draw the choice of a page about one thing; without a choice the page ends here.

    Args:
        kind: ``group`` or ``topic``; also the parameter in the page's address.
        names: What there is to choose from.
        list_page: The page that lists them all.
        missing: Why a name from the address may not be among them, as a clause.

    Returns:
        The name, and the place beside the choice, for the page's heading.
    """
    heading, choice = st.columns([3, 2], vertical_alignment="center")
    every = "All consumer groups" if kind == "group" else "All topics"
    with choice, st.container(horizontal=True, vertical_alignment="center"):
        routes.link(list_page, every, icon=":material/arrow_back:")
        asked, name = choice_in_address(
            kind.capitalize(),
            names.sort().to_list(),
            key=kind,
            placeholder=f"choose a {kind}",
            label_visibility="collapsed",
        )
    routes.within(list_page)
    title = "Consumer group" if kind == "group" else "Topic"
    tab_title(current(), *([] if name is None else [name]), title)
    if name is not None:
        return name, heading
    with heading:
        headline(f"This {kind} is not known" if asked else f"Which {kind}?")
    if asked:
        nothing(
            f"The newest poll did not find the {kind} {escape(asked)}: it {missing}. The list on "
            "the right holds those that are there."
        )
    st.stop()


def beside_each_other() -> DeltaGenerator:
    """Return a row for a sentence and what belongs to it: what has no room goes below it."""
    return st.container(horizontal=True, vertical_alignment="center", gap="small")


def author(view: View, label: str, proposed: str = "") -> str:
    """Ask who acts; whoever is logged in is not asked."""
    if view.viewer.roles is None:
        return st.text_input(label, value=proposed)
    st.caption(f"{label}: {escape(view.viewer.name or '')}")
    return ""
