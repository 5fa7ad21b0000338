"""How late the groups were that an incident is about: pure functions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import starmap

import polars as pl

from alerting.checks.loss_deadline import deleted_within_objective
from alerting.checks.retention_deadline import Retention
from alerting.status.descriptions import MISSES_OBJECTIVE
from app.data.history import TIME, History
from app.style.format import UNKNOWN, duration, exact, listing, utc
from app.ui import lag_levels
from app.ui.incidents import Incident
from app.ui.lag_levels import Level
from app.views.incident.steps import Step

DRAWN = 5
_NAMED = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Courses:
    """The courses of the groups furthest behind.

    Attributes:
        frame: Rows of ``time`` and a column for each group drawn, named by its place from 0 on.
        names: These groups, the slowest first.
        others: The further groups, in the same order, without those of which nothing is known.
        unknown: Groups of which nothing is known in this time.
        step_seconds: From one row to the next.
        is_time: Whether the values are the time lag in seconds; else messages waiting.
    """

    frame: pl.DataFrame
    step_seconds: float
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


def groups_of(incident: Incident, groups: pl.DataFrame) -> list[str]:
    """Return the groups that an incident is about: that it names, or that read a topic it names.

    One whose cause is a broker or the cluster touches most topics: it is about the groups that
    follow from it.

    Args:
        incident: The incident.
        groups: Rows of ``group_status``.
    """
    every = (incident.cause, *incident.symptoms)
    named = {one.labels["group"] for one in every if "group" in one.labels}
    if incident.cause.labels.keys() <= {"cluster", "broker"}:
        return sorted(named)
    topics = [one.labels["topic"] for one in every if "topic" in one.labels]
    # Kafka Connect gives a sink's group this name.
    sinks = [f"connect-{one.labels['connector']}" for one in every if "connector" in one.labels]
    shared = pl.col("topics").list.set_intersection(pl.lit(topics, pl.List(pl.String)))
    # While nothing is collected it is not known what groups read: it may be any topic.
    reads = (shared.list.len() > 0).fill_null(value=bool(topics))
    return sorted(named | set(groups.filter(reads | pl.col("group").is_in(sinks))["group"]))


def courses(found: History, groups: Sequence[str]) -> Courses:
    """Return the courses of the groups that were furthest behind.

    They are drawn by time where that is known of each of them, else by messages waiting.

    Args:
        found: History of groups.
        groups: Those that were asked for.
    """
    history = found.frame
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
    return Courses(
        frame=frame,
        step_seconds=found.step_seconds,
        names=names,
        others=others,
        unknown=unknown,
        is_time=is_time,
    )


def held_against(
    found: Courses,
    status: pl.DataFrame,
    kept: Mapping[str, Retention],
    objective_of: Callable[[str], float],
) -> tuple[list[Level], str]:
    """Return the levels of the time lag that is drawn, and a sentence where retention decides.

    Args:
        found: The courses.
        status: Rows of ``group_status``.
        kept: What each topic keeps.
        objective_of: Returns the objective of a group, in seconds.
    """
    if not found.is_time or not found.names:
        return [], ""
    read = dict(status.select("group", "topics").drop_nulls().iter_rows())
    of_groups = [(objective_of(name), kept, read.get(name, ())) for name in found.names]
    alone = of_groups[0] if len(of_groups) == 1 else None
    return (
        lag_levels.shared(starmap(lag_levels.levels, of_groups)),
        deleted_within_objective(*alone) if alone else "",
    )


def missed(
    found: Courses, told: Collection[str], objective_of: Callable[[str], float]
) -> list[Step]:
    """Return when groups missed their objectives, of which no alert told.

    Args:
        found: The courses.
        told: What the alerts of the incident say.
        objective_of: Returns the objective of a group, in seconds.
    """
    if not found.is_time:
        return []
    step, steps = timedelta(seconds=found.step_seconds), []
    for place, name in enumerate(found.names):
        objective = objective_of(name)
        known = found.frame.select(TIME, pl.col(str(place)).alias("value")).drop_nulls()
        late = known.filter(pl.col("value") > objective)
        if late.is_empty() or f"{name} {MISSES_OBJECTIVE}" in told:
            continue
        first, last, highest = late[TIME][0], late[TIME][-1], max(late["value"].to_list())
        goes_on = last == known[TIME][-1]
        lasted = "" if goes_on else f" for about {duration((last + step - first).total_seconds())}"
        what = f"{name} {MISSES_OBJECTIVE if goes_on else 'missed its objective'}"
        said = f"later than {duration(objective)}{lasted}, at most {duration(highest)}"
        steps.append(Step(at=first + step, kind="symptom", what=what, detail=said))
    return steps


def figures(found: Courses, began: datetime) -> list[tuple[str, str, str, str, str]]:
    """Return for each group its name, and its lag when it began, at most, when, and at the end."""
    step = timedelta(seconds=found.step_seconds)
    return [
        (name, *extremes(found.frame, str(place), began, step, found.written))
        for place, name in enumerate(found.names)
    ]


def extremes(
    course: pl.DataFrame,
    column: str,
    began: datetime,
    step: timedelta,
    written: Callable[[float | None], str],
) -> tuple[str, str, str, str]:
    """Return what a value was when an incident began, at most, when, and at the end.

    Args:
        course: Rows of ``time`` and the value, known at least once.
        column: The value.
        began: When the incident began.
        step: From one row to the next: a row is of what came after its time, and that in which the
            incident began is not of before.
        written: Writes a value.
    """
    known = course.select(TIME, pl.col(column).alias("value")).drop_nulls()
    before = known.filter(pl.col(TIME) + step <= began)["value"].to_list()
    values = known["value"].to_list()
    at = known[TIME][values.index(max(values))]
    first, highest, last = map(written, (before[-1] if before else None, max(values), values[-1]))
    return first, highest, utc(at), last
