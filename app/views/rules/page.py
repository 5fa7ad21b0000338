"""What is an alert, and what would this rule have done?"""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import streamlit as st

from alerting.checks.registry import CHECKS
from alerting.errors import AlertingError
from alerting.rules.lifecycle import active
from alerting.rules.model import Rule
from alerting.tools.rule_trial import Tried, try_rule
from app.data import alert_store
from app.data.context import View, current
from app.style.charts.base import Axis
from app.style.charts.lines import series_chart
from app.style.charts.timelines import timeline_chart
from app.style.columns import Column
from app.style.format import count, escape
from app.ui import alert_list, components, tables
from app.views.rules import view_model
from lake.errors import LakeError
from lake.schemas.model import Table

LENGTHS = {"15 minutes": 900.0, "1 hour": 3600.0, "3 hours": 10_800.0}
# How often a rule is evaluated over the tried time, about.
EVALUATIONS = 60
COLUMNS = {
    "rule": Column("rule", width=190),
    "severity": Column(
        "severity",
        "status",
        badge_styles=list(alert_list.SEVERITY_BADGE_STYLES.values()),
        width=100,
    ),
    "condition": Column("true when", width=520),
    "for_seconds": Column("for", "duration", help="How long it must be seen to be true."),
    "keep_seconds": Column("keeps firing", "duration", help="How long it must be untrue."),
    "firing": Column("firing", "count"),
}


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


view = current()
try:
    rules = alert_store.rules(view)
    store = alert_store.open_store(view)
    firing = active(store.alerts().values()) if store else []
    problems = alert_store.problems(view, store, rules)
except AlertingError as error:
    components.headline("The rules cannot be shown")
    st.error(escape(str(error)), icon=":material/rule:")
    st.stop()

path = view.settings.alerting.rules
source = f"The default ones, changed by {path.name}." if path else "The default ones, unchanged."
components.headline(count(len(rules.rules), "rule"), escape(source))
sentence, more = view_model.when_alerts_fire(view.evaluated_every_seconds)
st.caption(escape(sentence), help=more)
components.show_left_out(problems)


def is_there(table: Table) -> bool:
    """Return whether a table was ever written; one that cannot be read was."""
    try:
        return view.lake.exists(table)
    except LakeError:
        return True


def show(some: Sequence[Rule], key: str) -> None:
    """Draw rules, those that fire first."""
    rows = view_model.rule_rows(some, firing)
    # Most installations have none.
    overrides = {"overrides": Column("overrides", "count")} if rows["overrides"].sum() else {}
    tables.show(
        rows,
        {**COLUMNS, **overrides},
        view=view,
        key=key,
        alt="Rules with severity, condition and duration",
        noun="rules",
    )


here, others = view_model.parted_by_kind(rules.rules, is_there)
show(here, "rules")
if others:
    with st.expander(f"{count(len(others), 'rule')} of what was never seen here"):
        show(others, "rules-of-others")
with components.section(
    "Try a rule",
    help_text="Evaluated alone over the lake's history: nothing is held back, nobody is notified.",
):
    first_row = st.columns([3, 2, 2, 2], vertical_alignment="bottom")
    names = [rule.name for rule in rules.rules]
    chosen = first_row[0].selectbox("Rule", names, key="rule", bind="query-params")
    rule = next(one for one in rules.rules if one.name == chosen)
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
        st.stop()
    # The end stays while the rule is tried, so that a refresh of the page costs nothing.
    last = st.session_state.setdefault("_tried_at", view.now.timestamp() // 60 * 60)
    first = last - LENGTHS[length]
    changed = replace(rule, threshold=threshold, for_seconds=lasts, enabled=True)
    try:
        found = tried(view.cache_key, changed, view.cluster, first, last, view)
    except LakeError as error:
        components.show_broken(error)
        st.stop()
    st.markdown(
        f"**{count(len(found.alerts), 'alert')}** and {count(found.messages, 'message')} "
        f"in {count(found.evaluations, 'evaluation')} on {escape(view.cluster)}."
    )
    start, end = alert_list.moment(first), alert_list.moment(last)
    if start is None or end is None:
        st.stop()
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
                step_seconds=max(view.interval_seconds, LENGTHS[length] / EVALUATIONS) * 2,
                of_moments=True,
                height=160,
            ),
            key="try-values",
            alt="What the rule looks at, over time",
            title="What it looks at",
            unit=unit,
            note=f"True when: {view_model.condition(changed)}.",
        )
