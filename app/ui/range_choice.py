"""The choice of the time range, and whether the page goes on with time.

A choice is an entry of the browser's history: it is put into the address by the script, which
Streamlit follows with a new entry; of a widget that is bound to the address it replaces the entry.
"""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

import streamlit as st

from app.data.time_range import (
    DEFAULT_RANGE,
    RANGES,
    TimeRange,
    between,
    interval_text,
    read_interval,
)
from app.style.format import clock, clock_after, escape

RANGE, BETWEEN = "range", "between"
PAUSED = "paused"
_FIRST, _LAST = "range-first", "range-last"
_ENDING_NOW = "_range_ending_now"
"""The range that was chosen last: none is, in the choice, while one from – to is shown."""  # noqa: RUF001
_FILLED_FOR = "_range_filled_for"
_IS_OPEN = "range-is-open"


def draw(
    now: datetime, zone: tzinfo, minute_days: int | None, *, is_offered: bool = True
) -> TimeRange:
    """Draw the choice: a range that ends now, or one from a moment to another.

    What is chosen stands in the address: ``range``, ``between`` and ``paused``.

    Args:
        now: The present.
        zone: The viewer's.
        minute_days: How long history by the minute is kept; None: for ever.
        is_offered: Whether the page follows it; else it is kept for the other pages.
    """
    text = _asked()
    fixed, wrong = None, ""
    if text:
        try:
            start, end = read_interval(text)
            fixed = between(start, min(end, max(now, start)), now, minute_days)
        except ValueError as error:
            wrong = str(error)
    # Set in each run, so that the browser is told in each: what one run sends is thrown away where
    # the next begins before it arrived, and the browser would show, and choose, nothing.
    st.session_state[RANGE] = None if fixed else st.session_state[_ENDING_NOW]
    if is_offered:
        _offer(now, zone, fixed)
    if wrong:
        st.error(escape(wrong), icon=":material/date_range:")
    with st.container(horizontal=True, gap="small", vertical_alignment="center"):
        st.toggle(
            "Pause",
            key=PAUSED,
            bind="query-params",
            help="The page stays as it is until you go on: nothing is read again by itself.",
        )
        if text and is_offered:
            st.button(
                "Back to now",
                icon=":material/fast_forward:",
                type="tertiary",
                on_click=_end_now,
            )
    return fixed or RANGES[st.session_state[_ENDING_NOW]]


def _offer(now: datetime, zone: tzinfo, fixed: TimeRange | None) -> None:
    # The address holds what the choice shows, so the choice shows the ranges' short names.
    st.segmented_control(
        "Time range",
        list(RANGES),
        required=True,
        key=RANGE,
        width="stretch",
        wrap=False,
        on_change=_end_now,
        help="Or drag over a chart to zoom all charts of the page; a double click ends that.",
    )
    ends = (now - timedelta(hours=1), now)
    if fixed is not None and fixed.end is not None:
        ends = (fixed.end - fixed.length, fixed.end)
    shown = fixed.key if fixed else None
    if shown != st.session_state.get(_FILLED_FOR):
        st.session_state.update({_FILLED_FOR: shown, _FIRST: None, _LAST: None})
    for key, moment in zip((_FIRST, _LAST), ends, strict=True):
        # A field that was emptied is filled again: without both ends nothing could be shown. Set in
        # each run: a browser forgets what it was told while the fields were not in sight.
        st.session_state[key] = st.session_state.get(key) or _local(moment, zone)
    # Dashes, read by people.
    said = "From – to"  # noqa: RUF001
    if fixed is not None:
        last = clock_after(ends[1], ends[0], zone, now=now)
        said = f"{clock(ends[0], zone, now=now)} – {last}"  # noqa: RUF001
    with st.popover(
        said,
        icon=":material/date_range:",
        width="stretch",
        key=_IS_OPEN,
        on_change="rerun",  # else the script could not close it
    ):
        step = timedelta(minutes=1)
        st.datetime_input("From", None, key=_FIRST, step=step)
        st.datetime_input("To", None, key=_LAST, step=step)
        st.button("Show this time", on_click=_show_chosen, args=(zone,), type="primary")


def _asked() -> str:
    """Take over what the address asks for, and return its interval; empty: up to now.

    Pages that were opened without either keep what was chosen last.
    """
    kept, text, key = st.session_state, st.query_params.get(BETWEEN), st.query_params.get(RANGE)
    last = kept.get(RANGE) or kept.get(_ENDING_NOW) or DEFAULT_RANGE
    kept[_ENDING_NOW] = key if key in RANGES else last
    if text or key or BETWEEN not in kept:
        kept[BETWEEN] = text or ""
    return str(kept[BETWEEN])


def is_paused() -> bool:
    """Return whether the viewer has paused the page."""
    return bool(st.session_state.get(PAUSED))


def show(start: datetime, end: datetime) -> None:
    """Choose a range from one moment to another; for callbacks, which run before it is drawn."""
    st.query_params[BETWEEN] = interval_text(start, end)


def _end_now() -> None:
    chosen = st.session_state[RANGE] or st.session_state[_ENDING_NOW]
    # At once: each change of the address is an entry of the history.
    st.query_params.update({RANGE: chosen, BETWEEN: ""})


def _show_chosen(zone: tzinfo) -> None:
    first, last = st.session_state[_FIRST], st.session_state[_LAST]
    if first is not None and last is not None:
        show(first.replace(tzinfo=zone), last.replace(tzinfo=zone))
        st.session_state[_IS_OPEN] = False


def _local(moment: datetime, zone: tzinfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None, second=0, microsecond=0)
