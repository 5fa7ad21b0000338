"""Links from the page of one thing to the incidents of its alerts, and to its last one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import polars as pl

from alerting.errors import AlertingError
from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import SEVERITIES
from app.data import alert_history, present
from app.data.context import View
from app.style.format import escape, thin
from app.ui import components, incident_list, incident_rows, incidents, routes
from app.ui.alert_list import badge_style
from app.ui.browser.items import Target

_SHOWN = 4


def draw(
    view: View, label: str, name: str, *, readers: Collection[str] = (), is_said: bool = False
) -> None:
    """Draw links to the incidents of one thing, where a service keeps alerts.

    Those are its open ones, and of the groups that read it; without any, its last one that ended
    within the chosen range.

    Args:
        view: The frame of the page.
        label: What names the thing among the labels of an alert, such as ``group``.
        name: Its name.
        readers: The groups that read it, of a topic.
        is_said: Whether the page says what goes on: one link alone needs not.
    """
    with components.guarded():
        if not present.runs(view):
            return
        alerts = present.open_alerts(view)
        found = about(alerts, label, name, view, readers=readers)
        if is_said and len(found) == 1:
            found = [(icon, replace(one, label="Incident")) for icon, one in found]
        for icon, target in (found or _last(view, label, name, is_said=is_said))[:_SHOWN]:
            routes.link(target.page, escape(target.label), target.parameters, icon=icon)


def _last(view: View, label: str, name: str, *, is_said: bool) -> list[tuple[str, Target]]:
    try:
        fired = alert_history.overlapping(view, view.range) or ()
    except AlertingError:
        return []  # the page Alerts says so
    until = view.until.timestamp()
    of_thing = [
        one
        for one in fired
        if one.labels.get(label) == name
        and one.resolved_at is not None
        and one.resolved_at <= until
    ]
    if not of_thing:
        return []
    last = max(incidents.incidents(of_thing), key=lambda one: one.ended_at or 0.0)
    what = "Last incident" if is_said else thin(last.cause.what)
    said = f"{what}: {incident_list.span(last, view)}"
    return [(":material/history:", incident_list.story(last.cause.id, said))]


def about(
    alerts: pl.DataFrame, label: str, name: str, view: View, *, readers: Collection[str] = ()
) -> list[tuple[str, Target]]:
    """Return the icon and the link of each incident of a thing or its readers, the worst first.

    Of an incident with several alerts on them the worst one is said, of equal ones the cause.
    What links say has since when it is so.

    Args:
        alerts: Rows of ``open_alerts``.
        label: What names the thing among the labels of an alert.
        name: Its name.
        view: The frame of the page.
        readers: The groups that read it, of a topic.
    """
    rows = alerts.filter(
        pl.col("started_at").is_not_null(), pl.col("state").ne_missing(State.RESOLVED.value)
    )
    found = [
        incident_rows.alert_of(row)
        for row in rows.iter_rows(named=True)
        for labels in (incident_rows.labels_of(row),)
        if labels.get(label) == name or labels.get("group") in readers
    ]
    worst = [
        min((each.cause, *each.symptoms), key=lambda one: SEVERITIES.index(one.severity))
        for each in incidents.incidents(found)
    ]
    worst.sort(key=lambda one: (SEVERITIES.index(one.severity), one.fingerprint))
    said: dict[str, Alert] = {}
    for one in worst:
        said.setdefault(one.what, one)  # two rules may say the same of one thing
    return [
        (
            badge_style(one.severity, one.state, recovers=one.is_recovering).icon,
            incident_list.story(one.id, f"{thin(one.what)}, {incident_list.since_when(one, view)}"),
        )
        for one in said.values()
    ]
