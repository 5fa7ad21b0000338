"""What began when, what followed, what was changed just before, and when it ended."""

from dataclasses import replace
from functools import partial
from urllib.parse import urlencode

import plotly.graph_objects as go
import streamlit as st

from alerting.checks.loss_deadline import kept_by_topic
from alerting.errors import AlertingError
from alerting.rules.lifecycle import State, active
from app.data import alert_store, history_queries, present, queries, sampled
from app.data.context import current
from app.data.history import SHORT, History
from app.style.charts.base import Axis
from app.style.charts.colours import looks_of
from app.style.charts.lines import Line, columns_chart, duration_unit
from app.style.charts.timelines import beside_names, shown_of, timeline_chart
from app.style.columns import Column, line_width, room_left
from app.style.format import escape, thin
from app.ui import (
    alert_forms,
    components,
    incident_list,
    losses,
    open_incidents,
    partition_risk,
    routes,
    tables,
)
from app.ui.alert_list import moment
from app.ui.changes import event_marks, events, relevant
from app.ui.time_axis import axis_between, note_of
from app.views.incident import facts, lag, replication, steps, view_model
from lake.schemas.current import CLUSTER_STATUS, GROUP_STATUS, TOPIC_STATUS
from lake.schemas.tables import CLUSTER_EVENTS, REBALANCES

view = current()
asked = st.query_params.get("alert", "")
alert = store = None
acknowledged = {}
try:
    store = alert_store.open_store(view)
    if store is not None:
        alert = store.alert(asked)
        acknowledged = store.acknowledgements()
    windows = alert_store.rules(view).maintenance
except AlertingError as error:
    components.headline("Incidents cannot be shown")
    st.error(escape(str(error)), icon=":material/database_off:")
    st.stop()

routes.within(routes.ALERTS)
heading, way_back = st.columns([3, 2], vertical_alignment="center")
with way_back, st.container(horizontal_alignment="right"):
    routes.link(routes.ALERTS, "All alerts", icon=":material/arrow_back:")
if store is None or alert is None:
    components.tab_title(view, "Incident")
    with heading:
        components.headline("This incident is not known" if asked else "Which incident?")
    components.nothing(
        "The alert store holds no alert of this address: it was pending and did not fire, or its "
        "history was deleted after alerting.history_days. The page Alerts lists those that are "
        "there."
        if asked
        else "The page Alerts lists what fires, what is pending and what was: its rows lead to "
        "incidents."
    )
    st.stop()

cluster = alert.labels.get("cluster", view.cluster)


incident = view_model.incident_of(alert, partial(store.around, clusters=[cluster]), view.now)
if incident.ended_at is None:
    (incident,) = open_incidents.told(view, open_incidents.at_present(view, [incident]))
at_present, incident = incident, view_model.as_it_was(incident)
cause = incident.cause
title = view_model.title_now(at_present)
components.tab_title(view, title, "Incident")
began = moment(incident.began_at) or view.now
ended = moment(incident.ended_at)

with heading, st.container(horizontal=True, vertical_alignment="center"):
    st.title(escape(thin(title)), anchor=False, width="content")
    components.badge(incident_list.badge_of(at_present))
    if ended is not None:
        st.badge("over", icon=":material/check:", color="gray")
detail, step = view_model.told(at_present)
lost = losses.said(view, [incident]).get(cause.id, "")
bad = " ".join(filter(None, (thin(detail), lost)))
# A line each: how bad it is, and what to do.
told = (escape(bad), f":material/arrow_forward: {escape(step)}" if step else "")
st.markdown("  \n".join(filter(None, told)))
by = acknowledged.get(cause.id) or acknowledged.get(at_present.lead.id)
is_address = cause.runbook.startswith(("http://", "https://"))
is_quiet = ended is None and store.is_quiet(cause, windows, view.now.timestamp())
with st.grid(4, min_column_width=150, gap="small"):
    for one in facts.of_incident(at_present, by, view.now, view.zone, is_quiet=is_quiet):
        components.tile(one.label, escape(one.value), delta=one.note)
st.caption(
    escape(facts.beside(incident, view.now))
    + (f" Runbook: {escape(cause.runbook)}" if cause.runbook and not is_address else "")
)
target = incident_list.subject(cause.labels, cause.page, thin(cause.what))
parameters = {**target.parameters, "cluster": cluster}
named = next(iter(target.parameters.values()), target.page.replace("_", " "))

place = replace(view, cluster=cluster)
changes, rebalances, groups, are_known = CLUSTER_EVENTS.empty, REBALANCES.empty, [], False
first, until = began - view_model.BEFORE, (ended or view.now) + view_model.AFTER
with components.guarded():
    group = cause.labels.get("group")
    status = present.rows(place, GROUP_STATUS)
    groups = lag.groups_of(incident, status)
    topics = view_model.topics_of(cause, status)
    changes = queries.changes_between(place, first, until)
    is_of_cluster = group is None and not topics
    changes = (
        relevant.about_cluster(changes) if is_of_cluster else relevant.about(changes, group, topics)
    )
    if group is not None:
        rebalances = queries.rebalances_between(place, group, first, until)
    are_known = True
happened = [*events.of_changes_folded(changes), *events.of_rebalances(rebalances)]
found = steps.of_incident(incident, happened, acknowledged, store.taken_back(incident.alerts))
start, end = view_model.around(incident, view.now)

with st.container(horizontal=True, gap="small", vertical_alignment="center"):
    # Once the cause is over, what goes on of it is looked after and silenced.
    open_now = cause if cause.state is not State.RESOLVED else at_present.lead
    if ended is None and alert_store.sees_labels(view.viewer, open_now.labels, operating=True):
        stored = store.alerts()
        unheeded = view_model.unheeded(incident, stored, acknowledged)
        heeded = view_model.heeded(incident, acknowledged)
        alert_forms.popovers(view, open_now, unheeded, heeded, active(stored.values()))
    routes.link(target.page, f"Open {escape(named)}", parameters, icon=":material/open_in_new:")
    if is_address:
        st.page_link(cause.runbook, label="Runbook", icon=":material/menu_book:")
    axis = axis_between(view, start, end, event_marks.choose(happened))

chosen = replace(
    place,
    range=view_model.range_of(start, end, view.now, view.settings.lake.retention.minute_days),
)


def marked(history: History) -> Axis:
    """Return the axis with the begin and the end of the incident."""
    events = (*view_model.ends(incident, axis.events), *axis.events)
    return replace(axis, events=events, generated_until=history.generated_until)


def above_course(made: go.Figure) -> go.Figure:
    """Return a chart whose time axis lies above that of the course; a phone has no room for it."""
    return made if view.is_phone else beside_names(made, axis)


at_risk = None
with components.guarded():
    if replication.takes_replicas(cause):
        now_too = present.rows(place, CLUSTER_STATUS) if ended is None else None
        at_risk = sampled.at_risk(chosen) or history_queries.cluster_history(chosen)
if at_risk is not None:
    with components.section(
        "Partitions at risk", help_text=f"Of the whole cluster. {partition_risk.HELP}"
    ):
        if not replication.is_known(at_risk.frame):
            components.nothing("How many partitions were at risk then is not known.")
        elif partition_risk.nothing_at_risk(at_risk.frame, now_too):
            components.nothing("No partition was at risk.", icon=":material/check:")
        else:
            note = note_of(chosen, at_risk)
            components.chart(
                above_course(
                    partition_risk.chart(
                        at_risk,
                        axis=marked(at_risk),
                        palette=view.palette,
                        height=110 if view.is_phone else 160,
                    )
                ),
                key="incident-risk",
                alt=f"Partitions at risk around the time of {cause.what}",
                note=escape(note) if note else None,
            )

late = None
with components.guarded():
    if groups:
        of_samples = sampled.of_groups(chosen, groups, SHORT)
        history = of_samples or history_queries.group_history(chosen, groups)
        late = lag.courses(history, groups)
if late is not None:
    of_alerts = {one.what for one in incident.alerts}
    missed = lag.missed(late, of_alerts, view.settings.scaling.objective_seconds)
    found = steps.in_order([*found, *missed])
    of = f" of {escape(late.names[0])}" if len(late.names) == 1 else ""
    with components.section(
        ("Time lag" if late.is_time else "Lag") + of,
        unit=duration_unit(late.frame, [str(one) for one in range(len(late.names))])[1]
        if late.is_time
        else "messages waiting",
        help_text="Of the groups that it is about: it names them, or a topic that they read. Where "
        "its cause is a broker or the cluster, of those that follow from it.",
    ):
        if late.names:
            looks = looks_of(late.names, view.palette)
            kept = {}
            with components.guarded():
                kept = kept_by_topic(present.rows(place, TOPIC_STATUS))
            levels, too_short = lag.held_against(
                late, status, kept, view.settings.scaling.objective_seconds
            )
            notes = (late.rest, too_short, note_of(chosen, history))
            components.chart(
                above_course(
                    columns_chart(
                        late.frame,
                        [
                            Line(
                                column=str(number),
                                name=name,
                                colour=looks[name].colour,
                                dash=looks[name].dash,
                            )
                            for number, name in enumerate(late.names)
                        ],
                        axis=marked(history),
                        palette=view.palette,
                        step_seconds=history.step_seconds,
                        durations=late.is_time,
                        height=110 if view.is_phone else 160,
                        levels=levels,
                    )
                ),
                key="incident-lag",
                alt=f"How late the groups were that {cause.what} is about, over time",
                note=escape(" ".join(note for note in notes if note)) or None,
            )
        else:
            components.nothing(escape(f"No lag is known from then. {late.rest}"))

with components.section("Course", help_text="The cause, what followed, and what was changed."):
    bars = view_model.bars(incident, view.now)
    components.chart(
        timeline_chart(bars, axis=axis, palette=view.palette),
        key="incident-timeline",
        alt=f"When {cause.what} and its symptoms began and ended, those that are alike in a bar",
        note=shown_of(bars),
    )
    before, course = steps.parted(found, began)
    if said := steps.just_before(before, began):
        st.markdown(escape(said))
    rows = steps.as_rows(course, began)
    width = line_width(rows["what"], least=200, most=340)
    columns = {
        "at": Column("time", "time", width=116, to_seconds=True),
        "after": Column("after", width=76, help="Before or after the cause began."),
        "kind": Column("kind", width=78),
        "what": Column("what", width=width, names=True),
        "detail": Column("detail", width=room_left([116, 76, 78, width])),
    }
    tables.show(
        rows,
        columns,
        view=view,
        key="incident-steps",
        alt="What happened, in order of time",
        noun="steps",
        most_cards=tables.ROW_LIMIT,
    )
    if before:
        with st.expander(steps.number_before(before, began)):
            tables.show(
                steps.as_rows(before, began),
                columns,
                view=view,
                key="incident-before",
                alt="What was changed before it began, in order of time",
                noun="changes",
                most_cards=tables.ROW_LIMIT,
            )
    if are_known and not happened:
        st.caption("No change of what it is about was seen from 30 min before it to its end.")

with st.expander("Share it"):
    address = (st.context.url or "").partition("?")[0]
    link = f"{address}?{urlencode({'alert': cause.id, 'cluster': cluster})}"
    text = view_model.markdown(
        at_present,
        found,
        view.now,
        link,
        lost=lost,
        at_risk=at_risk,
        late=late,
    )
    components.code(link)
    st.download_button(
        "Download as Markdown",
        text,
        file_name=f"incident-{cluster}-{began:%Y-%m-%dT%H%M}.md",
        mime="text/markdown",
    )
    components.code(text)
