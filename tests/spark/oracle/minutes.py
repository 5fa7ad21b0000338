"""Minutes of history recomputed from raw samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from tests.spark.oracle.arithmetic import (
    Cadence,
    Key,
    Row,
    flow,
    grouped,
    lag_columns,
    least,
    minute,
    most,
    newest,
    once,
    total,
)


def group_partition_minutes(rows: list[Row]) -> Iterable[tuple[Key, Row]]:
    def key(row: Row) -> Key:
        return (
            row["cluster"],
            minute(row["observed_at"]),
            row["group"],
            row["topic"],
            row["partition"],
        )

    for window, samples in grouped(rows, key).items():
        yield (
            window,
            {
                **lag_columns(samples),
                "time_lag_seconds_max": most(row.get("time_lag_seconds") for row in samples),
                "time_lag_seconds_last": newest(samples, "time_lag_seconds"),
                "committed_last": newest(samples, "committed"),
                "log_start_last": newest(samples, "log_start"),
                "log_end_last": newest(samples, "log_end"),
                "lost_messages_max": most(row.get("lost_messages") for row in samples),
                **flow(samples, "log_end", "arrived"),
                **flow(samples, "committed", "consumed"),
                "resets": sum(row["resets"] for row in samples),
                "samples": len(samples),
                "unknown_samples": sum(row["lag"] is None for row in samples),
                "interval_seconds": most(row["interval_seconds"] for row in samples),
            },
        )


def group_polls(offsets: list[Row], groups: list[Row], cadence: Cadence) -> list[Row]:
    def key(row: Row) -> Key:
        return row["cluster"], row["group"], row["observed_at"]

    seen = grouped(offsets, key)
    described = grouped(groups, key)
    polls = []
    for poll in seen.keys() | described.keys():
        parts = seen.get(poll, [])
        row = {
            "cluster": poll[0],
            "group": poll[1],
            "observed_at": poll[2],
            "lag": total(part["lag"] for part in parts),
            "partitions": len(parts),
            "unknown_partitions": sum(part["lag"] is None for part in parts),
            "time_lag_seconds": most(part.get("time_lag_seconds") for part in parts),
            "lost_messages": total(part.get("lost_messages") for part in parts),
            "members": most(part.get("members") for part in described.get(poll, [])),
            "resets": total(part["resets"] for part in parts),
        }
        row["interval_seconds"] = cadence.of(row)
        for counter in ("log_end", "committed"):
            row[f"{counter}_gain"] = total(part[f"{counter}_gain"] for part in parts)
            row[f"{counter}_seconds"] = least(part[f"{counter}_seconds"] for part in parts)
        polls.append(row)
    return polls


def group_minutes(polls: list[Row]) -> Iterable[tuple[Key, Row]]:
    def key(row: Row) -> Key:
        return row["cluster"], minute(row["observed_at"]), row["group"]

    for window, samples in grouped(polls, key).items():
        with_partitions = [row for row in samples if row["partitions"]]
        yield (
            window,
            {
                **lag_columns(samples),
                "time_lag_seconds_max": most(row["time_lag_seconds"] for row in samples),
                "time_lag_seconds_last": newest(samples, "time_lag_seconds"),
                "lost_messages_max": most(row["lost_messages"] for row in samples),
                "members_last": newest(samples, "members"),
                "partitions_last": newest(with_partitions, "partitions"),
                "unknown_partitions_max": most(row["unknown_partitions"] for row in samples),
                **flow(samples, "log_end", "arrived"),
                **flow(samples, "committed", "consumed"),
                "resets": total(row["resets"] for row in samples),
                "samples": len(samples),
                "unknown_samples": sum(
                    row["unknown_partitions"] > 0 or row["partitions"] == 0 for row in samples
                ),
                "interval_seconds": most(row["interval_seconds"] for row in samples),
            },
        )


def under_least(parts: list[Row]) -> int | None:
    known = [part for part in parts if part["min_in_sync_replicas"] is not None]
    found = sum(len(part["in_sync_replicas"]) < part["min_in_sync_replicas"] for part in known)
    return found if found or len(known) == len(parts) else None


def topic_polls(partitions: list[Row]) -> list[Row]:
    polls = []
    for poll, parts in grouped(
        partitions, lambda row: (row["cluster"], row["topic"], row["observed_at"])
    ).items():
        retained = [
            None
            if part["log_end"] is None or part["log_start"] is None
            else part["log_end"] - part["log_start"]
            for part in parts
        ]
        polls.append(
            {
                "cluster": poll[0],
                "topic": poll[1],
                "observed_at": poll[2],
                "partitions": len(parts),
                "under_replicated": sum(
                    len(part["in_sync_replicas"]) < len(part["replicas"]) for part in parts
                ),
                "under_min_isr": under_least(parts),
                "offline": sum(part["leader"] is None for part in parts),
                "retained": total(retained),
                "log_end": total(part["log_end"] for part in parts),
                "size_bytes": total(part["size_bytes"] for part in parts),
                "unknown": any(value is None for value in retained),
                "log_end_gain": total(part["log_end_gain"] for part in parts),
                "log_end_seconds": least(part["log_end_seconds"] for part in parts),
                "resets": sum(part["resets"] for part in parts),
                "interval_seconds": parts[0]["interval_seconds"],
            }
        )
    return polls


def topic_minutes(polls: list[Row], partitions: list[Row]) -> Iterable[tuple[Key, Row]]:
    def key(row: Row) -> Key:
        return row["cluster"], minute(row["observed_at"]), row["topic"]

    by_minute = grouped(partitions, key)
    for window, samples in grouped(polls, key).items():
        shares: dict[int, list[Any]] = defaultdict(list)
        for row in by_minute[window]:
            shares[row["partition"]].append(row["log_end_gain"])
        busiest = most(total(values) for values in shares.values())
        columns = flow(samples, "log_end", "arrived")
        yield (
            window,
            {
                "retained_last": newest(samples, "retained"),
                "log_end_last": newest(samples, "log_end"),
                "size_bytes_last": newest(samples, "size_bytes"),
                "partitions_last": newest(samples, "partitions"),
                "under_replicated_max": most(row["under_replicated"] for row in samples),
                "under_min_isr_max": most(row["under_min_isr"] for row in samples),
                "offline_max": most(row["offline"] for row in samples),
                "busiest_partition_ratio": (
                    busiest / columns["arrived"] if columns["arrived"] else None
                ),
                **columns,
                "resets": sum(row["resets"] for row in samples),
                "samples": len(samples),
                "unknown_samples": sum(row["unknown"] for row in samples),
                "interval_seconds": most(row["interval_seconds"] for row in samples),
            },
        )


def cluster_minutes(
    topics: list[Row], groups: list[Row], brokers: list[Row], collections: list[Row]
) -> Iterable[tuple[Key, Row]]:
    def key(row: Row) -> Key:
        return row["cluster"], row["observed_at"]

    brokers = once(brokers, "cluster", "broker_id")
    collections = [
        row
        for row in collections
        if row["status"] != "skipped"
        and row["section"] != "lake"
        and (row.get("source") or "kafka") == "kafka"
    ]
    seen = [grouped(rows, key) for rows in (topics, groups, brokers, collections)]
    polls = []
    for poll in set().union(*(part.keys() for part in seen)):
        of_topics, of_groups, of_brokers, of_sections = (part.get(poll, []) for part in seen)
        row: Row = {
            "cluster": poll[0],
            "observed_at": poll[1],
            "topics": len(of_topics) or None,
            "groups": len(of_groups) or None,
            "brokers_known": len(of_brokers) or None,
            "brokers_alive": sum(b["is_alive"] for b in of_brokers) if of_brokers else None,
            "lag": total(group["lag"] for group in of_groups),
            "time_lag_seconds": most(group["time_lag_seconds"] for group in of_groups),
            "failed": any(part["status"] in ("failed", "partial") for part in of_sections),
            "interval_seconds": least(part["interval_seconds"] for part in of_sections),
            "committed_gain": total(group["committed_gain"] for group in of_groups),
            "committed_seconds": least(group["committed_seconds"] for group in of_groups),
            "log_end_gain": total(topic["log_end_gain"] for topic in of_topics),
            "log_end_seconds": least(topic["log_end_seconds"] for topic in of_topics),
            "resets": total(topic["resets"] for topic in of_topics),
        }
        for name in ("partitions", "under_replicated", "under_min_isr", "offline"):
            row[name] = total(topic[name] for topic in of_topics)
        polls.append(row)
    for window, samples in grouped(
        polls, lambda row: (row["cluster"], minute(row["observed_at"]))
    ).items():
        columns: Row = {
            "brokers_known_max": most(row["brokers_known"] for row in samples),
            "brokers_alive_min": least(row["brokers_alive"] for row in samples),
            **flow(samples, "log_end", "arrived"),
            **flow(samples, "committed", "consumed"),
            "resets": total(row["resets"] for row in samples),
            "samples": len(samples),
            "unknown_samples": sum(row["failed"] for row in samples),
            "interval_seconds": least(row["interval_seconds"] for row in samples),
        }
        for name in ("topics", "partitions", "groups", "lag", "offline"):
            columns[f"{name}_last"] = newest(samples, name)
        for name in ("under_replicated", "under_min_isr"):
            columns[f"{name}_last"] = newest(samples, name)
        for name in ("under_replicated", "under_min_isr", "offline", "lag", "time_lag_seconds"):
            columns[f"{name}_max"] = most(row[name] for row in samples)
        yield window, columns


def dead_letter_minutes(rows: list[Row]) -> Iterable[tuple[Key, Row]]:
    def key(row: Row) -> Key:
        return row["cluster"], minute(row["observed_at"]), row["source"], row["name"]

    for window, samples in grouped(rows, key).items():
        yield (
            window,
            {
                "unprocessed_max": most(row["unprocessed"] for row in samples),
                "unprocessed_last": newest(samples, "unprocessed"),
                "retained_max": most(row["retained"] for row in samples),
                "retained_last": newest(samples, "retained"),
                **flow(samples, "log_end", "arrived"),
                "resets": sum(row["resets"] for row in samples),
                "samples": len(samples),
                "unknown_samples": sum(
                    row["retained"] is None
                    or (row["redrive_group"] is not None and row["unprocessed"] is None)
                    for row in samples
                ),
                "interval_seconds": most(row["interval_seconds"] for row in samples),
            },
        )
