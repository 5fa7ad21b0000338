"""Advice that was given, and what became of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any

import polars as pl
import streamlit as st

from app.data.context import View
from app.data.queries import version
from app.style.columns import DASH
from app.style.format import UNKNOWN, clock, count, duration, exact
from app.ui.advice import current_advice
from app.ui.advice.overtaken import Known, is_folded
from config.storage import ADVICE_KEPT
from lake.errors import LakeError
from lake.schemas.grain import Grain
from lake.schemas.model import Table
from lake.schemas.tables import GROUP_HISTORY, RECOMMENDATIONS, TOPIC_HISTORY
from scaling.advice.follow_up import AdviceOutcome, Followed, Point, outcome
from scaling.advice.model import Subject
from scaling.advice.stored_advice import IS_CHANGE

DAYS = 14
"""How far back advice is shown."""

_COUNTED: Mapping[tuple[str, str], tuple[Table, str, str]] = {
    (Subject.GROUP.value, "consumers"): (GROUP_HISTORY, "group", "members_last"),
    (Subject.TOPIC.value, "partitions"): (TOPIC_HISTORY, "topic", "partitions_last"),
}
_KIND = ("subject_kind", "subject", "kind")
_MINUTES = timedelta(hours=12)
_AROUND = timedelta(hours=3)
"""What is looked at before advice was given, and after."""


def given(view: View, since: datetime | None = None) -> pl.DataFrame:
    """Return the changes of ``recommendations`` that were given of late, the newest first.

    Args:
        view: The frame of the page.
        since: What was last given before it is left out; None: what is older than ``DAYS``.
    """
    first = since or view.now - timedelta(days=DAYS)
    hour = first.replace(minute=0, second=0, microsecond=0)
    rows = _given(view.cache_key, view.cluster, version(view, RECOMMENDATIONS), hour, view)
    rows = rows.filter(pl.col("confirmed_at") >= first, IS_CHANGE)
    return rows.sort("valid_from", descending=True)


# Frames are never altered: all sessions share one, without a copy.
@st.cache_resource(ttl=600, max_entries=16, show_spinner=False)
def _given(
    uri: str, cluster: str, version: int | None, since: datetime, _view: View
) -> pl.DataFrame:
    # A row lies under the day on which its advice was first given, which may be long ago.
    return _view.lake.read(
        RECOMMENDATIONS,
        pl.col("confirmed_at") >= since,
        since=_view.now - ADVICE_KEPT,
        cluster=cluster,
    )


def given_on(view: View, kind: Subject, name: str) -> pl.DataFrame:
    """Return the changes that were advised on one group or topic in the chosen range, with numbers.

    The newest come first.
    """
    rows = view.lake.read(
        RECOMMENDATIONS,
        pl.col("subject_kind") == kind.value,
        pl.col("subject") == name,
        pl.col("valid_from").is_between(view.start, view.until),
        pl.col("proposed").is_not_null(),
        since=view.start - timedelta(days=1),
        cluster=view.cluster,
    )
    return rows.filter(pl.col("proposed") != pl.col("current")).sort("valid_from", descending=True)


def listed(view: View, since: datetime | None = None) -> pl.DataFrame:
    """Return what ``given`` does with what is advised now in it, the newest first.

    Args:
        view: The frame of the page.
        since: See ``given``.
    """
    rows = given(view, since)
    standing = _standing(view)
    return rows if standing is None else with_standing(rows, standing.filter(IS_CHANGE))


def outcomes(view: View, rows: pl.DataFrame) -> list[AdviceOutcome]:
    """Return what became of each row's advice: one answer for all pages.

    What Scaling lists stands, and nothing else; what it folds as older does not.
    """
    # The newest round may give none of these.
    found = _outcomes(view.cache_key, rows, current_advice.given_at(view), view)
    try:
        known = current_advice.known(view, rows)
    except LakeError:
        return found  # what groups do now is not known, and the page says so
    found = with_older(found, rows, known, zone=view.zone, now=view.now)
    standing = _standing(view)
    return found if standing is None else as_standing(found, rows, standing)


def _standing(view: View) -> pl.DataFrame | None:
    try:
        return current_advice.standing(view)
    except LakeError:
        return None


def with_older(
    found: Sequence[AdviceOutcome],
    rows: pl.DataFrame,
    known: Known,
    *,
    zone: tzinfo,
    now: datetime,
) -> list[AdviceOutcome]:
    """Return outcomes in which advice that Scaling folds as older does not stand.

    Args:
        found: The outcomes.
        rows: The rows of ``recommendations`` that they are of.
        known: What groups and topics do now.
        zone: The viewer's.
        now: The present.
    """
    return [
        replace(one, followed=Followed.OLDER)
        if one.followed is Followed.STANDS
        and is_folded(row, known.overtakes(row, zone=zone, now=now))
        else one
        for one, row in zip(found, rows.iter_rows(named=True), strict=True)
    ]


def with_standing(given: pl.DataFrame, standing: pl.DataFrame) -> pl.DataFrame:
    """Return advice that was given with what is advised now in it, the newest first.

    What was advised between two rounds, or evaluated by a page, is in no table of what was given.

    Args:
        given: Rows of ``recommendations``.
        standing: Rows of what is advised now; each takes the place of the same one that was given.
    """
    now = standing.select(given.columns)
    before = given.join(now, on=RECOMMENDATIONS.key, how="anti", nulls_equal=True)
    return pl.concat([now, before]).sort("valid_from", descending=True, maintain_order=True)


def as_standing(
    found: Sequence[AdviceOutcome], rows: pl.DataFrame, standing: pl.DataFrame
) -> list[AdviceOutcome]:
    """Return outcomes in which what is advised now stands, and nothing else.

    Args:
        found: The outcomes.
        rows: The rows of ``recommendations`` that they are of.
        standing: All rows of what is advised now.
    """
    stands = {_key(row) for row in standing.iter_rows(named=True)}
    kinds = set(standing.filter(IS_CHANGE).select(_KIND).iter_rows())

    def became(one: AdviceOutcome, row: Mapping[str, Any]) -> Followed:
        if one.followed is Followed.FOLLOWED:
            return one.followed
        if _key(row) in stands:
            return Followed.STANDS
        is_over = one.followed in (Followed.STANDS, Followed.WITHDRAWN, Followed.ENDED)
        if is_over and tuple(row[name] for name in _KIND) in kinds:
            return Followed.ANEW
        if one.followed is Followed.STANDS:
            return Followed.ENDED if row["proposed"] is None else Followed.WITHDRAWN
        return one.followed

    return [
        replace(one, followed=became(one, row))
        for one, row in zip(found, rows.iter_rows(named=True), strict=True)
    ]


def _key(row: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what names a row; rows of before there was a number have none."""
    return tuple(row[name] or 0 if name == "number" else row[name] for name in RECOMMENDATIONS.key)


@st.cache_data(ttl=60, max_entries=32, show_spinner=False)
def _outcomes(
    uri: str, rows: pl.DataFrame, newest: datetime | None, _view: View
) -> list[AdviceOutcome]:
    histories = _histories(_view, rows)
    return [
        outcome(
            row["current"],
            row["proposed"],
            valid_from=row["valid_from"],
            confirmed_at=row["confirmed_at"],
            stands=row["confirmed_at"] == newest,
            now=_view.now,
            history=_points(histories.get(_History.of(row, _view.now)), row),
            objective_seconds=_view.settings.scaling.objective_seconds(row["subject"]),
        )
        for row in rows.iter_rows(named=True)
    ]


@dataclass(frozen=True, slots=True)
class _History:
    """What tells whether advice was followed: how many there were, minute by minute or hourly."""

    table: Table
    name: str  # the column that names the subject
    counted: str
    grain: Grain

    @classmethod
    def of(cls, row: Mapping[str, Any], now: datetime) -> _History | None:
        """Return what tells of a row of ``recommendations``; None where nothing does."""
        counted = _COUNTED.get((row["subject_kind"], row["quantity"]))
        # Minutes are kept for days only; older advice is compared with hours.
        recent = now - row["valid_from"] <= _MINUTES
        return counted and cls(*counted, Grain.MINUTE if recent else Grain.HOUR)


def _histories(view: View, rows: pl.DataFrame) -> dict[_History | None, pl.DataFrame]:
    """Read the histories that rows of ``recommendations`` need: one read for all of a kind."""
    asked: dict[_History, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows.iter_rows(named=True):
        if (history := _History.of(row, view.now)) is not None:
            asked[history].append(row)
    return {
        history: view.lake.read(
            history.table,
            pl.col("grain_seconds") == history.grain.seconds,
            pl.col(history.name).is_in({row["subject"] for row in about}),
            since=min(row["valid_from"] for row in about) - _AROUND,
            until=max(row["confirmed_at"] for row in about) + _AROUND,
            cluster=view.cluster,
            columns=list(
                {*history.table.key, history.counted, "time_lag_seconds_max"}
                & set(history.table.polars_schema)
            ),
        )
        .rename({history.name: "subject", history.counted: "count"})
        .sort("window_start")
        for history, about in asked.items()
    }


def _points(history: pl.DataFrame | None, row: Mapping[str, Any]) -> list[Point]:
    if history is None:
        return []
    around = pl.col("window_start").is_between(
        row["valid_from"] - _AROUND, row["confirmed_at"] + _AROUND, closed="left"
    )
    late = pl.col("time_lag_seconds_max") if "time_lag_seconds_max" in history else pl.lit(None)
    points = history.filter(pl.col("subject") == row["subject"], around)
    return [
        Point(at=at, count=count, time_lag_seconds=late)
        for at, count, late in points.select(
            "window_start", "count", late.alias("late")
        ).iter_rows()
    ]


def change(row: Mapping[str, Any]) -> str:
    """Write what was advised as numbers; a dash where the advice names none.

    Args:
        row: current, proposed and quantity of a row of ``recommendations``.
    """
    current, proposed, quantity = row["current"], row["proposed"], row["quantity"]
    if proposed is not None:
        return f"{UNKNOWN if current is None else exact(current)} → {exact(proposed)} {quantity}"
    if current is None:
        return DASH
    return f"{count(current, quantity.removesuffix('s'))} now, no number advised"


def words(one: AdviceOutcome, view: View) -> str:
    """Say what became of advice."""
    if one.followed is not Followed.FOLLOWED:
        return one.followed.value
    when = clock(one.at, view.zone, now=view.now)
    if one.worked is None:
        return f"followed {when}; effect unknown"
    after = duration(one.after_seconds)
    before = f" (before {duration(one.before_seconds)})" if one.before_seconds is not None else ""
    return f"followed {when}; {'worked' if one.worked else 'no effect'}: time lag {after}{before}"
