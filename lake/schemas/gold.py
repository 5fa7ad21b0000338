"""The tables that Spark writes: history.

Rates are messages per second, lag is messages, times are UTC. A null is a value that could not be
obtained, never zero.
"""

from __future__ import annotations

from lake.schemas.model import DATE, Column, Table, Type, columns, required

# Which partition a row lies in, beside date and grain_seconds: see ``lake.schemas.grain``.
_HOUR = Column("hour", "int")

# True where the demo's generated past is in the row; null: all of it was measured.
_GENERATED = Column("generated", "boolean", merge="max")

_WINDOW = required(cluster="string", grain_seconds="int", window_start="timestamp")

# samples: polls seen in the window; samples_expected: from the cadence (interval_seconds);
# unknown_samples: polls in which the value, or a part of its sum, could not be obtained.
_COVERAGE = (
    Column("samples", "int", merge="sum"),
    Column("samples_expected", "int"),
    Column("unknown_samples", "int", merge="sum"),
    Column("interval_seconds", "double", merge="last"),
)

# Lag summed over what the row covers at each poll, then taken over the polls of the window. The
# histogram (docs/history.md) is what percentiles of longer windows are computed from.
_LAG = (
    Column("lag_min", "long", merge="min"),
    Column("lag_mean", "double", merge="mean", weight="lag_bucket_samples"),
    Column("lag_max", "long", merge="max"),
    Column("lag_last", "long", merge="last"),
    Column("lag_p95", "double"),
    *columns("histogram", lag_buckets="list<int>", lag_bucket_samples="list<int>"),
)

# Counter differences over the time that they cover: a gap is not covered, a counter that went
# backwards (recreated topic, reset group) starts anew and is counted in resets.
_ARRIVED = (
    *columns("sum", arrived="long", arrived_seconds="double"),
    Column("arrival_per_second", "double"),
)
_RESETS = Column("resets", "int", merge="sum")
_FLOW = (
    *_ARRIVED,
    *columns("sum", consumed="long", consumed_seconds="double"),
    Column("consumption_per_second", "double"),
    _RESETS,
)


def _gold(name: str, key: tuple[str, ...], *values: Column) -> Table:
    return Table(
        name=name,
        layer="gold",
        columns=(
            *_WINDOW,
            *(Column(part, _KEY_TYPES[part], required=True) for part in key),
            *values,
            _GENERATED,
            _HOUR,
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
    Column("time_lag_seconds_max", "double", merge="max"),
    *columns(
        "last",
        time_lag_seconds_last="double",
        committed_last="long",
        log_start_last="long",
        log_end_last="long",
    ),
    Column("lost_messages_max", "long", merge="max"),
    *_FLOW,
    *_COVERAGE,
)


GROUP_HISTORY = _gold(
    "group_history",
    ("group",),
    *_LAG,
    Column("time_lag_seconds_max", "double", merge="max"),  # of the worst partition
    Column("time_lag_seconds_last", "double", merge="last"),
    Column("lost_messages_max", "long", merge="max"),
    *columns("last", members_last="int", partitions_last="int"),
    Column("unknown_partitions_max", "int", merge="max"),
    *_FLOW,
    *_COVERAGE,
)


TOPIC_HISTORY = _gold(
    "topic_history",
    ("topic",),
    *columns(
        "last",
        retained_last="long",
        log_end_last="long",
        size_bytes_last="long",
        partitions_last="int",
    ),
    *columns("max", under_replicated_max="int", under_min_isr_max="int", offline_max="int"),
    # Of each minute; of longer windows weighted by the minutes' messages.
    Column("busiest_partition_ratio", "double", merge="mean", weight="arrived"),
    *_ARRIVED,
    _RESETS,
    *_COVERAGE,
)


CLUSTER_HISTORY = _gold(
    "cluster_history",
    (),
    Column("brokers_known_max", "int", merge="max"),
    Column("brokers_alive_min", "int", merge="min"),
    *columns("last", topics_last="int", partitions_last="int", groups_last="int"),
    Column("under_replicated_max", "int", merge="max"),
    Column("under_replicated_last", "int", merge="last"),
    Column("under_min_isr_max", "int", merge="max"),
    Column("under_min_isr_last", "int", merge="last"),
    Column("offline_max", "int", merge="max"),
    Column("offline_last", "int", merge="last"),
    Column("lag_max", "long", merge="max"),
    Column("lag_last", "long", merge="last"),
    Column("time_lag_seconds_max", "double", merge="max"),
    *_FLOW,
    *_COVERAGE,
)


DEAD_LETTER_HISTORY = _gold(
    "dead_letter_history",
    ("source", "name"),
    Column("unprocessed_max", "long", merge="max"),
    Column("unprocessed_last", "long", merge="last"),
    Column("retained_max", "long", merge="max"),
    Column("retained_last", "long", merge="last"),
    *_ARRIVED,
    _RESETS,
    *_COVERAGE,
)


JOBS = Table(
    name="jobs",
    layer="gold",
    columns=(
        *required(job="string", started_at="timestamp"),
        *columns(
            finished_at="timestamp",
            rows_read="long",  # samples that were new
            delay_seconds="double",  # age of the newest sample in the history when the round ended
            late_rows="long",  # samples that came too late and wait for a backfill
            status="string",  # ok, failed, waiting
            error="string",
            progress="string",  # where the next micro-batch goes on (JSON)
        ),
        DATE,
    ),
    time="started_at",
    key=("job", "started_at"),
)
"""A row for each round of a background job; small enough to be written without Spark."""

RECOMMENDATIONS = Table(
    name="recommendations",
    layer="gold",
    columns=(
        *required(
            cluster="string",
            subject_kind="string",  # group, topic, connector, queue, ...
            subject="string",
            kind="string",
            quantity="string",  # what current and proposed count, or empty
        ),
        *columns(
            number="int",  # from 0, where there are several of this kind and quantity; null is 0
            current="int",
            proposed="int",
            unknown_reason="string",
            limiting_factor="string",  # steady, catch-up, forecast or retention
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
    name="advice_state",
    layer="gold",
    columns=(
        Column("cluster", "string", required=True),
        Column("group", "string", required=True),
        Column("state", "string", required=True),  # JSON; see scaling.sizing.decision_history
        Column("evaluated_at", "timestamp", required=True),
        DATE,
    ),
    time="evaluated_at",
    key=("cluster", "group"),
)
"""What advice remembers of a group between two rounds: votes, trials, slow members."""
