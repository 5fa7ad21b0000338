"""The advice that stands: the job's rows, or what is evaluated here where there are none."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import polars as pl
import streamlit as st

from app.data import history_queries, present, queries
from app.data.background import Background
from app.data.context import View
from app.style.format import age, clock, count, duration, escape
from app.ui import components, refresh, routes
from app.ui.advice import advice_cards, card_size
from app.ui.advice.listed_under import hot_topics
from app.ui.advice.overtaken import IN_SYNC, Known, is_folded
from app.ui.advice.urgency import as_alerted, with_losses
from config.scaling import ScalingSettings
from lake.errors import LakeError
from lake.schemas.current import GROUP_STATUS, READERS, TOPIC_STATUS
from lake.schemas.tables import RECOMMENDATIONS
from lake.storage.store import Lake
from scaling.advice.advice_table import from_row, recommendation_frame, recommendation_rows
from scaling.advice.model import AdviceKind, Recommendation, Subject
from scaling.advice.stored_advice import (
    ADVISE_EVERY,
    IS_CHANGE,
    Standing,
    most_urgent_first,
    newest_round,
)
from scaling.evaluate import evaluate

EVALUATED_AGAIN_AFTER = timedelta(minutes=1)
_MINUTE = 60.0
_AS_NEW = timedelta(minutes=1)
"""Figures that are no older stand beside a status as if they were of now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentAdvice:
    """The advice on a cluster."""

    rows: pl.DataFrame  # rows of ``recommendations``, the most urgent first
    as_of: datetime | None  # of which moment it is; None: there is none yet
    given_at: datetime | None  # when the history service advised last; None: never
    withdrawn: pl.DataFrame = field(default_factory=lambda: recommendation_frame([]))
    changed: frozenset[str] = frozenset()  # groups that were advised on anew since ``as_of``
    changed_at: datetime | None = None  # when that was last
    is_pending: bool = False
    is_left_out: bool = False
    errors: tuple[LakeError, ...] = ()

    @property
    def next_at(self) -> datetime | None:
        """When it is due to be given anew; None: there is none yet."""
        if self.as_of is None:
            return None
        is_given = self.as_of == self.given_at
        return self.as_of + (ADVISE_EVERY if is_given else EVALUATED_AGAIN_AFTER)


def read(view: View, group: str | None = None) -> CurrentAdvice:
    """Return the advice that stands; without waiting for an evaluation where it is too old.

    Advice on a large cluster needs gigabytes of samples: there, only the group that is asked for is
    evaluated here.
    """
    given = _current(view, group)
    if given.is_pending:
        refresh.soon()
    return given


def _current(view: View, group: str | None = None) -> CurrentAdvice:
    given = _read(view, group)
    try:
        rows = as_alerted(given.rows, present.open_alerts(view))
        return replace(given, rows=with_losses(rows, present.rows(view, READERS)))
    except LakeError as error:
        return replace(given, errors=(*given.errors, error))


def _read(view: View, group: str | None) -> CurrentAdvice:
    errors: list[LakeError] = []
    given_at = None
    try:
        given = _given(view)
        given_at = given.as_of
        if given.is_current(view.now):
            return CurrentAdvice(
                rows=given.rows,
                as_of=given_at,
                given_at=given_at,
                withdrawn=given.withdrawn,
                changed=given.changed,
                changed_at=given.changed_at,
            )
    except LakeError as error:
        errors.append(error)
    try:
        is_small = history_queries.is_small(view)
    except LakeError as error:
        errors.append(error)
        is_small = False  # of unknown size: it might be large
    if not is_small:
        return _of_a_large_cluster(view, group, given_at, errors)
    lake, cluster, now, settings = view.lake, view.cluster, view.now, view.settings.scaling
    found = evaluations().newest(
        (view.cache_key, cluster), lambda: _evaluated(lake, cluster, now, settings), now
    )
    rows = recommendation_frame([])
    if found is not None:
        try:
            rows = found.future.result()
        except LakeError as error:
            errors.append(error)
    return CurrentAdvice(
        rows=rows,
        as_of=None if found is None else found.asked_at,
        given_at=given_at,
        is_pending=found is None,
        errors=tuple(errors),
    )


def standing(view: View) -> pl.DataFrame | None:
    """Return all advice that stands: rows that what groups do now has overtaken are left out.

    Returns:
        Rows of ``recommendations``; None where it is not known.

    Raises:
        LakeError: What groups do now cannot be read.
    """
    given = _current(view)
    if given.as_of is None:
        return None
    now_known = known(view, given.rows)
    stands = [
        not is_folded(row, now_known.overtakes(row, zone=view.zone, now=view.now))
        for row in given.rows.iter_rows(named=True)
    ]
    return given.rows.filter(pl.Series(stands, dtype=pl.Boolean))


def of_groups(
    view: View,
    groups: Collection[str],
    *,
    also_old: bool = False,
    written: Callable[[Recommendation], str] = advice_cards.in_a_line,
) -> dict[str, str]:
    """Return the most urgent change that the job advises on each of these groups, in a line.

    Args:
        view: The frame of the page.
        groups: The groups.
        also_old: Whether advice that says nothing about the present is returned, with its age.
        written: Writes it.

    Raises:
        LakeError: The advice cannot be read.
    """
    given, old = _given(view), ""
    if not given.is_current(view.now):
        if given.as_of is None or not also_old:
            return {}
        old = f"old ({duration((view.now - given.as_of).total_seconds())}): "
    on_groups = given.rows.filter(
        pl.col("subject_kind") == Subject.GROUP,
        IS_CHANGE,
        pl.col("subject").is_in(list(groups)),
    ).unique("subject", keep="first", maintain_order=True)
    now_known = known(view, on_groups)
    lines = {}
    for row in on_groups.iter_rows(named=True):
        older = now_known.overtakes(row, zone=view.zone, now=view.now)
        if older is None or not older.is_void:
            lines[row["subject"]] = f"{old}{written(from_row(row))}"
    return lines


def known(view: View, rows: pl.DataFrame) -> Known:
    """Return what groups and topics do now that may be newer than rows of ``recommendations``.

    Raises:
        LakeError: It cannot be read.
    """
    if rows.is_empty():
        return Known()
    about, oldest = rows["subject"].unique().to_list(), rows["confirmed_at"].min()
    # Few of ten thousand groups have changed in the minutes since, and few topics are out of sync.
    groups, topics = present.rows(view, GROUP_STATUS), present.rows(view, TOPIC_STATUS)
    # Where nobody read, who reads now counts, and a stop that is dated back.
    unread = rows.filter(pl.col("current") == 0)["subject"].unique().to_list()
    is_new = (pl.col("since") > oldest) & pl.col("since_at_least").not_()
    may_differ = is_new | pl.col("group").is_in(unread)
    return Known.of(
        groups.filter(may_differ, pl.col("group").is_in(about)),
        topics.filter(pl.col("replication").ne_missing(IN_SYNC), pl.col("topic").is_in(about)),
    )


def hot_partitions_of(rows: pl.DataFrame, topic: str) -> pl.DataFrame:
    """Return the advice to groups on hot partitions of a topic.

    Args:
        rows: Rows of ``recommendations``.
        topic: The topic, which the figures behind such advice name with the partitions.
    """
    on_hot = rows.filter(
        pl.col("subject_kind") == Subject.GROUP,
        pl.col("kind") == AdviceKind.HOT_PARTITION,
        pl.col("evidence").str.contains(topic, literal=True),
    )
    is_here = [topic in hot_topics(from_row(row)) for row in on_hot.iter_rows(named=True)]
    return on_hot.filter(pl.Series(is_here, dtype=pl.Boolean))


def words(given: CurrentAdvice, view: View) -> str:
    """Say of which moment advice is, and who gave it."""
    if given.is_left_out:
        when = "The cluster is too large to be evaluated here"
    elif given.as_of is None and given.errors:
        when = "What advice needs cannot be read"
    elif given.as_of is None:
        when = "The advice of the last ten minutes is being evaluated"
    else:
        old = (view.now - given.as_of).total_seconds()
        # Whole minutes: the line does not change with each refresh.
        when = f"Measured {age(old if old < _MINUTE else round(old / _MINUTE) * _MINUTE)}"
    if given.as_of is not None and given.as_of == given.given_at:
        anew = ""
        if given.changed_at:
            groups = count(len(given.changed), "group was", "groups were")
            anew = f"; {groups} advised on again since"
        return f"{when}{anew}."
    last = (
        "has given none yet"
        if given.given_at is None
        else f"gave the last at {clock(given.given_at, view.zone, now=view.now)}"
    )
    if given.is_left_out:
        return f"{when}, and the history service {last}: is it running?"
    return f"{when}, here: the history service {last}."


def measured_until(at: datetime, view: View) -> str:
    """Say when figures were measured; nothing where they are as new as the status beside them."""
    return "" if view.now - at < _AS_NEW else f"measured until {clock(at, view.zone, now=view.now)}"


def draw(view: View, kind: Subject, subject: str) -> int:
    """Draw the advice on one subject.

    Returns:
        About how many pixels high it is, beside which other things stand.
    """
    given = read(view, subject if kind is Subject.GROUP else None)
    for error in given.errors:
        components.show_broken(error)
    about = given.rows.filter(pl.col("subject_kind") == kind, pl.col("subject") == subject)
    hot = hot_partitions_of(given.rows, subject) if kind is Subject.TOPIC else about.clear()
    shown = pl.concat([hot, about])
    now_known = Known()
    with components.guarded():
        now_known = known(view, shown)
    is_dated, high = False, 0
    for position, row in enumerate(shown.iter_rows(named=True)):
        older = now_known.overtakes(row, zone=view.zone, now=view.now)
        if older is not None and is_folded(row, older):
            st.caption(escape(advice_cards.in_the_past(from_row(row), older)))
            high += 2 * card_size.LINE_PIXELS
            continue
        is_dated = given.as_of is not None and given.as_of == given.given_at
        advice = from_row(row)
        if kind is Subject.GROUP:
            advice = advice_cards.beside_status(advice)
        high += card_size.pixels(advice, older)
        advice_cards.card(
            advice,
            key=f"{kind}-advice-{position}",
            link=routes.GROUP if position < hot.height else None,
            older=older,
            when=measured_until(row["confirmed_at"], view),
        )
    if about.is_empty() and not given.is_pending:
        components.nothing("There is no advice on it yet.", icon=":material/hourglass:")
    if not is_dated:  # a card of the history service says of which moment it is
        st.caption(words(given, view))
        high += 2 * card_size.LINE_PIXELS
    return high


def _of_a_large_cluster(
    view: View, group: str | None, given_at: datetime | None, errors: list[LakeError]
) -> CurrentAdvice:
    rows = recommendation_frame([])
    if group is not None:
        try:
            rows = _of_group(view.cache_key, view.cluster, group, view)
        except LakeError as error:
            errors.append(error)
    return CurrentAdvice(
        rows=rows,
        as_of=None if group is None else view.now,
        given_at=given_at,
        is_left_out=group is None and not errors,
        errors=tuple(errors),
    )


@st.cache_data(ttl=15, max_entries=16, show_spinner=False)
def _of_group(uri: str, cluster: str, group: str, _view: View) -> pl.DataFrame:
    return _evaluated(_view.lake, cluster, _view.now, _view.settings.scaling, group)


@st.cache_resource(show_spinner=False)
def evaluations() -> Background[pl.DataFrame]:
    """Return what is evaluated in this process, for all viewers."""
    return Background(EVALUATED_AGAIN_AFTER)


def _evaluated(
    lake: Lake, cluster: str, now: datetime, settings: ScalingSettings, group: str | None = None
) -> pl.DataFrame:
    rows = recommendation_rows(evaluate(lake, cluster, now, settings, group), at=now)
    return most_urgent_first(recommendation_frame(rows))


def given_at(view: View) -> datetime | None:
    """Return when the history service advised last; None: never.

    Raises:
        LakeError: The advice cannot be read.
    """
    return _round(view).as_of


def _given(view: View) -> Standing:
    return _round(view).with_changed(present.changed_advice(view))


def _round(view: View) -> Standing:
    version = queries.version(view, RECOMMENDATIONS)
    return _newest_round(view.cache_key, view.cluster, version, view.lake, view.now)


@st.cache_resource(ttl=600, max_entries=16, show_spinner=False)
def _newest_round(
    uri: str, cluster: str, version: int | None, _lake: Lake, _now: datetime
) -> Standing:
    return newest_round(_lake, cluster, _now)
