"""The panel that asks: what if there were more consumers, partitions, messages?"""

from __future__ import annotations

import streamlit as st

from app.data.context import View
from app.style.charts.advice import what_if_chart
from app.style.format import duration, escape, exact
from app.ui import components
from scaling.facts.group_facts import GroupFacts
from scaling.whatif.inputs import what_if_inputs
from scaling.whatif.queue_model import (
    Campaign,
    LostConsumer,
    SimulationError,
    WhatIf,
    WhatIfChange,
    what_if,
)

_HOURS = 6.0
_NOTHING, _CAMPAIGN, _LOST = (
    "nothing else",
    "a campaign: twice as much for an hour",
    ("one consumer is away for an hour"),
)


@st.cache_data(ttl=600, max_entries=64, show_spinner="Simulating")
def _simulated(
    _facts: GroupFacts, group: str, at: float, capacity: float, change: WhatIfChange
) -> WhatIf:
    inputs = what_if_inputs(_facts, capacity_per_second=capacity)
    return what_if(inputs, change, hours=_HOURS)


def panel(view: View, facts: GroupFacts, proposed: int | None) -> None:
    """Draw the questions and the simulator's answer."""
    group, measured = facts.group, facts.capacity
    known = measured.per_second if measured is not None else None
    with st.container(border=True, key="what-if"):
        first, second, third, fourth = st.columns(4, gap="small")
        consumers = first.number_input(
            "Consumers", 1, 2000, proposed or facts.members or 1, key=f"if-consumers-{group}"
        )
        partitions_now = max(1, sum(facts.subscribed.values()))
        partitions = second.number_input(
            "Partitions",
            partitions_now,
            100_000,
            partitions_now,
            step=partitions_now,
            key=f"if-partitions-{group}",
            disabled=len(facts.subscribed) != 1,
            help="Of the only topic that the group reads; they only ever grow.",
        )
        factor = third.number_input(
            "Arrival ×",  # noqa: RUF001 (a multiplication sign, read by people)
            0.0,
            100.0,
            1.0,
            step=0.5,
            key=f"if-arrival-{group}",
        )
        capacity = fourth.number_input(
            "Messages/s of one consumer",
            0.0,
            value=round(known, 1) if known is not None else None,
            placeholder="not measured: give it",
            key=f"if-capacity-{group}",
            help="What one consumer can process when it never waits.",
        )
        event = st.segmented_control(
            "And",
            [_NOTHING, _CAMPAIGN, _LOST],
            default=_NOTHING,
            key=f"if-event-{group}",
            label_visibility="collapsed",
        )
        if not capacity:
            components.nothing(
                "What one consumer can process was not measured yet: give it, and the simulator "
                "answers.",
                icon=":material/help:",
            )
            return
        change = WhatIfChange(
            consumers=consumers,
            partitions=partitions if partitions != partitions_now else None,
            arrival_factor=factor,
            campaign=Campaign(factor=2.0) if event == _CAMPAIGN else None,
            lost=LostConsumer() if event == _LOST else None,
        )
        at = view.now.timestamp() // 60
        try:
            found = _simulated(facts, group, at, capacity, change)
        except SimulationError as error:
            components.nothing(escape(str(error)), icon=":material/error:")
            return
        _show(view, found)


def _show(view: View, found: WhatIf) -> None:
    now, changed = found.now, found.changed
    with st.grid(5, min_column_width=124, gap="small"):
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
            ("Drained after", _drained(changed.drain_seconds), _drained(now.drain_seconds)),
            (
                "Objective missed for",
                duration(changed.violation_minutes * 60),
                duration(now.violation_minutes * 60),
            ),
            (
                "Consumer-hours",
                f"{changed.consumer_hours:.4g}",
                f"{now.consumer_hours:.4g}",
            ),
        ):
            components.tile(label, then, delta=f"as it is: {before}")
    left, right = st.columns(2, gap="small")
    hours = [float(one) / 3600 for one in changed.seconds]
    with left:
        components.chart(
            what_if_chart(
                hours,
                now.lag.tolist(),
                changed.lag.tolist(),
                y_title="messages waiting",
                palette=view.palette,
            ),
            key="what-if-lag",
            alt="Lag over the next hours, as it is and with the change",
        )
    with right:
        components.chart(
            what_if_chart(
                hours,
                (now.time_lag_seconds / 60).tolist(),
                (changed.time_lag_seconds / 60).tolist(),
                y_title="time lag, minutes",
                palette=view.palette,
                objective=found.objective_seconds / 60,
            ),
            key="what-if-time-lag",
            alt="Time lag over the next hours, as it is and with the change",
        )
    lost = max(changed.lost_messages, now.lost_messages)
    notes = [
        f"{_HOURS:.0f} simulated hours, one draw of arrivals and service times",
        *found.notes,
        *([f"retention deletes {exact(round(lost))} unread messages"] if lost >= 1 else []),
    ]
    st.caption(escape("; ".join(notes) + "."))


def _drained(seconds: float | None) -> str:
    return "not in this time" if seconds is None else duration(seconds)
