"""Who reads for a group, and how its partitions went from one member to another."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import polars as pl

from alerting.inputs.facts import at_newest_poll
from app.data import queries, recent_samples
from app.data.context import View
from app.style.columns import Column, room_left
from app.ui import components, tables
from app.views.group import view_model
from lake.schemas.tables import GROUP_MEMBERS

_MAY_HAVE = {
    "epoch": Column(
        "epoch", "count", unknown="", help="Of the group that the member has caught up with."
    ),
    "instance_id": Column("static id", unknown="", help="group.instance.id, where it is set."),
}


def draw(
    view: View,
    row: Mapping[str, Any],
    samples: pl.DataFrame,
    offsets: pl.DataFrame,
    decided: pl.DataFrame,
) -> None:
    """Draw the members of a group.

    Args:
        view: The frame of the page.
        row: The group's row of ``group_status``.
        samples: Its rows of ``group_offsets`` of the last minutes, up to its evaluation.
        offsets: Those of the newest poll among them.
        decided: Its rows of ``group_partition_status``.
    """
    group = row["group"]
    with components.section("Members", is_folded=view.is_phone):
        # A poll that could not read the members leaves those of earlier ones.
        known_at = (row["observed_at"] or view.now) - timedelta(seconds=2 * view.interval_seconds)
        # Each poll has all members of the cluster: no more of them is read than is shown.
        length = min(queries.SAMPLES_LENGTH, queries.whole_minutes(view.now - known_at))
        polled = queries.recent_of(view, GROUP_MEMBERS, "group", group, length)
        members = at_newest_poll(view_model.evaluated(polled, row)).filter(
            pl.col("observed_at") >= known_at
        )
        rates = recent_samples.latest_rates(
            samples, view.interval_seconds, "committed", "consumption_per_second"
        )
        if row["members"] == 0:
            components.nothing("The group has no member.", icon=":material/person_off:")
        elif members.is_empty():
            components.nothing("The members could not be read.", icon=":material/help:")
        else:
            rows = view_model.member_rows(members, offsets, decided, rates)
            tables.show(
                rows,
                {
                    "client_id": Column("client", width=180),
                    "does": Column("state", help="An idle member holds no partition."),
                    "assigned_partitions": Column("partitions", "count"),
                    "consumption_per_second": Column("consumed", "rate"),
                    "load": Column("share of the load", "share"),
                    "lag": Column("lag", "count"),
                    "time_lag_seconds": Column("time lag", "duration"),
                    "host": Column("host"),
                    **{
                        name: column
                        for name, column in _MAY_HAVE.items()
                        if rows[name].null_count() < rows.height
                    },
                },
                view=view,
                key="group-members",
                alt=f"Members of {group} with what they hold and read",
                noun="members",
            )


def draw_rebalances(view: View, group: str, rebalances: pl.DataFrame) -> None:
    """Draw rows of ``rebalances`` of a group."""
    with components.section(
        "Rebalances",
        help_text="From the log of commits. Kafka writes no reason there: it is what differs "
        "between two generations. A member that left may have been too slow instead.",
        is_folded=view.is_phone,
    ):
        if rebalances.is_empty():
            components.nothing(f"No rebalance is known {view.period}.", icon=":material/check:")
        else:
            tables.show(
                view_model.rebalance_rows(rebalances),
                {
                    "rebalanced_at": Column("at", "time", width=102),
                    "course": Column("members", help="Before and after.", width=76),
                    "joined": Column("joined", "count", width=62),
                    "left": Column("left", "count", width=52),
                    "reason": Column(
                        "what changed", width=room_left([102, 76, 62, 52, 84, 130, 120, 132])
                    ),
                    "generation": Column("generation", "count", width=84),
                    "protocol": Column("assignor", unknown="the broker's", width=130),
                    "session_timeout_seconds": Column(
                        "session time-out", "duration", unknown="", width=120
                    ),
                    "rebalance_timeout_seconds": Column(
                        "rebalance time-out", "duration", unknown="", width=132
                    ),
                },
                view=view,
                key="group-rebalances",
                alt=f"Rebalances of {group}, the newest first",
                noun="rebalances",
            )
