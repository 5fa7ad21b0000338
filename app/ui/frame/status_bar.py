"""The status bar of each page: what is shown, how old it is, what could not be collected."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import polars as pl
import streamlit as st

from app.data import late_history, present, queries
from app.data.context import View
from app.style.format import clock, duration, escape, listing, utc, zone_name
from app.ui import cluster_choice, components
from app.ui.browser import live, search
from app.ui.frame import empty_states
from lake.errors import LakeError


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What the newest poll of a cluster brought."""

    at: datetime | None  # when it began; None where there never was one
    failing: dict[str, str]


def collected(rows: pl.DataFrame) -> Collected:
    """Rate the newest polls by their rows of ``collections``."""
    if rows.is_empty():
        return Collected(at=None, failing={})
    at = rows.filter(pl.col("source").fill_null(queries.KAFKA) == queries.KAFKA)[
        "observed_at"
    ].max()
    failing = rows.filter(pl.col("status").is_in(["failed", "partial"])).sort("section")
    return Collected(
        at=at if isinstance(at, datetime) else None,
        failing={
            row["section"]: row["error"] or f"the section is {row['status']}"
            for row in failing.iter_rows(named=True)
        },
    )


def draw(
    view: View, pages: dict[str, list[st.Page]], *, shows_range: bool = True
) -> Collected | None:
    """Draw the status bar, with the box that searches everything.

    Args:
        view: The frame of the page.
        pages: Those of the menu.
        shows_range: Whether the page is of the chosen range.

    Returns:
        What the newest poll brought; None where that cannot be read.
    """
    with components.guarded():
        found = collected(queries.newest_collections(view))
        status, box = st.columns([3, 1.2], vertical_alignment="center")
        with status, st.container(horizontal=True, vertical_alignment="center", gap="small"):
            _row(view, found, shows_range=shows_range)
            live.draw(view, found.at)
        with box:
            search.draw(view, pages)
        cluster_choice.note_unknown(view)
        if found.at is not None and empty_states.is_stale(view, found.at):
            empty_states.stale(view, found.at)
        return found
    return None


def newest_poll_at(view: View) -> datetime | None:
    """Return when the newest poll of the cluster began; None where there is none, or unreadable."""
    try:
        return collected(queries.newest_collections(view)).at
    except LakeError:
        return None


def _row(view: View, found: Collected, *, shows_range: bool) -> None:
    # A phone is in its own zone, and has no room for it.
    zone = "" if view.is_phone else zone_name(view.zone, view.until)
    period = view.period.removeprefix("in the ") if shows_range else ""
    time = ", ".join(filter(None, (period, zone)))
    parts = [
        f":gray[:material/lan: {escape(view.cluster)}]",
        *([f":gray[:material/schedule: {escape(time)}]"] if time else []),
    ]
    if found.at is not None:
        seconds = (view.now - found.at).total_seconds()
        colour = components.age_colour(seconds, view.interval_seconds)
        if colour != "gray":
            when = clock(found.at, view.zone, now=view.now)
            parts.append(f":{colour}-badge[:material/history: the newest poll is of {when}]")
    if found.failing:
        names = listing([section.replace("_", " ") for section in found.failing], limit=3)
        parts.append(f":red-badge[:material/sync_problem: not collected: {escape(names)}]")
    late = late_history.late_by(view)
    if late is not None:
        by = duration(late.total_seconds())
        parts.append(f":orange-badge[:material/history: history is behind by {by}]")
    if not present.runs(view):
        parts.append(":red-badge[:material/notifications_off: the alerting service does not run]")
    st.markdown(
        "&nbsp;&nbsp;".join(parts),
        help=_help(view, found),
        anchors=False,
        width="content",
    )


def _help(view: View, found: Collected) -> str:
    lines = [f"The newest poll began at {utc(found.at)}."]
    lines.append(
        f"Polls come every {view.interval_seconds:g} s; the page looks every "
        f"{view.settings.app.refresh_seconds:g} s whether one was evaluated."
    )
    if not present.runs(view):
        evaluated = present.evaluated_at(view)
        lines.append(
            "Nobody is notified: python -m alerting run --config headroom.yaml starts the service. "
            + (
                f"Statuses were evaluated here, at {utc(evaluated)}."
                if evaluated is not None
                else "Statuses are being evaluated here; they appear in a moment."
            )
        )
    if late_history.late_by(view) is not None:
        lines.append("Charts end earlier, and advice is older: Monitoring health says what to do.")
    lines += [f"{escape(section)}: {escape(error)}" for section, error in found.failing.items()]
    return "  \n".join(lines)
