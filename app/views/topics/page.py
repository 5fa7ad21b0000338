"""Where does the traffic go?"""

import polars as pl
import streamlit as st

from app.data import history_queries, present, schema_registry
from app.data.context import current
from app.style.charts.base import note_of_others
from app.style.charts.lines import series_chart
from app.style.columns import DASH, Column
from app.style.format import count, escape, rate, share
from app.ui import (
    common_values,
    components,
    routes,
    tables,
    topic_list,
)
from app.ui.changes import event_marks, page_events
from app.ui.group_badges import BADGE_STYLES
from app.ui.time_axis import note_of, page_axis
from lake.schemas.bronze import IS_INTERNAL_TOPIC
from lake.schemas.current import GROUP_STATUS, READERS, TOPIC_STATUS

SHOWN = 200
NAMED_SERIES = 5
TOLD_WHERE_THEY_DIFFER = ("hot", "label")
"""Columns that topics have only where they are not the same in all."""
BRIEF = ("groups", "size_bytes")

view = current()
with components.required("The topics cannot be shown"):
    known = present.rows(view, TOPIC_STATUS)
if known.is_empty():
    components.headline("No topic is known")
    components.nothing(
        "No poll has read topics yet. Monitoring health shows whether they could be read."
    )
    st.stop()
rows = topic_list.rows(known)

external, internal = rows.filter(~IS_INTERNAL_TOPIC), rows.filter(IS_INTERNAL_TOPIC)
rates = external["arrival_per_second"].drop_nulls()
busiest = external.row(0, named=True) if external.height else None
title = (
    f"{count(external.height, 'topic receives', 'topics receive')} {rate(sum(rates))}"
    if rates.len()
    else (f"{count(external.height, 'topic')}, traffic unknown")
)
detail = ""
if busiest and busiest["arrival_per_second"] and rates.len():
    part = share(busiest["arrival_per_second"] / sum(rates)) if sum(rates) else "none"
    detail = (
        f"Most goes to {escape(busiest['topic'])}: {rate(busiest['arrival_per_second'])}, {part}. "
    )
hot = external.filter(pl.col("hot_partitions").list.len() > 0)
if hot.height:
    detail += f"{count(hot.height, 'topic')} with a hot partition. "
without = int((external["groups"] == 0).sum())
if without:
    detail += f"{count(without, 'topic')} that no group reads. "
if rates.len():
    detail += "Rates are means of 5 min"
    own = internal["arrival_per_second"].drop_nulls()
    detail += f", without {rate(sum(own))} in internal topics." if own.sum() else "."
readers, groups = READERS.empty, GROUP_STATUS.empty
with components.guarded():
    readers = present.rows(view, READERS)
    groups = present.rows(view, GROUP_STATUS)
rows, external = (
    topic_list.with_readers(topic_list.losing_first(each, readers), readers, groups)
    for each in (rows, external)
)
if lost := topic_list.losses(readers):
    title, detail = escape(lost), f"{title}. {detail}".rstrip()
components.headline(title, detail or None)
components.say_what_is_of_now(view)

with components.filters(view):
    search, kinds, internal_too = st.columns([2, 3, 1.4], vertical_alignment="center")
with search:
    wanted = components.search("topics-search", "part of a topic's name")
with internal_too:
    with_internal = st.toggle(
        "Internal topics", key="topics-internal", bind="query-params", persist_state="session"
    )
shown = chosen_from = rows if with_internal else external
with kinds:
    chosen = st.multiselect(
        "Kind",
        sorted(set(shown["kind"].drop_nulls().to_list())),
        key="topics-kind",
        bind="query-params",
        persist_state="session",
        placeholder="every kind",
        label_visibility="collapsed",
    )
if wanted.strip():
    shown = shown.filter(
        pl.col("topic").str.to_lowercase().str.contains(wanted.strip().lower(), literal=True)
    )
if chosen:
    shown = shown.filter(pl.col("kind").is_in(chosen))

listed = shown.head(SHOWN)
history = None
with components.guarded():
    history = history_queries.topic_history(view, listed["topic"].to_list())
listed = topic_list.with_trends(listed, history.measured if history else None)
if shown.is_empty():
    components.nothing("No topic matches these filters.", icon=":material/filter_alt_off:")
else:
    columns, same = common_values.told_apart(
        rows,
        {
            "topic": Column("topic", width=160, opens=(routes.TOPIC, "topic"), pinned=True),
            "arrival_per_second": Column("arriving", "rate", help=topic_list.WINDOW, width=74),
            "trend": Column(
                "trend", "trend", width=56, help="Arrivals measured in the chosen range."
            ),
            "busiest_ratio": Column(
                "busiest",
                "share",
                help="Share of the busiest partition in the topic's messages.",
                width=66,
            ),
            "hot": Column(
                "hot",
                help="Partitions that get far more than the others; unknown with few messages.",
                width=84,
            ),
            "slowest_group": Column("slowest group", unknown=DASH, width=150),
            "slowest_time_lag_seconds": Column("its time lag", "duration", unknown=DASH, width=84),
            "retention_seconds": Column("retention", "duration", never="no limit", width=80),
            "reading": Column(
                "readers",
                "status",
                badge_styles=list(BADGE_STYLES.values()),
                help="The worst status of the groups that read it. Empty: none does.",
                width=108,
            ),
            "label": Column(
                "replication",
                "status",
                badge_styles=list(topic_list.REPLICATION.values()),
                width=142,
            ),
            "partitions": Column("partitions", "count", width=80),
            "groups": Column("groups", "count", width=64),
            "size_bytes": Column(
                "size", "size", help="On disk, over all replicas that are known.", width=78
            ),
        },
        always=[name for name in (*rows.columns, "trend") if name not in TOLD_WHERE_THEY_DIFFER],
    )
    # Beside it, what matters less has no room.
    brief = BRIEF if "label" in columns else ()
    tables.show(
        listed,
        {name: column for name, column in columns.items() if name not in brief},
        view=view,
        key="topics-table",
        alt="Topics with arrivals, skew, replication, groups and retention: those that lose "
        "unread messages, then the busiest",
        total=chosen_from.height,
        noun="topics, those that lose messages and the busiest; a search finds the others"
        if shown.height > SHOWN
        else "topics",
        sums=f"{topic_list.replication_of_all(rows)}{topic_list.totals(shown)}",
        every=lambda: shown,
        in_file={**same, **{name: columns[name] for name in brief}, "kind": Column("kind")},
    )

if history is not None:
    with components.heading("Arriving by topic", unit="messages a second"):
        log = components.log_switch("topics-log")
        marks = event_marks.choose(page_events.of_cluster(view))
    others = note_of_others(
        history.frame, by="topic", value="arrival_per_second", limit=NAMED_SERIES
    )
    notes = (note_of(view, history), others)
    with components.guarded():
        axis = page_axis(view, history, marks)
        components.chart(
            series_chart(
                history.frame,
                by="topic",
                value="arrival_per_second",
                axis=axis,
                palette=view.palette,
                step_seconds=history.step_seconds,
                limit=NAMED_SERIES,
                log=log,
                height=110 if view.is_phone else 230,
            ),
            key="topics-arriving",
            alt="Messages a second by topic over time: the busiest and the others' sum",
            note=" ".join(filter(None, notes)) or None,
        )

if schema_registry.is_watched(view):
    with components.section(
        "Schema Registry",
        help_text="Levels that hold for subjects without their own, and all subjects.",
        is_folded=view.is_phone,
    ):
        registries = schema_registry.registries(view)
        if registries.is_empty():
            components.nothing(
                "It was not read in the last minutes. Monitoring health shows why.",
                icon=":material/help:",
            )
        else:
            tables.show(
                registries,
                {
                    "schema_registry": Column("registry", width=140),
                    "subjects": Column("subjects", "count"),
                    "subjects_unknown": Column("of unknown version", "count", unknown=DASH),
                    "deleted_subjects": Column("deleted", "count", unknown=DASH),
                    "compatibility": Column("compatibility"),
                    "mode": Column("mode", unknown=DASH),
                    "unknown_reason": Column("what is not known", unknown="", width="large"),
                },
                view=view,
                key="topics-registries",
                alt="Schema Registries with their subjects, compatibility and mode",
                noun="registries",
            )
        subjects = schema_registry.subjects(view)
        if wanted.strip():
            subjects = subjects.filter(
                pl.col("subject")
                .str.to_lowercase()
                .str.contains(wanted.strip().lower(), literal=True)
            )
        if not subjects.is_empty():
            tables.show(
                subjects,
                {
                    "subject": Column("subject", width=220),
                    "topic": Column(
                        "topic",
                        unknown=DASH,
                        opens=(routes.TOPIC, "topic"),
                        help="By its name, as TopicNameStrategy does.",
                    ),
                    "version": Column("newest version", "count"),
                    "schema_id": Column("schema id", "count", unknown=DASH),
                    "schema_type": Column("type", unknown=DASH),
                    "compatibility": Column("compatibility"),
                    "set_on": Column("set on"),
                    "mode": Column("mode", unknown=DASH),
                    "state": Column("state", unknown=""),
                    "schema_registry": Column("registry"),
                    "unknown_reason": Column("what is not known", unknown="", width="large"),
                },
                view=view,
                key="topics-subjects",
                alt="Subjects with their newest version, type and compatibility",
                noun="subjects; a search finds the others"
                if subjects.height > tables.ROW_LIMIT
                else "subjects",
            )
