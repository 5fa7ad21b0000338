"""What the overview shows, shaped for it: pure functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from alerting.attention import AttentionFacts, AttentionItem, Kind, Severity, attention
from app import theme
from app.charts.base import Event
from app.format import count, duration, short
from app.history import TIME
from app.theme import Look

LOOKS: dict[Severity, Look] = {
    Severity.ACT_NOW: theme.ACT,
    Severity.WATCH: theme.WATCH,
    Severity.UNKNOWN: theme.UNSURE,
    Severity.INFO: Look("note", "i", ":material/info:", "blue", "Good to know; nothing is lost."),
}
"""How the severities of attention items look."""


def deadline(item: AttentionItem, now: datetime) -> str:
    """Return how long it takes until an item hurts; nothing where that is not known."""
    if item.until is None:
        return "hurts now" if item.severity is Severity.ACT_NOW else ""
    left = item.until - now.timestamp()
    if left < 1:
        return "data is being lost now"
    verb = "deleted" if item.kind is Kind.DEAD_LETTERS else "data lost"
    return f"{verb} in **{duration(left)}**"


@dataclass(frozen=True, slots=True)
class Change:
    """Something that changed.

    Attributes:
        at: When it was first seen.
        text: What, in a sentence.
    """

    at: datetime
    text: str


def changes(groups: pl.DataFrame, cluster: pl.DataFrame, *, since: datetime) -> list[Change]:
    """Return what changed: groups started and stopped, members, brokers, topics; newest first.

    Args:
        groups: History of groups (``time``, ``group``, ``members``).
        cluster: History of the cluster (``time``, ``brokers_alive``, ``topics``).
        since: Older changes are left out.
    """
    found = [
        Change(at, _membership(group, before, after))
        for group, at, before, after in _steps(groups, "members", "group")
    ]
    for _, at, before, after in _steps(cluster, "brokers_alive"):
        verb = "was lost" if after < before else "came back"
        found.append(Change(at, f"A broker {verb}: {before} → {after}"))
    for _, at, before, after in _steps(cluster, "topics"):
        verb = "disappeared" if after < before else "appeared"
        found.append(Change(at, f"Topics {verb}: {before} → {after}"))
    return sorted(
        (change for change in found if change.at >= since),
        key=lambda change: change.at,
        reverse=True,
    )


def broker_events(cluster: pl.DataFrame) -> tuple[Event, ...]:
    """Return the moments at which brokers went and came back, as marks for charts."""
    return tuple(
        Event(at, "broker lost", "act") if after < before else Event(at, "broker back")
        for _, at, before, after in _steps(cluster, "brokers_alive")
    )


def _membership(group: str, before: int, after: int) -> str:
    if before == 0:
        return f"{group} started with {count(after, 'member')}"
    if after == 0:
        return f"{group} stopped: {count(before, 'member')} left"
    return f"{group} went from {before} to {after} members"


def _steps(
    frame: pl.DataFrame, value: str, by: str | None = None
) -> list[tuple[str, datetime, int, int]]:
    """Return where a value differs from the one before it: series, time, before, after."""
    keys = [by] if by else []
    name = pl.col(by) if by else pl.lit("")
    before: Callable[[pl.Expr], pl.Expr] = (
        (lambda column: column.shift(1).over(by)) if by else (lambda column: column.shift(1))
    )
    rows = (
        frame.filter(pl.col(value).is_not_null())
        .sort(*keys, TIME)
        .with_columns(before(pl.col(value)).alias("before"))
        .filter(pl.col("before").is_not_null() & (pl.col(value) != pl.col("before")))
        .select(name.alias("name"), pl.col(TIME), "before", pl.col(value).alias("after"))
    )
    return [(name, at, int(old), int(new)) for name, at, old, new in rows.iter_rows()]


def course(frame: pl.DataFrame, value: str) -> list[float | None]:
    """Return a value's course for the line in a tile: at most sixty points."""
    values: list[float | None] = frame.sort(TIME)[value].to_list()
    every = -(-len(values) // 60) or 1
    return values[::-1][::every][::-1]


def growth(frame: pl.DataFrame, value: str) -> str | None:
    """Return by how much a value has grown, and in what time: ``+905 in 5 min``."""
    known = frame.filter(pl.col(value).is_not_null()).sort(TIME)
    if known.height < 2:
        return None
    change = float(known[value][-1] - known[value][0])
    seconds = (known[TIME][-1] - known[TIME][0]).total_seconds()
    return f"{'+' if change >= 0 else ''}{short(change)} in {duration(seconds)}"


def cluster_rows(clusters: Sequence[tuple[str, AttentionFacts, frozenset[str]]]) -> pl.DataFrame:
    """Return one row a cluster, the one with most to do first.

    Args:
        clusters: Each cluster's name, its facts, and which of them could not be read.
    """
    rows = []
    for name, facts, missing in clusters:
        items = attention(facts)
        lags = [fact.status.numbers.lag for fact in facts.groups]
        fact = facts.clusters[0] if facts.clusters else None
        successes = [
            one.last_success_at for one in facts.collections if one.last_success_at is not None
        ]
        rows.append(
            {
                "cluster": name,
                "act_now": sum(item.severity is Severity.ACT_NOW for item in items),
                "watch": sum(item.severity is Severity.WATCH for item in items),
                "groups": None if "groups" in missing else len(facts.groups),
                "lag": None if None in lags or not lags else sum(one for one in lags if one),
                "under_replicated": fact.under_replicated if fact else None,
                "offline": fact.offline if fact else None,
                "age_seconds": max(0.0, facts.now - max(successes)) if successes else None,
            }
        )
    return pl.DataFrame(
        rows,
        schema={
            "cluster": pl.String,
            "act_now": pl.Int64,
            "watch": pl.Int64,
            "groups": pl.Int64,
            "lag": pl.Int64,
            "under_replicated": pl.Int64,
            "offline": pl.Int64,
            "age_seconds": pl.Float64,
        },
    ).sort("act_now", "watch", "cluster", descending=[True, True, False])
