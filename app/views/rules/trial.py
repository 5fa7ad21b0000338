"""The panel that asks: what would this rule have done?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import streamlit as st

from alerting.checks.registry import CHECKS
from alerting.rules.model import Rule
from alerting.tools.rule_trial import Tried, try_rule
from app.data.context import View
from app.style.charts.base import Axis
from app.style.charts.lines import series_chart
from app.style.charts.timelines import timeline_chart
from app.style.format import count, escape
from app.ui import alert_list, components
from app.views.rules import view_model
from lake.errors import LakeError

LENGTHS = {"15 minutes": 900.0, "1 hour": 3600.0, "3 hours": 10_800.0}
# How often a rule is evaluated over the tried time, about.
EVALUATIONS = 60


@st.cache_data(ttl=600, max_entries=16, show_spinner="Trying the rule over the history")
def tried(uri: str, rule: Rule, cluster: str, first: float, last: float, _view: View) -> Tried:
    """Try a rule; the same question has the same answer for a while."""
    del uri
    step = max(_view.interval_seconds, (last - first) / EVALUATIONS)
    return try_rule(
        _view.lake,
        cluster,
        rule,
        first,
        last,
        interval_seconds=step,
        objective=_view.settings.scaling.objective_seconds,
    )


def panel(view: View, rules: Sequence[Rule]) -> None:
    """Draw the choice of a rule, and what it would have done.

    Args:
        view: The frame of the page.
        rules: What there is to choose from.
    """
    first_row = st.columns([3, 2, 2, 2], vertical_alignment="bottom")
    names = [rule.name for rule in rules]
    with first_row[0]:
        _, chosen = components.choice_in_address("Rule", names, key="rule", placeholder=names[0])
    chosen = chosen or names[0]
    rule = next(one for one in rules if one.name == chosen)
    unit = CHECKS[rule.check].unit
    threshold = first_row[1].number_input(
        f"Threshold ({unit})",
        value=rule.threshold if rule.threshold is not None else 60.0,
        key=f"threshold-{chosen}",
    )
    lasts = first_row[2].number_input(
        "For (seconds)", value=rule.for_seconds, min_value=0.0, key=f"for-{chosen}"
    )
    length = first_row[3].selectbox("Over the last", list(LENGTHS), index=0)
    if not st.toggle("Try it", key="try"):
        st.session_state.pop("_tried_at", None)
        st.caption("Nothing is evaluated until you ask: an hour takes some seconds.")
        return
    # The end stays while the rule is tried, so that a refresh of the page costs nothing.
    last = st.session_state.setdefault("_tried_at", view.now.timestamp() // 60 * 60)
    first = last - LENGTHS[length]
    changed = replace(rule, threshold=threshold, for_seconds=lasts, enabled=True)
    try:
        found = tried(view.cache_key, changed, view.cluster, first, last, view)
    except LakeError as error:
        components.show_broken(error)
        return
    _draw(view, changed, found, first, last)


def _draw(view: View, rule: Rule, found: Tried, first: float, last: float) -> None:
    """Draw when a rule would have fired, and what it looked at, over the tried time."""
    st.markdown(
        f"**{count(len(found.alerts), 'alert')}** and {count(found.messages, 'message')} "
        f"in {count(found.evaluations, 'evaluation')} on {escape(view.cluster)}."
    )
    start, end = alert_list.moment(first), alert_list.moment(last)
    if start is None or end is None:
        return
    axis = Axis(start=start, end=end, zone=view.zone)
    if found.alerts:
        components.chart(
            timeline_chart(
                alert_list.timeline_rows(found.alerts, end), axis=axis, palette=view.palette
            ),
            key="try-spans",
            alt="When the rule would have fired",
            title="When it would have fired",
        )
    values = alert_list.value_rows(found)
    if values.is_empty():
        components.nothing("What this rule looks at was not seen in this time: it was never true.")
    else:
        # A check says nothing while all is well: its value was then nothing at all.
        components.chart(
            series_chart(
                values.filter(pl.col("time").is_between(start, end)),
                by="thing",
                value="value",
                axis=axis,
                palette=view.palette,
                step_seconds=max(view.interval_seconds, (last - first) / EVALUATIONS) * 2,
                of_moments=True,
                height=160,
            ),
            key="try-values",
            alt="What the rule looks at, over time",
            title="What it looks at",
            unit=CHECKS[rule.check].unit,
            note=f"True when: {view_model.condition(rule)}.",
        )
