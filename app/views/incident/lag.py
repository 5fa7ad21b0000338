"""How late the groups were that an incident is about: pure functions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import ceil

import polars as pl

from alerting.rules.lifecycle import Alert
from app.data.history import TIME
from app.data.time_range import TimeRange, between
from app.style.format import UNKNOWN, duration, exact, listing, utc
from app.ui.incidents import Incident

DRAWN = 5
_NAMED = 10
_MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Courses:
    """The courses of the groups furthest behind.

    Attributes:
        frame: Rows of ``time`` and a column for each group drawn, named by its place from 0 on.
        names: These groups, the slowest first.
        others: The further groups, in the same order, without those of which nothing is known.
        unknown: Groups of which nothing is known in this time.
        is_time: Whether the values are the time lag in seconds; else messages waiting.
    """

    frame: pl.DataFrame
    names: Sequence[str]
    others: Sequence[str]
    unknown: Sequence[str]
    is_time: bool

    @property
    def rest(self) -> str:
        """What is not drawn, as sentences without markup; nothing where all is."""
        total = len(self.names) + len(self.others) + len(self.unknown)
        said = []
        if self.others:
            others = listing(list(self.others), limit=_NAMED)
            said.append(f"The {len(self.names)} furthest behind of {total} groups; less: {others}.")
        if self.unknown:
            said.append(f"Not known: {listing(list(self.unknown), limit=_NAMED)}.")
        return " ".join(said)

    def written(self, value: float | None) -> str:
        """Write a value of it."""
        if value is None:
            return UNKNOWN
        return duration(value) if self.is_time else f"{exact(value)} messages"


def groups_of(incident: Incident, groups: pl.DataFrame, others: Iterable[Alert] = ()) -> list[str]:
    """Return the groups that an incident is about: that it names, or that read a topic it names.

    One that is about the cluster or a broker and names neither is about all of them but those that
    were in trouble of their own before it.

    Args:
        incident: The incident.
        groups: Rows of ``group_status``.
        others: The other alerts of that time.
    """
    every = (incident.cause, *incident.symptoms)
    named = {one.labels["group"] for one in every if "group" in one.labels}
    topics = [one.labels["topic"] for one in every if "topic" in one.labels]
    # Kafka Connect gives a sink's group this name.
    sinks = [f"connect-{one.labels['connector']}" for one in every if "connector" in one.labels]
    shared = pl.col("topics").list.set_intersection(pl.lit(topics, pl.List(pl.String)))
    # While nothing is collected it is not known what groups read: it may be any topic.
    reads = (shared.list.len() > 0).fill_null(value=bool(topics))
    found = named | set(groups.filter(reads | pl.col("group").is_in(sinks))["group"])
    is_of_cluster = incident.cause.labels.keys() <= {"cluster", "broker"}
    if found or not is_of_cluster:
        return sorted(found)
    began = incident.cause.began_at
    before = {one.labels.get("group") for one in others if one.began_at < began}
    return sorted(name for name in groups["group"] if name not in before)


def range_of(start: datetime, end: datetime, now: datetime, minute_days: int | None) -> TimeRange:
    """Return what is read for a chart from one moment to another, at a grain that suits it.

    What goes on is read up to now, and from whole minutes on: answers are kept as long.
    """
    found = between(start.replace(second=0, microsecond=0), end, now, minute_days)
    if end < now:
        return found
    return replace(found, length=ceil(found.length / _MINUTE) * _MINUTE, end=None)


def courses(history: pl.DataFrame, groups: Sequence[str]) -> Courses:
    """Return the courses of the groups that were furthest behind.

    They are drawn by time where that is known of each of them, else by messages waiting.

    Args:
        history: History of groups.
        groups: Those that were asked for.
    """
    peaks = (
        pl.DataFrame({"group": list(groups)}, schema={"group": pl.String})
        .join(
            history.group_by("group").agg(pl.col("time_lag_seconds", "lag").max()),
            on="group",
            how="left",
        )
        .sort("time_lag_seconds", "lag", "group", descending=[True, True, False], nulls_last=True)
    )
    is_known = pl.col("time_lag_seconds").is_not_null() | pl.col("lag").is_not_null()
    ranked, unknown = peaks.filter(is_known), peaks.filter(~is_known)["group"].to_list()
    names, others = ranked["group"].to_list()[:DRAWN], ranked["group"].to_list()[DRAWN:]
    is_time = ranked["time_lag_seconds"].head(DRAWN).null_count() == 0
    value = "time_lag_seconds" if is_time else "lag"
    frame = history.filter(pl.col("group").is_in(names)).select(TIME).unique().sort(TIME)
    for place, name in enumerate(names):
        one = history.filter(pl.col("group") == name)
        frame = frame.join(one.select(TIME, pl.col(value).alias(str(place))), on=TIME, how="left")
    return Courses(frame=frame, names=names, others=others, unknown=unknown, is_time=is_time)


def figures(found: Courses, began: datetime) -> list[tuple[str, str, str, str, str]]:
    """Return for each group its name, and its lag when it began, at most, when, and at the end."""
    rows = []
    for place, name in enumerate(found.names):
        known = found.frame.select(TIME, pl.col(str(place)).alias("value")).drop_nulls()
        before = known.filter(pl.col(TIME) <= began)["value"].to_list()
        values = known["value"].to_list()
        most = max(values)
        at = known.filter(pl.col("value") == most)[TIME][0]
        said = (before[-1] if before else None, most, values[-1])
        first, highest, last = map(found.written, said)
        rows.append((name, first, highest, utc(at), last))
    return rows
