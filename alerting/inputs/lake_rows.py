"""Reading from the lake what an evaluation looks at."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl

from alerting.inputs.frames import Frames
from alerting.inputs.windows import WINDOW_SECONDS
from config.settings import Settings
from lake.errors import LakeError
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
    QUORUM,
    TOPICS,
)
from lake.storage.store import Lake

_MINUTES = timedelta(minutes=10)
LOOK_BACK: tuple[tuple[Table, timedelta], ...] = (
    # First: it tells which sources there are.
    (COLLECTIONS, timedelta(hours=1)),
    # A minute more than the window, so that the oldest sample of a slow poll is in it.
    (GROUP_OFFSETS, timedelta(seconds=WINDOW_SECONDS + 60)),
    (GROUPS, timedelta(seconds=WINDOW_SECONDS + 60)),
    (BROKERS, _MINUTES),
    (QUORUM, _MINUTES),
    (PARTITIONS, _MINUTES),
    (LOG_DIRECTORIES, _MINUTES),
    # Topics are written when they change and once an hour.
    (TOPICS, timedelta(hours=26)),
    # A day, so that an exception class is known to be new.
    (DEAD_LETTERS, timedelta(hours=25)),
    (CONNECTORS, _MINUTES),
    (CONNECTOR_TASKS, _MINUTES),
    (QUEUES, _MINUTES),
)
"""How far back each table is read."""


def clusters_of(settings: Settings) -> list[str]:
    """Return the names that samples carry: Kafka clusters, and sources beside them."""
    names = [cluster.name for cluster in settings.clusters]
    for source in settings.integrations:
        if settings.cluster_of(source) not in names:
            names.append(settings.cluster_of(source))
    return names


def read_range(
    lake: Lake,
    cluster: str,
    first: float,
    last: float,
    watched_since: float = 0.0,
) -> Frames:
    """Read the rows of a cluster that evaluations between two moments look at.

    A table that cannot be read is an error of the frames.
    """
    start, end = datetime.fromtimestamp(first, UTC), datetime.fromtimestamp(last, UTC)
    tables: dict[str, pl.DataFrame] = {}
    errors: dict[str, str] = {}
    for table, length in LOOK_BACK:
        try:
            tables[table.name] = lake.read(
                table,
                since=start - length,
                until=end + timedelta(microseconds=1),
                cluster=cluster,
            )
        except LakeError as error:
            errors[table.name] = str(error)
    return Frames(
        cluster=cluster, now=last, tables=tables, errors=errors, watched_since=watched_since
    )


def at(frames: Frames, now: float) -> Frames:
    """Return the rows of ``read_range`` as an evaluation at a moment within it would read them."""
    end = datetime.fromtimestamp(now, UTC)
    lengths = {table.name: length for table, length in LOOK_BACK}
    tables = {
        name: rows.filter(pl.col("observed_at").is_between(end - lengths[name], end))
        for name, rows in frames.tables.items()
    }
    return Frames(
        cluster=frames.cluster,
        now=now,
        tables=tables,
        errors=frames.errors,
        watched_since=frames.watched_since,
    )
