"""History recomputed from raw samples in plain Python: loops, lists and dictionaries.

Nothing here is shared with ``spark_metrics``; it follows docs/history.md alone. Minutes come from
samples, hours from minutes, days from hours.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

from lake.schemas.tables import TABLES

Row = dict[str, Any]
Rows = dict[str, list[Row]]
Key = tuple[Any, ...]

GAP_POLLS = 4
GAP_SECONDS_WITHOUT_CADENCE = 60.0
GROWTH = 1.02 / 0.98  # neighbouring buckets of the histogram


def floor(moment: datetime, seconds: int) -> datetime:
    return datetime.fromtimestamp(math.floor(moment.timestamp() / seconds) * seconds, UTC)


def minute(moment: datetime) -> datetime:
    return floor(moment, 60)


def known(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def total(values: Iterable[Any]) -> Any:
    found = known(values)
    return sum(found) if found else None


def most(values: Iterable[Any]) -> Any:
    return max(known(values), default=None)


def least(values: Iterable[Any]) -> Any:
    return min(known(values), default=None)


def last(pairs: Iterable[tuple[datetime, Any]]) -> Any:
    found = sorted((pair for pair in pairs if pair[1] is not None), key=lambda pair: pair[0])
    return found[-1][1] if found else None


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return dict(found)


def once(rows: Iterable[Row], *series: str) -> list[Row]:
    """Drop the repetitions of a sample."""
    found: dict[Key, Row] = {}
    for row in rows:
        found[(*(row[name] for name in series), row["observed_at"])] = row
    return list(found.values())


class Cadence:
    """How often a cluster was to be polled, by minute."""

    def __init__(self, collections: list[Row]) -> None:
        self.found: dict[Key, float] = {}
        kafka = {r["cluster"] for r in collections if (r.get("source") or "kafka") == "kafka"}
        for row in collections:
            if row["cluster"] in kafka and (row.get("source") or "kafka") != "kafka":
                continue
            key = (row["cluster"], minute(row["observed_at"]))
            asked = row["interval_seconds"]
            if asked is not None:
                self.found[key] = min(asked, self.found.get(key, asked))

    def of(self, row: Row) -> float | None:
        return self.found.get((row["cluster"], minute(row["observed_at"])))


def gains(
    rows: list[Row], series: tuple[str, ...], counters: tuple[str, ...], cadence: Cadence
) -> list[Row]:
    """Return copies of samples with what each counter gained since it was known before."""
    done = []
    for samples in grouped(once(rows, *series), lambda r: tuple(r[s] for s in series)).values():
        before: dict[str, tuple[datetime, int]] = {}
        for sample in sorted(samples, key=lambda r: r["observed_at"]):
            at, interval = sample["observed_at"], cadence.of(sample)
            limit = GAP_SECONDS_WITHOUT_CADENCE if interval is None else interval * GAP_POLLS
            row = {**sample, "interval_seconds": interval, "resets": 0}
            for counter in counters:
                row[f"{counter}_gain"] = row[f"{counter}_seconds"] = None
                value = sample.get(counter)
                if value is None:
                    continue
                if counter in before:
                    seconds = (at - before[counter][0]).total_seconds()
                    gain = value - before[counter][1]
                    if seconds <= limit and gain >= 0:
                        row[f"{counter}_gain"], row[f"{counter}_seconds"] = gain, seconds
                    elif seconds <= limit:
                        row["resets"] += 1
                before[counter] = (at, value)
            done.append(row)
    return done


def percentile(values: list[float], share: float) -> float | None:
    """Return the percentile with linear interpolation between neighbours."""
    if not values:
        return None
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def bucket(value: int) -> int:
    return 0 if value == 0 else math.ceil(math.log(value) / math.log(GROWTH)) + 1


def histogram(values: list[int]) -> dict[int, int]:
    counts: dict[int, int] = defaultdict(int)
    for value in values:
        counts[bucket(value)] += 1
    return dict(counts)


def lag_columns(samples: list[Row]) -> Row:
    lags = known(row["lag"] for row in samples)
    counts = histogram(lags)
    return {
        "lag_min": least(lags),
        "lag_mean": sum(lags) / len(lags) if lags else None,
        "lag_max": most(lags),
        "lag_last": last((row["observed_at"], row["lag"]) for row in samples),
        "lag_p95": percentile(lags, 0.95),
        "lag_buckets": sorted(counts),
        "lag_bucket_samples": [counts[number] for number in sorted(counts)],
    }


def flow(samples: list[Row], counter: str, name: str) -> Row:
    return {
        name: total(row[f"{counter}_gain"] for row in samples),
        f"{name}_seconds": total(row[f"{counter}_seconds"] for row in samples),
    }


def newest(samples: list[Row], column: str) -> Any:
    return last((row["observed_at"], row.get(column)) for row in samples)


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
