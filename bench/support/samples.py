"""Generated bronze samples of a large cluster, the same for the same seed."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from uuid import UUID

import numpy as np
import polars as pl

from lake.change_encoding.compact import ChangeEncoder
from lake.schemas.tables import GROUP_MEMBERS, TABLES, TOPICS
from lake.storage.store import Lake

CLUSTER = "bench"
START = datetime(2026, 1, 5, 10, 0, 0, tzinfo=UTC)
INTERVAL_SECONDS = 15.0
IDLE_RATIO = 0.8
"""Share of the partitions that are idle where samples stand for a large cluster."""
USUAL_DELAY_SECONDS = 5.0
"""The most that consumers of a large cluster follow behind, but for one group in some."""
LATE_EVERY = 50
"""One group of this many follows at up to a minute, so that it is classified in full."""
_STOPPED_AFTER_POLLS = 10
_POLLS = 40


@dataclass(kw_only=True)
class Workload:
    """Consumer groups that each read partitions of one topic.

    A partition has a rate of its own, between nearly none and some hundred messages a second;
    consumers follow at a distance that wanders. Idle partitions get no message at all.
    """

    groups: int
    partitions: int = 15  # that each group reads
    groups_of_a_topic: int = 1
    partitions_of_a_topic: int | None = None  # None: as many as each of its groups reads
    cluster: str = CLUSTER
    idle_ratio: float = 0.0  # share of the partitions that are idle, in [0, 1]
    seed: int = 1
    start: datetime = START
    delay_seconds: float = 4 * INTERVAL_SECONDS  # the most that consumers follow behind
    late_every: int = 0  # one group of this many follows at up to four polls; 0: none does
    stopped_every: int = 0  # one group of this many lost its consumers; 0: none did
    _polls: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        """Draw rates and first offsets."""
        number = np.repeat(np.arange(self.groups), self.partitions)
        topics = -(-self.groups // self.groups_of_a_topic)
        each_topic = self.partitions_of_a_topic or self.partitions
        # Groups of one topic begin at different partitions, so that all are read.
        first = np.arange(self.groups) % self.groups_of_a_topic * each_topic
        first //= self.groups_of_a_topic
        partition = (np.tile(np.arange(self.partitions), self.groups) + first[number]) % each_topic
        topic = number // self.groups_of_a_topic
        self._read = topic * each_topic + partition  # which partition a row of a group is of
        rows = topics * each_topic
        self._random = np.random.default_rng(self.seed)
        rates = np.exp(self._random.uniform(np.log(0.5), np.log(300), rows))
        self._active = self._random.random(rows) >= self.idle_ratio
        self._rates = np.where(self._active, rates, 0.0)
        self._end = self._random.integers(0, 50_000_000, rows)
        self._start = (self._end * self._random.uniform(0, 0.9, rows)).astype(np.int64)
        self._committed = self._end[self._read]
        each = np.arange(self.groups)
        self._stopped = (
            each % self.stopped_every == 0 if self.stopped_every else np.zeros(self.groups, bool)
        )
        self._delays = np.full(self._read.size, self.delay_seconds)
        if self.late_every:
            self._delays[number % self.late_every == 0] = 4 * INTERVAL_SECONDS
        place = np.tile(np.arange(self.partitions), self.groups)
        names = pl.DataFrame({"number": number, "topic": topic, "partition": partition}).select(
            pl.format("team-{}.service-{}", pl.col("number") // 50, "number").alias("group"),
            pl.format("events.domain-{}.v1", "topic").alias("topic"),
            pl.col("partition").cast(pl.Int32),
            pl.Series("member_id", self._members(number, place)),
            pl.format("consumer-{}", "number").alias("client_id"),
            pl.format("/10.0.{}.{}", pl.col("number") // 250, pl.col("number") % 250).alias("host"),
        )
        self._offsets = names
        self._partitions = pl.DataFrame(
            {
                "topic": np.repeat(np.arange(topics), each_topic),
                "partition": np.tile(np.arange(each_topic, dtype=np.int32), topics),
            }
        ).with_columns(
            pl.format("events.domain-{}.v1", "topic").alias("topic"),
            pl.lit([1, 2, 3], pl.List(pl.Int32)).alias("replicas"),
            pl.lit([1, 2, 3], pl.List(pl.Int32)).alias("in_sync_replicas"),
            pl.lit(1, pl.Int32).alias("leader"),
            pl.lit(1, pl.Int32).alias("preferred_leader"),
            pl.lit(2, pl.Int32).alias("min_in_sync_replicas"),
        )
        self._groups = pl.DataFrame({"group": names["group"].unique(maintain_order=True)})

    def _members(self, groups: np.ndarray, places: np.ndarray) -> list[str]:
        """Return the member of each partition: Kafka's ids end in a random UUID."""
        holders = list(zip(groups.tolist(), (places // 3).tolist(), strict=True))
        ids = {holder: UUID(bytes=self._random.bytes(16)) for holder in dict.fromkeys(holders)}
        return [f"consumer-{holder[0]}-{ids[holder]}" for holder in holders]

    @property
    def rows(self) -> int:
        """Rows of ``group_offsets`` of a poll."""
        return self._offsets.height

    @property
    def next_at(self) -> datetime:
        """When the next poll is."""
        return self.start + timedelta(seconds=INTERVAL_SECONDS) * self._polls

    def poll(self) -> dict[str, pl.DataFrame]:
        """Let a cadence pass and return what a poll then sees, by table."""
        at = self.next_at
        self._polls += 1
        self._end = self._end + self._random.poisson(self._rates * INTERVAL_SECONDS)
        behind = np.where(self._random.random(self.rows) < 0.3, 0, self._random.random(self.rows))
        end, rates = self._end[self._read], self._rates[self._read]
        wanted = end - (behind * rates * self._delays).astype(np.int64)
        gone = self._stopped & (self._polls > _STOPPED_AFTER_POLLS)
        rows_gone = np.repeat(gone, self.partitions)
        wanted = np.where(rows_gone, self._committed, wanted)
        self._committed = np.maximum(self._committed, wanted)
        lag = end - self._committed
        late = lag / np.maximum(rates, 1e-9)
        stamp = (
            pl.lit(self.cluster).alias("cluster"),
            pl.lit(at).cast(pl.Datetime("us", "UTC")).alias("observed_at"),
            pl.lit(f"{self.seed:08x}{self._polls:024x}").alias("poll_id"),
        )
        offsets = self._offsets.with_columns(
            pl.Series("committed", self._committed),
            pl.Series("log_start", self._start[self._read]),
            pl.Series("log_end", end),
            pl.Series("lag", lag),
            pl.lit(0, pl.Int64).alias("lost_messages"),
            pl.Series("time_lag_seconds", np.where(lag == 0, 0.0, late).round(3)),
            pl.when(pl.Series(lag) > 0).then(pl.lit("timeline")).alias("time_lag_source"),
            pl.Series("last_stable", end),
            pl.lit(True).alias("is_subscribed"),
            *(
                pl.when(~pl.Series(rows_gone)).then(pl.col(name)).alias(name)
                for name in ("member_id", "client_id", "host")
            ),
        )
        partitions = self._partitions.with_columns(
            pl.Series("log_start", self._start),
            pl.Series("log_end", self._end),
            pl.Series("last_stable", self._end),
            pl.Series("size_bytes", (self._end - self._start) * 700),
        )
        groups = self._groups.with_columns(
            pl.Series("state", np.where(gone, "empty", "stable")),
            pl.lit("classic").alias("type"),
            pl.lit("cooperative-sticky").alias("protocol"),
            pl.Series("members", np.where(gone, 0, 5), dtype=pl.Int32),
            pl.lit("plain").alias("kind"),
        )
        tables = {"group_offsets": offsets, "partitions": partitions, "groups": groups}
        counts = {name: table.height for name, table in tables.items()}
        collections = pl.DataFrame(
            {"section": list(counts), "rows": list(counts.values())}
        ).with_columns(
            pl.lit("kafka").alias("source"),
            pl.lit("ok").alias("status"),
            pl.lit(INTERVAL_SECONDS).alias("interval_seconds"),
        )
        frames = {**tables, "collections": collections}
        return {name: frame.with_columns(*stamp) for name, frame in frames.items()}


class Collector:
    """Polls a workload and appends what it sees, without what repeats, as collectors do."""

    def __init__(self, lake: Lake, workload: Workload) -> None:
        self.lake = lake
        self.workload = workload
        self._encoders = {
            table.name: ChangeEncoder(table) for table in TABLES.values() if table.change_only
        }

    def poll(self) -> dict[str, pl.DataFrame]:
        """Let a cadence pass; return what the poll saw, whole, by table."""
        polled = self.workload.poll()
        for name, rows in polled.items():
            encoder = self._encoders.get(name)
            kept = rows if encoder is None else encoder.compact(self.workload.cluster, rows)
            self.lake.append(TABLES[name], kept)
        return polled


def ten_minutes_ago() -> datetime:
    """Return when the first poll of :func:`fill` was, if the last one is now."""
    now = datetime.now(UTC).replace(microsecond=0)
    return now - timedelta(seconds=INTERVAL_SECONDS) * (_POLLS - 1)


def fill(collector: Collector) -> datetime:
    """Append ten minutes of polls, members and topics; return the moment of the last one."""
    sample = ("cluster", "observed_at", "poll_id")
    for _ in range(_POLLS):
        at = collector.workload.next_at
        polled = collector.poll()
        members = (
            polled["group_offsets"]
            .filter(pl.col("member_id").is_not_null())
            .group_by(*sample, "group", "member_id", "client_id", "host")
            .agg(pl.len().cast(pl.Int32).alias("assigned_partitions"))
        )
        collector.lake.append(GROUP_MEMBERS, members)
    topics = (
        polled["partitions"]
        .group_by(*sample, "topic")
        .agg(pl.len().cast(pl.Int32).alias("partitions"))
    )
    collector.lake.append(
        TOPICS,
        topics.with_columns(
            pl.lit("application").alias("kind"),
            pl.lit(3, pl.Int32).alias("replication_factor"),
            pl.lit(2, pl.Int32).alias("min_in_sync_replicas"),
            pl.lit(7 * 86400.0).alias("retention_seconds"),
            pl.lit("delete").alias("cleanup_policy"),
        ),
    )
    return at
