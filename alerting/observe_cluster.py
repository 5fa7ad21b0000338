"""What checks see of brokers, replication and transactions: pure functions."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from alerting.facts import is_missing, since_when, with_replication
from alerting.frames import Frames, unix
from alerting.rules import Observation
from alerting.words import duration, plural, short
from lake.tables import BROKERS, GROUP_OFFSETS, LOG_DIRECTORIES, PARTITIONS


def cluster_observations(frames: Frames) -> Iterable[Observation]:
    """Return what there is to say of a cluster's brokers and partitions."""
    yield from _brokers(frames)
    yield from _replication(frames)
    yield from _disks(frames)
    yield from _transactions(frames)


def _brokers(frames: Frames) -> Iterable[Observation]:
    newest = frames.newest(BROKERS)
    if newest.is_empty():
        return
    rows = frames.rows(BROKERS)
    for row in newest.filter(is_missing).sort("broker_id").iter_rows(named=True):
        number = row["broker_id"]
        since = since_when(rows.filter(pl.col("broker_id") == number), is_missing)
        yield Observation(
            "broker_missing",
            {"cluster": frames.cluster, "broker": str(number)},
            1.0,
            f"Broker {number} is missing",
            f"{newest.height - newest.filter(is_missing).height} of "
            f"{plural(newest.height, 'broker')} are left.",
            unix(since) or frames.now,
            "It crashed, was shut down, or lost its network.",
            "Find out why it went and start it again; do not restart another broker before the "
            "partitions are in sync.",
            "brokers",
        )
    controller = newest["is_controller"]
    lacks = None if controller.null_count() == controller.len() else not controller.any()
    if lacks is not False:
        yield Observation(
            "no_controller",
            {"cluster": frames.cluster},
            None if lacks is None else 1.0,
            "No active controller",
            "No leader can be elected and no topic changed.",
            None,
            "The controllers' quorum has lost its majority.",
            "Look at the controllers' quorum: more than half of the voters must run.",
            "brokers",
        )


_REPLICATION = (
    (
        "partitions_offline",
        "is_offline",
        "offline",
        "Without a leader they can be neither read nor written.",
        "All their replicas, or all that were in sync, are gone.",
        "Start the brokers that hold their replicas.",
    ),
    (
        "under_min_isr",
        "is_under_min_isr",
        "under min ISR",
        "Producers with acks=all are refused.",
        "A broker is gone or too slow to stay in sync.",
        "Bring the missing replicas back into sync.",
    ),
    (
        "under_replicated",
        "is_under_replicated",
        "under-replicated",
        "Fewer copies are in sync than there should be.",
        "A broker is gone, was restarted, or is too slow to stay in sync.",
        "Look for a slow or restarted broker; wait for the replicas to catch up.",
    ),
)


def _replication(frames: Frames) -> Iterable[Observation]:
    newest = with_replication(frames.newest(PARTITIONS))
    if newest.is_empty():
        return
    history = with_replication(frames.rows(PARTITIONS))
    for check, column, words, detail, cause, step in _REPLICATION:
        bad = newest.filter(pl.col(column))
        for (topic,), rows in bad.group_by("topic", maintain_order=True):
            listed = ", ".join(str(number) for number in sorted(rows["partition"])[:8])
            more = "" if rows.height <= 8 else " …"
            since = since_when(history.filter(pl.col("topic") == topic), pl.col(column))
            yield Observation(
                check,
                {"cluster": frames.cluster, "topic": str(topic)},
                float(rows.height),
                f"{plural(rows.height, 'partition')} of {topic} {words}",
                f"{detail} Partitions {listed}{more}.",
                unix(since),
                cause,
                step,
                "topic",
            )
    led = newest.filter(pl.col("leader").is_not_null() & pl.col("preferred_leader").is_not_null())
    if led.height:
        away = led.filter(pl.col("leader") != pl.col("preferred_leader")).height
        yield Observation(
            "leader_imbalance",
            {"cluster": frames.cluster},
            away / led.height,
            f"{plural(away, 'partition')} not led by their preferred broker",
            f"That is {away / led.height:.0%} of all: some brokers do more than their share.",
            None,
            "Brokers were restarted and leadership has not moved back.",
            "Run kafka-leader-election.sh --election-type preferred --all-topic-partitions.",
            "brokers",
        )


def _disks(frames: Frames) -> Iterable[Observation]:
    for row in frames.newest(BROKERS).iter_rows(named=True):
        total, free = row["disk_total_bytes"], row["disk_free_bytes"]
        if row["is_alive"] is False or not total:
            continue
        yield Observation(
            "disk_free",
            {"cluster": frames.cluster, "broker": str(row["broker_id"])},
            None if free is None else free / total,
            f"The disks of broker {row['broker_id']} are {1 - (free or 0) / total:.0%} full",
            f"{short(free or 0)}B of {short(total)}B are free; a full disk stops the broker.",
            None,
            "More is written than retention deletes.",
            "Shorten the retention of the largest topics, add disk, or move partitions away.",
            "brokers",
        )
    directories = frames.newest(LOG_DIRECTORIES)
    for row in directories.filter(pl.col("is_offline")).iter_rows(named=True):
        yield Observation(
            "log_directory_offline",
            {
                "cluster": frames.cluster,
                "broker": str(row["broker_id"]),
                "path": row["path"] or "",
            },
            1.0,
            f"A log directory of broker {row['broker_id']} is offline",
            f"{row['path']}: its replicas cannot be read or written.",
            None,
            "The disk failed or was unmounted.",
            "Replace the disk and restart the broker; its replicas are copied anew.",
            "brokers",
        )


def _transactions(frames: Frames) -> Iterable[Observation]:
    rows = frames.rows(GROUP_OFFSETS)
    if rows.is_empty():
        return
    newest = rows.filter(pl.col("observed_at") == pl.col("observed_at").max())
    opened = newest.group_by("topic").agg(
        pl.col("open_since").min(), (pl.col("log_end") - pl.col("last_stable")).max().alias("held")
    )
    for topic, open_since, held in opened.drop_nulls("open_since").iter_rows():
        age = max(0.0, frames.now - open_since.timestamp())
        yield Observation(
            "open_transaction",
            {"cluster": frames.cluster, "topic": topic},
            age,
            f"A transaction on {topic} has been open for {duration(age)}",
            f"{plural(held or 0, 'message')} wait behind it: readers of committed records get none "
            "of them.",
            open_since.timestamp(),
            "A producer died inside a transaction, or holds one open.",
            "Find it with kafka-transactions.sh find-hanging, and abort it.",
            "topic",
        )
