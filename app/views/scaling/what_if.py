"""The panel that asks: what if there were more consumers, partitions, messages?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import polars as pl
import streamlit as st

from app.data import losses
from app.data.context import View
from app.style.charts.advice import what_if_chart
from app.style.charts.base import Axis
from app.style.format import duration, escape, exact, short
from app.ui import components
from app.ui.advice import forecast
from app.views.scaling import questions
from app.views.scaling.outcome import Lost, drained, instead_of_model, off_measured, outcome
from lake.schemas.grain import Grain
from lake.schemas.tables import GROUP_HISTORY
from scaling.facts.capacity import not_measured
from scaling.facts.group_facts import GroupFacts
from scaling.whatif.inputs import what_if_inputs
from scaling.whatif.queue_model import (
    ROUGH,
    Campaign,
    LostConsumer,
    SimulationError,
    WhatIf,
    WhatIfChange,
    what_if,
)
from scaling.whatif.replay import (
    STEP_SECONDS,
    MeasuredMinute,
    replayed,
    why_not_followed,
    why_not_forecast,
    why_not_replayed,
)
from scaling.whatif.replay import forecast as forecast_course

_HOURS = 6.0

_AT_LEAST = "One consumer may process more than this, so less may wait"
"""What a simulation with the lower bound of a capacity says of itself."""


@st.cache_data(ttl=600, max_entries=64, show_spinner="Simulating")
def _simulated(
    key: str,
    cluster: str,
    _facts: GroupFacts,
    group: str,
    at: float,
    capacity: float,
    change: WhatIfChange,
    _minutes: Sequence[MeasuredMinute],
    arrivals: str,
    _hours: Sequence[tuple[float, float]],
) -> WhatIf:
    inputs = what_if_inputs(_facts, capacity_per_second=capacity)
    started = None
    if arrivals == questions.MEASURED:
        started = replayed(inputs, _minutes)
    elif arrivals == questions.EXPECTED:
        started = forecast_course(inputs, _hours, _begin(at, _hours), most=_HOURS)
    return what_if(inputs if started is None else started, change, hours=_HOURS)


def _begin(at: float, hours: Sequence[tuple[float, float]]) -> float:
    """Return when a run of a forecast begins: facts of a little before its first hour with that."""
    return max([at, *(hour for hour, _ in hours[:1])])


@st.cache_data(ttl=600, max_entries=64, show_spinner=False)
def measured_minutes(
    key: str, cluster: str, group: str, until: datetime, _view: View
) -> list[MeasuredMinute]:
    """Return the minutes of a group's last hours that were measured, not generated."""
    columns = [
        *("window_start", "arrival_per_second", "lag_last", "time_lag_seconds_last"),
        "lost_messages_max",
    ]
    rows = _view.lake.read(
        GROUP_HISTORY,
        pl.col("grain_seconds") == Grain.MINUTE.seconds,
        pl.col("group") == group,
        pl.col("generated").is_null(),
        since=until - timedelta(hours=_HOURS),
        until=until,
        cluster=cluster,
        columns=columns,
    )
    return [
        MeasuredMinute(
            at=at.timestamp(),
            arrival_per_second=rate,
            lag=lag,
            time_lag_seconds=time_lag,
            lost_messages=lost,
        )
        for at, rate, lag, time_lag, lost in rows.select(columns).iter_rows()
    ]


def rounded(known: float | None) -> float | None:
    """Return a capacity as it is proposed; one that rounds to nothing stays as it is."""
    return None if known is None else round(known, 1) or known


def panel(view: View, facts: GroupFacts, read_at: datetime, proposed: int | None) -> None:
    """Draw the questions and the simulator's answer.

    Args:
        view: The frame of the page.
        facts: What is known of the group.
        read_at: Of which moment.
        proposed: How many consumers are advised; None: nothing is.
    """
    group, measured = facts.group, facts.capacity
    known = measured.per_second if measured is not None else None
    at_least = measured.low if measured is not None and known is None else None
    with st.container(border=True, key="what-if"):
        asked = questions.ask(facts, proposed, rounded(known or at_least), is_least=bool(at_least))
        if not asked.per_second:
            why = not_measured(measured) if known is None else "no capacity is given"
            components.nothing(
                escape(f"{why[:1].upper()}{why[1:]}. Give it, and the simulator answers."),
                icon=":material/help:",
            )
            return
        minutes = measured_minutes(view.cache_key, view.cluster, group, read_at, view)
        hours = _expected(view, group)
        arrivals = _choose_arrivals(minutes, hours, read_at.timestamp())
        change = WhatIfChange(
            consumers=asked.consumers,
            partitions=asked.partitions,
            arrival_factor=asked.arrival_factor,
            campaign=Campaign(factor=2.0) if asked.event == questions.CAMPAIGN else None,
            lost=LostConsumer() if asked.event == questions.LOST else None,
        )
        try:
            found = _simulated(
                *(view.cache_key, view.cluster, facts, group, read_at.timestamp()),
                *(asked.per_second, change, minutes, arrivals, hours),
            )
        except SimulationError as error:
            components.nothing(escape(str(error)), icon=":material/error:")
            return
        begin = read_at.timestamp()
        if found.is_replay:
            begin = min(one.at for one in minutes if one.arrival_per_second is not None)
        elif arrivals == questions.EXPECTED:
            begin = _begin(begin, hours)
        is_least = asked.per_second == rounded(at_least)
        lost = Lost(
            measured=_measured_loss(view, group, begin, read_at) if found.is_replay else None,
            is_unknown=is_least and not found.is_replay,
        )
        _show(view, found, minutes, arrivals, datetime.fromtimestamp(begin, UTC), lost)
        if is_least:
            st.caption(escape(f"{_AT_LEAST}: {not_measured(measured)}."))


def _choose_arrivals(
    minutes: Sequence[MeasuredMinute], hours: Sequence[tuple[float, float]], at: float
) -> str:
    """Ask what arrives, and say why something cannot be chosen."""
    not_replayed = why_not_replayed(minutes)
    not_forecast = why_not_forecast(hours, _begin(at, hours)) if hours else None
    offered = [
        *([] if not_replayed else [questions.MEASURED]),
        *([questions.EXPECTED] if hours and not not_forecast else []),
        questions.HELD,
    ]
    arrivals = questions.choose_arrivals(
        offered, questions.HELD if not_replayed else questions.MEASURED
    )
    if not_replayed:
        st.caption(escape(f"The last hours cannot be replayed: {not_replayed}."))
    if not_forecast:
        st.caption(escape(f"The forecast cannot be followed: {not_forecast}."))
    return arrivals


def _expected(view: View, group: str) -> list[tuple[float, float]]:
    """Return what is forecast to arrive; none where there is no forecast whose band held."""
    with components.guarded():
        rows = forecast.expected(view, "group", group)
        if rows is not None:
            columns = rows.drop_nulls("median").select("window_start", "median")
            return [(at.timestamp(), rate) for at, rate in columns.iter_rows()]
    return []


def _measured_loss(view: View, group: str, begin: float, end: datetime) -> int | None:
    """Return how many messages were deleted unread in a time; None where that is not known."""
    with components.guarded():
        found = losses.of_group(view, group, datetime.fromtimestamp(begin, UTC), end)
        return None if found is None else found.messages
    return None


def _show(
    view: View,
    found: WhatIf,
    minutes: Sequence[MeasuredMinute],
    arrivals: str,
    begin: datetime,
    lost: Lost,
) -> None:
    st.markdown(escape(outcome(found, lost)))
    if found.now.consumer_hours != found.changed.consumer_hours:
        hours_of = f"{short(found.changed.consumer_hours)} consumer-hours"
        st.caption(f"It takes {hours_of}; as it is {short(found.now.consumer_hours)}.")
    now, changed = found.now, found.changed
    not_followed = why_not_followed(minutes) if found.is_replay else None
    is_compared = found.is_replay and not_followed is None
    measured = sorted(minutes, key=lambda one: one.at) if is_compared else []
    with st.grid(4, min_column_width=124, gap="small"):
        for label, then, before in (
            (
                "Most lag",
                exact(round(changed.lag_peak)),
                exact(round(now.lag_peak)),
            ),
            (
                "Longest time lag",
                duration(changed.time_lag_peak_seconds),
                duration(now.time_lag_peak_seconds),
            ),
            ("Drained after", drained(changed), drained(now)),
            (
                "Objective missed for",
                duration(changed.violation_minutes * 60),
                duration(now.violation_minutes * 60),
            ),
        ):
            components.tile(label, then, delta=f"as it is: {before}")
    left, right = st.columns(2, gap="small")
    axis = Axis(start=begin, end=begin + timedelta(hours=found.hours), zone=view.zone)
    times = [axis.local(begin + timedelta(seconds=float(one))) for one in changed.seconds]
    past = [axis.local(datetime.fromtimestamp(one.at + STEP_SECONDS, UTC)) for one in measured]
    with left:
        components.chart(
            what_if_chart(
                times,
                now.lag.tolist(),
                changed.lag.tolist(),
                axis=axis,
                palette=view.palette,
                measured=(past, [one.lag for one in measured]),
            ),
            key="what-if-lag",
            title="Lag",
            unit="messages waiting",
            alt=f"Lag, simulated: at most {exact(round(changed.lag_peak))} messages with the "
            f"change, {exact(round(now.lag_peak))} as it is",
        )
    with right:
        components.chart(
            what_if_chart(
                times,
                (now.time_lag_seconds / 60).tolist(),
                (changed.time_lag_seconds / 60).tolist(),
                axis=axis,
                palette=view.palette,
                measured=(
                    past,
                    [
                        None if one.time_lag_seconds is None else one.time_lag_seconds / 60
                        for one in measured
                    ],
                ),
                objective=found.objective_seconds / 60,
            ),
            key="what-if-time-lag",
            title="Time lag",
            unit="minutes",
            alt=f"Time lag, simulated: at most {duration(changed.time_lag_peak_seconds)} with the "
            f"change, {duration(now.time_lag_peak_seconds)} as it is",
        )
    if is_compared and (off := off_measured(found, measured)):
        st.caption(escape(off))
    notes = [
        f"{duration(found.hours * 3600)} simulated, "
        + (
            "with what was measured to arrive"
            if found.is_replay
            else "with what is forecast to arrive"
            if arrivals == questions.EXPECTED
            else "one draw of arrivals"
        ),
        *(one for one in found.notes if one != ROUGH or not instead_of_model(found, lost)),
        *([not_followed] if not_followed else []),
    ]
    st.caption(escape("; ".join(notes) + "."))
