"""Incidents as pages tell them: in words, and as rows of a list."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta, tzinfo

from alerting.inputs.frames import STALE_INTERVALS
from alerting.rules.lifecycle import Alert, State
from alerting.rules.matchers import Acknowledgement
from alerting.rules.model import AlertSeverity
from alerting.status.phrases import or_before
from app.data.alert_store import sees_labels
from app.data.context import View
from app.style.format import clock, clock_after, count, duration, thin
from app.style.theme import BadgeStyle
from app.ui import alert_forms, routes
from app.ui.alert_list import (
    CATCHING_UP,
    RECOVERING,
    SEVERITY_BADGE_STYLES,
    badge_style,
    how_bad,
    looked_after_by,
    moment,
    severity_style,
)
from app.ui.browser.items import Item, Target
from app.ui.incident_order import BROKER_MISSING
from app.ui.incidents import (
    LOSES_DATA,
    Incident,
    is_mending,
    mended_at,
)
from app.ui.loss_words import LossAhead, loss_ahead
from app.ui.symptoms import (
    lines_in_all,
    lines_now,
    symptoms_in_all,
    symptoms_now,
)

HEADS = ("What is wrong", "Next step", "When")
"""What the columns of a list of incidents are."""

OVER = "over, its symptoms recover"
LOOKED_AFTER = "looked after"

SOURCE_STOPPED = BadgeStyle(
    word="source stopped",
    symbol="■",
    icon=":material/stop_circle:",
    colour="gray",
    meaning="Not true while what may make it so is stopped; the cause may still be there.",
)


def is_looked_after(one: Incident, acknowledged: Container[str]) -> bool:
    """Return whether somebody looks after what else would need somebody, now or to watch."""
    needs_somebody = one.needs(AlertSeverity.CRITICAL) or one.needs(AlertSeverity.WARNING)
    return needs_somebody and one.is_acknowledged(acknowledged)


def numbers(found: Sequence[Incident], acknowledged: Container[str] = ()) -> str:
    """Say how many need somebody: ``2 things need you now, 1 looked after, 3 to watch``.

    Args:
        found: The incidents.
        acknowledged: The ids of alerts that somebody looks after: these need nobody else.
    """
    looked_after = sum(1 for one in found if is_looked_after(one, acknowledged))
    now, watch = (
        sum(1 for one in found if one.needs(severity) and not one.is_acknowledged(acknowledged))
        for severity in (AlertSeverity.CRITICAL, AlertSeverity.WARNING)
    )
    more = (
        (looked_after, LOOKED_AFTER),
        (watch, "to watch"),
        (sum(1 for one in found if one.is_catching_up), CATCHING_UP.word),
        (sum(1 for one in found if one.is_pending), "pending"),
    )
    is_more = any(number for number, _ in more) or any(one.is_recovering for one in found)
    needs = (
        f"{count(now, 'thing needs', 'things need')} you now"
        if now
        else "Nothing needs you now"
        if is_more
        else "Nothing needs you"
    )
    return ", ".join([needs, *(f"{number} {word}" for number, word in more if number)])


def needs(found: Sequence[Incident], acknowledged: Container[str] = ()) -> str:
    """Return the headline: what to act on first, as it comes, and how many need somebody.

    What somebody looks after is counted as that, and leads it never.

    Args:
        found: The incidents, in order.
        acknowledged: The ids of alerts that somebody looks after.
    """
    urgent = [
        one
        for one in found
        if one.needs(AlertSeverity.CRITICAL) and not one.is_acknowledged(acknowledged)
    ]
    said = numbers(found, acknowledged)
    return f"{urgent[0].lead.what}. {said}" if urgent else said


def subject(labels: Mapping[str, str], page: str | None, what: str) -> Target:
    """Return where the thing of an alert is shown."""
    named = {key: labels[key] for key in ("group", "topic", "name") if key in labels}
    if page == routes.QUEUES and "cluster" in labels:
        named["rabbitmq"] = labels["cluster"]
    return Target(label=what, page=page or routes.ALERTS, parameters=named)


_PLACES = {
    routes.GROUP: ("group {}", "group"),
    routes.TOPIC: ("topic {}", "topic"),
    routes.DEAD_LETTERS: ("dead letters in {}", "name"),
    routes.BROKERS: ("brokers", ""),
    routes.CONNECT: ("Kafka Connect", ""),
    routes.QUEUES: ("queues", ""),
    routes.HEALTH: ("Monitoring health", ""),
}


def place(shown: Target) -> Target | None:
    """Return a link to where the subject of a row is shown, named by that; None: nowhere else."""
    if shown.page not in _PLACES:
        return None
    words, named = _PLACES[shown.page]
    return replace(shown, label=words.format(shown.parameters.get(named, "")).strip())


def story(alert_id: str, label: str) -> Target:
    """Return where the incident of an alert is told."""
    return Target(label=label, page=routes.INCIDENT, parameters={"alert": alert_id})


def acts(one: Incident, view: View, *, is_looked_after: bool) -> list[Target]:
    """Return links to the forms by which somebody acts on an incident, for those who may.

    Args:
        one: The incident.
        view: The frame of the page.
        is_looked_after: Whether somebody has acknowledged it.
    """
    cause = one.cause
    open_now = cause if cause.state is not State.RESOLVED else one.lead
    if one.ended_at is not None or not sees_labels(view.viewer, open_now.labels, operating=True):
        return []
    words = {} if is_looked_after else {alert_forms.ACKNOWLEDGE: "Acknowledge"}
    return [
        Target(
            label=label,
            page=routes.INCIDENT,
            parameters={"alert": cause.id, alert_forms.FORM: form},
        )
        for form, label in (words | {alert_forms.SILENCE: "Silence"}).items()
    ]


def span(incident: Incident, view: View) -> str:
    """Write when an incident was: ``since 18:43``, or ``18:43, lasted 6 min``.

    Whose damage outlived what was mended: ``18:43, lasted 3 min, alert over at 18:49``.
    """
    cause = incident.cause
    began = clock(moment(cause.began_at), view.zone, now=view.now)
    mended = mended_at(cause)
    goes_on = incident.ended_at is None and not incident.is_recovering
    if goes_on or mended is None:
        return since_when(incident.lead, view)
    began = or_before(began, at_least=cause.began_before)
    lasted = f"lasted {duration(mended - cause.began_at)}".replace(" ", "\u00a0")
    if cause.before_mending is None or cause.resolved_at is None or mended == cause.resolved_at:
        return f"{began}, {lasted}"  # its rule only kept it for a while
    first, last = moment(cause.began_at), moment(cause.resolved_at)
    over = clock_after(last, first, view.zone, now=view.now)
    return f"{began}, {lasted}, alert over at {over}"


def since_when(one: Alert, view: View) -> str:
    """Write since when what goes on is so; of what mends, since when there was trouble.

    What came back is one thing from its first time on: ``since 01:51, again since 02:21``.
    """
    first, at = (
        clock(moment(each), view.zone, now=view.now) for each in (one.first_began_at, one.began_at)
    )
    began = beginning(first, at_least=one.first_began_before)
    if one.has_come_back:
        began = f"{began}, again since {at}"
    return f"in trouble {began}" if is_mending(one) else began


def beginning(began: str, *, at_least: bool) -> str:
    """Write since when something is so, which may be since earlier: never like a deadline."""
    return f"since {or_before(began, at_least=at_least)}"


def last_seen(at: datetime | None, now: datetime, zone: tzinfo, interval_seconds: float) -> str:
    """Say when an open alert was last found to be so; nothing where that is now.

    An alert stays open for a while after that, or while nothing is known of its subject: what it
    says is then no longer so, or not known.
    """
    if at is None or now - at <= timedelta(seconds=STALE_INTERVALS * interval_seconds):
        return ""
    return f"last seen {clock(at, zone, now=now)}"


def items(
    found: Iterable[Incident],
    view: View,
    *,
    acknowledged: Mapping[str, Acknowledgement] | None = None,
    silenced: frozenset[str] = frozenset(),
    lost: Mapping[str, str] | None = None,
    stored: bool = True,
) -> list[Item]:
    """Return incidents as rows of a list, their symptoms folded: of what goes on those of now.

    A row is about what leads its incident, and its name leads to the incident of its cause. The
    opened row leads to where its subject is shown.

    Args:
        found: The incidents.
        view: The frame of the page.
        acknowledged: Acknowledgements by alert.
        silenced: The ids of alerts that are silenced.
        lost: What was deleted unread in all, by alert.
        stored: Whether the alert store knows them; else each leads to its subject alone.
    """
    rows = []
    for one in found:
        cause, lead = one.cause, one.lead
        back = _back(one, view)
        what = back or thin(lead.what)
        goes_on = one.ended_at is None
        by = (acknowledged or {}).get(cause.id) or (acknowledged or {}).get(lead.id)
        # What was said while a broker was missing reads like what is so now.
        bad = "" if back else thin(how_bad(lead, is_over=lead.state is State.RESOLVED))
        total = (lost or {}).get(cause.id, "")
        # What was lost in all and in the last minutes, side by side, read as two losses.
        why = total if total and lead.check == LOSES_DATA else f"{total} {bad}".strip()
        # Lists tell what there is now: an incident's page has what is over, too.
        symptoms = (symptoms_now if goes_on else symptoms_in_all)(one)
        target = subject(lead.labels, lead.page, what)
        cluster = cause.labels.get("cluster", view.cluster)
        if cluster != view.cluster and cluster not in view.sources_beside:
            named = {**target.parameters, "cluster": cluster}
            target = Target(label=target.label, page=target.page, parameters=named)
        at, interval = moment(lead.last_true_at), view.evaluated_every_seconds
        # Of what recovers its times say how long it was so.
        is_past = lead.state is State.RESOLVED or one.is_recovering
        seen = "" if is_past else last_seen(at, view.now, view.zone, interval)
        # A deadline is of what is so now.
        is_now = goes_on and not seen and not one.is_recovering
        loss = loss_ahead(one, view.now) if is_now else LossAhead()
        notes = [
            text
            for text, is_so in (
                (seen, goes_on),
                (f"group {loss.who}", loss.who not in ("", lead.labels.get("group"))),
                (f"{SEVERITY_BADGE_STYLES[cause.severity].word} if it lasts", one.is_pending),
                (_after(one), goes_on),
                (f"in {view.place(cluster)}", cluster != view.cluster),
                (looked_after_by(by), by is not None),
                ("silenced", cause.id in silenced),
                ("no data", lead.no_data_since is not None),
                (_came_back(one, view), cause.flaps > 0),
            )
            if is_so and text
        ]
        rows.append(
            Item(
                id=cause.id,
                badge=badge_of(one),
                what=what,
                when=span(one, view),
                why=why,
                note=", ".join(notes),
                until=loss.words,
                is_far=loss.is_far,
                # What to do about it was to be done while it lasted.
                step=lead.step if goes_on else "",
                link=story(cause.id, what) if stored else target,
                acts=[
                    *filter(None, [place(target)]),
                    *acts(one, view, is_looked_after=by is not None),
                ]
                if stored
                else [],
                is_looked_after=by is not None,
                more_label=symptoms,
                more=(lines_now if goes_on else lines_in_all)(one),
            )
        )
    return rows


def _back(one: Incident, view: View) -> str:
    """Say of a broker that was missing, and recovers, that it is back; nothing of all else."""
    lead, at = one.lead, moment(one.lead.recovering_since)
    if lead.check != BROKER_MISSING or not one.is_recovering or at is None:
        return ""
    return f"Broker {lead.labels['broker']} is back since {clock(at, view.zone, now=view.now)}"


def badge_of(one: Incident) -> BadgeStyle:
    """Return how an incident is marked; what is over by how bad it was."""
    if one.ended_at is not None:
        return severity_style(one.cause.severity, is_over=True)
    if one.is_catching_up:
        return CATCHING_UP
    if one.is_recovering and one.is_source_stopped:
        return SOURCE_STOPPED
    return badge_style(one.weight, one.lead.state, recovers=one.is_recovering)


def _came_back(one: Incident, view: View) -> str:
    """Say how often a cause came back; of what is over, also when it was first there."""
    came = f"came back {count(one.cause.flaps, 'time')}"
    if one.ended_at is None or not one.earlier:
        return came
    return f"{came}, first at {clock(moment(one.began_at), view.zone, now=view.now)}"


def _after(one: Incident) -> str:
    """Say of a row whose cause is over what its cause was; nothing where it goes on.

    Nor where two rules say the same: then it goes on, less or more severe. Nor where the row is
    about what began before it.
    """
    cause = one.cause
    if one.lead is not cause:
        if one.lead.what == cause.what or one.lead.began_at < one.began_at:
            return ""
        ends = RECOVERING.word if cause.is_recovering else "over"
        return f"after “{thin(cause.what)}” ({ends})"
    return OVER if cause.state is State.RESOLVED else ""


def what_goes_on(one: Incident) -> str:
    """Say of a cause that is over what keeps its incident open."""
    return OVER if one.lead is one.cause else "over, its symptoms go on"
