"""History of the generated lake: what Spark would have written."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from lake.schemas.model import Table
from lake.schemas.tables import (
    CLUSTER_HISTORY,
    DEAD_LETTER_HISTORY,
    GROUP_HISTORY,
    GROUP_PARTITION_HISTORY,
    TOPIC_HISTORY,
)
from tests.app.world import (
    BROKER_LOST_SECONDS,
    CLUSTER,
    CONNECT_DLQ,
    GROUPS_HERE,
    HOUR_GRAIN,
    MINUTE_GRAIN,
    ORDERS_DLQ,
    POLL_SECONDS,
    TOPICS_HERE,
    Group,
)


def history_rows(end: datetime, grain: int, length: int) -> dict[Table, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {table.name: [] for table in _GOLD}
    last = end.timestamp() - end.timestamp() % grain
    count = length // grain
    expected = grain // POLL_SECONDS
    for position in range(count):
        start = last - (count - position) * grain
        at = start - end.timestamp() + grain / 2
        if grain == MINUTE_GRAIN and -2_700 > at > -3_300:  # ten minutes without collectors
            continue
        window = {
            "cluster": CLUSTER,
            "grain_seconds": grain,
            "window_start": datetime.fromtimestamp(start, UTC),
            "samples": expected,
            "samples_expected": expected,
            "unknown_samples": 0,
        }
        lost = at > -BROKER_LOST_SECONDS
        totals = {"lag": 0, "arrived": 0.0, "consumed": 0.0}
        for group in GROUPS_HERE:
            _gold_group(rows, window, group, at, grain, totals)
        arriving = 0.0
        for topic in TOPICS_HERE:
            per_second = sum(topic.rate_at(p, at) for p in range(topic.partitions))
            arriving += per_second
            rows[TOPIC_HISTORY.name].append(
                {
                    **window,
                    "topic": topic.name,
                    "retained_last": round(per_second * 86400),
                    "partitions_last": topic.partitions,
                    "under_replicated_max": topic.partitions // 2 if lost else 0,
                    "under_min_isr_max": 0,
                    "offline_max": 0,
                    "arrived": round(per_second * grain),
                    "arrived_seconds": float(grain),
                    "arrival_per_second": per_second,
                    "resets": 0,
                }
            )
        rows[CLUSTER_HISTORY.name].append(
            {
                **window,
                "brokers_known_max": 3,
                "brokers_alive_min": 2 if lost else 3,
                "topics_last": len(TOPICS_HERE),
                "partitions_last": sum(topic.partitions for topic in TOPICS_HERE),
                "groups_last": len(GROUPS_HERE),
                "under_replicated_max": 54 if lost else 0,
                "under_replicated_last": 54 if lost else 0,
                "under_min_isr_max": 4 if lost else 0,
                "under_min_isr_last": 4 if lost else 0,
                "offline_max": 1 if lost else 0,
                "offline_last": 1 if lost else 0,
                "lag_max": totals["lag"],
                "lag_last": totals["lag"],
                "time_lag_seconds_max": max(2.0, (at + 1500.0) * 0.25),
                "arrived": round(arriving * grain),
                "arrival_per_second": arriving,
                "consumed": round(totals["consumed"]),
                "consumption_per_second": totals["consumed"] / grain,
            }
        )
        for name, per_second, unprocessed, retained in (
            (ORDERS_DLQ.name, 0.24, 1204 + round(at * 0.02), 9120),
            (CONNECT_DLQ.name, 0.03, None, 312),
        ):
            rows[DEAD_LETTER_HISTORY.name].append(
                {
                    **window,
                    "source": "kafka",
                    "name": name,
                    "unprocessed_max": None if unprocessed is None else max(0, unprocessed),
                    "unprocessed_last": None if unprocessed is None else max(0, unprocessed),
                    "retained_max": retained,
                    "retained_last": retained,
                    "arrived": round(per_second * grain),
                    "arrived_seconds": float(grain),
                    "arrival_per_second": per_second * (1 + 0.4 * math.sin(at / 500)),
                    "resets": 0,
                }
            )
    return {table: rows[table.name] for table in _GOLD}


_GOLD = (
    GROUP_HISTORY,
    GROUP_PARTITION_HISTORY,
    TOPIC_HISTORY,
    CLUSTER_HISTORY,
    DEAD_LETTER_HISTORY,
)


def _gold_group(
    rows: dict[str, list[dict[str, Any]]],
    window: dict[str, Any],
    group: Group,
    at: float,
    grain: int,
    totals: dict[str, Any],
) -> None:
    unknown = group.unknown_since is not None and at > -group.unknown_since
    lags, times, arrivals, consumptions = [], [], [], []
    for partition in range(group.topic.partitions):
        lag = max(0, round(group.lag(partition, at)))
        before = max(0, round(group.lag(partition, at - grain)))
        rate = group.topic.rate_at(partition, at)
        consumed = max(0.0, rate - (lag - before) / grain)
        lags.append(lag)
        times.append(lag / rate)
        arrivals.append(rate)
        consumptions.append(consumed)
        if grain == HOUR_GRAIN and partition > 3:
            continue
        rows[GROUP_PARTITION_HISTORY.name].append(
            {
                **window,
                "group": group.name,
                "topic": group.topic.name,
                "partition": partition,
                "lag_min": None if unknown else lag,
                "lag_mean": None if unknown else float(lag),
                "lag_max": None if unknown else lag,
                "lag_last": None if unknown else lag,
                "time_lag_seconds_max": None if unknown else lag / rate,
                "arrival_per_second": rate,
                "consumption_per_second": None if unknown else consumed,
            }
        )
    total = sum(lags)
    if not unknown:
        totals["lag"] += total
        totals["consumed"] += sum(consumptions) * grain
    rows[GROUP_HISTORY.name].append(
        {
            **window,
            "group": group.name,
            "lag_min": None if unknown else total,
            "lag_mean": None if unknown else float(total),
            "lag_max": None if unknown else total,
            "lag_last": None if unknown else total,
            "lag_p95": None if unknown else float(total),
            "time_lag_seconds_max": None if unknown else max(times),
            "time_lag_seconds_last": None if unknown else max(times),
            "lost_messages_max": None if unknown else 0,
            "members_last": None
            if unknown
            else (4 if group.name == "archive" and at < -5400 else group.members),
            "partitions_last": group.topic.partitions,
            "unknown_partitions_max": group.topic.partitions if unknown else 0,
            "arrived": round(sum(arrivals) * grain),
            "arrived_seconds": float(grain),
            "arrival_per_second": sum(arrivals),
            "consumed": None if unknown else round(sum(consumptions) * grain),
            "consumed_seconds": None if unknown else float(grain),
            "consumption_per_second": None if unknown else sum(consumptions),
            "resets": 0,
            "unknown_samples": window["samples"] if unknown else 0,
        }
    )
