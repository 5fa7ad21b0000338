"""Bronze samples with a known past: a small, seeded model of a cluster that is polled.

The rows are those that collectors append. Tests roll them up twice, with Spark and with
``oracle``, and compare.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl

from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKERS,
    COLLECTIONS,
    DEAD_LETTERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
)
from lake.storage.store import Lake

START = datetime(2026, 1, 5, 23, 57, 0, tzinfo=UTC)
"""Three minutes before a day ends, so that a few polls cross a minute, an hour and a day."""

Row = dict[str, Any]
Rows = dict[str, list[Row]]

SOURCES: tuple[Table, ...] = (
    BROKERS,
    PARTITIONS,
    GROUPS,
    GROUP_OFFSETS,
    DEAD_LETTERS,
    COLLECTIONS,
)


@dataclass
class Topic:
    """A topic's counters, one entry a partition."""

    name: str
    log_start: list[int]
    log_end: list[int]
    weights: list[int]


@dataclass
class Group:
    """A group's committed offsets by topic."""

    name: str
    committed: dict[str, list[int | None]]
    speed: int
    members: int = 2


@dataclass
class Model:
    """A cluster whose every step is drawn from a seeded generator.

    Attributes:
        cluster: Its name.
        seed: Seed of everything that it does.
        groups_count: Consumer groups, each with a topic of its own and one shared topic.
        partitions: Partitions a topic.
        interval_seconds: The cadence of the polls.
        calm: Whether nothing unusual happens (no unknowns, resets, gaps).
        idle: Topics that get no message; groups read what is there.
    """

    cluster: str = "demo"
    seed: int = 1
    groups_count: int = 3
    partitions: int = 3
    interval_seconds: float = 5.0
    calm: bool = False
    idle: frozenset[str] = frozenset()
    topics: dict[str, Topic] = field(init=False)
    groups: dict[str, Group] = field(init=False)
    polls: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Set up topics and groups."""
        self._random = random.Random(f"{self.cluster}/{self.seed}")  # noqa: S311 (test data)
        self.topics = {}
        self.groups = {}
        for name in ["shared", *(f"topic-{n}" for n in range(self.groups_count))]:
            self.topics[name] = Topic(
                name,
                [0] * self.partitions,
                [self._random.randrange(1000, 5000) for _ in range(self.partitions)],
                [1] * (self.partitions - 1) + [4],
            )
        for number in range(self.groups_count):
            read = ("shared", f"topic-{number}") if number % 2 == 0 else (f"topic-{number}",)
            self.groups[f"group-{number}"] = Group(
                f"group-{number}",
                {topic: [0] * self.partitions for topic in read},
                speed=self._random.randrange(20, 200),
            )

    def poll(self, at: datetime) -> Rows:
        """Let time pass and return what a poll at that moment appends."""
        self.polls += 1
        if self.polls > 1:
            self._advance()
        rows: Rows = {table.name: [] for table in SOURCES}
        base = {"cluster": self.cluster, "observed_at": at, "poll_id": f"{self.cluster}-{at:%s%f}"}
        failed = not self.calm and self._random.random() < 0.06
        statuses = dict.fromkeys((t.name for t in SOURCES if t is not COLLECTIONS), "ok")
        for number in (1, 2, 3):
            alive = self.calm or number < 3 or self._random.random() > 0.2
            rows["brokers"].append(
                {**base, "broker_id": number, "is_alive": alive, "is_controller": number == 1}
            )
        for topic in self.topics.values():
            rows["partitions"].extend(self._partitions(base, topic))
        for group in self.groups.values():
            unknown = not self.calm and self._random.random() < 0.05
            rows["groups"].append(
                {
                    **base,
                    "group": group.name,
                    "state": "unknown" if unknown else "stable",
                    "members": None if unknown else group.members,
                    "unknown_reason": "coordinator not available" if unknown else None,
                }
            )
            if failed:
                continue
            for name in group.committed:
                rows["group_offsets"].extend(self._offsets(base, group, name, unknown))
        if failed:
            statuses["group_offsets"] = "failed"
        for name, redrive in (("orders-dlt", "redrive"), ("payments-dlt", None)):
            rows["dead_letters"].append(self._dead_letter(base, name, redrive))
        for section, status in statuses.items():
            rows["collections"].append(
                {
                    **base,
                    "section": section,
                    "started_at": at,
                    "duration_seconds": 0.1,
                    "interval_seconds": self.interval_seconds,
                    "status": status,
                    "error": "timed out" if status == "failed" else None,
                    "rows": len(rows[section]),
                }
            )
        return rows

    def recreate(self, topic: str) -> None:
        """Delete a topic and create it anew: offsets start at zero, commits are gone."""
        self.topics[topic].log_start = [0] * len(self.topics[topic].log_start)
        self.topics[topic].log_end = [
            self._random.randrange(50) for _ in self.topics[topic].log_end
        ]
        for group in self.groups.values():
            if topic in group.committed:
                group.committed[topic] = [None] * len(group.committed[topic])

    def add_partition(self, topic: str) -> None:
        """Add an empty partition; no group has committed in it yet."""
        found = self.topics[topic]
        found.log_start.append(0)
        found.log_end.append(0)
        found.weights.append(2)
        for group in self.groups.values():
            if topic in group.committed:
                group.committed[topic].append(None)

    def rewind(self, group: str) -> None:
        """Reset a group to the beginning of its topics."""
        committed = self.groups[group].committed
        for topic in committed:
            committed[topic] = [0 for _ in committed[topic]]

    def delete_group(self, group: str) -> None:
        """Delete a consumer group."""
        del self.groups[group]

    def _advance(self) -> None:
        for topic in self.topics.values():
            for partition, weight in enumerate(
                topic.weights if topic.name not in self.idle else ()
            ):
                topic.log_end[partition] += self._random.randrange(30) * weight
                if not self.calm and self._random.random() < 0.02:
                    gone = topic.log_end[partition] - self._random.randrange(400, 2000)
                    topic.log_start[partition] = max(topic.log_start[partition], gone)
        for group in self.groups.values():
            for name, offsets in group.committed.items():
                ends = self.topics[name].log_end
                for partition, offset in enumerate(offsets):
                    if offset is None:
                        offset = self.topics[name].log_start[partition]
                        if self._random.random() < 0.7:
                            continue
                    step = self._random.randrange(group.speed)
                    offsets[partition] = min(ends[partition], offset + step)

    def _partitions(self, base: Row, topic: Topic) -> Iterable[Row]:
        for partition, end in enumerate(topic.log_end):
            unknown = not self.calm and self._random.random() < 0.03
            behind = not self.calm and self._random.random() < 0.1
            yield {
                **base,
                "topic": topic.name,
                "partition": partition,
                "leader": None if unknown else 1 + partition % 3,
                "preferred_leader": 1 + partition % 3,
                "replicas": [1, 2, 3],
                "in_sync_replicas": [1] if behind else [1, 2, 3],
                # Of one topic the configuration is not permitted to be read.
                "min_in_sync_replicas": None if topic.name == "topic-1" and not self.calm else 2,
                "log_start": None if unknown else topic.log_start[partition],
                "log_end": None if unknown else end,
                "last_stable": None if unknown else end,
                "size_bytes": None if unknown else 100 * (end - topic.log_start[partition]),
                "unknown_reason": "no leader" if unknown else None,
            }

    def _offsets(self, base: Row, group: Group, name: str, unknown: bool) -> Iterable[Row]:
        topic = self.topics[name]
        for partition, committed in enumerate(group.committed[name]):
            row: Row = {**base, "group": group.name, "topic": name, "partition": partition}
            # One group reads a topic no more; most samples say nothing of it.
            if name == "shared" and group.name == "group-2":
                row["is_subscribed"] = False
            no_end = not self.calm and self._random.random() < 0.04
            if unknown:
                yield {**row, "unknown_reason": "coordinator not available"}
                continue
            start, end = topic.log_start[partition], topic.log_end[partition]
            row |= {"committed": committed, "log_start": start, "log_end": None if no_end else end}
            if committed is None or no_end:
                yield {**row, "unknown_reason": "no commit" if committed is None else "no leader"}
                continue
            lag = max(0, end - committed)
            yield {
                **row,
                "lag": lag,
                "lost_messages": max(0, start - committed),
                "time_lag_seconds": 0.0 if lag == 0 else round(lag / 7, 3),
                "member_id": f"{group.name}-{partition % group.members}",
            }

    def _dead_letter(self, base: Row, name: str, redrive: str | None) -> Row:
        unknown = not self.calm and self._random.random() < 0.05
        depth = self.polls * 2 + self._random.randrange(2)
        return {
            **base,
            "source": "kafka",
            "name": name,
            "redrive_group": redrive,
            "unprocessed": None if unknown or redrive is None else depth // 2,
            "retained": None if unknown else depth,
            "log_end": None if unknown else depth + 100,
            "unknown_reason": "no leader" if unknown else None,
        }


def history(model: Model, *, polls: int, start: datetime = START) -> list[Rows]:
    """Return the rows of consecutive polls, in order."""
    step = timedelta(seconds=model.interval_seconds)
    return [model.poll(start + step * number) for number in range(polls)]


def frame(table: Table, rows: list[Row]) -> pl.DataFrame:
    """Return rows as the frame that a collector would append."""
    names = [name for name in table.polars_schema if name != "date"]
    schema = {name: table.polars_schema[name] for name in names}
    return pl.DataFrame([{name: row.get(name) for name in names} for row in rows], schema=schema)


def append(lake: Lake, *polls: Rows) -> None:
    """Append polls to the lake: one commit a table."""
    for table in SOURCES:
        rows = [row for poll in polls for row in poll[table.name]]
        if rows:
            lake.append(table, frame(table, rows))
