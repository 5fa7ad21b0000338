"""What the overview shows, prepared for it: pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

import polars as pl

from alerting.rules.lifecycle import State, alert_id
from alerting.rules.model import SEVERITIES, AlertSeverity
from alerting.status.model import Status
from app.data.history import TIME
from app.data.recent_samples import known_sum
from app.style.format import clock, count, duration, exact, short, thin
from app.ui import incidents
from app.ui.alert_list import SEVERITY_BADGE_STYLES
from app.ui.browser.items import Item

LISTED, MOST = 4, 10
"""Causes that are seen at once: so many at the least, and what is to be acted on up to so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """An open alert that stands for itself, with what follows from it."""

    alert: Mapping[str, Any]  # its row of ``open_alerts``
    symptoms: tuple[str, ...] = ()


_OF_LOSS = ("losing_data", "data_loss_deadline")


def causes(alerts: pl.DataFrame) -> list[Cause]:
    """Return the alerts that stand for themselves: the worst first, then the newest.

    What loses data, or will, comes first among its like. The check of an alert tells which: a
    deadline moves with the rates, and rows are to stay where they are while somebody reads them.

    Args:
        alerts: Rows of ``open_alerts``. One whose cause is not open any more stands for itself.
    """
    order = {severity.value: place for place, severity in enumerate(SEVERITIES)}
    is_symptom = _is_symptom(alerts)
    symptoms: dict[str, list[tuple[str, str]]] = {}
    for row in alerts.filter(is_symptom).sort("since", "fingerprint").iter_rows(named=True):
        symptoms.setdefault(row["inhibited_by"], []).append((row["what"], row["detail"]))
    first = (
        alerts.filter(~is_symptom)
        .with_columns(
            pl.col("severity").replace_strict(order, default=0).alias("order"),
            pl.col("check").is_in(_OF_LOSS).fill_null(value=False).alias("loses"),
        )
        .sort(
            *("order", "loses", "since", "fingerprint"),
            descending=[False, True, True, False],
            nulls_last=True,
        )
    )
    return [
        Cause(
            alert=row, symptoms=tuple(incidents.symptom_lines(symptoms.get(row["fingerprint"], ())))
        )
        for row in first.iter_rows(named=True)
    ]


def _is_symptom(alerts: pl.DataFrame) -> pl.Expr:
    """Return whether a row's cause is among the open alerts."""
    is_open = alerts["fingerprint"].implode()
    return pl.col("inhibited_by").is_not_null() & pl.col("inhibited_by").is_in(is_open)


def headline(
    found: Sequence[Cause],
    groups: pl.DataFrame,
    cluster: pl.DataFrame,
    *,
    brokers_read: bool = True,
) -> tuple[str, str]:
    """Return the sentence of the Overview, and the one below it.

    Args:
        found: What needs somebody.
        groups: Rows of ``group_status``.
        cluster: The row of ``cluster_status``.
        brokers_read: Whether the newest poll read the brokers: one may have gone since.
    """
    symptoms = sum(len(cause.symptoms) for cause in found)
    folded = f", {count(symptoms, 'symptom')} folded under causes" if symptoms else ""
    title = incidents.numbers([cause.alert["severity"] for cause in found])
    return title, f"{_groups_sentence(groups)}. {_brokers_sentence(cluster, brokers_read)}{folded}."


def shown(found: Sequence[Cause]) -> tuple[list[Cause], list[Cause]]:
    """Return which causes are seen at once, and which are folded: never one to act on now."""
    now = sum(1 for cause in found if cause.alert["severity"] == AlertSeverity.CRITICAL)
    seen = min(max(now, LISTED), MOST)
    return list(found[:seen]), list(found[seen:])


def folded(rest: Sequence[Cause]) -> str:
    """Say what is folded away: ``5 more: 3 to watch, 2 notes``."""
    numbers_of = [cause.alert["severity"] for cause in rest]
    parts = [
        f"{numbers_of.count(severity)} {word}"
        for severity, word in (
            (AlertSeverity.CRITICAL, "to act on now"),
            (AlertSeverity.WARNING, "to watch"),
            (AlertSeverity.INFO, "to note"),
        )
        if severity in numbers_of
    ]
    return f"{len(rest)} more: {', '.join(parts)}"


def behind(found: Sequence[Cause]) -> list[str]:
    """Return the groups among causes that fall behind: what to do is a question of scaling."""
    labels = [_labels(cause) for cause in found if _is_behind(cause)]
    return [each["group"] for each in labels if "group" in each]


def _is_behind(cause: Cause) -> bool:
    return bool(cause.alert["status"] == Status.FALLING_BEHIND)


def _labels(cause: Cause) -> dict[str, str]:
    return {one["key"]: one["value"] for one in cause.alert["labels"] or ()}


def items(
    found: Sequence[Cause],
    now: datetime,
    zone: tzinfo,
    *,
    interval_seconds: float,
    stored: bool,
    advised: Mapping[str, str],
) -> list[Item]:
    """Return causes as rows of a list.

    Args:
        found: The causes.
        now: The present.
        zone: The viewer's.
        interval_seconds: How often an evaluation finds new samples.
        stored: Whether the alert store knows them: then each leads to its incident.
        advised: What Scaling advises on groups that fall behind.
    """
    rows = []
    for cause in found:
        alert = cause.alert
        what = thin(alert["what"])
        labels = _labels(cause)
        advice = advised.get(labels.get("group", "")) if _is_behind(cause) else None
        since = alert["since"]
        when = ""
        if since is not None:
            began = clock(since, zone, now=now)
            when = incidents.beginning(began, at_least=alert["since_at_least"])
        rows.append(
            Item(
                id=alert["fingerprint"],
                badge=SEVERITY_BADGE_STYLES[AlertSeverity(alert["severity"])],
                what=what,
                when=when,
                why=thin(alert["detail"]),
                until=incidents.SYMPTOMS_GO_ON
                if alert["state"] == State.RESOLVED
                else incidents.last_seen(alert["last_true_at"], now, zone, interval_seconds)
                or incidents.deadline(alert["deadline_at"], now),
                step=f"Scaling advises: {advice}" if advice else alert["step"],
                link=incidents.subject(labels, alert["page"], what),
                links=[
                    incidents.story(alert_id(alert["fingerprint"], alert["started_at"].timestamp()))
                ]
                if stored and alert["started_at"] is not None
                else [],
                more_label=incidents.folded(len(cause.symptoms)),
                more=incidents.limited(cause.symptoms),
            )
        )
    return rows


_NAMED = (
    (Status.LOSING_DATA, "losing data"),
    (Status.STOPPED, "stopped"),
    (Status.STALLED, "stalled"),
    (Status.REWOUND, "rewound"),
    (Status.FALLING_BEHIND, "falling behind"),
    (Status.UNKNOWN, "unknown"),
)


def _groups_sentence(groups: pl.DataFrame) -> str:
    if groups.is_empty():
        return "No consumer group is known"
    lag = groups["lag"].drop_nulls()
    total = f"Lag total {short(int(lag.sum()))}" if lag.len() else "Lag total unknown"
    incomplete = int((groups["unknown_partitions"].fill_null(0) > 0).sum())
    if incomplete and lag.len():
        total += f" without {count(incomplete, 'group')} that could not be read in full"
    numbers = dict(groups.group_by("status").len().iter_rows())
    states = [
        f"{exact(numbers[status.value])} {word}"
        for status, word in _NAMED
        if status.value in numbers
    ]
    of_all = f"of {count(groups.height, 'group')}"
    if not states:
        return f"{total}, none {of_all} is late"
    return f"{total}, {of_all} {', '.join(states)}"


def _brokers_sentence(cluster: pl.DataFrame, brokers_read: bool) -> str:
    row = cluster.row(0, named=True) if cluster.height else None
    if row is None or row["brokers"] is None:
        return "Whether all brokers are up is unknown"
    missing = len(row["missing_brokers"] or ())
    if missing:
        return f"{missing} of {count(row['brokers'], 'broker')} missing"
    return "All brokers up" if brokers_read else "Whether all brokers are up is not known now"


def course(frame: pl.DataFrame, value: str) -> list[float | None]:
    """Return a value's course for the line in a tile: at most sixty points."""
    values: list[float | None] = frame.sort(TIME)[value].to_list()
    every = -(-len(values) // 60) or 1
    return values[::-1][::every][::-1]


def arrivals(letters: pl.DataFrame) -> pl.DataFrame:
    """Return what arrives in all dead-letter topics; null where that of none is known."""
    return letters.group_by(TIME).agg(known_sum("arrival_per_second"))


def growth(frame: pl.DataFrame, value: str) -> str | None:
    """Return by how much a value has grown, and in what time: ``+905 in 5 min``."""
    known = frame.filter(pl.col(value).is_not_null()).sort(TIME)
    if known.height < 2:
        return None
    change = float(known[value][-1] - known[value][0])
    seconds = (known[TIME][-1] - known[TIME][0]).total_seconds()
    return f"{'+' if change >= 0 else ''}{short(change)} in {duration(seconds)}"


def cluster_rows(
    names: Sequence[str], status: pl.DataFrame, alerts: pl.DataFrame, now: datetime
) -> pl.DataFrame:
    """Return one row a cluster, the one with most to do first.

    Status and alerts are rows of ``cluster_status`` and ``open_alerts`` of all of them.
    """
    counts = (
        alerts.filter(~_is_symptom(alerts))
        .group_by("cluster")
        .agg(
            (pl.col("severity") == AlertSeverity.CRITICAL.value)
            .sum()
            .cast(pl.Int64)
            .alias("act_now"),
            (pl.col("severity") == AlertSeverity.WARNING.value).sum().cast(pl.Int64).alias("watch"),
        )
    )
    is_complete = pl.col("incomplete_groups") == 0
    return (
        pl.DataFrame({"cluster": names}, schema={"cluster": pl.String})
        .join(
            status.select(
                "cluster",
                "groups",
                pl.when(is_complete).then("lag").alias("lag"),
                "under_replicated",
                "offline",
                ((pl.lit(now) - pl.col("newest_poll_at")).dt.total_milliseconds() / 1000)
                .clip(lower_bound=0)
                .alias("age_seconds"),
            ),
            on="cluster",
            how="left",
        )
        .join(counts, on="cluster", how="left")
        .with_columns(
            pl.when(pl.col("cluster").is_in(status["cluster"].implode())).then(
                pl.col("act_now", "watch").fill_null(0)
            )
        )
        .sort("act_now", "watch", "cluster", descending=[True, True, False], nulls_last=True)
    )
