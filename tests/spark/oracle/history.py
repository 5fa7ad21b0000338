"""History recomputed from raw samples in plain Python: loops, lists and dictionaries.

Nothing here is shared with ``spark_metrics``; it follows docs/history.md alone. Minutes come from
samples, hours from minutes, days from hours.
"""

from __future__ import annotations

import math
from collections import defaultdict
from datetime import datetime

from lake.schemas.tables import TABLES
from tests.spark.oracle.arithmetic import (
    GROWTH,
    Cadence,
    Key,
    Row,
    Rows,
    floor,
    gains,
    last,
    least,
    most,
    total,
)
from tests.spark.oracle.minutes import (
    cluster_minutes,
    dead_letter_minutes,
    group_minutes,
    group_partition_minutes,
    group_polls,
    topic_minutes,
    topic_polls,
)


def coarser(rows: dict[Key, Row], seconds: int) -> dict[Key, Row]:
    """Roll rows up; a key is (cluster, window start, …)."""
    windows: dict[Key, list[tuple[datetime, Row]]] = defaultdict(list)
    for (cluster, start, *rest), row in rows.items():
        windows[(cluster, floor(start, seconds), *rest)].append((start, row))
    return {key: _merged(parts) for key, parts in windows.items()}


def _merged(parts: list[tuple[datetime, Row]]) -> Row:
    rows = [row for _, row in parts]
    done: Row = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name.endswith("_last") or name == "interval_seconds":
            done[name] = last((start, row[name]) for start, row in parts)
        elif name.endswith("_max"):
            done[name] = most(values)
        elif name.endswith("_min"):
            done[name] = least(values)
        elif name == "busiest_partition_ratio":
            busy = [row for row in rows if row[name] is not None]
            weight = sum(row["arrived"] for row in busy)
            done[name] = sum(row[name] * row["arrived"] for row in busy) / weight if busy else None
        elif name not in ("lag_mean", "lag_p95", "lag_buckets", "lag_bucket_samples"):
            done[name] = total(values)
    if "lag_buckets" in rows[0]:
        done |= _merged_lag(rows, done)
    return done


def _merged_lag(rows: list[Row], done: Row) -> Row:
    counts: dict[int, int] = defaultdict(int)
    amount = 0.0
    for row in rows:
        for number, count in zip(row["lag_buckets"], row["lag_bucket_samples"], strict=True):
            counts[number] += count
        if row["lag_mean"] is not None:
            amount += row["lag_mean"] * sum(row["lag_bucket_samples"])
    samples = sum(counts.values())
    p95 = None
    if samples:
        rank = math.ceil(0.95 * samples)
        seen = 0
        for number in sorted(counts):
            seen += counts[number]
            if seen >= rank:
                middle = 2 * GROWTH ** (number - 1) / (GROWTH + 1) if number else 0.0
                p95 = float(min(max(middle, done["lag_min"]), done["lag_max"]))
                break
    return {
        "lag_mean": amount / samples if samples else None,
        "lag_p95": p95,
        "lag_buckets": sorted(counts),
        "lag_bucket_samples": [counts[number] for number in sorted(counts)],
    }


def finish(row: Row, seconds: int) -> Row:
    done = dict(row)
    interval = done["interval_seconds"]
    done["samples_expected"] = (
        None if interval is None else max(1, math.floor(seconds / interval + 0.5))
    )
    for rate, amount in (("arrival_per_second", "arrived"), ("consumption_per_second", "consumed")):
        if amount in done:
            covered = done[f"{amount}_seconds"]
            done[rate] = done[amount] / covered if covered else None
    return done


def history(rows: Rows) -> dict[str, dict[Key, Row]]:
    """Return every history table: (grain, cluster, window start, …) to the other columns."""
    complete = {
        table: [{name: row.get(name) for name in TABLES[table].polars_schema} for row in found]
        for table, found in rows.items()
    }
    cadence = Cadence(complete["collections"])
    offsets = gains(
        complete["group_offsets"],
        ("cluster", "group", "topic", "partition"),
        ("log_end", "committed"),
        cadence,
    )
    partitions = gains(
        complete["partitions"], ("cluster", "topic", "partition"), ("log_end",), cadence
    )
    letters = gains(complete["dead_letters"], ("cluster", "source", "name"), ("log_end",), cadence)
    read = [row for row in offsets if row.get("is_subscribed") is not False]
    polls = group_polls(read, complete["groups"], cadence)
    topics = topic_polls(partitions)
    minutes = {
        "group_partition_history": group_partition_minutes(offsets),
        "group_history": group_minutes(polls),
        "topic_history": topic_minutes(topics, partitions),
        "cluster_history": cluster_minutes(
            topics, polls, complete["brokers"], complete["collections"]
        ),
        "dead_letter_history": dead_letter_minutes(letters),
    }
    found: dict[str, dict[Key, Row]] = {}
    for table, pairs in minutes.items():
        grains = {60: dict(pairs)}
        grains[3600] = coarser(grains[60], 3600)
        grains[86400] = coarser(grains[3600], 86400)
        found[table] = {
            (seconds, *key): finish(row, seconds)
            for seconds, windows in grains.items()
            for key, row in windows.items()
        }
    return found
