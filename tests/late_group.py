"""A group that reads half of what arrives, on a topic without a copy: for tests of advice."""

from __future__ import annotations

from datetime import datetime, timedelta

import polars as pl

from alerting.status.model import Status
from lake.schemas.current import GROUP_STATUS
from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, GROUP_OFFSETS, GROUPS, PARTITIONS, TOPICS
from lake.storage.store import Lake

Row = dict[str, object]


def write_late_group(store: Lake, newest: datetime) -> None:
    """Write five minutes of samples.

    Args:
        store: The lake.
        newest: The newest poll.
    """

    def write(table: Table, rows: list[Row]) -> None:
        store.append(table, pl.DataFrame(rows, schema_overrides=dict(table.polars_schema)))

    polls: list[Row] = [
        {
            "cluster": "demo",
            "observed_at": newest - timedelta(seconds=5 * poll),
            "poll_id": f"p{poll}",
            "t": 600 - 5 * poll,
        }
        for poll in range(60)
    ]

    def row(poll: Row, **more: object) -> Row:
        return {**{key: poll[key] for key in ("cluster", "observed_at", "poll_id")}, **more}

    def second(poll: Row) -> int:
        value = poll["t"]
        assert isinstance(value, int)
        return value

    write(
        GROUP_OFFSETS,
        [
            row(
                poll,
                group="late",
                topic="orders",
                partition=partition,
                committed=50 * second(poll),
                log_start=0,
                log_end=100 * second(poll),
                lag=50 * second(poll),
                member_id="m0",
            )
            for poll in polls
            for partition in range(4)
        ],
    )
    write(
        GROUPS,
        [
            row(p, group="late", state="stable", type="classic", protocol="range", members=1)
            for p in polls
        ],
    )
    write(
        PARTITIONS,
        [
            row(poll, topic="orders", partition=n, log_start=0, log_end=100 * second(poll))
            for poll in polls
            for n in range(4)
        ],
    )
    write(
        TOPICS,
        [
            row(
                polls[-1],
                topic="orders",
                partitions=4,
                replication_factor=1,
                min_in_sync_replicas=1,
            )
        ],
    )
    write(BROKERS, [row(polls[0], broker_id=n, is_alive=True) for n in (1, 2, 3)])


def write_statuses(lake: Lake, now: datetime, **statuses: Status) -> None:
    """Write what the alerting service found groups to do, each with one member."""
    rows = pl.DataFrame(
        [
            {
                "group": name,
                "status": status,
                "reason": "as found",
                "since": now,
                "since_at_least": False,
                "is_lasting": status is Status.FALLING_BEHIND,
                "members": 1,
                "evaluated_at": now,
            }
            for name, status in statuses.items()
        ]
    )
    missing = [
        pl.lit(None, type_).alias(name)
        for name, type_ in GROUP_STATUS.polars_schema.items()
        if name not in rows.columns and name != "cluster"
    ]
    lake.current.replace(GROUP_STATUS, "demo", rows.with_columns(missing))
