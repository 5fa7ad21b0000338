"""What should I change, and what if I do not?"""

import polars as pl
import streamlit as st

from app.data.context import current
from app.style.format import count, escape, thin
from app.ui import advice_cards, components, current_advice, routes
from app.views.scaling import view_model, what_if
from lake.errors import LakeError
from scaling.advice.advice_table import from_row
from scaling.advice.model import AdviceKind, AdviceSeverity, Subject

LINKS = {
    Subject.GROUP: routes.GROUP,
    Subject.TOPIC: routes.TOPIC,
    Subject.CONNECTOR: routes.CONNECT,
    Subject.CONNECTION: routes.CONNECT,
    Subject.QUEUE: routes.QUEUES,
}
PAGE = 12

view = current()
errors: dict[str, LakeError] = {}


given = current_advice.read(view)
for one in given.errors:
    errors.setdefault(str(one).partition(":")[0], one)

found = given.rows
changes = found.filter(advice_cards.IS_CHANGE)
unknown = found.filter(pl.col("severity") == AdviceSeverity.UNKNOWN)
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


def draw(listed: pl.DataFrame, key: str) -> None:
    """Draw cards in rows, where there is room in rows of two, the most urgent first."""
    shown = listed.height
    if shown > PAGE and not st.toggle(f"Show all {shown}", key=f"{key}-all"):
        shown = PAGE
        st.caption(f"{PAGE} of {listed.height} shown, the most urgent first")
    with st.grid(2, min_column_width=340, gap="small"):
        for position, row in enumerate(listed.head(shown).iter_rows(named=True)):
            one = from_row(row)
            advice_cards.card(one, key=f"{key}-{position}", link=LINKS.get(one.subject_kind))


if not changes.is_empty():
    urgent = changes.filter(pl.col("severity") != AdviceSeverity.INFO)
    gentle = changes.filter(pl.col("severity") == AdviceSeverity.INFO)
    if not urgent.is_empty():
        st.subheader("Changes", anchor=False)
        draw(urgent, "changes")
    if not gentle.is_empty():
        st.subheader("Worth knowing", anchor=False)
        draw(gentle, "gentle")
elif not found.is_empty():
    components.nothing("No group and no topic needs a change.", icon=":material/check:")
elif not errors and not given.is_pending and not given.is_left_out:
    components.nothing(
        "No group and no topic is known yet: advice comes with the first polls.",
        icon=":material/hourglass:",
    )
if not unknown.is_empty():
    st.subheader("Cannot be evaluated", anchor=False)
    draw(unknown, "unknown")
if not kept.is_empty():
    with st.expander(f"{count(kept.height, 'subject')} to keep as they are"):
        draw(kept, "kept")

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
