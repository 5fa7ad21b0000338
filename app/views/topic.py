"""What does a topic carry, and who reads it?"""

import polars as pl
import streamlit as st

from app import advice, components, decisions, expected, pages, queries, tables, topictable
from app.axis import broker_marks, page_axis
from app.charts.fields import bars
from app.charts.lines import Line, columns_chart
from app.format import UNKNOWN, count, duration, escape, exact, rate, share, short, size, thin
from app.groups import LOOKS
from app.tables import NEVER, Column
from app.view import current
from lake.errors import LakeError
from lake.tables import PARTITIONS
from scaling.recommend import recommend_topic

view = current()
try:
    known = decisions.topic_facts(view)
    newest = queries.newest(view, PARTITIONS)
except LakeError as error:
    components.headline("The topic cannot be shown")
    components.show_broken(error)
    st.stop()

asked = st.query_params.get("topic")
heading, choice = st.columns([3, 1.4], vertical_alignment="center")
with choice:
    topic = st.selectbox(
        "Topic",
        list(known),
        index=None,
        key="topic",
        bind="query-params",
        placeholder="choose a topic",
        label_visibility="collapsed",
    )
if topic is None:
    with heading:
        components.headline("Which topic?" if not asked else "This topic is not known")
    if asked and asked not in known:
        components.nothing(
            f"The newest poll did not find the topic {escape(asked)}: it was deleted, is not "
            "watched, or may not be described. The list on the right holds those that are there."
        )
    pages.link(pages.TOPICS, "All topics", icon=":material/arrow_back:")
    st.stop()

facts = known[topic]
partitions = newest.filter(pl.col("topic") == topic)
rows = topictable.partition_rows(facts, partitions)
state = topictable.worst_state(set(rows["state"].to_list()))
how_skewed = topictable.topic_skew(facts)
with heading, st.container(horizontal=True, vertical_alignment="center"):
    st.title(escape(topic), anchor=False, width="content")
    components.badge(topictable.REPLICATION[state])

arriving = topictable.total_rate(facts)
retention = topictable.retention_seconds(facts)
groups = {}
with components.guarded():
    groups = decisions.group_facts(view)
readers = topictable.reader_rows(topic, groups)
sentence = f"{rate(arriving)} arrive on {count(facts.partitions, 'partition')}; "
if readers.is_empty():
    sentence += "no group is known to read it."
elif facts.slowest_group is None:
    sentence += f"{count(readers.height, 'group reads', 'groups read')} it."
else:
    sentence += (
        f"{count(readers.height, 'group reads', 'groups read')} it, the slowest is "
        f"{facts.slowest_group}, {duration(facts.slowest_age_seconds)} behind."
    )
if facts.unknown_reason:
    sentence += f" Its settings are unknown: {facts.unknown_reason}."
st.markdown(escape(thin(sentence)))

sizes = partitions["size_bytes"]
held = rows["retained"]
with st.grid(6, min_column_width=124, gap="small"):
    components.tile("Arriving", rate(arriving), delta="all partitions")
    components.tile(
        "Busiest partition",
        share(how_skewed.busiest_ratio),
        delta=f"even: {share(how_skewed.even_ratio)}" if how_skewed.even_ratio else "too few",
        colour="orange" if how_skewed.hot else "off",
        help_text=thin(how_skewed.unknown_reason or "Its share of the topic's messages."),
    )
    components.tile(
        "Retained",
        short(None if held.null_count() else int(held.sum())),
        delta="offsets",
        help_text="Log end minus log start. Offsets are not messages on compacted topics.",
    )
    components.tile(
        "Retention",
        "no limit" if retention == NEVER else duration(retention),
        delta="by age",
        help_text="Messages are deleted after this time, whether they were read or not.",
    )
    components.tile(
        "Replicas",
        exact(facts.replication_factor),
        delta=f"min ISR {exact(facts.min_in_sync_replicas)}",
        help_text="Copies of each partition; with fewer in sync than min ISR, producers with "
        "acks=all are refused.",
    )
    components.tile(
        "Size",
        UNKNOWN if sizes.null_count() or sizes.is_empty() else size(int(sizes.sum())),
        delta=f"{int(sizes.null_count())} unknown" if sizes.null_count() else "on disk",
        colour="violet" if sizes.null_count() else "off",
    )

left, right = st.columns([3, 2], gap="medium")
with components.guarded():
    history = queries.topic_history(view, topic)
    axis = page_axis(view, history.first, broker_marks(view), step_seconds=history.step_seconds)
    with left, components.section("Arriving", log_key="topic-log") as log:
        components.chart(
            columns_chart(
                history.frame,
                [Line("arrival_per_second", "arriving")],
                axis=axis,
                palette=view.palette,
                step_seconds=history.step_seconds,
                y_title="messages a second",
                log=log,
                height=260,
            ),
            key="topic-arriving",
            alt=f"Messages a second that arrive in {topic}, over time",
            note=history.note,
        )
with (
    right,
    components.section(
        "Arriving by partition",
        help_text="From the ends of the partitions' logs over the last ten minutes. Amber is hot: "
        "far more than the others.",
    ),
):
    if rows["arrival"].null_count() == rows.height:
        components.nothing(
            "Two polls are needed to tell a rate: it appears with the next one.",
            icon=":material/hourglass:",
        )
    else:
        components.chart(
            bars(
                rows,
                label="partition",
                value="arrival",
                palette=view.palette,
                y_title="messages a second",
                even=arriving / facts.partitions if arriving and facts.partitions > 1 else None,
                marked="is_hot",
                height=260,
            ),
            key="topic-partitions",
            alt=f"Messages a second of each partition of {topic}",
            note="Dotted: an even share."
            if how_skewed.unknown_reason is None
            else f"Skew is unknown: {how_skewed.unknown_reason}.",
        )

with components.section("Expected to arrive"):
    expected.draw(view, "topic", topic)

with components.section("Groups that read it"):
    if readers.is_empty():
        components.nothing("No group with committed offsets reads this topic.")
    else:
        tables.show(
            readers,
            {
                "group": Column("group", width=200, opens=(pages.GROUP, "group")),
                "label": Column("status", "status", looks=list(LOOKS.values()), width=125),
                "lag": Column("lag here", "count"),
                "behind_seconds": Column("time lag", "duration"),
                "unknown": Column("unread", "count", help="Partitions whose lag is unknown."),
                "members": Column("members", "count"),
            },
            view=view,
            key="topic-groups",
            alt=f"Groups that read {topic}, the slowest first",
            noun="groups",
        )

with components.section("Advice"):
    for position, one in enumerate(recommend_topic(facts)):
        advice.card(one, key=f"topic-advice-{position}")

with components.section("Partitions"):
    tables.show(
        rows,
        {
            "partition": Column("partition", "count"),
            "label": Column(
                "replication", "status", looks=list(topictable.REPLICATION.values()), width=135
            ),
            "arrival": Column("arriving", "rate"),
            "leader": Column("leader", "count", unknown="none"),
            "replicas": Column("replicas"),
            "in_sync_replicas": Column("in sync", help="In-sync replicas (ISR)."),
            "log_start": Column("log start", "count"),
            "log_end": Column("log end", "count"),
            "retained": Column("retained", "count"),
            "size_bytes": Column("size", "size"),
            "unknown_reason": Column("what is not known", unknown="", width="large"),
        },
        view=view,
        key="topic-table",
        alt=f"Partitions of {topic} with leader, replicas, offsets and size",
        noun="partitions",
    )

with components.guarded(), st.expander("Settings that differ from the default"):
    settings = queries.topics(view).filter(pl.col("topic") == topic)
    entries = settings["configs"].to_list()[0] if settings.height else None
    if entries is None:
        components.nothing("The topic's settings could not be read.", icon=":material/help:")
    elif not entries:
        st.caption("None.")
    else:
        lines = [f"{entry['key']}={entry['value']}" for entry in entries]
        st.code("\n".join(lines), language="properties")
