"""What fires, what did, what is inhibited?"""

import streamlit as st

from alerting.errors import AlertingError
from alerting.rules.lifecycle import State, active
from app.data import alert_actions, alert_store
from app.data.context import current
from app.style.charts.timelines import timeline_chart
from app.style.format import age, escape
from app.ui import alert_list, components, routes, tables
from app.ui.tables import Column
from app.ui.time_axis import page_axis

view = current()
now = view.now.timestamp()
store = None
try:
    store = alert_store.open_store(view)
    rules = alert_store.rules(view)
    alerts = store.alerts() if store else {}
    acknowledged = store.acknowledgements() if store else {}
    service = store.service() if store else None
    history = store.history(view.range.start(view.now).timestamp()) if store else []
    health = store.health() if store else []
    problems = alert_store.problems(view, store, rules)
except AlertingError as error:
    components.headline("Alerts cannot be shown")
    st.error(escape(str(error)), icon=":material/database_off:")
    st.stop()

if store is None:
    components.headline("The alerting service has not run yet")
    components.nothing("It writes what fires into the alert store; this page shows it by itself.")
    st.code("python -m alerting run --config headroom.yaml", language="bash")
    st.stop()

firing = active(alerts.values())
pending = [alert for alert in alerts.values() if alert.state is State.PENDING]
silenced = {alert.id for alert in firing if store.is_quiet(alert, rules.maintenance, now)}
causes = {alert.fingerprint: alert.what for alert in alerts.values()}
components.headline(*map(escape, alert_list.sentence(firing, len(pending), len(silenced), service)))
evaluated = alert_list.service_age(service, view.now)
interval = alert_list.service_interval(service) or view.interval_seconds
colour = components.age_colour(evaluated, interval)
st.caption(f"Evaluated :{colour}[{age(evaluated)}]")
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

severities = list(alert_list.SEVERITY_BADGE_STYLES.values())
columns = {
    "severity": Column("severity", "status", badge_styles=severities, width=100),
    "what": Column("what", width=275),
    "lasts_seconds": Column("for", "duration", width=90),
    "detail": Column("how bad", width="large"),
    "step": Column("next step", width="large"),
    "note": Column("note", unknown="", width="medium"),
    "cluster": Column("cluster", width=100),
    "rule": Column("rule", width=170),
    "id": Column("id", help="python -m alerting ack ID acknowledges it.", width=90),
}
lists = (
    ("Firing", "firing", [alert for alert in firing if not alert.is_inhibited], "Nothing fires."),
    (
        "Inhibited",
        "inhibited",
        [alert for alert in firing if alert.is_inhibited],
        "Nothing is inhibited: no alert explains another.",
    ),
    ("Pending", "pending", pending, "Nothing waits for its time."),
)
helps = {
    "inhibited": "They follow from another alert, and are named in its notification.",
    "pending": "True, but not for as long as the rule wants.",
}
for title, key, rows, nothing in lists:
    with components.section(f"{title} ({len(rows)})", help_text=helps.get(key)):
        if not rows:
            components.nothing(nothing, icon=":material/check:")
            continue
        tables.show(
            alert_list.alert_rows(
                rows, view.now, acknowledged=acknowledged, silenced=silenced, causes=causes
            ),
            columns,
            view=view,
            key=f"alerts-{key}",
            alt=f"{title} alerts with severity, age, reason and next step",
            noun="alerts",
        )

open_alerts = [alert for alert in firing if not alert.is_inhibited and alert.id not in acknowledged]
if open_alerts and view.viewer.operates:
    with (
        st.expander("Acknowledge an alert: it is not repeated, and its end is notified"),
        st.form("acknowledge", border=False, clear_on_submit=True),
    ):
        chosen = st.selectbox(
            "Alert", open_alerts, format_func=lambda alert: f"{alert.what} ({alert.id[:8]})"
        )
        said = components.author(view, "Who looks after it")
        comment = st.text_input("Comment")
        if st.form_submit_button("Acknowledge") and chosen is not None:
            try:
                alert_actions.acknowledge(view, chosen, said=said, comment=comment)
                st.rerun()
            except (ValueError, AlertingError) as error:
                st.error(escape(str(error)))

with components.section("History", help_text="What fired in the chosen range."):
    if not history:
        components.nothing("Nothing fired in this time.", icon=":material/check:")
    else:
        first = min(alert.fired_at or alert.started_at for alert in history)
        axis = page_axis(view, alert_list.moment(first))
        components.chart(
            timeline_chart(
                alert_list.timeline_rows(history, view.now), axis=axis, palette=view.palette
            ),
            key="alerts-timeline",
            alt="When each alert fired",
        )
        tables.show(
            alert_list.alert_rows(history, view.now, causes=causes),
            {
                "severity": columns["severity"],
                "what": columns["what"],
                "began_at": Column("began", "time"),
                "ended_at": Column("resolved", "time", unknown="fires"),
                "lasts_seconds": Column("lasted", "duration"),
                "note": columns["note"],
                "detail": columns["detail"],
                "rule": columns["rule"],
                "cluster": columns["cluster"],
            },
            view=view,
            key="alerts-history",
            alt="Alerts that fired, with begin, end and reason",
            noun="alerts",
        )

if view.viewer.sees_all:
    with components.section("Delivery", help_text="Whether notifications arrive."):
        targets = [target.name for target in view.settings.alerting.targets]
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
                    "waits_seconds": Column("waits for", "duration", unknown=tables.DASH),
                    "attempts": Column("attempts", "count", unknown=tables.DASH),
                    "given_up": Column("given up", "count"),
                    "last_sent_at": Column("last sent", "time", unknown="never"),
                    "answer": Column("what it said", unknown="", width="large"),
                },
                view=view,
                key="alerts-delivery",
                alt="Targets with messages sent, waiting and given up",
                noun="targets",
            )
routes.link(routes.SILENCES, "Silences", icon=":material/notifications_paused:")
routes.link(routes.RULES, "Rules", icon=":material/rule:")
