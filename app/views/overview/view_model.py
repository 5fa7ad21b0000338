"""What the overview shows, prepared for it: pure functions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Sequence
from datetime import datetime

import polars as pl

from alerting.rules.model import AlertSeverity
from alerting.status.model import Status
from app.data.history import TIME
from app.style.format import UNKNOWN, count, duration, exact, short
from app.ui.alert_list import CATCHING_UP, CRITICAL, INFO, PENDING, RECOVERING, WARNING
from app.ui.browser.items import Item
from app.ui.group_list import unread
from app.ui.incident_list import LOOKED_AFTER, badge_of, is_looked_after, needs
from app.ui.incidents import Incident
from app.ui.symptoms import counted, symptoms_of

_WORDS = {
    CRITICAL: "to act on now",
    WARNING: "to watch",
    CATCHING_UP: CATCHING_UP.word,
    INFO: "to note",
    RECOVERING: "recovering",
    PENDING: "pending",
}
URGENT_WHOLE = 5
"""So many urgent rows have two lines each; of more, each has one: the charts below begin high."""
LISTED, MENDING, MOST = 4, 3, 10
"""Causes that are seen at once: so many at the least, so many at most of what mends since it was to
be acted on, and so many in all at most."""


def headline(
    found: Sequence[Incident],
    groups: pl.DataFrame,
    *,
    brokers: str,
    acknowledged: Container[str] = (),
) -> tuple[str, str]:
    """Return the sentence of the Overview, and the one below it.

    Args:
        found: What needs somebody.
        groups: Rows of ``group_status``.
        brokers: What ``brokers_up`` says of the brokers.
        acknowledged: The ids of alerts that somebody looks after.
    """
    symptoms = sum(counted(symptoms_of(one)).now for one in found)
    folded = f", {count(symptoms, 'symptom')} now, folded under causes" if symptoms else ""
    detail = f"{_groups_sentence(groups)}. {brokers}{folded}."
    return needs(found, acknowledged), detail


def shown(found: Sequence[Incident]) -> tuple[list[Incident], list[Incident]]:
    """Return which causes are seen at once, and which are folded, in their order.

    Seen is what is to be acted on now or was a moment ago, or will be if it lasts: else a group
    would have no name while its row is pending.

    Args:
        found: What needs somebody, in order.
    """
    mends = [one for one in found if one.mends_from_urgent][MENDING:]
    first = [one for one in found if one not in mends]
    urgent = sum(
        1
        for one in first
        if one.needs(AlertSeverity.CRITICAL) or one.mends_from_urgent or one.may_be_urgent
    )
    seen = first[: min(max(urgent, LISTED), MOST)]
    return seen, [one for one in found if one not in seen]


def are_many(rows: Sequence[Item]) -> bool:
    """Return whether rows are to be dense, as many of them are urgent."""
    urgent = sum(row.badge is not None and row.badge.colour == CRITICAL.colour for row in rows)
    return urgent > URGENT_WHOLE


def folded(rest: Sequence[Incident], acknowledged: Container[str] = ()) -> str:
    """Say what is folded away: ``5 more: 3 to watch, 2 to note``.

    Args:
        rest: What is folded away.
        acknowledged: The ids of alerts that somebody looks after.
    """
    words = Counter(
        LOOKED_AFTER if is_looked_after(one, acknowledged) else _WORDS.get(badge_of(one))
        for one in rest
    )
    parts = [
        f"{words[word]} {word}"
        for word in dict.fromkeys(("to act on now", LOOKED_AFTER, *_WORDS.values()))
        if word in words
    ]
    return f"{len(rest)} more: {', '.join(parts)}"


IS_INCOMPLETE = (pl.col("unknown_partitions") > 0) | pl.col("lag").is_null()
"""Whether a sum of lags lacks that of a group, or of a partition of it."""

_NAMED = (
    (Status.LOSING_DATA, "losing data"),
    (Status.STOPPED, "stopped"),
    (Status.STALLED, "stalled"),
    (Status.REWOUND, "rewound"),
    (Status.FALLING_BEHIND, "falling behind"),
    (Status.UNKNOWN, "unknown"),
    (Status.NO_MEMBERS, "without members"),
)


def none_is_late(groups: pl.DataFrame) -> bool:
    """Return whether the sentence of the Overview counts no group in trouble.

    Args:
        groups: Rows of ``group_status``.
    """
    return groups.filter(pl.col("status").is_in([status.value for status, _ in _NAMED])).is_empty()


def _groups_sentence(groups: pl.DataFrame) -> str:
    if groups.is_empty():
        return "No consumer group is known"
    lag = groups["lag"].drop_nulls()
    least = "" if groups.filter(IS_INCOMPLETE).is_empty() else "at least "
    total = f"Lag total {least}{short(int(lag.sum()))}" if lag.len() else "Lag total unknown"
    if lag.len() and (without := unread(groups)):
        total += f" {without}"
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


def at_least(written: str, *, is_complete: bool) -> str:
    """Write a sum that lacks a part as the least that it is; one that is not known as that."""
    return written if is_complete or written == UNKNOWN else f"≥\u202f{written}"


def where_idle(idle_groups: int | None, groups: pl.DataFrame) -> str:
    """Say in how many groups members are idle, and if that of others is not known.

    Args:
        idle_groups: That of the row of ``cluster_status``.
        groups: Rows of ``group_status``.
    """
    unknown = groups.filter(pl.any_horizontal(pl.col("members", "idle_members").is_null())).height
    if idle_groups is None:
        return f"{count(unknown, 'group')} not read" if unknown else "no group is known"
    where = f"in {count(idle_groups, 'group')}" if idle_groups else "in no group"
    return f"{where} of those known" if unknown else where


def others_name(groups: pl.DataFrame, named: Sequence[str]) -> str:
    """Return how a sum of the groups without a line is called; nothing where each has one.

    A sum that lacks a group must not look complete.

    Args:
        groups: Rows of ``group_status``.
        named: The groups that have a line.
    """
    others = groups.filter(~pl.col("group").is_in(list(named)))
    if others.is_empty():
        return ""
    lacking = others.filter(pl.col("unknown_partitions") > 0).height
    return f"others ({others.height}{f', {lacking} not known now' if lacking else ''})"


def growth(frame: pl.DataFrame, value: str, now: float | None, at: datetime) -> str | None:
    """Return by how much a value has grown until now, and in what time: ``+905 in 5 min``.

    Args:
        frame: Its history, which ends some minutes ago.
        value: The column.
        now: What it is now; None: that is not known.
        at: The present.
    """
    known = frame.filter(pl.col(value).is_not_null(), pl.col(TIME) < at).sort(TIME)
    if known.is_empty() or now is None:
        return None
    change = now - float(known[value][0])
    seconds = (at - known[TIME][0]).total_seconds()
    return f"{'+' if change >= 0 else ''}{short(change)} in {duration(seconds)}"


def cluster_rows(
    names: Sequence[str],
    status: pl.DataFrame,
    found: Sequence[Incident],
    now: datetime,
    acknowledged: Container[str] = (),
) -> pl.DataFrame:
    """Return one row a cluster, the one with most to do first.

    Args:
        names: The clusters.
        status: Rows of ``cluster_status`` of all of them.
        found: The incidents of all of them.
        now: The present.
        acknowledged: The ids of alerts that somebody looks after: these need nobody else.
    """

    def cluster_of(some: Iterable[Incident]) -> Counter[str | None]:
        return Counter(one.cause.labels.get("cluster") for one in some)

    unheeded = [one for one in found if not one.is_acknowledged(acknowledged)]
    numbers_of = {
        "act_now": cluster_of(one for one in unheeded if one.needs(AlertSeverity.CRITICAL)),
        "looked_after": cluster_of(one for one in found if is_looked_after(one, acknowledged)),
        "watch": cluster_of(one for one in unheeded if one.needs(AlertSeverity.WARNING)),
    }
    is_complete = pl.col("incomplete_groups") == 0
    return (
        pl.DataFrame(
            [
                {"cluster": name} | {column: of[name] for column, of in numbers_of.items()}
                for name in names
            ],
            schema={"cluster": pl.String} | dict.fromkeys(numbers_of, pl.Int64),
        )
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
        .with_columns(
            pl.when(pl.col("cluster").is_in(status["cluster"].implode())).then(pl.col(*numbers_of))
        )
        .sort("act_now", "watch", "cluster", descending=[True, True, False], nulls_last=True)
    )
