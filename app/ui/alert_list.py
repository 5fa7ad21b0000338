"""Alerts and silences, prepared for their pages: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import polars as pl

from alerting.inputs.broker_loss import without_one_more_loss
from alerting.notify.outbox import TargetHealth
from alerting.notify.store import MOST_ALERTS
from alerting.rules.lifecycle import Alert, State
from alerting.rules.matchers import Acknowledgement, Silence
from alerting.rules.model import SEVERITIES, AlertSeverity
from alerting.status.model import Status
from alerting.tools.rule_trial import Tried, thing
from app.style import theme
from app.style.columns import NEVER
from app.style.format import count, duration, exact
from app.style.theme import BadgeStyle
from app.ui.group_badges import BADGE_STYLES
from app.ui.incidents import DEAD_LETTERS_ARRIVE, mended_at

CRITICAL = BadgeStyle(
    word="act now",
    symbol="●",
    icon=":material/error:",
    colour="red",
    meaning="Somebody is needed now. Rules and notifications call it critical.",
)
WARNING = BadgeStyle(
    word="watch",
    symbol="▲",
    icon=":material/warning:",
    colour="orange",
    meaning="Somebody should look soon. Rules and notifications call it warning.",
)
INFO = BadgeStyle(
    word="note",
    symbol="i",
    icon=":material/info:",
    colour="blue",
    meaning="Good to know; it pages nobody. Rules and notifications call it info.",
)
SEVERITY_BADGE_STYLES: Mapping[AlertSeverity, BadgeStyle] = {
    AlertSeverity.CRITICAL: CRITICAL,
    AlertSeverity.WARNING: WARNING,
    AlertSeverity.INFO: INFO,
}
OVER_BADGE_STYLES: Mapping[AlertSeverity, BadgeStyle] = {
    severity: replace(
        style, word=word, colour="gray", meaning=f"It is over. While it lasted: {style.word}."
    )
    for (severity, style), word in zip(
        SEVERITY_BADGE_STYLES.items(), ("was urgent", "was to watch", "was a note"), strict=True
    )
}
"""How bad it was, of what is over: nobody is needed for it any more."""
EVERY_SEVERITY = (*SEVERITY_BADGE_STYLES.values(), *OVER_BADGE_STYLES.values())
PENDING = BadgeStyle(
    word="pending",
    symbol="○",
    icon=":material/schedule:",
    colour="gray",
    meaning="True, but not for as long as its rule asks: it may never fire.",
)
RECOVERING = BadgeStyle(
    word="recovering",
    symbol="◐",
    icon=":material/healing:",
    colour="gray",
    meaning="No longer true, and resolved unless it comes back soon.",
)
CATCHING_UP = replace(
    BADGE_STYLES[Status.CATCHING_UP],
    colour=WARNING.colour,
    meaning="A group works off what its trouble left. It needs nobody unless that goes wrong.",
)
DELIVERS, WAITS, FAILS = (
    theme.OK,
    BadgeStyle(
        word="waits",
        symbol="▲",
        icon=":material/schedule_send:",
        colour="orange",
        meaning="Messages wait for it.",
    ),
    BadgeStyle(
        word="fails",
        symbol="✖",
        icon=":material/error:",
        colour="red",
        meaning="It does not take messages.",
    ),
)
HEALTH_BADGE_STYLES = (DELIVERS, WAITS, FAILS)

_TIME = pl.Datetime("us", "UTC")
_ALERT_SCHEMA = pl.Schema(
    {
        "severity": pl.List(pl.String),
        "what": pl.String(),
        "cluster": pl.String(),
        "lasts_seconds": pl.Float64(),
        "began_at": _TIME,
        "began_before": pl.Boolean(),
        "detail": pl.String(),
        "step": pl.String(),
        "note": pl.String(),
        "rule": pl.String(),
        "id": pl.String(),
        "ended_at": _TIME,
        "state": pl.String(),
    }
)


def badge_style(severity: str, state: str, *, recovers: bool) -> BadgeStyle:
    """Return how an alert is marked: one that may never fire, or is mended, needs nobody."""
    if state == State.PENDING:
        return PENDING
    return RECOVERING if recovers else SEVERITY_BADGE_STYLES[AlertSeverity(severity)]


def severity_style(severity: AlertSeverity, *, is_over: bool) -> BadgeStyle:
    """Return how bad something is, or was."""
    return (OVER_BADGE_STYLES if is_over else SEVERITY_BADGE_STYLES)[severity]


def as_said(detail: str, *, is_over: bool) -> str:
    """Return how bad something is; of what is over, as what was said of it.

    What one more fault would have done is left out then.
    """
    return f"It said: {without_one_more_loss(detail)}" if is_over and detail else detail


def at_worst(alert: Alert) -> str:
    """Return how bad something was at its worst, for a column that is of that.

    It is of one evaluation: such numbers do not add up to a total. What one more fault would do is
    no part of how bad it was.
    """
    worst = _worse_than_last(alert)
    return f"at {worst}" if worst else without_one_more_loss(alert.detail)


def how_bad(alert: Alert, *, is_over: bool) -> str:
    """Return how bad something is; of what is over, how bad it was at its worst."""
    if is_over and (worst := _worse_than_last(alert)):
        return f"At {worst}"
    return as_said(alert.detail, is_over=is_over)


def _worse_than_last(alert: Alert) -> str:
    """Return what was said of something at its worst; nothing where it is what was said last."""
    worst = alert.worst
    if worst is None or worst.detail == alert.detail:
        return ""
    # While a group reads what waited, what failed of it is divided by what arrives now.
    said = without_one_more_loss(worst.detail)
    if alert.check != DEAD_LETTERS_ARRIVE:
        return f"worst: {said}"
    return f"worst (old messages included): {said}"


def looked_after_by(by: Acknowledgement | None) -> str:
    """Say in a row who looks after it; nothing where nobody does."""
    return f"looked after by {by.author}" if by else ""


def moment(at: float | None) -> datetime | None:
    """Return a moment of the store."""
    return None if at is None else datetime.fromtimestamp(at, UTC)


def cut_note(*, is_cut: bool) -> str:
    """Say that a time has more alerts than are read at once; nothing where it has not."""
    if not is_cut:
        return ""
    return f"Only the newest {exact(MOST_ALERTS)} alerts are read at once: older ones are missing."


def rules_sentence(service: Mapping[str, object] | None) -> str:
    """Return how many rules are evaluated, and how often; nothing where that is not known."""
    if service is None:
        return ""
    seconds = service_interval(service)
    often = "" if seconds is None else f" every {duration(seconds)}"
    return f"{service.get('rules')} rules{often}"


def service_interval(service: Mapping[str, object] | None) -> float | None:
    """Return how often rules are evaluated, in seconds."""
    seconds = (service or {}).get("interval_seconds")
    return float(seconds) if isinstance(seconds, int | float) else None


def service_age(service: Mapping[str, object] | None, now: datetime) -> float | None:
    """Return how long ago rules were last evaluated, in seconds."""
    if service is None:
        return None
    at = service.get("evaluated_at")
    return max(0.0, now.timestamp() - at) if isinstance(at, int | float) else None


SYMPTOM = "symptom"
"""The state of an alert that another one explains, which is notified instead of it."""


def worst_first(alerts: Iterable[Alert]) -> list[Alert]:
    """Return alerts by severity; of each causes before symptoms, the newest first."""
    return sorted(
        alerts,
        key=lambda one: (SEVERITIES.index(one.severity), one.is_inhibited, -one.began_at),
    )


def alert_rows(
    alerts: Iterable[Alert],
    now: datetime,
    *,
    acknowledged: Mapping[str, Acknowledgement] | None = None,
    silenced: Iterable[str] = (),
    causes: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Return alerts as rows of a table."""
    quiet = set(silenced)
    rows = []
    for alert in alerts:
        by = (acknowledged or {}).get(alert.id)
        unseen = now.timestamp() - (alert.no_data_since or 0.0)
        notes = [
            text
            for text, is_so in (
                (f"no data for {duration(unseen)}", alert.no_data_since is not None),
                (looked_after_by(by), by is not None),
                ("silenced", alert.id in quiet),
                (f"under: {(causes or {}).get(alert.inhibited_by or '', '')}", alert.is_inhibited),
                ("came back " + count(alert.flaps, "time"), alert.flaps > 0),
            )
            if is_so
        ]
        end = alert.resolved_at if alert.state is State.RESOLVED else None
        # Of what is over each time that it came has its own row.
        began, began_before = (
            (alert.first_began_at, alert.first_began_before)
            if end is None
            else (alert.began_at, alert.began_before)
        )
        lasts = (mended_at(alert) or now.timestamp()) - began
        rows.append(
            {
                "severity": [severity_style(alert.severity, is_over=end is not None).label],
                "what": alert.what,
                "cluster": alert.labels.get("cluster", ""),
                "lasts_seconds": max(0.0, lasts),
                "began_at": moment(began),
                "began_before": began_before,
                "detail": alert.detail if end is None else at_worst(alert),
                "step": alert.step,
                "note": ", ".join(notes),
                "rule": alert.rule,
                "id": alert.id[:8],
                "ended_at": moment(end),
                # What is pending counts as that, also under a cause: the note names it.
                "state": SYMPTOM
                if alert.is_inhibited and alert.state is not State.PENDING
                else "recovering"
                if alert.is_recovering
                else alert.state.value,
            }
        )
    return pl.DataFrame(rows, schema=_ALERT_SCHEMA)


def health_rows(
    health: Sequence[TargetHealth], names: Sequence[str], now: datetime
) -> pl.DataFrame:
    """Return how delivery goes, a row a target, whether it was told anything or not."""
    known = {one.target: one for one in health}
    rows = []
    for name in dict.fromkeys([*names, *known]):
        one = known.get(name)
        waits = None if one is None or one.waiting_since is None else one.waiting_since
        badge_style = DELIVERS
        if one is not None and one.waiting:
            badge_style = FAILS if one.attempts else WAITS
        rows.append(
            {
                "target": name,
                "label": [badge_style.label],
                "sent": one.sent if one else 0,
                "waiting": one.waiting if one else 0,
                "given_up": one.failed if one else 0,
                "attempts": one.attempts if one else None,
                "last_sent_at": moment(one.last_sent_at) if one else None,
                "waits_seconds": None if waits is None else now.timestamp() - waits,
                "answer": one.answer if one else None,
            }
        )
    return pl.DataFrame(
        rows,
        schema={
            "target": pl.String(),
            "label": pl.List(pl.String),
            "sent": pl.Int64(),
            "waiting": pl.Int64(),
            "given_up": pl.Int64(),
            "attempts": pl.Int64(),
            "last_sent_at": _TIME,
            "waits_seconds": pl.Float64(),
            "answer": pl.String(),
        },
    )


def silence_rows(silences: Sequence[Silence], now: datetime) -> pl.DataFrame:
    """Return silences as rows of a table."""
    at = now.timestamp()
    return pl.DataFrame(
        [
            {
                "id": one.id,
                "matchers": str(one),
                "state": "ended"
                if one.ends_at <= at
                else "to come"
                if one.starts_at > at
                else "on",
                "left_seconds": max(0.0, one.ends_at - at),
                "ends_at": moment(one.ends_at),
                "author": one.author,
                "comment": one.comment,
            }
            for one in silences
        ],
        schema={
            "id": pl.Int64(),
            "matchers": pl.String(),
            "state": pl.String(),
            "left_seconds": pl.Float64(),
            "ends_at": _TIME,
            "author": pl.String(),
            "comment": pl.String(),
        },
    )


def timeline_rows(alerts: Iterable[Alert], now: datetime) -> pl.DataFrame:
    """Return alerts as rows of a timeline: what, from, to, severity."""
    rows = [
        {
            "what": f"{alert.rule}: {thing(dict(alert.labels))}",
            "severity": alert.severity.value,
            "from": moment(alert.fired_at or alert.started_at),
            "to": moment(alert.resolved_at) or now,
        }
        for alert in alerts
    ]
    return pl.DataFrame(
        rows, schema={"what": pl.String(), "severity": pl.String(), "from": _TIME, "to": _TIME}
    )


def value_rows(tried: Tried) -> pl.DataFrame:
    """Return what a rule looked at, as points of a chart; not what never had a value."""
    return pl.DataFrame(
        [
            {"time": moment(at), "thing": name, "value": None if value == NEVER else value}
            for at, name, value in tried.points
        ],
        schema={"time": _TIME, "thing": pl.String(), "value": pl.Float64()},
    ).filter(pl.col("value").is_not_null().any().over("thing"))
