"""What fails, why, and who will look?"""

import streamlit as st

from app.data import history_queries, present, queries
from app.data.context import current
from app.style import columns
from app.style.charts.colours import colour_of
from app.style.charts.lines import Line, columns_chart, series_chart
from app.style.columns import DASH, NONE, Column
from app.style.format import count, duration, escape, exact, per_minute, share, thin
from app.ui import (
    components,
    dead_letter_sources,
    routes,
    tables,
)
from app.ui.changes import event_marks, page_events
from app.ui.changes.readers import last_return
from app.ui.dead_letter_sources import Source
from app.ui.frame import status_bar
from app.ui.time_axis import note_of, page_axis
from app.views.dead_letters import backlog, headline, view_model
from lake.schemas.current import READERS
from lake.schemas.tables import DEAD_LETTERS, PARTITIONS

view = current()
with components.required("The dead letters cannot be shown"):
    rows = queries.dead_letters(view)
collected_at = status_bar.newest_poll_at(view)
if rows.is_empty() and (collected_at is None or view.now - collected_at > queries.SAMPLES_LENGTH):
    components.headline("What fails is not known")
    components.nothing(
        "No poll looked at dead letters in the last "
        f"{duration(queries.SAMPLES_LENGTH.total_seconds())}; "
        "Monitoring health shows why. They appear here by themselves.",
        icon=":material/history:",
    )
    st.stop()
if rows.is_empty():
    components.headline("No dead-letter topic is known")
    components.nothing(
        "A topic counts as one by the configuration (dead_letters.topics), by a connector's "
        "setting, or by its name: dlq, dlt, dead-letter, error. None was found, or the newest "
        "poll could not look: Monitoring health shows which.",
        icon=":material/mark_email_read:",
    )
    st.stop()

samples, readers = PARTITIONS.empty, None
with components.guarded():
    named = rows["origin"].drop_nulls().unique().to_list()
    samples = queries.recent_of_several(view, PARTITIONS, "topic", named)
with components.guarded():
    readers = present.rows(view, READERS)
origins = view_model.origin_rates(samples, rows)
recent = queries.recent(view, DEAD_LETTERS)
stopped = headline.stopped_receiving(rows, recent)
table = view_model.with_reasons(view_model.table_rows(rows, origins, readers, view.now), recent)
sources: dict[str, Source] = {}
with components.guarded():
    sources = dead_letter_sources.of_cluster(view)
components.headline(*map(escape, headline.sentence(rows, sources, stopped)))
components.say_what_is_of_now(view)

redrive_width = columns.word_width(table["redrive_group"], least=98, most=130)
name_width = columns.word_width(table["name"], least=110, most=158)
mostly_width = columns.line_width(table["mostly"], least=150, most=204)
origin_width = columns.room_left([name_width, 74, 90, mostly_width, 84, 94, redrive_width, 76, 66])
tables.show(
    table,
    {
        "name": Column(
            "topic",
            width=name_width,
            opens=(routes.DEAD_LETTERS, "name"),
        ),
        "arrival_per_second": Column(
            "arriving",
            "minute_rate",
            width=74,
            help="Mean of the last five minutes; it takes two polls to be known.",
        ),
        "origin_ratio": Column(
            "of its origin",
            "share",
            width=90,
            help="Arrivals against those of its origin in the same five minutes. Alerts count the "
            "last minute, and say so.",
        ),
        "mostly": Column(
            "mostly (last 5 min)",
            help="The most frequent exception in the headers of what arrived, as alerts say it, "
            "and its share of the records that name one; of the newest sample where nothing "
            "arrived. Why, below, counts what arrived in the chosen range.",
            width=mostly_width,
        ),
        "left_seconds": Column(
            "deleted in",
            "left",
            width=84,
            help="When retention reaches the oldest one that waits, at the present rates; a dash "
            "where nothing waits, or the redrive group reads it before that.",
        ),
        "unprocessed": Column(
            "unprocessed",
            "count",
            width=94,
            help="Messages that the redrive group has not read; a dash where nobody redrives.",
        ),
        "redrive_group": Column(
            "redrive group",
            unknown="nobody",
            width=redrive_width,
        ),
        "retained": Column("retained", "count", width=76, help="Log end minus log start."),
        "oldest_seconds": Column(
            "oldest",
            "duration",
            width=66,
            help="Age of the oldest one that nobody has redriven; a dash where nothing waits.",
        ),
        "origin": Column("origin", width=origin_width),
    },
    view=view,
    key="letters-table",
    alt="Dead-letter topics with depths, arrivals, reasons and who redrives them",
    noun="topics",
    in_file={"found_by": Column("found by"), "source": Column("source")},
)

names = table["name"].to_list()
head = st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center")
title = head.container(width="content")
with head.container(horizontal=True, width="content", vertical_alignment="center", gap="small"):
    st.markdown("Look closer at", width="content")
    asked, name = components.choice_in_address(
        "Look closer at",
        names,
        key="name",
        placeholder=names[0],
        label_visibility="collapsed",
        width=280,
    )
if asked is not None and asked not in names:
    components.nothing(
        f"There is no dead-letter topic {escape(asked)}: the newest poll did not find it. "
        f"This is {escape(names[0])}."
    )
row = table.row(names.index(name or names[0]), named=True)

title.header(escape(row["name"]), anchor=False, width="content")
st.markdown(escape(thin(view_model.what_to_do(row))))
if row["name"] in sources:
    st.markdown(escape(thin(sources[row["name"]].said)))
of_origin = backlog.readers_of(row, readers)
back = last_return(page_events.fired(view), of_origin)
if said := backlog.of_backlog(back, view.now, view.zone):
    st.markdown(escape(said))
value, clause, is_near = view_model.deleted_in(row)
is_kept = value == view_model.NOTHING_WAITS
with st.grid(5 if is_kept else 6, min_column_width=124, gap="small"):
    components.tile(
        "Unprocessed",
        DASH if row["unprocessed"] == NONE else exact(row["unprocessed"]),
        delta="nobody redrives" if not row["redrive_group"] else "for its group",
        colour="violet" if row["unprocessed"] is None else "off",
        help_text="Against the declared redrive group; without one it is not known."
        if row["unprocessed"] is not None
        else thin(row["unknown_reason"] or "It is not known."),
    )
    components.tile(
        "Retained",
        exact(row["retained"]),
        delta="in the topic",
        help_text="Log end − log start.",  # noqa: RUF001 (a minus sign)
    )
    arriving = row["arrival_per_second"]
    components.tile(
        "Arriving",
        per_minute(arriving),
        delta=view_model.why_no_rate(row)
        if arriving is None
        else headline.NONE_LATELY
        if row["name"] in stopped
        else "mean of 5 min",
    )
    components.tile(
        "Of its origin",
        share(row["origin_ratio"]),
        delta=escape(row["origin"] or "origin unknown"),
        help_text="Arrivals here against arrivals in the topic that they come from, in the same "
        "five minutes.",
    )
    components.tile(
        "Oldest",
        view_model.age_of_oldest(row["oldest_seconds"]),
        delta="unprocessed" if row["redrive_group"] else "retained",
    )
    if not is_kept:
        components.tile(
            "Deleted in",
            value,
            delta=clause,
            colour="red" if is_near else "off",
            help_text="When retention reaches the oldest one that waits, at the present rates.",
        )

arrived = view_model.by_exception(DEAD_LETTERS.empty, 60.0)
left, right = st.columns([3, 2], gap="medium")
with components.guarded():
    history = history_queries.dead_letter_history(view).of("name", row["name"])
    with left, components.heading("Arriving", unit="messages a minute"):
        marks = event_marks.choose(page_events.of_dead_letters(view, of_origin))
    axis = page_axis(view, history, marks, part=0.6)
    with left, components.guarded():
        components.chart(
            columns_chart(
                view_model.by_minute(history.frame),
                [
                    Line(
                        column="arrival_per_minute",
                        name="arriving",
                        colour=colour_of(row["name"], view.palette),
                    )
                ],
                axis=axis,
                palette=view.palette,
                step_seconds=history.step_seconds,
                height=160,
            ),
            key="letters-arriving",
            alt=f"Messages a minute that arrive in {row['name']}, over time",
            note=note_of(view, history),
        )
    with (
        left,
        components.section(
            "By exception",
            unit="messages a minute",
            help_text="What arrived, shared out as the exceptions of the records that each poll "
            "sampled: an estimate, for a day at most.",
            is_folded=view.is_phone,
        ),
    ):
        step = max(60.0, history.step_seconds)
        samples = queries.dead_letter_samples(view, row["source"], row["name"])
        arrived = view_model.by_exception(samples, step)
        course = view_model.whole_steps(arrived, samples, step)
        if course.is_empty():
            components.nothing(
                "No samples of this time are kept."
                if samples.is_empty()
                else "Nothing arrived in this time."
                if arrived.is_empty()
                else "What arrived is drawn once the running minute is over.",
                icon=":material/check:",
            )
        else:
            components.chart(
                series_chart(
                    view_model.by_minute(
                        view_model.whole_steps(
                            view_model.with_nothing(course, samples, step), samples, step
                        )
                    ),
                    by="reason",
                    value="arrival_per_minute",
                    axis=axis,
                    palette=view.palette,
                    step_seconds=step,
                    limit=6,
                    own_colours=False,
                    height=150,
                ),
                key="letters-exceptions",
                alt=f"Arrivals in {row['name']} by exception, over time"
                f": mostly {view_model.reason_rows(course, None)['reason'][0]}",
            )
with (
    right,
    components.section(
        f"Why, {view_model.counted_in(view, arrived)}",
        help_text="The exception classes in the headers of a sample of the newest and oldest "
        "records. Payloads are never read.",
    ),
):
    reasons = view_model.reason_rows(arrived, row["reasons"])
    if reasons.is_empty():
        components.nothing(
            escape(row["unknown_reason"])
            if row["unknown_reason"]
            else "No record with headers that name a reason was sampled.",
            icon=":material/help:",
        )
    else:
        tables.show(
            reasons,
            {
                "reason": Column("exception", width=230),
                "share": Column("share", "share", width=60),
                "messages": Column("messages", "count", width=78),
            },
            view=view,
            key="letters-reasons",
            alt=f"Exception classes in {row['name']}, the most frequent first",
            noun="classes",
            in_file={"class": Column("class")},
        )
        st.caption(
            "Nothing arrived in the chosen time."
            if arrived.is_empty()
            else f"Of about {exact(float(arrived['arrived'].sum()))} that arrived in this time, "
            "shared out by the records whose headers name an exception. "
            f"{count(row['sampled_records'], 'record was', 'records were')} sampled last."
        )
    records = view_model.record_rows(row)
    if not records.is_empty():
        tables.show(
            records,
            {
                "which": Column("record", width=60),
                "at": Column("timestamp", "time", width=90),
                "reason": Column("exception", width=278),
            },
            view=view,
            key="letters-records",
            alt=f"The newest and the oldest sampled record of {row['name']}",
            noun="records",
            in_file={
                "partition": Column("partition", "count"),
                "offset": Column("offset", "count"),
                "class": Column("class"),
                "origin": Column("from"),
            },
        )
        first = records.row(0, named=True)
        with st.expander(f"Look at the {first['which']} record's headers"):
            st.caption("The command prints the headers and leaves the value out.")
            components.code(
                view_model.look_command(row["name"], first["partition"], first["offset"])
            )
    if row["redrive_group"]:
        routes.link(
            routes.GROUP,
            f"Redrive group {escape(row['redrive_group'])}",
            {"group": row["redrive_group"]},
            icon=":material/groups:",
        )
    if row["origin"]:
        routes.link(
            routes.TOPIC,
            f"Origin {escape(row['origin'])}",
            {"topic": row["origin"]},
            icon=":material/topic:",
        )
