"""What the page Alerts shows, prepared for it: pure functions."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from alerting.rules.lifecycle import Alert, State
from alerting.rules.model import AlertSeverity
from app.data.context import View
from app.style.format import count
from app.ui.incident_list import numbers
from app.ui.incidents import Incident
from app.ui.symptoms import each_once

HISTORY = "history"
"""The anchor of the history on the page."""


def matching(
    found: Iterable[Incident], *, search: str, severities: Sequence[AlertSeverity]
) -> list[Incident]:
    """Return the incidents of these severities that name a text, in their cause or a symptom.

    Args:
        found: The incidents.
        search: The text; capital letters make no difference. Empty: any.
        severities: The severities, as rows have them; none: any.
    """
    text = search.strip().lower()
    return [
        one
        for one in found
        if (not severities or _severity(one) in severities)
        and any(text in said.what.lower() for said in (one.cause, *one.symptoms))
    ]


def _severity(one: Incident) -> AlertSeverity:
    return one.lead.severity if one.ended_at is None else one.cause.severity


def by_place(found: Iterable[Incident], view: View) -> tuple[list[Incident], list[Incident]]:
    """Return the incidents that the Overview of the chosen cluster counts, and all others."""
    places = {view.cluster, *view.sources_beside}
    here: list[Incident] = []
    others: list[Incident] = []
    for one in found:
        (here if one.cause.labels.get("cluster", view.cluster) in places else others).append(one)
    return here, others


def elsewhere(found: Sequence[Incident], acknowledged: Container[str] = ()) -> str:
    """Say how much more there is in other clusters, as a sentence; nothing where there is none.

    Args:
        found: The incidents there.
        acknowledged: The ids of alerts that somebody looks after.
    """
    if not found:
        return ""
    said = numbers(found, acknowledged)
    return f"In other clusters: {said[0].lower()}{said[1:]}. "


def states(alerts: Sequence[Alert]) -> str:
    """Say how many alerts fire, and how many are pending: ``3 alerts firing, 2 alerts pending``."""
    pending = sum(1 for one in alerts if one.state is State.PENDING)
    firing = len(alerts) - pending
    said = [f"{count(firing, 'alert')} firing" if firing else "no alert firing"]
    return ", ".join([*said, *([f"{count(pending, 'alert')} pending"] if pending else [])])


def counts(alerts: Sequence[Alert], causes: int, silenced: int, rules: str) -> str:
    """Return how many alerts there are, in a sentence below the headline, which counts causes.

    Args:
        alerts: Those that fire or are pending.
        causes: How many causes they are folded under.
        silenced: How many of them are silenced.
        rules: How many rules are evaluated, and how often.
    """
    said = states(alerts)
    parts = [
        f"{said[0].upper()}{said[1:]}" + (f" under {count(causes, 'cause')}" if alerts else ""),
        *([f"{count(silenced, 'alert')} silenced"] if silenced else []),
        *([rules] if rules else []),
    ]
    return f"{'; '.join(parts)}."


def fired(history: Sequence[Alert], view: View) -> str:
    """Say how many alerts fired in the chosen time, and how many of them still do."""
    firing = len(each_once(one for one in history if one.state is not State.RESOLVED))
    still = f", {firing} of them firing now" if firing else ""
    return f"{count(len(history), 'alert')} that fired in {_time(view)}{still}"


def all_the_time(number: int, since: str) -> str:
    """Name the bars that fill all of the time that is drawn: they are folded.

    Args:
        number: How many causes they are of.
        since: When that time begins, written.
    """
    return f"{count(number, 'cause goes on', 'causes go on')} since about {since} or before"


def _time(view: View) -> str:
    # A range that was chosen by its ends has no name.
    return f"the last {view.range.label}" if view.range.label else "the chosen time"


def history_link(past: Sequence[Incident], view: View) -> str:
    """Return a link down to the history, which may lie below the fold; nothing where there is none.

    Args:
        past: The causes that fired in the chosen time.
        view: The frame of the page.
    """
    if not past or view.is_phone:
        return ""
    return f"[History: {count(len(past), 'cause')} in {_time(view)} ↓](#{HISTORY})"
