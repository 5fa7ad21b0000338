"""The partitions that a group reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import streamlit as st

from app.data.context import View
from app.style.columns import Column, room_left, word_width
from app.style.format import clock, escape
from app.ui import components, routes, tables
from app.ui.brief_reasons import with_brief_reasons
from app.ui.group_badges import BADGE_STYLES
from app.views.group import view_model


def draw(view: View, row: Mapping[str, Any], offsets: pl.DataFrame, decided: pl.DataFrame) -> None:
    """Draw the partitions with their offsets, lag and status, the worst first.

    Args:
        view: The frame of the page.
        row: The group's row of ``group_status``.
        offsets: Its rows of ``group_offsets`` of the poll that was evaluated.
        decided: Its rows of ``group_partition_status``.
    """
    group = row["group"]
    with components.section("Partitions", is_folded=view.is_phone):
        table = with_brief_reasons(view_model.partition_rows(decided, offsets, view.now))
        columns = {
            "topic": Column(
                "topic",
                pinned=True,
                opens=(routes.TOPIC, "topic"),
                width=word_width(table["topic"], least=100, most=160),
            ),
            "partition": Column("partition", "count", width=68),
            "label": Column(
                "status", "status", badge_styles=list(BADGE_STYLES.values()), width=112
            ),
            "lag": Column("lag", "count", width=64),
            "time_lag_seconds": Column("time lag", "duration", width=72),
            "committed": Column("committed", "count", width=84),
            "log_end": Column("log end", "count", width=78),
            "lost_messages": Column(
                "lost since commit",
                "count",
                width=124,
                help="Messages that retention deleted since the group's last commit here; the "
                "column why has what it lost in the minutes before.",
            ),
            "commit_age_seconds": Column(
                "last commit",
                "duration",
                width=86,
                help="Time since the group last committed here.",
            ),
            "last_stable": Column(
                "last stable",
                "count",
                unknown="",
                width=84,
                help="Where the oldest open transaction begins: who reads committed records stops.",
            ),
            "open_seconds": Column(
                "open for", "duration", unknown="", width=72, help="That transaction."
            ),
            "member": Column(
                "member",
                unknown="nobody" if row["members"] is not None else "unknown",
                width=word_width(table["member"], least=72, most=130),
            ),
        }
        for optional in ("commit_age_seconds", "last_stable", "open_seconds"):
            if table[optional].null_count() == table.height:
                del columns[optional]
        in_file = {"commits_per_second": Column("mean commits", "rate")}
        if table["lost_messages"].eq(0).all() and not table["lost_messages"].null_count():
            in_file["lost_messages"] = columns.pop("lost_messages")
        sentences = {"reason": "why", "unknown_reason": "what is not known"}
        told = [name for name in sentences if table[name].null_count() < table.height]
        left = room_left(column.width for column in columns.values())
        for name in told:
            columns[name] = Column(sentences[name], unknown="", width=left // len(told))
        tables.show(
            table,
            columns,
            view=view,
            key="group-partitions",
            alt=f"Partitions of {group} with offsets, lag and status, the worst first",
            noun="partitions",
            in_file=in_file,
        )
        at = view_model.read_earlier(offsets, row)
        when = clock(at, view.zone, now=view.now, to_seconds=True)
        earlier = f"Offsets as of {when}: the newest poll could not read them." if at else None
        notes = (earlier, view_model.left_over(offsets))
        if any(notes):
            st.caption(escape(" ".join(filter(None, notes))))
