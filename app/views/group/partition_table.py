"""The partitions that a group reads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import streamlit as st

from app.data.context import View
from app.style.format import clock, escape
from app.ui import components, routes, tables
from app.ui.group_badges import BADGE_STYLES
from app.ui.group_list import with_brief_reasons
from app.ui.tables import Column
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
            "topic": Column("topic", pinned=True, opens=(routes.TOPIC, "topic")),
            "partition": Column("partition", "count"),
            "label": Column(
                "status", "status", badge_styles=list(BADGE_STYLES.values()), width=125
            ),
            "lag": Column("lag", "count"),
            "time_lag_seconds": Column("time lag", "duration"),
            "committed": Column("committed", "count"),
            "log_end": Column("log end", "count"),
            "lost_messages": Column(
                "lost since commit",
                "count",
                help="Messages that retention deleted since the group's last commit here; the "
                "column why has what it lost in the minutes before.",
            ),
            "commit_age_seconds": Column(
                "last commit", "duration", help="Time since the group last committed here."
            ),
            "commits_per_second": Column(
                "mean commits",
                "rate",
                help="A mean of the last minutes: last commit tells whether they go on.",
            ),
            "last_stable": Column(
                "last stable",
                "count",
                unknown="",
                help="Where the oldest open transaction begins: who reads committed records stops.",
            ),
            "open_seconds": Column("open for", "duration", unknown="", help="That transaction."),
            "member": Column(
                "member", unknown="nobody" if row["members"] is not None else "unknown"
            ),
            "reason": Column("why", unknown="", width="large"),
            "unknown_reason": Column("what is not known", unknown="", width="large"),
        }
        measured = ("commit_age_seconds", "commits_per_second", "last_stable", "open_seconds")
        for optional in ("unknown_reason", *measured):
            if table[optional].null_count() == table.height:
                del columns[optional]
        tables.show(
            table,
            columns,
            view=view,
            key="group-partitions",
            alt=f"Partitions of {group} with offsets, lag and status, the worst first",
            noun="partitions",
        )
        at = view_model.read_earlier(offsets, row)
        when = clock(at, view.zone, now=view.now, to_seconds=True)
        earlier = f"Offsets as of {when}: the newest poll could not read them." if at else None
        notes = (earlier, view_model.left_over(offsets))
        if any(notes):
            st.caption(escape(" ".join(filter(None, notes))))
