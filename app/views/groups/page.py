"""Who is late?"""

import polars as pl
import streamlit as st

from app.data import history_queries, present
from app.data.context import current
from app.data.history import GROUP, evenly
from app.style.columns import DASH, Column, line_width, room_left
from app.style.format import BRIEFLY, clock, count, duration, escape
from app.ui import components, group_list, losses, present_incidents, routes, tables
from app.ui.advice import advice_cards, current_advice
from app.ui.brief_reasons import with_brief_reasons
from app.ui.group_badges import BADGE_STYLES
from lake.schemas.current import GROUP_PARTITION_STATUS, GROUP_STATUS

SHOWN = 200
ADVICE, KNOWN, TREND = 134, 66, 160
"""Pixels of columns whose widths do not go by what is in them, nor does that of reasons, which have
the rest: columns stand still from one refresh to the next."""

view = current()
with components.required("What the groups do now is not known"):
    known = present.rows(view, GROUP_STATUS)
    unreadable = present.unreadable(view)
if known.is_empty() and unreadable:
    components.headline("What the groups do now is not known")
    for broken in unreadable:
        components.show_broken(broken)
    st.stop()
if known.is_empty():
    components.headline("No consumer group is known")
    components.nothing(
        "The newest poll found no group with committed offsets. Groups appear here by themselves "
        "once they commit; Monitoring health shows whether they could be read."
    )
    st.stop()

title, detail = group_list.sentence(known)
components.headline(title, escape(detail))
components.say_what_is_of_now(view)
for broken in unreadable:
    components.show_broken(broken)
partitions = GROUP_PARTITION_STATUS.empty
with components.guarded():
    partitions = present.rows(view, GROUP_PARTITION_STATUS)
rows = group_list.with_known_part(group_list.rows(group_list.with_known_rates(known, partitions)))


def with_advice(listed: pl.DataFrame) -> pl.DataFrame:
    """Add the objective of each group, and what is advised on it."""
    advised = {}
    with components.guarded():
        names = listed["group"].to_list()
        written = advice_cards.in_few_words
        advised = current_advice.of_groups(view, names, also_old=True, written=written)
    return group_list.with_advice(listed, advised, view.settings.scaling.objective_seconds)


with components.filters(view):
    search, status_filter, kind_filter = st.columns([2, 3, 2], vertical_alignment="bottom")
with search:
    wanted = components.search("groups-search", "part of a group's name")
with status_filter:
    seen = set(rows["status"].to_list())
    statuses = [status for status in BADGE_STYLES if status.value in seen]
    chosen = st.multiselect(
        "Status",
        statuses,
        format_func=lambda status: BADGE_STYLES[status].label,
        key="groups-status",
        bind="query-params",
        persist_state="session",
        placeholder="every status",
        label_visibility="collapsed",
    )
with kind_filter:
    kinds = sorted(set(rows["kind"].drop_nulls().to_list()))
    kind = st.multiselect(
        "Kind",
        kinds,
        key="groups-kind",
        bind="query-params",
        persist_state="session",
        placeholder="every kind",
        label_visibility="collapsed",
    )

found = group_list.filtered(rows, search=wanted, statuses=chosen, kinds=kind)
quiet = found.filter(group_list.is_quiet())
busy = found.filter(~group_list.is_quiet())
shown, quiet_shown = (with_advice(some.head(SHOWN)) for some in (busy, quiet))
objective = group_list.common_objective(shown, quiet_shown)
trend = None
with components.guarded():
    past = history_queries.group_history(view, shown["group"].to_list())
    trend = evenly(past, ("group",), GROUP)
shown = group_list.with_trends(shown, trend)

lost: dict[str, str] = {}
with components.guarded():
    lost = losses.by_group(view, present_incidents.here(view))
shown = group_list.with_total_losses(shown, lost)
if not view.is_phone:
    shown, quiet_shown = map(with_brief_reasons, (shown, quiet_shown))

objectives = {
    "objective_seconds": Column(
        "objective",
        "duration",
        help="The highest time lag that is wanted: scaling.objectives of the configuration.",
        width=66,
    )
}
# What is looked up stands on the page of each group, and in the file.
looked_up = {
    "drain_seconds": Column(
        "drained in",
        "duration",
        help="Lag divided by what is consumed beyond what arrives. Not now: at the rates of the "
        "last five minutes it grows or is not drained, or retention deletes it. A dash where "
        "nothing waits or the group is not late.",
        never=group_list.NOT_NOW,
    ),
    "members": Column("members", "count"),
    "partitions": Column("partitions", "count"),
    "kind": Column("kind"),
    **(
        {"idle_members": Column("idle", "count", help="Members that hold no partition.")}
        if rows["idle_members"].sum()
        else {}
    ),
}
decides = {
    "group": Column("group", width=150, opens=(routes.GROUP, "group"), pinned=True),
    "label": Column(
        "status",
        "status",
        badge_styles=list(BADGE_STYLES.values()),
        width=108,
        help=group_list.STATUS_WINDOW,
    ),
    "since": Column(
        "since",
        "time",
        unknown=DASH,
        help=f"Since when the group has this status. {BRIEFLY}",
        width=line_width(
            # Of another day it has the date.
            [f"≤ {clock(at, view.zone, now=view.now)}" for at in shown["since"].drop_nulls()],
            least=58,
            most=106,
        ),
        at_least="since_at_least",
    ),
    "time_lag_seconds": Column(
        "time lag",
        "duration",
        help="How old the oldest message is that was not read yet.",
        width=70,
    ),
    **({} if objective else objectives),
    "lag": Column(
        "lag", "count", help="Messages that wait: log end minus committed offset.", width=64
    ),
}
are_some_unknown = bool(rows["known_of"].count())
figures = {
    "arrival_per_second": Column("arriving", "rate", help=group_list.WINDOW, width=64),
    "consumption_per_second": Column("consumed", "rate", help=group_list.WINDOW, width=72),
    **(
        {
            "known_of": Column(
                "known",
                unknown="",
                help="Of how many of its partitions lag and rates are the sum: of the others they "
                "are not known.",
                width=KNOWN,
            )
        }
        if are_some_unknown
        else {}
    ),
    "trend": Column(
        "trend",
        "trend",
        help="Lag measured in the chosen time range.",
        # No other column moves where one comes and goes before it.
        width=TREND - KNOWN if are_some_unknown else TREND,
    ),
}
# All of it has room in a window of 1,440 pixels, and all but the trend also in one of 1,280.
left = room_left(column.width for column in (decides | figures).values()) - ADVICE
columns = {
    **decides,
    "reason": Column("why", width=left),
    "advice": Column(
        "advice",
        unknown=DASH,
        help="What the page Scaling advises first. A dash: nothing, or no job has advised. Old: "
        "no job has advised since.",
        width=ADVICE,
    ),
    **figures,
    **(looked_up if view.is_phone else {}),
}
if found.is_empty():
    components.nothing("No group matches these filters.", icon=":material/filter_alt_off:")
else:
    tables.show(
        shown,
        columns,
        view=view,
        key="groups-table",
        alt="Consumer groups with status, lag, rates and members, the worst first",
        total=rows.height,
        noun="groups, the worst first; a search finds the others"
        if busy.height > SHOWN
        else "groups",
        sums=f"{'Together' if found.height == rows.height else 'Of those that match'}: "
        f"{group_list.totals(found)}" + (f"; objective {duration(objective)}" if objective else ""),
        every=lambda: group_list.with_total_losses(with_advice(busy), lost),
        in_file=looked_up | objectives,
    )
    if not quiet.is_empty():
        with st.expander(f"{count(quiet.height, 'group')} without members and without lag"):
            tables.show(
                group_list.with_trends(quiet_shown, None),
                {name: column for name, column in columns.items() if name != "trend"},
                view=view,
                key="groups-quiet",
                alt="Consumer groups without members for which nothing waits",
                total=quiet.height,
                noun="groups",
                every=lambda: with_advice(quiet),
                in_file=looked_up | objectives,
            )
