"""Which events a page's charts mark: read from the lake, each part none where it cannot be read."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

import polars as pl
import streamlit as st

from alerting.errors import AlertingError
from alerting.rules.lifecycle import Alert
from app.data import alert_history, history_queries, present, queries
from app.data.context import View
from app.data.time_range import RANGES
from app.ui import components
from app.ui.advice import advice_history
from app.ui.changes import events, relevant
from app.ui.changes.events import Event
from app.ui.changes.readers import of_readers
from lake.schemas.current import RECENT_CHANGES
from scaling.advice.follow_up import Followed
from scaling.advice.model import Subject

_LAST_HOUR = RANGES["1h"]
_ADVISED = timedelta(hours=3)
"""How long after advice was last given a change may follow it."""
_ADVICE = 5
"""Newest advice on one subject whose outcome is looked up."""


def of_cluster(view: View) -> list[Event]:
    """Return what happened to brokers, to the cluster as a whole, and what was deployed."""
    return [*_brokers(view), *_changes(view, None)]


def of_overview(view: View) -> list[Event]:
    """Return the same, and the groups that stopped or fell behind by themselves."""
    return [*of_cluster(view), *events.of_late_groups(fired(view))]


def of_group(
    view: View, group: str, topics: Sequence[str], rebalances: pl.DataFrame
) -> list[Event]:
    """Return what happened to a group, the topics that it reads, and the cluster."""
    return [
        *_brokers(view),
        *_changes(view, (group, topics)),
        *events.of_rebalances(rebalances),
        *_alerts(view, "group", group),
        *_advice(view, Subject.GROUP, group),
    ]


def of_dead_letters(view: View, readers: Collection[str]) -> list[Event]:
    """Return what happened to the cluster, and when the readers of an origin stopped and returned.

    Args:
        view: The frame of the page.
        readers: The groups that read the topic which dead letters come from.
    """
    return [*of_cluster(view), *of_readers(fired(view), readers)]


def of_topic(view: View, topic: str) -> list[Event]:
    """Return what happened to a topic and the cluster."""
    return [
        *_brokers(view),
        *_changes(view, (None, [topic])),
        *_alerts(view, "topic", topic),
        *_advice(view, Subject.TOPIC, topic),
    ]


def of_last_hour(view: View) -> list[Event]:
    """Return what changed in the cluster in the last hour."""
    found: list[Event] = []
    with components.guarded():
        since = _LAST_HOUR.start(view.now)
        found += events.of_changes(queries.changes_between(view, since, view.now))
    with components.guarded():
        members = present.rows(view, RECENT_CHANGES)
        advised = _advised(view, members["name"].unique().to_list())
        found += events.of_members(members, advised, view.now)
    return found


def alerts_of_last_hour(view: View) -> str:
    """Say how many alerts began and ended in the last hour; nothing where none, or not known."""
    try:
        alerts = alert_history.overlapping(view, _LAST_HOUR) or ()
    except AlertingError:
        return ""  # the page Alerts says so
    return events.began_and_ended(alerts, _LAST_HOUR.start(view.now))


def _advised(view: View, groups: Sequence[str]) -> dict[str, tuple[int, datetime]]:
    """Return the numbers of members that were last advised to groups of late, and since when."""
    if not groups:
        return {}
    rows = advice_history.given(view, since=view.now - _ADVISED).filter(
        pl.col("subject_kind") == Subject.GROUP,
        pl.col("subject").is_in(groups),
        pl.col("quantity") == "consumers",
    )
    known = rows.drop_nulls("proposed").sort("valid_from")
    return {
        group: (proposed, given_at)
        for group, proposed, given_at in known.select(
            "subject", "proposed", "valid_from"
        ).iter_rows()
    }


def _changes(view: View, about: tuple[str | None, Sequence[str]] | None) -> list[Event]:
    with components.guarded():
        rows = queries.cluster_events(view)
        found = relevant.about_cluster(rows) if about is None else relevant.about(rows, *about)
        return events.of_changes(found)
    return []


def _brokers(view: View) -> list[Event]:
    """Return brokers that went and came back before the samples that name them begin."""
    days = view.settings.lake.retention.raw_days
    if days is None or view.range.length < timedelta(days=days):
        return []
    with components.guarded():
        course = history_queries.cluster_history(view).frame
        return events.of_brokers(course, view.now - timedelta(days=days))
    return []


def _alerts(view: View, kind: str, name: str) -> list[Event]:
    of_thing = [one for one in fired(view) if one.labels.get(kind) == name]
    return events.of_alerts(of_thing, name)


def fired(view: View) -> list[Alert]:
    """Return the alerts of the chosen time that fired; none where they cannot be read."""
    try:
        found = alert_history.overlapping(view, view.range) or ()
    except AlertingError:
        return []  # the page Alerts says so
    return [one for one in found if one.fired_at is not None]


def _advice(view: View, kind: Subject, name: str) -> list[Event]:
    """Return when advice on a group or a topic was given, and when it was followed."""
    minutes = tuple(int(at.timestamp() // 60) for at in (view.start, view.until))
    with components.guarded():
        found = _advice_on(view.cache_key, view.cluster, kind, name, minutes, view)
        return [one for one in found if view.start <= one.at <= view.until]
    return []


@st.cache_data(ttl=60, max_entries=64, show_spinner=False)
def _advice_on(
    uri: str, cluster: str, kind: Subject, name: str, minutes: tuple[int, ...], _view: View
) -> list[Event]:
    """Return the events of advice in the range; ``minutes`` are its ends, as far as they count."""
    rows = advice_history.given_on(_view, kind, name).head(_ADVICE)
    found = []
    for row, outcome in zip(
        rows.iter_rows(named=True), advice_history.outcomes(_view, rows), strict=True
    ):
        change = advice_history.change(row)
        found.append(events.of_advice(row["valid_from"], f"advised: {change}"))
        if outcome.followed is Followed.FOLLOWED and outcome.at is not None:
            found.append(events.of_advice(outcome.at, f"advice followed: {change}"))
    return found
