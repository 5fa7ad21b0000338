"""The tables that Spark writes: history.

Rates are messages per second, lag is messages, times are UTC. A null is a value that could not be
obtained, never zero.
"""

from __future__ import annotations

from lake.schema import DATE, Column, Table, Type, columns

# Which partition a row lies in, beside date and grain_seconds: see ``lake.grain``.
_PART = Column("part", "int")

# True where the demo's generated past is in the row; null: all of it was measured.
_GENERATED = Column("generated", "boolean")

_WINDOW = (
    Column("cluster", "string", required=True),
    Column("grain_seconds", "int", required=True),
    Column("window_start", "timestamp", required=True),
)

# samples: polls seen in the window; samples_expected: from the cadence (interval_seconds);
# unknown_samples: polls in which the value, or a part of its sum, could not be obtained.
_COVERAGE = columns(
    samples="int", samples_expected="int", unknown_samples="int", interval_seconds="double"
)

# Lag summed over what the row covers at each poll, then taken over the polls of the window. The
# histogram (docs/history.md) is what percentiles of longer windows are told from.
_LAG = columns(
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
_FLOW = columns(
    arrived="long",
    arrived_seconds="double",
    arrival_per_second="double",
    consumed="long",
    consumed_seconds="double",
    consumption_per_second="double",
    resets="int",
)


def _gold(name: str, key: tuple[str, ...], *values: Column) -> Table:
    return Table(
        name,
        "gold",
        (
            *_WINDOW,
            *(Column(part, _KEY_TYPES[part], required=True) for part in key),
            *values,
            _GENERATED,
            _PART,
            DATE,
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

GROUP_PARTITION_HISTORY = _gold(
    "group_partition_history",
    ("group", "topic", "partition"),
    *_LAG,
    *columns(
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
    *columns(
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
    *columns(
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
    *columns(
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
    *columns(
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
        *columns(
            finished_at="timestamp",
            rows_read="long",  # samples that were new
            delay_seconds="double",  # age of the newest sample in the history when the round ended
            late_rows="long",  # samples that came too late and wait for a backfill
            status="string",  # ok, failed, waiting
            error="string",
            progress="string",  # where the next round goes on (JSON)
        ),
        DATE,
    ),
    time="started_at",
    key=("job", "started_at"),
)
"""A row for each round of a background job; small enough to be written without Spark."""

RECOMMENDATIONS = Table(
    "recommendations",
    "gold",
    (
        Column("cluster", "string", required=True),
        Column("subject_kind", "string", required=True),  # group, topic, connector, queue, ...
        Column("subject", "string", required=True),
        Column("kind", "string", required=True),
        Column("quantity", "string", required=True),  # what current and proposed count, or empty
        *columns(
            number="int",  # from 0, where there are several of this kind and quantity; null is 0
            current="int",
            proposed="int",
            unknown_reason="string",
            binding="string",  # the need that asks for it: steady, catch-up, forecast, retention
            severity="string",
            confidence="string",
            saving="int",  # consumers
            reason="string",
            consequence="string",  # what happens if nothing is done
            caveats="string",  # JSON: level, text
            evidence="string",  # JSON: name, value, unit
            artefacts="string",  # JSON: name, language, text
            keda="string",  # JSON: replicas, metric_lag, lag_threshold, why; null: not compared
        ),
        Column("valid_from", "timestamp", required=True),  # first given, unchanged since
        Column("confirmed_at", "timestamp", required=True),  # when it was last given
        DATE,  # of valid_from
    ),
    time="valid_from",
    key=("cluster", "subject_kind", "subject", "kind", "quantity", "number", "valid_from"),
)
"""Advice with the time in which it stood; the newest confirmed_at of a cluster is what stands."""

ADVICE_STATE = Table(
    "advice_state",
    "gold",
    (
        Column("cluster", "string", required=True),
        Column("group", "string", required=True),
        Column("state", "string", required=True),  # JSON; see scaling.advice_state
        Column("evaluated_at", "timestamp", required=True),
        DATE,
    ),
    time="evaluated_at",
    key=("cluster", "group"),
)
"""What advice remembers of a group between two rounds: votes, trials, slow members."""
