"""Why is a group late, and what will happen?"""

from dataclasses import replace
from datetime import timedelta

import polars as pl
import streamlit as st

from alerting.checks.loss_deadline import deleted_within_objective, kept_by_topic
from alerting.inputs.facts import at_newest_poll
from alerting.status.model import DEFAULT_STATUS_RULES, LATE, Status
from alerting.status.phrases import or_before, time_left
from alerting.status.trend import LEAST_POINTS
from alerting.tools.explain import explained
from app.data import history_queries, present, queries, recent_samples, sampled
from app.data.context import current
from app.style.charts.lines import duration_unit
from app.style.columns import NEVER, Column
from app.style.format import UNKNOWN, clock, duration, escape, exact, rate, short, thin
from app.ui import (
    components,
    group_list,
    lag_levels,
    losses,
    open_alerts,
    present_incidents,
    routes,
    seasons,
    tables,
)
from app.ui.advice import current_advice
from app.ui.changes import event_marks, page_events
from app.ui.group_badges import BADGE_STYLES
from app.ui.incident_order import DEADLINE_SHOWN
from app.ui.time_axis import page_axis
from app.views.group import members, partition_table, view_model
from app.views.group.arrangement import BALANCED, arranged
from app.views.group.charts import Charts
from app.views.group.fresh_rates import with_fresh_rates
from lake.schemas.current import GROUP_PARTITION_STATUS, GROUP_STATUS, TOPIC_STATUS
from lake.schemas.tables import CONNECTORS, GROUP_OFFSETS, GROUPS, REBALANCES
from scaling.advice.model import Subject

view = current()
with components.required("The group cannot be shown"):
    known = present.rows(view, GROUP_STATUS)

group, heading = components.chosen(
    "group",
    known["group"],
    routes.GROUPS,
    "has no committed offsets, was deleted, or could not be read",
)

objective = view.settings.scaling.objective_seconds(group)
decided = GROUP_PARTITION_STATUS.empty
with components.guarded():
    decided = present.rows(view, GROUP_PARTITION_STATUS).filter(pl.col("group") == group)
found = group_list.with_known_rates(known.filter(pl.col("group") == group), decided)
status = Status(found["status"].item())
if status is Status.LOSING_DATA:
    with components.guarded():
        lost = losses.by_group(view, present_incidents.here(view), only=group)
        found = group_list.with_total_losses(found, lost)
samples = offsets = GROUP_OFFSETS.empty
with components.guarded():
    samples = view_model.evaluated(
        queries.recent_of(view, GROUP_OFFSETS, "group", group), found.row(0, named=True)
    )
    offsets = at_newest_poll(samples)
found = with_fresh_rates(found, samples, view.interval_seconds)
row = found.with_columns(
    group_list.drain_seconds().alias("drain_seconds"),
    group_list.grows().alias("grows"),
    group_list.may_pass().alias("may_pass"),
).row(0, named=True)
with heading, st.container(horizontal=True, vertical_alignment="center"):
    st.title(escape(group), anchor=False, width="content")
    components.badge(BADGE_STYLES[status], note=group_list.STATUS_WINDOW)
    asks_why = st.toggle("Why this status", key="group-why")
    open_alerts.draw(view, "group", group, is_said=True)

began, is_before = row["since"], row["since_at_least"]
if status is Status.LOSING_DATA:
    with components.guarded():
        began, is_before = view_model.lost_since(present.open_alerts(view), group) or (
            began,
            is_before,
        )
rebalances = REBALANCES.empty
with components.guarded():
    rebalances = queries.rebalances(view, group)
since = ""
if began is not None and status is not Status.OK:
    when = clock(began, view.zone, now=view.now)
    word = view_model.SINCE.get(status, "Since")
    since = f" {word} {or_before(f'**{when}**', at_least=is_before)}"
    if status is Status.STOPPED and not is_before:
        polls = timedelta(seconds=2 * view.interval_seconds)
        left_at = view_model.last_left_at(rebalances, began, polls)
        since += view_model.also_left(left_at, began, zone=view.zone, now=view.now)
    if status is Status.LOSING_DATA:
        since += f"; {group_list.loss(row, view.now)}"
    since += "."
if row["may_pass"]:
    since += " It may pass, as a wave of messages does: an alert fires once it lasts."
retention = ""
if row["data_loss_at"] is not None and row["data_loss_at"] - view.now <= DEADLINE_SHOWN:
    left = time_left((row["data_loss_at"] - view.now).total_seconds())
    where = f"{row['data_loss_topic']}-{row['data_loss_partition']}"
    retention = f" Retention reaches {escape(where)} **{left}**."
means = view_model.of_window(row)
st.markdown(f"{escape(thin(row['reason'] or ''))}{since}{retention}{means}")
components.say_what_is_of_now(view)
with components.guarded():
    watched = queries.recent(view, CONNECTORS) if view.settings.connect else CONNECTORS.empty
    if (connector := view_model.of_connector(group, watched)) is not None:
        sentence, is_known = connector
        with components.beside_each_other():
            st.caption(escape(sentence), width="content")
            if is_known:
                routes.link(routes.CONNECT, "Kafka Connect", icon=":material/cable:")
# The history is read for it, so that it is worked out only where somebody asks.
if asks_why:
    with components.guarded():
        why = explained(
            view.lake,
            view.cluster,
            group,
            row["evaluated_at"].timestamp(),
            objective_seconds=objective,
        )
        if why is None or why.partition is None:
            st.caption("No samples of the last ten minutes explain it.")
        else:
            st.markdown(f"{escape(why.decides)}: {escape(thin(why.partition.reason))}")
            tables.show(
                view_model.feature_rows(why.features),
                {
                    "of": Column("of"),
                    "name": Column("measured"),
                    "value": Column("value"),
                    "compared": Column("compared with"),
                },
                view=view,
                key="group-why-features",
                alt="What was measured of the partition that decides, of the group, and what each "
                "value is compared with",
                noun="measurements",
            )

usual = {
    metric: seasons.season(view, "group", group, metric)
    for metric in ("arrival_per_second", "consumption_per_second", "lag_max")
}
usual_now = {metric: seasons.usual(rows, view.now) for metric, rows in usual.items()}
is_part_unknown = bool(row["unknown_partitions"])
lag_said, lag_colour = seasons.lag_delta(
    usual_now["lag_max"], row["lag"], row["arrival_per_second"]
)
is_late = (row["time_lag_seconds"] or 0) > objective
with st.grid(6, min_column_width=124, gap="small"):
    components.tile(
        "Lag",
        short(row["lag"]),
        delta=f"{exact(row['unknown_partitions'])} unknown" if is_part_unknown else lag_said,
        colour="violet" if is_part_unknown else lag_colour,
        help_text="Log end minus committed offset, over all partitions that are known. Usual is up "
        "to the 95 % quantile of the highest lag in this hour of the week, as in the band below.",
    )
    components.tile(
        "Time lag",
        duration(row["time_lag_seconds"]),
        delta=f"objective: {duration(objective)}" if is_late else "oldest unread",
        colour="orange" if is_late else "off",
        help_text="Time since the oldest message was appended that the group has not read.",
    )
    window = view_model.rates_window(row)
    for label, metric, written in (
        ("Arriving", "arrival_per_second", "in its topics"),
        ("Consumed", "consumption_per_second", "by its commits"),
    ):
        delta, colour = seasons.delta(usual_now[metric], row[metric], written, row["rates_of"])
        # That nobody consumes is so now, and no mean of some minutes.
        nobody = label == "Consumed" and row["status"] in view_model.NOBODY_CONSUMES
        components.tile(
            f"{label} now" if nobody and row[metric] == 0 else f"{label}, {window}",
            rate(row[metric]),
            delta=delta,
            colour=colour,
            help_text=f"{group_list.WINDOW} The chart ends in means of a minute. Usual is the "
            "median of this hour of the week.",
        )
    drained, clause = view_model.drained_in(row)
    components.tile(
        "Drained in",
        drained,
        delta=clause,
        colour="orange" if row["drain_seconds"] == NEVER and status in LATE else "off",
        help_text="Lag divided by what is consumed beyond what arrives. What retention deletes "
        "unread counts as consumed.",
    )
    components.tile(
        "Members",
        exact(row["members"]),
        delta=f"{exact(row['idle_members'])} idle"
        if row["idle_members"]
        else "no consumer is in it"
        if row["members"] == 0
        else "none idle"
        if row["idle_members"] == 0
        else "idle: unknown",
        colour="orange" if row["idle_members"] else "off",
        help_text="Consumers in the group; an idle one holds no partition.",
    )

if row["arrival_per_second"] is None or row["consumption_per_second"] is None:
    st.caption(
        recent_samples.why_no_rate(
            samples,
            ("log_end", "committed"),
            polls=LEAST_POINTS,
            seconds=DEFAULT_STATUS_RULES.trend_seconds,
        )
    )

# On a phone columns lie below each other: what next comes before charts there.
sides = st.columns([3, 2], gap="medium")
left_side, right_side = reversed(sides) if view.is_phone else sides
advice_pixels = 0
with right_side, components.section("Advice"):
    advice_pixels = current_advice.draw(view, Subject.GROUP, group)
levels, short_retention = lag_levels.levels(objective, {}, ()), ""
with components.guarded():
    read = row["topics"] or ()
    of_read = present.rows(view, TOPIC_STATUS).filter(pl.col("topic").is_in(list(read)))
    kept = kept_by_topic(of_read)
    levels = lag_levels.levels(objective, kept, read)
    short_retention = deleted_within_objective(objective, kept, read)
with components.guarded():
    of_samples = sampled.of_partitions(view, group)
    partitions = of_samples or history_queries.partition_history(view, group)
    whole = sampled.of_groups(view, [group]) or history_queries.group_history(view, [group])
    history = replace(
        whole,
        frame=view_model.with_whole_delays(
            whole.frame, partitions.frame, step_seconds=whole.step_seconds
        ),
    )
    late_unit = duration_unit(history.frame, ["time_lag_seconds"])[1]
    with left_side, components.heading("Time lag", unit=late_unit):
        before = seasons.choice()
        log = components.log_switch("group-time-lag-log")
        marks = event_marks.choose(
            page_events.of_group(view, group, row["topics"] or (), rebalances)
        )
    charts = Charts(
        view=view,
        row=row,
        history=history,
        partitions=partitions,
        usual=usual,
        axis=page_axis(view, history if history.first else partitions, marks, part=0.6),
        before=before,
    )
    parts = BALANCED
    if not view.is_phone:
        rows = partitions.frame.select("topic", "partition").n_unique()
        parts = arranged(advice_pixels, rows)
    with left_side:
        with components.guarded():
            charts.time_lag(log=log, levels=levels, note=escape(thin(short_retention)))
        for part in parts.left:
            charts.draw(part)
    with right_side:
        for part in parts.right:
            charts.draw(part)
    for part in parts.whole:
        charts.draw(part)

members.draw(view, row, samples, offsets, decided)
members.draw_rebalances(view, group, rebalances)
partition_table.draw(view, row, offsets, decided)

with components.guarded(), st.expander("Raw facts"):
    raw = at_newest_poll(queries.recent_of(view, GROUPS, "group", group))
    for facts in raw.iter_rows(named=True):
        st.markdown(
            "\n".join(
                f"- {name}: **{UNKNOWN if value is None else escape(str(value)) or 'none'}**"
                for name, value in (
                    ("state", facts["state"]),
                    ("type", facts["type"]),
                    ("assignor", facts["protocol"]),
                    ("coordinator", facts["coordinator"]),
                    ("kind", facts["kind"]),
                    *((("epoch", facts["epoch"]),) if facts["epoch"] is not None else ()),
                )
            )
        )
        if facts["unknown_reason"]:
            st.markdown(f"Not known: {escape(facts['unknown_reason'])}")
    for topic in row["topics"] or ():
        routes.link(routes.TOPIC, f"Topic {escape(topic)}", {"topic": topic})
