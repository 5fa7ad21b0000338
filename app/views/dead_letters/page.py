"""What fails, why, and who will look?"""

import polars as pl
import streamlit as st

from app.data import present, queries
from app.data.context import current
from app.style.charts.lines import series_chart
from app.style.format import duration, escape, exact, rate, share, thin
from app.ui import components, routes, tables
from app.ui.tables import Column
from app.ui.time_axis import broker_marks, page_axis
from app.views.dead_letters import view_model
from lake.schemas.current import TOPIC_STATUS
from scaling.advisers.retention import ACT_WITHIN_SECONDS

view = current()
with components.required("The dead letters cannot be shown"):
    rows = queries.dead_letters(view)
if rows.is_empty():
    components.headline("No dead-letter topic is known")
    components.nothing(
        "A topic counts as one by the configuration (dead_letters.topics), by a connector's "
        "setting, or by its name: dlq, dlt, dead-letter, error. None was found, or the newest "
        "poll could not look: Monitoring health shows which.",
        icon=":material/mark_email_read:",
    )
    st.stop()

origins = pl.DataFrame(schema={"topic": pl.String, "arrival": pl.Float64})
with components.guarded():
    topics = present.rows(view, TOPIC_STATUS)
    origins = topics.select("topic", pl.col("arrival_per_second").alias("arrival"))
table = view_model.table_rows(rows, origins, view.now)
components.headline(*map(escape, view_model.sentence(rows)))

tables.show(
    table,
    {
        "name": Column("topic", width=190, opens=(routes.DEAD_LETTERS, "name")),
        "unprocessed": Column(
            "unprocessed",
            "count",
            help="Messages that the redrive group has not read; unknown without such a group.",
        ),
        "retained": Column("retained", "count", help="Log end minus log start."),
        "arrival_per_second": Column("arriving", "rate"),
        "origin_ratio": Column("of its origin", "share", help="Arrivals against its origin's."),
        "oldest_seconds": Column("oldest", "duration", help="Age of the oldest unprocessed one."),
        "left_seconds": Column(
            "deleted in", "duration", help="When retention reaches the oldest unprocessed one."
        ),
        "top_reason": Column("mostly"),
        "redrive_group": Column("redrive group", unknown="nobody"),
        "origin": Column("origin"),
        "found_by": Column("found by"),
        "source": Column("source"),
    },
    view=view,
    key="letters-table",
    alt="Dead-letter topics with depths, arrivals, reasons and who redrives them",
    noun="topics",
)

names = table["name"].to_list()
name = st.selectbox(
    "Look closer at",
    names,
    index=None,
    key="name",
    bind="query-params",
    placeholder=names[0],
    width=360,
)
row = table.row(names.index(name or names[0]), named=True)

st.subheader(escape(row["name"]), anchor=False)
st.markdown(escape(thin(view_model.what_to_do(row))))
with st.grid(6, min_column_width=124, gap="small"):
    components.tile(
        "Unprocessed",
        exact(row["unprocessed"]),
        delta="no redrive group" if not row["redrive_group"] else "for its group",
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
    components.tile("Arriving", rate(row["arrival_per_second"]), delta="last 5 min")
    components.tile(
        "Of its origin",
        share(row["origin_ratio"]),
        delta=escape(row["origin"] or "origin unknown"),
        help_text="Arrivals here against arrivals in the topic that they come from.",
    )
    components.tile("Oldest", duration(row["oldest_seconds"]), delta="unprocessed")
    components.tile(
        "Deleted in",
        duration(row["left_seconds"]),
        delta="by retention",
        colour="red"
        if row["left_seconds"] is not None and row["left_seconds"] <= ACT_WITHIN_SECONDS
        else "off",
    )

left, right = st.columns([3, 2], gap="medium")
with components.guarded():
    history = queries.dead_letter_history(view)
    frame = view_model.arrivals(history.frame)
    axis = page_axis(view, history.first, broker_marks(view), step_seconds=history.step_seconds)
    with left, components.section("Arriving", log_key="letters-log") as log:
        components.chart(
            series_chart(
                frame,
                by="name",
                value="arrival_per_second",
                axis=axis,
                palette=view.palette,
                step_seconds=history.step_seconds,
                y_title="messages a second",
                log=log,
                height=250,
            ),
            key="letters-arriving",
            alt="Messages a second that arrive in dead-letter topics, over time",
            note=history.note,
        )
    with left, components.section("Retained"):
        components.chart(
            series_chart(
                frame,
                by="name",
                value="retained",
                axis=axis,
                palette=view.palette,
                step_seconds=history.step_seconds,
                y_title="messages",
                height=210,
            ),
            key="letters-retained",
            alt="Messages that dead-letter topics hold, over time",
        )
with (
    right,
    components.section(
        "Why",
        help_text="The exception classes in the headers of a sample of the newest and oldest "
        "records. Payloads are never read.",
    ),
):
    reasons = view_model.reason_rows(row["reasons"])
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
                "reason": Column("exception", width=190),
                "share": Column("share", "share"),
                "records": Column("records", "count"),
                "class": Column("class", width="large"),
            },
            view=view,
            key="letters-reasons",
            alt=f"Exception classes in {row['name']}, the most frequent first",
            noun="classes",
        )
        st.caption(f"From the headers of {exact(row['sampled_records'])} records.")
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
