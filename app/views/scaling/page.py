"""What should I change, and what if I do not?"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import polars as pl
import streamlit as st

from app.data import present
from app.data.context import current
from app.style.format import clock, count, escape, thin
from app.ui import components, present_incidents
from app.ui.advice import advice_cards, advice_facts, advice_history, current_advice
from app.ui.advice.listed_under import UNDER, with_place
from app.ui.advice.overtaken import Known
from app.ui.browser import items
from app.ui.frame import empty_states, status_bar
from app.views.scaling import brief, decisions, order, questions, view_model, what_if
from lake.errors import LakeError
from lake.schemas.current import GROUP_STATUS
from scaling.advice.advice_table import from_row
from scaling.advice.model import AdviceKind, AdviceSeverity, Subject
from scaling.advice.stored_advice import IS_CHANGE

LISTED = 50
WIDTHS = (5, 7)  # of the card, and of the what-if with its figures beside it
GROUP_KEY = "scaling-group"

view = current()
errors: dict[str, LakeError] = {}


given = current_advice.read(view)
for one in given.errors:
    errors.setdefault(str(one).partition(":")[0], one)

found = given.rows
polled_at = status_bar.newest_poll_at(view)
is_stale = polled_at is not None and empty_states.is_stale(view, polled_at)
deadlines: dict[str, datetime | None] = {}
lost: dict[str, str] = {}
losing: set[str] = set()
places: dict[tuple[str, str], int] = {}
groups_now: pl.DataFrame | None = None
every_given = pl.concat([found, given.withdrawn])
known = Known()
try:
    groups_now = present.rows(view, GROUP_STATUS)
    deadlines = decisions.deadlines_of(groups_now)
    lost, losing = decisions.lost_lately(groups_now, view.now), order.losers(groups_now, view.now)
    places = order.places(present_incidents.here(view))
    known = current_advice.known(view, every_given)
except LakeError as unread:
    errors.setdefault(str(unread).partition(":")[0], unread)
older, every_void = decisions.overtaken(every_given, known, zone=view.zone, now=view.now)
is_void = every_void.head(found.height)
standing = found.filter(~is_void)
changes = order.in_order(standing.filter(IS_CHANGE), places, deadlines, view.now, losing)
kept = standing.filter(pl.col("kind") == AdviceKind.KEEP)
unknown = standing.filter(pl.col("severity") == AdviceSeverity.UNKNOWN)
overtaken = found.filter(is_void)
components.headline(
    "Advice cannot be given"
    if found.is_empty() and (errors or given.is_left_out or is_stale)
    else "Advice is being evaluated"
    if given.is_pending
    else advice_cards.summary(standing),
)
about_all = [current_advice.words(given, view)]
if not found.is_empty():
    about_all.append(
        "Deadlines, lag and rates in the rows are of now. Nothing is applied by itself."
    )
st.caption(" ".join(about_all))
for unreadable in errors.values():
    components.show_broken(unreadable)

every = pl.concat([changes, overtaken, given.withdrawn, unknown, kept])
asked = st.query_params.get(decisions.PARAMETER)
row = decisions.chosen(every, asked)
picked = None if row is None else decisions.row_id(row)


def draw(
    listed: pl.DataFrame, key: str, alt: str, *, gone: Mapping[str, str] | None = None
) -> None:
    """Draw a row a subject; its links show the cards of what is advised on it."""
    placed = with_place(listed)
    subjects = placed.select(UNDER).unique(maintain_order=True)
    shown = placed.join(subjects.head(LISTED), on=UNDER, how="semi", maintain_order="left")
    rows = decisions.items(
        shown,
        deadlines,
        lost=lost,
        figures={}
        if groups_now is None
        else brief.figures_of(groups_now.filter(pl.col("group").is_in(shown["subject"].to_list()))),
        older=older,
        picked=picked,
        now=view.now,
        zone=view.zone,
        measured_at=given.as_of,
        withdrawn=gone,
    )
    items.draw(rows, view=view, key=key, alt=alt, heads=decisions.HEADS, is_why_apart=True)
    if subjects.height > len(rows):
        st.caption(f"{len(rows)} of {subjects.height} subjects, the most urgent first")


if not changes.is_empty():
    draw(changes, "changes", "Changes that are advised, the most urgent first")
elif not found.is_empty() and overtaken.is_empty():
    components.nothing("No group and no topic needs a change.", icon=":material/check:")
elif found.is_empty() and is_stale and not given.is_pending:
    components.nothing("Advice is about the present: it comes back with the polls.")
elif found.is_empty() and not errors and not given.is_pending and not given.is_left_out:
    components.nothing(
        "No group and no topic is known yet: advice comes with the first polls.",
        icon=":material/hourglass:",
    )
is_or_was = "was" if given.next_at is not None and given.next_at < view.now else "is"
next_round = f"the next round {is_or_was} due at {clock(given.next_at, view.zone, now=view.now)}"
newest = clock(given.as_of, view.zone, now=view.now)
withdrawn = {
    decisions.row_id(one): decisions.why_withdrawn(one, found)
    for one in given.withdrawn.iter_rows(named=True)
}
if line := decisions.overtaken_line(overtaken, older):
    st.caption(escape(thin(f"{line} {next_round[0].upper()}{next_round[1:]}.")))
if asked is not None and row is None and not found.is_empty():
    last = None
    with components.guarded():
        last = decisions.last_given(advice_history.given(view), asked)
    said = f"; it was given last at {clock(last, view.zone, now=view.now)}" if last else ""
    components.nothing(
        f"There is no advice on {escape(decisions.subject_of(asked)[1] or asked)} now{said}. "
        "The rows lead to what there is."
    )


def draw_card(chosen_row: Mapping[str, Any]) -> None:
    """Draw what is advised where the viewer chose, and since when."""
    advice = from_row(chosen_row)
    since = f"advised since {clock(chosen_row['valid_from'], view.zone, now=view.now)}"
    why = withdrawn.get(decisions.row_id(chosen_row))
    if why:
        since = ""
        st.caption(escape(f"Withdrawn at {newest}. {why}; {next_round}."))
    measured = current_advice.measured_until(chosen_row["confirmed_at"], view)
    advice_cards.card(
        advice,
        key="chosen",
        link=decisions.LINKS.get(advice.subject_kind),
        older=older.get(decisions.row_id(chosen_row)),
        is_withdrawn=bool(why),
        when=", ".join(filter(None, (measured, since))),
    )


def put_group() -> None:
    """Put the group's row into the address; what was asked of another one is not asked of it."""
    about = view_model.first_of(every, st.session_state[GROUP_KEY])
    st.query_params[decisions.PARAMETER] = decisions.row_id(about)
    questions.forget()


def draw_what_if(names: Sequence[str]) -> None:
    """Draw what would be if the advice on a group was followed, and what the advice rests on."""
    # The row that is chosen is of the same group: who chooses a group here chooses its row.
    of_row = row["subject"] if row and row["subject_kind"] == Subject.GROUP else names[0]
    st.session_state[GROUP_KEY] = of_row
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown("**What if**", width="content")
        chosen = st.selectbox(
            "Group",
            names,
            key=GROUP_KEY,
            on_change=put_group,
            label_visibility="collapsed",
            width=320,
            help="The groups in the order of their advice.",
        )
    about = view_model.first_of(every, chosen)
    if row is None or about["reason"] != row["reason"]:  # else the card says so
        st.caption(escape(thin(about["reason"])))
    proposed = about["proposed"] if about["quantity"] == "consumers" else None
    with components.guarded():
        read = advice_facts.facts_of_group(view, chosen, given)
        if read.facts is None:
            components.nothing("The poll that advice was taken from does not know this group.")
            return
        what_if.panel(view, read.facts, read.at, proposed)
        with evidence_of_group, components.guarded():
            view_model.evidence(view, read.facts, proposed)
        if measured := current_advice.measured_until(read.at, view):
            st.caption(f"Load, partitions and what-if: {measured}; {next_round}.")


names = decisions.groups(every)
beside = row is not None and row["subject_kind"] == Subject.GROUP and not view.is_phone
of_card, of_what_if = (
    st.columns(WIDTHS, gap="small") if beside else (st.container(), st.container())
)
if names:
    evidence_of_group = st.expander("Evidence: what the group's advice is taken from")
if row is not None:
    with of_card:
        draw_card(row)
if names:
    with of_what_if:
        if view.is_phone:
            with st.expander("What if"):
                draw_what_if(names)
        else:
            draw_what_if(names)
if not overtaken.is_empty():
    with st.expander(f"{count(overtaken.height, 'piece', 'pieces')} of advice overtaken since"):
        draw(
            overtaken, "overtaken", "Advice on what has changed since; the next round advises anew"
        )
if not given.withdrawn.is_empty():
    before = clock(given.withdrawn.item(0, "confirmed_at"), view.zone, now=view.now)
    st.caption(f"Withdrawn at {newest}, given last at {before}; {next_round}:")
    draw(
        given.withdrawn,
        "withdrawn",
        "Changes that are not advised any more, and why",
        gone=withdrawn,
    )
if not unknown.is_empty():
    with st.expander(f"{unknown.height} cannot be evaluated"):
        draw(unknown, "unknown", "What nothing can be advised on, and why")
if not kept.is_empty():
    with st.expander(f"{count(kept.height, 'subject')} to keep as they are"):
        draw(kept, "kept", "What needs no change")

st.header("Advice that was given", anchor=False)
with components.guarded():
    view_model.history(view)
