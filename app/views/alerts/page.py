"""What fires, what did, what follows?"""

import streamlit as st

from alerting.errors import AlertingError
from alerting.rules.folding import as_it_was
from alerting.rules.lifecycle import State, active
from app.data import alert_store
from app.data.context import current
from app.style.charts.timelines import shown_of, timeline_chart
from app.style.columns import DASH, Column, line_width, room_left
from app.style.format import BRIEFLY, age, clock, escape, thin
from app.ui import (
    alert_list,
    components,
    incident_list,
    incident_timeline,
    incidents,
    losses,
    open_incidents,
    routes,
    symptoms,
    tables,
)
from app.ui.browser import items
from app.ui.time_axis import axis_from
from app.views.alerts import view_model

LISTED = 50
OVER_SEEN = 5
"""Of what is over, at once: the timeline follows."""

view = current()
now = view.now.timestamp()
store = None
try:
    store = alert_store.open_store(view)
    rules = alert_store.rules(view)
    alerts = store.alerts() if store else {}
    acknowledged = alert_store.acknowledged(view)
    service = store.service() if store else None
    since, until = view.start.timestamp(), view.until.timestamp()
    history = store.history(since, until=until) if store else []
    past = incidents.between(store.around, since, until) if history and store else []
    health = store.health() if store else []
    problems = alert_store.problems(view, store, rules)
except AlertingError as error:
    components.headline("Alerts cannot be shown")
    st.error(escape(str(error)), icon=":material/database_off:")
    st.stop()

if store is None:
    components.headline("The alerting service has not run yet")
    components.nothing("It writes what fires into the alert store; this page shows it by itself.")
    components.code("python -m alerting run --config headroom.yaml")
    st.stop()

is_open = [alert for alert in alerts.values() if alert.state is not State.RESOLVED]
firing = active(is_open)
# Two rules may say one thing: the table and its number have it once, as the rows above do.
open_now = symptoms.each_once(is_open)
silenced = {alert.id for alert in firing if store.is_quiet(alert, rules.maintenance, now)}
causes = {alert.fingerprint: alert.what for alert in alerts.values()}
# What was resolved a moment ago still explains the symptoms that go on.
going_on = [one for one in incidents.incidents(alerts.values()) if one.ended_at is None]
found = open_incidents.at_present(view, going_on)
past = [one for one in past if not incidents.never_fired(one.cause)]
# The Overview of this cluster has the same headline.
here, elsewhere = view_model.by_place(found, view)
said = view_model.elsewhere(elsewhere, acknowledged) + view_model.counts(
    open_now,
    len(found),
    len(symptoms.each_once(one for one in firing if one.id in silenced)),
    alert_list.rules_sentence(service),
)
evaluated = alert_list.service_age(service, view.now)
interval = alert_list.service_interval(service) or view.interval_seconds
colour = components.age_colour(evaluated, interval)
link = view_model.history_link(past, view)
targets = [target.name for target in view.settings.alerting.targets]
about = [f"Evaluated :{colour}[{age(evaluated)}]", link]
if view.viewer.sees_all and not targets and not health:
    about.append("nobody is notified: no target is configured")
components.headline(
    escape(thin(incident_list.needs(here, acknowledged))),
    f"{escape(said)} {' · '.join(filter(None, about))}",
)
components.say_what_is_of_now(view)
if evaluated is None or evaluated > 4 * interval:
    st.error(
        "The alerting service does not run: nobody is notified. "
        "python -m alerting run --config headroom.yaml starts it.",
        icon=":material/notifications_off:",
    )
failures = (service or {}).get("failures") or {}
for cluster, failure in failures.items() if isinstance(failures, dict) else ():
    st.error(f"**{escape(cluster)}** could not be evaluated: {escape(failure)}")
components.show_left_out(problems)

if found or past:
    with components.filters(view):
        by_name, by_severity = st.columns([2, 3], vertical_alignment="bottom")
    with by_name:
        wanted = components.search("alerts-search", "part of what is wrong, or of a symptom")
    with by_severity:
        severities = st.multiselect(
            "Severity",
            list(alert_list.SEVERITY_BADGE_STYLES),
            format_func=lambda severity: alert_list.SEVERITY_BADGE_STYLES[severity].label,
            key="alerts-severity",
            bind="query-params",
            persist_state="session",
            placeholder="every severity",
            label_visibility="collapsed",
        )
    shown, past = (
        view_model.matching(some, search=wanted, severities=severities) for some in (found, past)
    )
if not found:
    components.nothing("Nothing fires, nothing is pending.", icon=":material/check:")
elif not shown:
    components.nothing(
        "Nothing that fires or is pending matches these filters.", icon=":material/filter_alt_off:"
    )
else:
    listed = open_incidents.told(view, shown[:LISTED])
    items.draw(
        incident_list.items(
            listed,
            view,
            acknowledged=acknowledged,
            silenced=frozenset(silenced),
            lost=losses.said(view, listed),
        ),
        view=view,
        heads=incident_list.HEADS,
        key="alerts-open",
        alt="What is wrong, the worst and most urgent first, symptoms folded under their cause",
    )
    if len(listed) < len(found):
        st.caption(f"{len(listed)} of {len(found)} causes; the table below has all alerts")

named = line_width([one.what for one in (*open_now, *history)], least=180, most=320)
columns = {
    "severity": Column(
        "severity",
        "status",
        badge_styles=alert_list.EVERY_SEVERITY,
        width=110,
    ),
    "what": Column("what", width=named),
    "state": Column("state", width=80),
    "began_at": Column("began", "time", width=102, help=BRIEFLY, at_least="began_before"),
    "lasts_seconds": Column("for", "duration", width=90),
    "detail": Column("how bad", width=room_left([110, named, 80, 102, 90])),
    "step": Column("next step", width="large"),
    "note": Column("note", unknown="", width="medium"),
    "cluster": Column("cluster", width=100),
    "rule": Column("rule", width=170),
    "id": Column("id", help="python -m alerting ack ID acknowledges it.", width=90),
}
if open_now:
    with st.expander(f"As a table, symptoms included: {view_model.states(open_now)}"):
        tables.show(
            alert_list.alert_rows(
                alert_list.worst_first(open_now),
                view.now,
                acknowledged=acknowledged,
                silenced=silenced,
                causes=causes,
            ),
            columns,
            view=view,
            key="alerts-table",
            alt="Alerts that fire or are pending, with severity, age, reason and next step",
            noun="alerts",
        )

with components.section(
    "History",
    anchor=view_model.HISTORY,
    help_text="What fired in the chosen range: causes, the newest first.",
    is_folded=view.is_phone,
):
    if not past:
        components.nothing(
            "Nothing that fired in this time matches these filters."
            if history
            else "Nothing fired in this time.",
            icon=":material/check:",
        )
    else:
        # What has just ended explains what is open: it is read first, and the course of all below.
        over = [one for one in past if one.ended_at is not None]
        if over:
            lost = losses.said(view, over[:LISTED])
            seen, rest = (
                incident_list.items(some, view, acknowledged=acknowledged, lost=lost)
                for some in (over[:OVER_SEEN], over[OVER_SEEN:LISTED])
            )
            items.draw(
                seen,
                view=view,
                heads=incident_list.HEADS,
                folded=rest,
                fold=f"{len(rest)} more that are over",
                key="alerts-over",
                alt="What is over, the newest first",
            )
            if len(over) > LISTED:
                st.caption(f"{LISTED} of {len(over)} causes; the table below has all alerts")
        first = min(one.cause.began_at for one in past)
        axis = axis_from(view, alert_list.moment(first))
        lasting, others = incidents.parted_by_span(
            past, axis.start.timestamp(), axis.end.timestamp()
        )

        def draw_bars(some: list[incidents.Incident], key: str) -> None:
            """Draw when causes and their symptoms began and ended."""
            bars = incident_timeline.timeline_rows(some, view.now)
            components.chart(
                timeline_chart(bars, axis=axis, palette=view.palette),
                key=key,
                alt="When each cause began and ended, and its symptoms",
                note=shown_of(bars),
            )

        if others:
            draw_bars(others, "alerts-timeline")
        if lasting:
            begin = clock(axis.start, view.zone, now=view.now)
            with st.expander(view_model.all_the_time(len(lasting), begin)):
                draw_bars(lasting, "alerts-timeline-lasting")
        if cut := alert_list.cut_note(is_cut=store.is_cut):
            st.caption(cut)
        with st.expander(f"As a table: {view_model.fired(history, view)}"):
            tables.show(
                alert_list.alert_rows(map(as_it_was, history), view.now, causes=causes),
                {
                    "severity": columns["severity"],
                    "what": columns["what"],
                    "began_at": columns["began_at"],
                    "lasts_seconds": Column(
                        "lasted",
                        "duration",
                        width=72,
                        help="Until it was mended: it may be over later.",
                    ),
                    "detail": Column(
                        "how bad",
                        width=room_left([110, named, 102, 72]),
                        help="At its worst, of what is over.",
                    ),
                    "ended_at": Column("over", "time", unknown="not yet", width=102),
                    "note": columns["note"],
                    "rule": columns["rule"],
                    "cluster": columns["cluster"],
                },
                view=view,
                key="alerts-history",
                alt="Alerts that fired, with begin, end and reason",
                noun="alerts",
            )

if view.viewer.sees_all:
    with components.section(
        "Delivery", help_text="Whether notifications arrive.", is_folded=view.is_phone
    ):
        if not targets and not health:
            components.nothing(
                "Nobody is notified: no target is configured. config/example.yaml shows "
                "alerting.targets, docs/alerts.md explains them.",
                icon=":material/notifications_off:",
            )
        else:
            tables.show(
                alert_list.health_rows(health, targets, view.now),
                {
                    "target": Column("target", width=150),
                    "label": Column(
                        "state",
                        "status",
                        badge_styles=list(alert_list.HEALTH_BADGE_STYLES),
                        width=110,
                    ),
                    "sent": Column("sent", "count"),
                    "waiting": Column("waiting", "count"),
                    "waits_seconds": Column("waits for", "duration", unknown=DASH),
                    "attempts": Column("attempts", "count", unknown=DASH),
                    "given_up": Column("given up", "count"),
                    "last_sent_at": Column("last sent", "time", unknown="never"),
                    "answer": Column("what it said", unknown="", width="large"),
                },
                view=view,
                key="alerts-delivery",
                alt="Targets with messages sent, waiting and given up",
                noun="targets",
            )
with st.container(horizontal=True, gap="medium"):
    routes.link(routes.SILENCES, "Silences", icon=":material/notifications_paused:")
    routes.link(routes.RULES, "Rules", icon=":material/rule:")
