"""What should I change, and what if I do not?"""

from functools import partial

import polars as pl
import streamlit as st

from app.data.context import current
from app.style.format import count, escape, thin
from app.ui import advice_cards, components, current_advice, routes, tables
from app.ui.tables import Column
from app.views.scaling import decisions, view_model, what_if
from lake.errors import LakeError
from scaling.advice.advice_table import from_row
from scaling.advice.model import AdviceKind, Subject

LINKS = {
    Subject.GROUP: routes.GROUP,
    Subject.TOPIC: routes.TOPIC,
    Subject.CONNECTOR: routes.CONNECT,
    Subject.CONNECTION: routes.CONNECT,
    Subject.QUEUE: routes.QUEUES,
}

view = current()
errors: dict[str, LakeError] = {}


given = current_advice.read(view)
for one in given.errors:
    errors.setdefault(str(one).partition(":")[0], one)

found = given.rows
kept = found.filter(pl.col("kind") == AdviceKind.KEEP)
components.headline(
    "Advice cannot be given"
    if found.is_empty() and (errors or given.is_left_out)
    else "Advice is being evaluated"
    if given.is_pending
    else advice_cards.summary(found),
    "Nothing here is applied: each piece of advice is for a person or a pipeline to follow. "
    "A number is named only where it follows from what was read.",
)
st.caption(current_advice.words(given, view))
for unreadable in errors.values():
    components.show_broken(unreadable)


def choose(labels: list[str]) -> None:
    """Show the card of the row that was clicked, and the figures of its group."""
    rows = st.session_state["advice-table"].selection.rows
    if rows:
        st.session_state["advice"] = labels[rows[0]]


listed = decisions.in_order(found.filter(pl.col("kind") != AdviceKind.KEEP))
labels = decisions.labels(listed)
if labels:
    left, right = st.columns([3, 2], gap="medium")
    with left:
        tables.show(
            decisions.rows(listed),
            decisions.COLUMNS,
            view=view,
            key="advice-table",
            alt="What is advised, the most urgent first",
            noun="pieces of advice",
            rows_shown=20,
            on_select=partial(choose, labels),
        )
    with right:
        label = st.selectbox(
            "Advice",
            labels,
            key="advice",
            bind="query-params",
            label_visibility="collapsed",
            help="A click on a row of the table chooses as well.",
        )
        advice = from_row(listed.row(labels.index(label), named=True))
        advice_cards.card(advice, key="advice-card", link=LINKS.get(advice.subject_kind))
elif not found.is_empty():
    components.nothing("No group and no topic needs a change.", icon=":material/check:")
elif not errors and not given.is_pending and not given.is_left_out:
    components.nothing(
        "No group and no topic is known yet: advice comes with the first polls.",
        icon=":material/hourglass:",
    )
if not kept.is_empty():
    with st.expander(f"{count(kept.height, 'subject')} to keep as they are"):
        tables.show(
            kept,
            {
                "subject_kind": Column("what", width=80),
                "subject": Column("subject", width=200),
                "reason": Column("why", width="large"),
            },
            view=view,
            key="advice-kept",
            alt="What is to be kept as it is",
            noun="subjects",
        )

advised = view_model.first_of(found)
if advised:
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        st.subheader("Evidence, and what if", anchor=False, width="content")
        chosen = st.selectbox(
            "Group",
            sorted(advised, key=lambda name: advised[name][1] is None),
            key="scaling-group",
            label_visibility="collapsed",
            width=320,
            help="The groups in the order of their advice.",
        )
    reason, proposed = advised[chosen]
    st.caption(escape(thin(reason)))
    with components.guarded():
        facts = current_advice.facts_of_group(view, chosen)
        if facts is None:
            components.nothing("The newest poll does not know this group.")
        else:
            view_model.evidence(view, facts, proposed)
            what_if.panel(view, facts, proposed)

st.subheader("Advice that was given", anchor=False)
with components.guarded():
    view_model.history(view)
