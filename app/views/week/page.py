"""How was the week?"""

from collections.abc import Callable
from functools import partial

import polars as pl
import streamlit as st

from alerting.errors import AlertingError
from app.data import alert_store, late_hours
from app.data.context import current
from app.style.format import clock, escape
from app.ui import components, incidents, losses, open_incidents, tables
from app.ui.advice import advice_history, forecast
from app.ui.browser import items
from app.views.week import picture, portable, view_model
from lake.schemas.tables import CONTRIBUTORS

# The address holds what the choice shows.
WEEKS = ("last 7 days", "a week earlier", "two weeks earlier")
MOST_ADVICE = 50
LISTED = 30
DRAWN = 15

view = current()
heading = st.container()
choices = st.container(horizontal=True, gap="small", vertical_alignment="center")
chosen = choices.selectbox(
    "Week", WEEKS, key="week", bind="query-params", label_visibility="collapsed", width=220
)
back = WEEKS.index(chosen)
start, end = view_model.week(view.now, back)
parts: dict[str, view_model.Part] = {}
measured = ""
first = None

try:
    store = alert_store.open_store(view)
    fired = None
    is_cut = False
    if store:
        places = (view.cluster, *view.sources_beside)
        look = partial(store.around, clusters=places)
        fired = incidents.between(look, start.timestamp(), end.timestamp())
        is_cut = store.is_cut
except AlertingError as error:
    fired = None
    st.error(escape(str(error)), icon=":material/database_off:")
if fired is not None:
    fired = open_incidents.then_over(view, fired)
    lost = losses.said(view, fired)
    parts["incidents"] = view_model.incident_part(fired, start, end, lost=lost, is_cut=is_cut)
with components.guarded():
    late = late_hours.over_objective(view, start, end)
    # Of the whole cluster: whom a part of it is hidden from is not shown how far its history goes.
    first = late.first if view.viewer.sees_all_of(view.cluster) else start
    measured = view_model.measured(first, start, end, zone=view.zone, now=view.now)
    now_late = late_hours.over_now(view) if back == 0 else None
    until = ""
    if late.until is not None and late.until < end:
        until = clock(late.until, view.zone, now=view.now)
    parts["objectives"] = view_model.objective_part(
        late.rows, now_late, until=until, is_measured=first is not None
    )
with components.guarded():
    grown = forecast.contributors(view) if back == 0 else CONTRIBUTORS.empty
    parts["growth"] = view_model.growth_part(grown)


def advised(given: pl.DataFrame, total: int) -> view_model.Part:
    """Return what became of pieces of advice, which may be the newest of a total."""
    became = advice_history.outcomes(view, given)
    return view_model.advice_part(
        given.with_columns(
            pl.struct("current", "proposed", "quantity")
            .map_elements(advice_history.change, return_dtype=pl.String())
            .alias("change")
        ),
        became,
        [advice_history.words(one, view) for one in became],
        end,
        total=total,
    )


every: dict[str, Callable[[], pl.DataFrame]] = {}
with components.guarded():
    given = advice_history.listed(view, since=start).filter(
        pl.col("valid_from") <= end, pl.col("proposed").is_not_null()
    )
    parts["advice"] = advised(given.head(MOST_ADVICE), given.height)
    every["advice"] = lambda: advised(given, given.height).rows

begin, last = (f"{at.astimezone(view.zone):%-d %b %H:%M}" for at in (start, end))
sentence, more = view_model.headline(parts, measured)
with heading:
    components.headline(sentence, escape(f"{view.cluster}, {begin} to {last}. {more}"))
choices.download_button(
    "Download as HTML",
    lambda: portable.html(
        f"{view.cluster}: the week from {start:%Y-%m-%d} to {end:%Y-%m-%d}",
        f"{sentence}. {more}",
        list(parts.values()),
        view,
    ),
    file_name=f"week-{view.cluster}-{end:%Y-%m-%d}.html",
    mime="text/html",
    icon=":material/download:",
    on_click="ignore",
)
if fired is None:
    components.nothing(
        "Incidents are not known: the alerting service has not run. "
        "python -m alerting run --config headroom.yaml starts it."
    )


def show(part: view_model.Part) -> None:
    """Draw a part as a table."""
    tables.show(
        part.rows,
        part.columns,
        view=view,
        key=f"week-{end:%Y-%m-%d}-{part.key}",
        alt=f"{part.title} of the week",
        total=part.total,
        noun=part.noun,
        every=every.get(part.key),
    )


def show_incidents(part: view_model.Part) -> None:
    """Draw when incidents were, and a row of each."""
    every_one = {one.cause.id: one for one in fired or ()}
    inside = [every_one[id_] for id_ in part.rows["id"]]
    known = picture.known_from(first, inside, start)
    made, note = picture.timeline(inside, known, picture.axis_of(known, start, end, view), view)
    components.chart(
        made, key="week-timeline", alt="When each cause began and was mended", note=note
    )
    rows = picture.items(inside, part.rows, view)
    items.draw(
        rows[:LISTED],
        view=view,
        key="week-incidents",
        alt="Incidents of the week",
        heads=picture.HEADS,
        folded=rows[LISTED:],
        fold=f"{len(rows) - LISTED} more",
    )
    with st.container(
        horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"
    ):
        st.caption(f"{len(rows)} {part.noun}" if len(rows) > 1 else "", width="content")
        tables.download(
            lambda: part.rows,
            part.columns,
            view=view,
            key=f"week-{end:%Y-%m-%d}-{part.key}",
            alt="Incidents of the week",
        )


def show_objectives(part: view_model.Part) -> None:
    """Draw who was over an objective, and beside it for how long."""
    counted = part.rows.drop_nulls("over_seconds").head(DRAWN)
    if counted.is_empty() or view.is_phone:
        show(part)
        return
    table, bars = st.columns([3, 2], gap="medium")
    with table:
        show(part)
    with bars:
        components.chart(
            picture.over_bars(counted, view.palette),
            key="week-over",
            alt="For how long each group was over its objective",
        )


DRAWS = {"incidents": show_incidents, "objectives": show_objectives}
for part in parts.values():
    with components.section(part.title):
        if part.rows.is_empty():
            components.nothing(escape(part.nothing))
        else:
            DRAWS.get(part.key, show)(part)
            if part.note:
                st.caption(escape(part.note))
