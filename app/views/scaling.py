"""What should I change, and what if I do not?"""

import streamlit as st

from app import advice, components, decisions, pages
from app.format import count
from app.view import current
from lake.errors import LakeError
from scaling.model import Kind, Recommendation, Severity
from scaling.recommend import recommend_group, recommend_topic

ORDER = list(Severity)

view = current()
found: list[tuple[Recommendation, str]] = []
errors: list[LakeError] = []
for subject in (pages.GROUP, pages.TOPIC):
    try:
        if subject == pages.GROUP:
            for group in decisions.group_facts(view).values():
                found += [(one, pages.GROUP) for one in recommend_group(group)]
        else:
            for topic in decisions.topic_facts(view).values():
                found += [(one, pages.TOPIC) for one in recommend_topic(topic)]
    except LakeError as error:
        errors.append(error)

changes = [(one, page) for one, page in found if advice.is_change(one)]
unknown = [(one, page) for one, page in found if one.severity is Severity.UNKNOWN]
kept = [(one, page) for one, page in found if one.kind is Kind.KEEP]
components.headline(
    "Advice cannot be given" if errors and not found else advice.summary([one for one, _ in found]),
    "Nothing here is applied: each piece of advice is for a person or a pipeline to follow. "
    "A number is named only where it follows from what was read.",
)
for unreadable in errors:
    components.show_broken(unreadable)

PAGE = 12


def draw(listed: list[tuple[Recommendation, str]], key: str) -> None:
    """Draw cards in two columns, the most urgent first."""
    ordered = sorted(listed, key=lambda pair: (ORDER.index(pair[0].severity), pair[0].subject))
    shown = len(ordered)
    if shown > PAGE and not st.toggle(f"Show all {shown}", key=f"{key}-all"):
        shown = PAGE
        st.caption(f"{PAGE} of {len(ordered)} shown, the most urgent first")
    columns = st.columns(2, gap="small")
    for position, (one, page) in enumerate(ordered[:shown]):
        with columns[position % 2]:
            advice.card(one, key=f"{key}-{position}", link=page)


if changes:
    urgent = [pair for pair in changes if pair[0].severity is not Severity.INFO]
    gentle = [pair for pair in changes if pair[0].severity is Severity.INFO]
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
