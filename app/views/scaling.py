"""What should I change, and what if I do not?"""

import streamlit as st

from app import advice, components, decisions, pages, queries, scalingpage, whatif
from app.format import count, escape, thin
from app.view import current
from lake.errors import LakeError
from lake.tables import CAPACITY, CONNECTORS, DITTO_CONNECTIONS, FORECASTS, QUEUES
from scaling.advise import advise_sources
from scaling.model import Kind, Recommendation, Severity, Subject, by_urgency
from scaling.recommend import recommend_group, recommend_topic

LINKS = {
    Subject.GROUP: pages.GROUP,
    Subject.TOPIC: pages.TOPIC,
    Subject.CONNECTOR: pages.CONNECT,
    Subject.CONNECTION: pages.CONNECT,
    Subject.QUEUE: pages.QUEUES,
}
PAGE = 12

view = current()
found: list[Recommendation] = []
errors: dict[str, LakeError] = {}
groups = {}


def note(error: LakeError) -> None:
    """Keep an error once for each table."""
    errors.setdefault(str(error).partition(":")[0], error)


try:
    groups = decisions.group_facts(view)
    found += [one for group in groups.values() for one in recommend_group(group)]
except LakeError as error:
    note(error)
try:
    found += [
        one for topic in decisions.topic_facts(view).values() for one in recommend_topic(topic)
    ]
except LakeError as error:
    note(error)
try:
    found += advise_sources(
        decisions.by_key(view, groups),
        found,
        connectors=queries.recent(view, CONNECTORS),
        connections=queries.recent(view, DITTO_CONNECTIONS),
        queues=queries.recent(view, QUEUES),
        streaming=decisions.streaming_facts(view),
    )
except LakeError as error:
    note(error)
for table in (CAPACITY, FORECASTS):
    try:
        queries.derived(view, table)
    except LakeError as error:
        note(error)

found.sort(key=by_urgency)
changes = [one for one in found if advice.is_change(one)]
unknown = [one for one in found if one.severity is Severity.UNKNOWN]
kept = [one for one in found if one.kind is Kind.KEEP]
components.headline(
    "Advice cannot be given" if errors and not found else advice.summary(found),
    "Nothing here is applied: each piece of advice is for a person or a pipeline to follow. "
    "A number is named only where it follows from what was read.",
)
for unreadable in errors.values():
    components.show_broken(unreadable)


def draw(listed: list[Recommendation], key: str) -> None:
    """Draw cards in rows, where there is room in rows of two, the most urgent first."""
    shown = len(listed)
    if shown > PAGE and not st.toggle(f"Show all {shown}", key=f"{key}-all"):
        shown = PAGE
        st.caption(f"{PAGE} of {len(listed)} shown, the most urgent first")
    with st.grid(2, min_column_width=340, gap="small"):
        for position, one in enumerate(listed[:shown]):
            advice.card(one, key=f"{key}-{position}", link=LINKS.get(one.subject_kind))


if changes:
    urgent = [one for one in changes if one.severity is not Severity.INFO]
    gentle = [one for one in changes if one.severity is Severity.INFO]
    if urgent:
        st.subheader("Changes", anchor=False)
        draw(urgent, "changes")
    if gentle:
        st.subheader("Worth knowing", anchor=False)
        draw(gentle, "gentle")
elif found:
    components.nothing("No group and no topic needs a change.", icon=":material/check:")
elif not errors:
    components.nothing(
        "No group and no topic is known yet: advice comes with the first polls.",
        icon=":material/hourglass:",
    )
if unknown:
    st.subheader("Cannot be judged", anchor=False)
    draw(unknown, "unknown")
if kept:
    with st.expander(f"{count(len(kept), 'subject')} to keep as they are"):
        draw(kept, "kept")

if groups:
    advised = scalingpage.first_of(found)
    numbered = [name for name, one in advised.items() if one.proposed is not None]
    ranked = list(dict.fromkeys([*numbered, *advised, *groups]))
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        st.subheader("Evidence, and what if", anchor=False, width="content")
        chosen = st.selectbox(
            "Group",
            ranked,
            key="scaling-group",
            label_visibility="collapsed",
            width=320,
            help="The groups in the order of their advice.",
        )
    facts = groups[chosen]
    proposed = advised[chosen].proposed if chosen in advised else None
    if chosen in advised:
        st.caption(escape(thin(advised[chosen].reason)))
    scalingpage.evidence(view, facts, proposed)
    whatif.panel(view, facts, proposed)

st.subheader("Advice that was given", anchor=False)
with components.guarded():
    scalingpage.history(view)
