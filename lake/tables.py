"""Every table of the lake: the one definition that collectors, Spark and the app share.

Rates are messages per second, lag is messages, times are UTC. A null is a value that could not be
obtained, never zero; ``unknown_reason`` says why where a row can tell.
"""

from __future__ import annotations

from typing import Literal

from lake.schema import Column, Table, Type


def _columns(**types: Type) -> tuple[Column, ...]:
    return tuple(Column(name, type_) for name, type_ in types.items())


_DATE = Column("date", "date", required=True)

# Of a day's rows, what is replaced together: the hour of minute rows, 0 for longer windows. Gold
# is partitioned by date, grain_seconds and part.
_PART = Column("part", "int")

# A poll's rows share observed_at, the moment at which the poll began, and poll_id.
_SAMPLE = (
    Column("cluster", "string", required=True),
    Column("observed_at", "timestamp", required=True),
    Column("poll_id", "string", required=True),
)

_WINDOW = (
    Column("cluster", "string", required=True),
    Column("grain_seconds", "int", required=True),
    Column("window_start", "timestamp", required=True),
)

# samples: polls seen in the window; samples_expected: from the cadence (interval_seconds);
# unknown_samples: polls in which the value, or a part of its sum, could not be obtained.
_COVERAGE = _columns(
    samples="int", samples_expected="int", unknown_samples="int", interval_seconds="double"
)

# Lag summed over what the row covers at each poll, then taken over the polls of the window. The
# histogram (docs/history.md) is what percentiles of longer windows are told from.
_LAG = _columns(
    lag_min="long",
    lag_mean="double",
    lag_max="long",
    lag_last="long",
    lag_p95="double",
    lag_buckets="list<int>",
    lag_bucket_samples="list<int>",
)

# Counter differences over the time that they cover: a gap is not covered, a counter that went
# backwards (recreated topic, reset group) starts anew and is counted in resets.
_FLOW = _columns(
    arrived="long",
    arrived_seconds="double",
    arrival_per_second="double",
    consumed="long",
    consumed_seconds="double",
    consumption_per_second="double",
    resets="int",
)


def _bronze(name: str, key: tuple[str, ...], /, **types: Type) -> Table:
    return Table(
        name,
        "bronze",
        (*_SAMPLE, *_columns(**types), _DATE),
        time="observed_at",
        key=("cluster", "poll_id", *key),
    )


def _gold(name: str, key: tuple[str, ...], *columns: Column) -> Table:
    return Table(
        name,
        "gold",
        (
            *_WINDOW,
            *(Column(part, _KEY_TYPES[part], required=True) for part in key),
            *columns,
            _PART,
            _DATE,
        ),
        time="window_start",
        key=("cluster", "grain_seconds", "window_start", *key),
    )


_KEY_TYPES: dict[str, Type] = {
    "group": "string",
    "topic": "string",
    "partition": "int",
    "source": "string",
    "name": "string",
}

BROKERS = _bronze(
    "brokers",
    ("broker_id",),
    broker_id="int",
    host="string",
    port="int",
    rack="string",
    is_controller="boolean",
    is_alive="boolean",
    leaders="int",
    replicas="int",
    log_bytes="long",
    disk_total_bytes="long",
    disk_free_bytes="long",
    unknown_reason="string",
)

PARTITIONS = _bronze(
    "partitions",
    ("topic", "partition"),
    topic="string",
    partition="int",
    leader="int",  # null: no leader
    preferred_leader="int",
    replicas="list<int>",
    in_sync_replicas="list<int>",
    min_in_sync_replicas="int",
    log_start="long",
    log_end="long",
    last_stable="long",
    size_bytes="long",
    unknown_reason="string",
)

TOPICS = _bronze(
    "topics",
    ("topic",),
    topic="string",
    kind="string",  # application, internal, changelog, repartition, dead letter, retry, …
    partitions="int",
    replication_factor="int",
    min_in_sync_replicas="int",
    retention_seconds="double",  # null: for ever, or unknown (then unknown_reason says so)
    retention_bytes="long",
    cleanup_policy="string",
    timestamp_type="string",
    segment_seconds="double",
    segment_bytes="long",
    configs="map<string,string>",  # those that differ from the default
    unknown_reason="string",
)

GROUPS = _bronze(
    "groups",
    ("group",),
    group="string",
    state="string",  # stable, empty, preparing_rebalance, …, unknown
    type="string",  # classic, consumer (KIP-848), share, streams
    protocol="string",  # the assignor
    coordinator="int",
    members="int",
    kind="string",  # plain, connect, streams, ksqldb, mirror, ditto, …
    unknown_reason="string",
)

GROUP_MEMBERS = _bronze(
    "group_members",
    ("group", "member_id"),
    group="string",
    member_id="string",
    client_id="string",
    host="string",
    instance_id="string",
    assigned_partitions="int",  # 0: an idle consumer
)

GROUP_OFFSETS = _bronze(
    "group_offsets",
    ("group", "topic", "partition"),
    group="string",
    topic="string",
    partition="int",
    committed="long",
    log_start="long",
    log_end="long",
    lag="long",
    lost_messages="long",
    time_lag_seconds="double",
    unknown_reason="string",
    member_id="string",
    client_id="string",
    host="string",
    committed_at="timestamp",
)

DEAD_LETTERS = _bronze(
    "dead_letters",
    ("source", "name"),
    source="string",  # kafka, rabbitmq
    name="string",
    origin="string",
    found_by="string",  # configuration, topic config, connect config, name
    redrive_group="string",
    unprocessed="long",
    retained="long",
    log_end="long",  # sum over partitions; arrivals are its differences
    oldest_unprocessed_at="timestamp",
    oldest_retained_at="timestamp",  # told instead where no redrive group is declared
    reasons="map<string,long>",  # exception class: records of the sample
    sampled_records="int",
    unknown_reason="string",
)

COLLECTIONS = _bronze(
    "collections",
    ("section",),
    section="string",
    started_at="timestamp",
    duration_seconds="double",
    interval_seconds="double",  # the cadence that was asked for; null for a single poll
    status="string",  # ok, partial, failed, skipped
    error="string",
    rows="long",
)

GROUP_PARTITION_HISTORY = _gold(
    "group_partition_history",
    ("group", "topic", "partition"),
    *_LAG,
    *_columns(
        time_lag_seconds_max="double",
        time_lag_seconds_last="double",
        committed_last="long",
        log_start_last="long",
        log_end_last="long",
        lost_messages_max="long",
    ),
    *_FLOW,
    *_COVERAGE,
)

GROUP_HISTORY = _gold(
    "group_history",
    ("group",),
    *_LAG,
    *_columns(
        time_lag_seconds_max="double",  # of the worst partition
        time_lag_seconds_last="double",
        lost_messages_max="long",
        members_last="int",
        partitions_last="int",
        unknown_partitions_max="int",
    ),
    *_FLOW,
    *_COVERAGE,
)

TOPIC_HISTORY = _gold(
    "topic_history",
    ("topic",),
    *_columns(
        retained_last="long",
        log_end_last="long",
        size_bytes_last="long",
        partitions_last="int",
        under_replicated_max="int",
        under_min_isr_max="int",
        offline_max="int",
        busiest_partition_ratio="double",
        arrived="long",
        arrived_seconds="double",
        arrival_per_second="double",
        resets="int",
    ),
    *_COVERAGE,
)

CLUSTER_HISTORY = _gold(
    "cluster_history",
    (),
    *_columns(
        brokers_known_max="int",
        brokers_alive_min="int",
        topics_last="int",
        partitions_last="int",
        groups_last="int",
        under_replicated_max="int",
        under_replicated_last="int",
        under_min_isr_max="int",
        under_min_isr_last="int",
        offline_max="int",
        offline_last="int",
        lag_max="long",
        lag_last="long",
        time_lag_seconds_max="double",
    ),
    *_FLOW,
    *_COVERAGE,
)

DEAD_LETTER_HISTORY = _gold(
    "dead_letter_history",
    ("source", "name"),
    *_columns(
        unprocessed_max="long",
        unprocessed_last="long",
        retained_max="long",
        retained_last="long",
        arrived="long",
        arrived_seconds="double",
        arrival_per_second="double",
        resets="int",
    ),
    *_COVERAGE,
)

JOBS = Table(
    "jobs",
    "gold",
    (
        Column("job", "string", required=True),
        Column("started_at", "timestamp", required=True),
        *_columns(
            finished_at="timestamp",
            rows_read="long",  # samples that were new
            delay_seconds="double",  # age of the newest sample in the history when the round ended
            late_rows="long",  # samples that came too late and wait for a backfill
            status="string",  # ok, failed, waiting
            error="string",
            progress="string",  # where the next round goes on (JSON)
        ),
        _DATE,
    ),
    time="started_at",
    key=("job", "started_at"),
)
"""A row for each round of a background job; small enough to be written without Spark."""

TABLES: dict[str, Table] = {
    table.name: table
    for table in (
        BROKERS,
        PARTITIONS,
        TOPICS,
        GROUPS,
        GROUP_MEMBERS,
        GROUP_OFFSETS,
        DEAD_LETTERS,
        COLLECTIONS,
        GROUP_PARTITION_HISTORY,
        GROUP_HISTORY,
        TOPIC_HISTORY,
        CLUSTER_HISTORY,
        DEAD_LETTER_HISTORY,
        JOBS,
    )
}

GRAINS_SECONDS: tuple[Literal[60], Literal[3600], Literal[86400]] = (60, 3600, 86400)
"""The grains of every history table: a minute, an hour, a day."""
