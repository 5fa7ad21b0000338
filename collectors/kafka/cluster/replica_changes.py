"""Which leaders moved and which replicas fell out of sync from one poll to the next: pure rules.

One event a broker and kind, however many partitions it is about: a broker that dies moves thousands
of leaders at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import polars as pl

from collectors.kafka.cluster.changes import ClusterEvent
from lake.schemas.bronze import NAMED_TOPICS

LEADERS_MOVED = "leaders moved"
ISR_SHRUNK = "isr shrunk"
ISR_EXPANDED = "isr expanded"
VOTERS_CHANGED = "quorum voters changed"

SEEN = ("topic", "partition", "topic_id", "leader", "in_sync_replicas")
"""What of the partitions of a poll is kept for the next one."""

_TOLD = 5
"""Partitions that the detail of an event names; it says how many there are."""


def replica_changes(before: pl.DataFrame, now: pl.DataFrame) -> list[ClusterEvent]:
    """Return what happened to leaders and in-sync replicas (ISR) of partitions that both hold.

    Args:
        before: ``SEEN`` of the poll before.
        now: The same of this one.
    """
    if now.equals(before):
        return []  # as nearly always: no partition has to be looked for
    both = now.join(before, on=["topic", "partition"], how="inner", suffix="_before").filter(
        pl.col("topic_id").eq_missing(pl.col("topic_id_before"))
    )
    isr, isr_before = pl.col("in_sync_replicas"), pl.col("in_sync_replicas_before")
    moved = both.filter(pl.col("leader").ne_missing(pl.col("leader_before")))
    other = both.filter(isr != isr_before)
    lost = other.with_columns(isr_before.list.set_difference(isr).alias("broker"))
    back = other.with_columns(isr.list.set_difference(isr_before).alias("broker"))
    return [
        *_moved(moved),
        *_replicas(ISR_SHRUNK, lost),
        *_replicas(ISR_EXPANDED, back),
    ]


def voter_changes(
    before: Collection[int] | None, now: Collection[int] | None
) -> Iterator[ClusterEvent]:
    """Return whether the controllers that vote are others; None: they are unknown."""
    if before is not None and now is not None and set(before) != set(now):
        yield ClusterEvent(
            kind=VOTERS_CHANGED, subject="quorum", before=_numbers(before), after=_numbers(now)
        )


def _moved(rows: pl.DataFrame) -> Iterator[ClusterEvent]:
    for (old,), of_broker in sorted(
        rows.group_by("leader_before"), key=lambda one: str(one[0][0] or "")
    ):
        leaders = of_broker["leader"].unique().sort().to_list()
        yield ClusterEvent(
            kind=LEADERS_MOVED,
            subject="none" if old is None else str(old),
            before=_leaders([old]),
            after=_leaders(leaders),
            detail=_partitions(of_broker),
            topics=_topics(of_broker),
        )


def _replicas(kind: str, rows: pl.DataFrame) -> Iterator[ClusterEvent]:
    each = rows.explode("broker").filter(pl.col("broker").is_not_null())
    for broker in each["broker"].unique().sort():
        of_broker = each.filter(pl.col("broker") == broker)
        yield ClusterEvent(
            kind=kind,
            subject=str(broker),
            detail=_partitions(of_broker),
            topics=_topics(of_broker),
        )


def _leaders(brokers: Collection[int | None]) -> str:
    known = [broker for broker in brokers if broker is not None]
    words = ["no leader"] if len(known) < len(brokers) else []
    return ", ".join([*([f"broker {_numbers(known)}"] if known else []), *words])


def _numbers(brokers: Collection[int]) -> str:
    return ", ".join(str(broker) for broker in sorted(brokers))


def _partitions(rows: pl.DataFrame) -> str:
    ordered = rows.select("topic", "partition").sort("topic", "partition")
    names = [f"{topic}-{partition}" for topic, partition in ordered.head(_TOLD).iter_rows()]
    more = f" and {rows.height - _TOLD} more" if rows.height > _TOLD else ""
    return f"{rows.height} partition{'' if rows.height == 1 else 's'}: {', '.join(names)}{more}"


def _topics(rows: pl.DataFrame) -> tuple[str, ...]:
    return tuple(rows["topic"].unique().sort().head(NAMED_TOPICS))
