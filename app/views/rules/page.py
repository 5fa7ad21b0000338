"""What is an alert, and what would this rule have done?"""

from collections.abc import Sequence

import streamlit as st

from alerting.errors import AlertingError
from alerting.rules.lifecycle import active
from alerting.rules.model import Rule
from app.data import alert_store
from app.data.context import current
from app.style.columns import Column
from app.style.format import count, escape
from app.ui import alert_list, components, routes, tables
from app.views.rules import trial, view_model
from lake.errors import LakeError
from lake.schemas.model import Table

COLUMNS = {
    "rule": Column("rule", width=190, opens=(routes.RULES, "rule")),
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


if rules.rules:
    # Above the rules: a click on one of them opens it here.
    with st.expander("Try a rule", expanded="rule" in st.query_params), components.guarded():
        st.caption(
            "Evaluated alone over the lake's history: nothing is held back, nobody is notified."
        )
        trial.panel(view, rules.rules)

here, others = view_model.parted_by_kind(rules.rules, is_there)
show(here, "rules")
if others:
    with st.expander(f"{count(len(others), 'rule')} of what was never seen here"):
        show(others, "rules-of-others")
