"""A cluster in rows of the lake: for each check, a time in which it is true, and what follows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKERS,
    COLLECTIONS,
    CONNECTOR_TASKS,
    CONNECTORS,
    DEAD_LETTERS,
    GROUP_OFFSETS,
    GROUPS,
    LOG_DIRECTORIES,
    PARTITIONS,
    QUEUES,
    TOPICS,
)

START = datetime(2026, 1, 5, 12, 0, tzinfo=UTC)
POLL = timedelta(seconds=15)
TRUE_UNTIL, END = 40, 85
"""Polls: the check is true in those up to the first; the last is more than ten minutes later."""

Row = dict[str, Any]
RowAt = Callable[[int], Row]
"""A row by poll."""
SECTIONS: Mapping[str, tuple[str, ...]] = {
    "kafka": (
        *("groups", "group_offsets", "partitions", "topics", "brokers", "log_directories"),
        *("quorum", "dead_letters"),
    ),
    "connect/main": ("connectors",),
    "connect/other": ("connectors",),
    "rabbitmq/r": ("queues", "dead_letters"),
}


def at(poll: int) -> datetime:
    """Return the time of a poll."""
    return START + poll * POLL


def _end(poll: int) -> int:
    return 1500 * (poll + 1)


def _offsets(poll: int) -> Row:
    """Return a partition of a group that keeps up."""
    end = _end(poll)
    return {
        **{"group": "g", "topic": "t", "partition": 0, "log_start": 0, "log_end": end},
        **{"committed": end - 5, "lag": 5, "time_lag_seconds": 0.1, "member_id": "m"},
        **{"last_stable": end, "is_subscribed": True},
    }


def _stands_at(poll: int, committed: int, **more: Any) -> Row:
    return {"committed": committed, "lag": _end(poll) - committed, "time_lag_seconds": 60.0, **more}


def stalled(poll: int) -> Row:
    """Return a group that has not committed since the tenth poll."""
    return _stands_at(poll, _end(10)) if poll > 10 else {}


def stopped(poll: int) -> Row:
    """Return a group without members since the thirtieth poll."""
    return _stands_at(poll, _end(30), member_id=None) if poll > 30 else {}


def _losing(poll: int) -> Row:
    start = _end(poll - 2)
    lost = start - _end(30)
    return stopped(poll) | ({"log_start": start, "lost_messages": lost} if poll > 36 else {})


def _falling(poll: int) -> Row:
    return (
        _stands_at(poll, _end(10) + 500 * (poll - 10), time_lag_seconds=950.0) if poll > 10 else {}
    )


def _rewound(poll: int) -> Row:
    return _stands_at(poll, _end(poll - 30)) if poll > 38 else {}


def _unread(poll: int) -> Row:
    return dict.fromkeys(("committed", "lag", "time_lag_seconds")) | {"unknown_reason": "refused"}


GROUP: Row = {"group": "g", "state": "stable", "members": 1, "idle_members": 0, "kind": "plain"}
TOPIC: Row = {"topic": "t", "kind": "application", "retention_seconds": 7 * 86400.0}
LETTERS: Row = {
    **{"source": "kafka", "name": "t.dlq", "log_end": 9, "retained": 9, "arrival_ratio": 0.0},
    **{"redrive_group": "g", "unprocessed": 0, "reasons": [{"key": "a.Old", "value": 3}]},
}
FINE: Mapping[Table, Row] = {
    GROUPS: GROUP,
    GROUP_OFFSETS: {},
    PARTITIONS: {
        **{"topic": "t", "partition": 0, "leader": 1, "preferred_leader": 1},
        **{"replicas": [1, 2, 3], "in_sync_replicas": [1, 2, 3], "min_in_sync_replicas": 2},
        **{"log_start": 0, "log_end": 1000, "size_bytes": 1000},
    },
    TOPICS: TOPIC,
    BROKERS: {
        **{"broker_id": 1, "is_alive": True, "is_controller": True},
        **{"disk_total_bytes": 100, "disk_free_bytes": 90},
        "certificate_expires_at": START + timedelta(days=90),
    },
    LOG_DIRECTORIES: {"broker_id": 1, "path": "/data", "is_offline": False},
    DEAD_LETTERS: LETTERS,
    CONNECTORS: {"connect": "main", "connector": "x", "state": "RUNNING", "tasks_failed": 0},
    CONNECTOR_TASKS: {"connect": "main", "connector": "x", "task": 0, "state": "RUNNING"},
    QUEUES: {
        **{"vhost": "/", "queue": "q", "kind": "plain", "ready": 0, "unacknowledged": 0},
        **{"consumers": 1, "deliver_per_second": 0.0, "dead_letter_exchange": "dlx"},
        "dead_letter_target_missing": False,
    },
}
"""One thing of each table, and nothing wrong with it."""

OTHERS: Mapping[Table, Row] = {
    GROUPS: {"group": "h"},
    GROUP_OFFSETS: {"group": "h", "topic": "other"},
    PARTITIONS: {"topic": "other"},
    TOPICS: {"topic": "t.dlq"},
    BROKERS: {"broker_id": 2, "is_controller": False},
    LOG_DIRECTORIES: {"broker_id": 2},
    DEAD_LETTERS: {"name": "u.dlq"},
    CONNECTORS: {"connect": "other"},
    CONNECTOR_TASKS: {"connect": "other"},
    QUEUES: {"vhost": "/other"},
}
"""How another thing of it differs, which is always fine; of the rows of each poll."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """How a check becomes true, and what may be unknown of the thing.

    Attributes:
        true: Table: what its row has while the check is true, by poll.
        nulls: What is unknown of the thing afterwards, in one way or another.
        sections: Sections of Kafka that fail while the check is true.
    """

    true: Mapping[Table, RowAt] = field(default_factory=dict)
    nulls: Sequence[Mapping[Table, Row | RowAt]] = ()
    sections: tuple[str, ...] = ()


def always(**row: Any) -> Callable[[int], Row]:
    """Return the same row at each poll."""
    return lambda _: row


NO_OFFSETS: Mapping[Table, Row | RowAt] = {GROUP_OFFSETS: _unread(0)}
NO_LETTERS: Row = {"unknown_reason": "refused", "unprocessed": None, "log_end": None}
_EMPTY = {"state": "empty", "members": 0}


def _of_group(offsets: Callable[[int], Row], group: Row | None = None) -> Case:
    return Case(
        true={GROUP_OFFSETS: offsets, GROUPS: lambda poll: (group or {}) if poll > 30 else {}},
        nulls=(NO_OFFSETS,),
    )


def _new_class(poll: int) -> Row:
    return {"reasons": [{"key": "b.New", "value": 1}, *LETTERS["reasons"]]} if poll > 30 else {}


def _replicas(**row: Any) -> Case:
    unknown = {"in_sync_replicas": None, "replicas": None, "preferred_leader": None}
    nulls = () if "leader" in row else ({PARTITIONS: unknown},)
    return Case(true={PARTITIONS: always(**row)}, nulls=nulls)


CASES: Mapping[str, Case] = {
    "losing_data": _of_group(_losing, _EMPTY),
    "stopped": _of_group(stopped, _EMPTY),
    "stalled": _of_group(stalled),
    "falling_behind": _of_group(_falling),
    "objective_missed": _of_group(_falling),
    "rewound": _of_group(_rewound),
    "unknown": Case(true={GROUP_OFFSETS: _unread}),
    "time_lag": _of_group(stalled),
    "lag": _of_group(stalled),
    "data_loss_deadline": Case(
        true={
            GROUP_OFFSETS: lambda poll: stalled(poll) and stalled(poll) | {"time_lag_seconds": 9e3},
            TOPICS: always(retention_seconds=1e4),
        },
        nulls=(
            NO_OFFSETS,
            {
                GROUP_OFFSETS: stalled,
                TOPICS: {"retention_seconds": None, "unknown_reason": "refused"},
            },
        ),
    ),
    "idle_consumers": Case(
        true={GROUPS: always(idle_members=1, members=3)}, nulls=({GROUPS: {"idle_members": None}},)
    ),
    "broker_missing": Case(
        true={BROKERS: always(is_alive=False), PARTITIONS: always(in_sync_replicas=[2, 3])},
        nulls=({BROKERS: {"is_alive": None}},),
    ),
    "no_controller": Case(
        true={BROKERS: always(is_controller=False)}, nulls=({BROKERS: {"is_controller": None}},)
    ),
    "partitions_offline": _replicas(leader=None),
    "under_min_isr": Case(
        true={PARTITIONS: always(in_sync_replicas=[1])},
        nulls=(
            {PARTITIONS: {"in_sync_replicas": None}},
            {PARTITIONS: {"min_in_sync_replicas": None}},
        ),
    ),
    "under_replicated": _replicas(in_sync_replicas=[1]),
    "leader_imbalance": _replicas(preferred_leader=2),
    "disk_free": Case(
        true={BROKERS: always(disk_free_bytes=1)},
        nulls=(
            {BROKERS: {"disk_free_bytes": None}},
            {BROKERS: {"disk_free_bytes": None, "disk_total_bytes": None}},
            {BROKERS: {"is_alive": False}},
        ),
    ),
    "certificate_expiry": Case(
        true={BROKERS: always(certificate_expires_at=at(END) + timedelta(days=1))},
        nulls=(
            {BROKERS: {"certificate_expires_at": None}},
            {BROKERS: {"is_alive": False}},
        ),
    ),
    "log_directory_offline": Case(
        true={LOG_DIRECTORIES: always(is_offline=True, unknown_reason="offline")},
        nulls=(
            {LOG_DIRECTORIES: {"is_offline": None}},
            {LOG_DIRECTORIES: {"unknown_reason": "cannot be read"}},
            {LOG_DIRECTORIES: {"path": None, "is_offline": None, "unknown_reason": "refused"}},
        ),
    ),
    "open_transaction": Case(
        true={GROUP_OFFSETS: always(open_since=at(0) - timedelta(hours=1), last_stable=1)},
        nulls=({GROUP_OFFSETS: {"last_stable": None}},),
    ),
    "dead_letter_ratio": Case(
        true={DEAD_LETTERS: always(arrival_ratio=0.5)},
        nulls=({DEAD_LETTERS: NO_LETTERS | {"arrival_ratio": None, "retained": None}},),
    ),
    "dead_letter_age": Case(
        true={DEAD_LETTERS: always(unprocessed=5, oldest_unprocessed_at=at(0) - timedelta(days=1))},
        nulls=({DEAD_LETTERS: NO_LETTERS},),
    ),
    "dead_letter_new_reason": Case(
        true={DEAD_LETTERS: _new_class}, nulls=({DEAD_LETTERS: {"reasons": None}},)
    ),
    "redrive_stopped": Case(
        true={
            DEAD_LETTERS: always(unprocessed=5),
            GROUP_OFFSETS: stopped,
            GROUPS: lambda poll: _EMPTY if poll > 30 else {},
        },
        nulls=({DEAD_LETTERS: NO_LETTERS}, {**NO_OFFSETS, DEAD_LETTERS: {"unprocessed": 5}}),
    ),
    "dead_letter_retention": Case(
        true={
            TOPICS: always(topic="t.dlq", retention_seconds=60.0),
            DEAD_LETTERS: always(redrive_group=None),
        },
        nulls=(
            {
                TOPICS: {"topic": "t.dlq", "retention_seconds": None, "unknown_reason": "no"},
                DEAD_LETTERS: {"redrive_group": None},
            },
        ),
    ),
    "connector_failed": Case(
        true={CONNECTORS: always(state="FAILED")}, nulls=({CONNECTORS: {"state": None}},)
    ),
    "tasks_failed": Case(
        true={
            CONNECTORS: always(tasks_failed=1),
            CONNECTOR_TASKS: always(
                state="FAILED", error="a.ConnectException: tolerated no more", cause_class="b.Json"
            ),
        },
        nulls=({CONNECTORS: {"tasks_failed": None}},),
    ),
    "queue_backlog": Case(
        true={QUEUES: always(ready=10**6)},
        nulls=({QUEUES: {"ready": None}}, {QUEUES: {"ready": None, "kind": None}}),
    ),
    "queue_no_consumers": Case(
        true={QUEUES: always(ready=5, consumers=0)},
        nulls=({QUEUES: {"ready": None, "consumers": 0}}, {QUEUES: {"consumers": None}}),
    ),
    "queue_target_missing": Case(
        true={QUEUES: always(dead_letter_target_missing=True)},
        nulls=({QUEUES: {"dead_letter_target_missing": None}},),
    ),
    "collection_failed": Case(sections=("quorum",)),
    "data_stale": Case(sections=("quorum",)),
    "nothing_collected": Case(sections=("*",)),
}
"""A case for each check."""


def row_of(table: Table, poll: int) -> Row:
    """Return a table's row of the thing while nothing is wrong."""
    return _offsets(poll) if table is GROUP_OFFSETS else dict(FINE[table])


def frame(table: Table, rows: Sequence[tuple[int, Row]]) -> pl.DataFrame:
    """Return rows with their polls as a table has them."""
    empty = dict.fromkeys(table.polars_schema)
    return pl.DataFrame(
        [
            {**empty, "cluster": "c", "observed_at": at(poll), "poll_id": str(poll), **row}
            for poll, row in rows
        ],
        schema=table.polars_schema,
    )


def table_rows(
    table: Table, case: Case, polls: Sequence[int], after: Row | RowAt | None
) -> list[tuple[int, Row]]:
    """Return a table's rows: of the thing, true up to ``TRUE_UNTIL``, and of another one.

    Args:
        table: The table.
        case: How the check becomes true.
        polls: Those that have rows.
        after: What the thing's rows have afterwards; None: it has none.
    """
    rows: list[tuple[int, Row]] = []
    for poll in polls:
        fine = row_of(table, poll)
        rows.append((poll, fine | OTHERS[table]))
        if poll <= TRUE_UNTIL:
            true = case.true.get(table)
            rows.append((poll, fine | (true(poll) if true else {})))
        elif after is not None:
            rows.append((poll, fine | (after if isinstance(after, dict) else after(poll))))
    return rows


def collections(
    case: Case, polls: Sequence[int], changed: Mapping[tuple[str, str], Row | None]
) -> pl.DataFrame:
    """Return the attempts of all sections.

    Args:
        case: Which sections fail while the check is true.
        polls: The polls.
        changed: Source and section: what their rows have after ``TRUE_UNTIL``; None: no row.
    """
    rows: list[tuple[int, Row]] = []
    for poll in polls:
        for source, sections in SECTIONS.items():
            for section in sections:
                row: Row = {"source": source, "section": section, "status": "ok", "rows": 2}
                row["interval_seconds"] = 15.0
                change: Row | None = {}
                if poll > TRUE_UNTIL:
                    change = changed.get((source, section), {})
                elif {section, "*"} & set(case.sections):
                    change = {"status": "failed", "error": "refused", "rows": 0}
                if change is not None:
                    rows.append((poll, row | change))
    return frame(COLLECTIONS, rows)
