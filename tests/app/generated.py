"""A lake as the demo would leave it: every page has something true to show.

Broker 2 has been missing for eight minutes. ``payments`` falls behind, ``search-indexer`` is stuck
on one partition, ``archive`` has stopped, ``clicks-enricher`` has idle members, ``stock`` is close
to losing data, ``reports`` cannot be read because its coordinator is gone, ``shipping`` is on the
consumer protocol, ``sessions`` has a hot partition; one dead-letter topic has a redrive group and
the other has none.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
from deltalake import write_deltalake

from config.settings import Settings
from lake.schema import Table
from lake.store import Lake, conform
from lake.tables import (
    BROKERS,
    CLUSTER_HISTORY,
    COLLECTIONS,
    DEAD_LETTER_HISTORY,
    DEAD_LETTERS,
    GROUP_HISTORY,
    GROUP_MEMBERS,
    GROUP_OFFSETS,
    GROUP_PARTITION_HISTORY,
    GROUPS,
    PARTITIONS,
    TOPIC_HISTORY,
    TOPICS,
)

CLUSTER = "demo"
POLL_SECONDS = 5
BROKER_LOST_SECONDS = 480.0
"""How long broker 2 has been missing."""

_MINUTE_GRAIN, _HOUR_GRAIN = 60, 3600
_WAVE_SECONDS = 3600.0


@dataclass(frozen=True)
class Topic:
    name: str
    partitions: int
    per_second: float  # of a partition
    kind: str = "application"
    retention_seconds: float | None = 7 * 86400.0
    hot: int | None = None  # this partition receives eight times as much
    replicas: int = 3

    def rate(self, partition: int) -> float:
        return self.per_second * (8.0 if partition == self.hot else 1.0)

    def arrived(self, partition: int, at: float) -> int:
        """Log end at ``at`` seconds from now."""
        rate = self.rate(partition)
        wave = 0.25 * _WAVE_SECONDS / math.tau * math.sin(math.tau * at / _WAVE_SECONDS)
        return max(0, round(rate * (at + wave + 12 * 86400)))

    def rate_at(self, partition: int, at: float) -> float:
        return self.rate(partition) * (1 + 0.25 * math.cos(math.tau * at / _WAVE_SECONDS))


@dataclass(frozen=True)
class Group:
    name: str
    topic: Topic
    members: int
    lag: Callable[[int, float], float]
    type: str = "classic"
    coordinator: int = 1
    unknown_since: float | None = None
    held: dict[int, str] = field(default_factory=dict)


ORDERS = Topic("orders", 12, 25.0)
PAYMENTS = Topic("payments", 12, 103.0)
CLICKS = Topic("clicks", 6, 60.0)
SESSIONS = Topic("sessions", 6, 12.0, hot=4)
INVENTORY = Topic("inventory", 4, 8.0, retention_seconds=3600.0)
AUDIT = Topic("audit", 3, 4.0)
ORDERS_DLQ = Topic("orders.dlq", 3, 0.08, kind="dead letter", retention_seconds=14 * 86400.0)
CONNECT_DLQ = Topic("connect-sink-errors", 1, 0.03, kind="dead letter")
INTERNAL = Topic("__consumer_offsets", 8, 1.5, kind="internal", retention_seconds=None)
TOPICS_HERE = (
    ORDERS,
    PAYMENTS,
    CLICKS,
    SESSIONS,
    INVENTORY,
    AUDIT,
    ORDERS_DLQ,
    CONNECT_DLQ,
    INTERNAL,
)


def _ripple(partition: int, at: float, height: float) -> float:
    return height * (1.2 + math.sin(at / 17.0 + partition) * math.cos(at / 41.0 + 2 * partition))


def _falling_behind(partition: int, at: float) -> float:
    return _ripple(partition, at, 20) + max(0.0, at + 1500.0) * 28.0


def _stuck(partition: int, at: float) -> float:
    if partition == 7 and at > -2700.0:
        return ORDERS.arrived(7, at) - ORDERS.arrived(7, -2700.0)
    return _ripple(partition, at, 6)


def _stopped(partition: int, at: float) -> float:
    since = -5400.0
    if at > since:
        return AUDIT.arrived(partition, at) - AUDIT.arrived(partition, since)
    return _ripple(partition, at, 2)


def _close_to_loss(partition: int, at: float) -> float:
    return min(8.0 * 3300, 8.0 * 3200 + at * 0.02) + _ripple(partition, at, 5)


def _hot(partition: int, at: float) -> float:
    if partition == 4:
        return _ripple(partition, at, 40) + max(0.0, at + 3600) * 0.9
    return _ripple(partition, at, 4)


GROUPS_HERE = (
    Group("billing", ORDERS, 4, lambda p, at: _ripple(p, at, 8)),
    Group("payments", PAYMENTS, 4, _falling_behind),
    Group("search-indexer", ORDERS, 3, _stuck),
    Group("clicks-enricher", CLICKS, 8, lambda p, at: _ripple(p, at, 15)),
    Group("archive", AUDIT, 0, _stopped),
    Group("stock", INVENTORY, 2, _close_to_loss),
    Group("sessions", SESSIONS, 3, _hot),
    Group("shipping", ORDERS, 3, lambda p, at: _ripple(p, at, 10), type="consumer"),
    Group(
        "reports",
        PAYMENTS,
        2,
        lambda p, at: _ripple(p, at, 30),
        coordinator=2,
        unknown_since=BROKER_LOST_SECONDS,
    ),
    Group("orders-redrive", ORDERS_DLQ, 1, lambda p, at: 40 + p * 7 + max(0.0, at + 7200) * 0.004),
)


def settings_yaml(
    folder: Path, *, clusters: tuple[str, ...] = (CLUSTER,), refresh_seconds: int = 30
) -> Path:
    """Write a configuration whose lake lies beside it."""
    names = "".join(
        f"  - name: {name}\n    bootstrap_servers: 127.0.0.1:1\n"
        f"    poll_interval_seconds: {POLL_SECONDS}\n"
        for name in clusters
    )
    path = folder / "headroom.yaml"
    path.write_text(
        f"clusters:\n{names}lake:\n  uri: lake\napp:\n  refresh_seconds: {refresh_seconds}\n"
    )
    return path


def fill(settings: Settings, *, now: datetime | None = None, gold: bool = True) -> datetime:
    """Write 20 minutes of samples, and six hours by the minute and a week by the hour.

    Returns:
        The moment of the newest poll.
    """
    lake = Lake(settings.lake)
    end = (now or datetime.now(UTC)).replace(microsecond=0) - timedelta(seconds=2)
    for table, rows in _bronze(end).items():
        frame = pl.DataFrame(
            rows, schema_overrides=_overrides(table, rows), infer_schema_length=None
        )
        lake.append(table, frame)
    if gold:
        for grain, length in ((_MINUTE_GRAIN, 6 * 3600), (_HOUR_GRAIN, 7 * 86400)):
            for table, rows in _gold(end, grain, length).items():
                write_gold(lake, table, pl.DataFrame(rows, infer_schema_length=None))
    return end


def write_gold(lake: Lake, table: Table, frame: pl.DataFrame) -> None:
    """Write rows of a history table, which is otherwise Spark's."""
    # Minute rows are replaced an hour at a time, longer windows a day at a time.
    part = (
        pl.when(pl.col("grain_seconds") == 60).then(pl.col("window_start").dt.hour()).otherwise(0)
    )
    rows = conform(table, frame.with_columns(part.alias("part")))
    write_deltalake(
        lake.uri(table),
        rows.to_arrow(),
        mode="append",
        partition_by=["date", "grain_seconds", "part"],
    )


def _overrides(table: Table, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: kind for name, kind in table.polars_schema.items() if rows and name in rows[0]}


def _polls(end: datetime) -> Iterator[tuple[datetime, float, str]]:
    for back in range(1200, -1, -POLL_SECONDS):
        if 700 <= back < 760:  # a minute without a poll: charts must show the hole
            continue
        yield end - timedelta(seconds=back), -float(back), f"poll-{back:05d}"


def _bronze(end: datetime) -> dict[Table, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}

    def put(table: Table, **values: Any) -> None:
        rows.setdefault(table.name, []).append({**sample, **values})

    for observed_at, at, poll_id in _polls(end):
        sample = {"cluster": CLUSTER, "observed_at": observed_at, "poll_id": poll_id}
        lost = at > -BROKER_LOST_SECONDS
        _put_brokers(put, lost)
        for topic in TOPICS_HERE:
            _put_partitions(put, topic, at, lost)
        if poll_id in ("poll-01200", "poll-00000"):
            _put_topics(put)
        for group in GROUPS_HERE:
            _put_group(put, group, at, observed_at)
        _put_dead_letters(put, at, observed_at)
        _put_collections(put, observed_at, lost)
    return {table: rows[table.name] for table in _BRONZE}


_BRONZE = (
    BROKERS,
    PARTITIONS,
    TOPICS,
    GROUPS,
    GROUP_MEMBERS,
    GROUP_OFFSETS,
    DEAD_LETTERS,
    COLLECTIONS,
)


def _put_brokers(put: Callable[..., None], lost: bool) -> None:
    for broker in (1, 2, 3):
        alive = broker != 2 or not lost
        put(
            BROKERS,
            broker_id=broker,
            host="localhost",
            port=19090 + broker,
            rack=f"rack-{broker}",
            is_controller=broker == 1,
            is_alive=alive,
            leaders=(18 if not lost else 27) if alive else 0,
            replicas=55,
            log_bytes=(3_100_000_000 + broker * 10_000_000) if alive else None,
            disk_total_bytes=64_000_000_000 if alive else None,
            disk_free_bytes=41_000_000_000 if alive else None,
            unknown_reason=None if alive else "broker 2 is not connected",
        )


def _put_partitions(put: Callable[..., None], topic: Topic, at: float, lost: bool) -> None:
    for partition in range(topic.partitions):
        preferred = 1 + partition % 3
        replicas = [1 + (partition + step) % 3 for step in range(topic.replicas)]
        single = topic.name == "audit" and partition == 1  # held by broker 2 alone
        if single:
            replicas = [2]
        in_sync = [broker for broker in replicas if broker != 2 or not lost]
        end = topic.arrived(partition, at)
        kept = round(topic.rate(partition) * (topic.retention_seconds or 86400.0))
        put(
            PARTITIONS,
            topic=topic.name,
            partition=partition,
            leader=(None if not in_sync else preferred if preferred in in_sync else in_sync[0]),
            preferred_leader=preferred,
            replicas=replicas,
            in_sync_replicas=in_sync,
            min_in_sync_replicas=3 if topic.name == "inventory" else 1 if single else 2,
            log_start=None if single and lost else max(0, end - kept),
            log_end=None if single and lost else end,
            last_stable=None if single and lost else end,
            size_bytes=end * 180 if not (single and lost) else None,
            unknown_reason="the partition has no leader" if single and lost else None,
        )


def _put_topics(put: Callable[..., None]) -> None:
    for topic in TOPICS_HERE:
        put(
            TOPICS,
            topic=topic.name,
            kind=topic.kind,
            partitions=topic.partitions,
            replication_factor=topic.replicas,
            min_in_sync_replicas=3 if topic.name == "inventory" else 2,
            retention_seconds=topic.retention_seconds,
            retention_bytes=None,
            cleanup_policy="compact" if topic.kind == "internal" else "delete",
            timestamp_type="CreateTime",
            segment_seconds=7 * 86400.0,
            segment_bytes=1 << 30,
            configs=(
                [{"key": "retention.ms", "value": "3600000"}] if topic.name == "inventory" else []
            ),
            unknown_reason=None,
        )


def _put_group(put: Callable[..., None], group: Group, at: float, observed_at: datetime) -> None:
    unknown = group.unknown_since is not None and at > -group.unknown_since
    reason = "its coordinator, broker 2, does not answer" if unknown else None
    put(
        GROUPS,
        group=group.name,
        state="unknown" if unknown else "stable" if group.members else "empty",
        type=group.type,
        protocol="uniform" if group.type == "consumer" else "range",
        coordinator=None if unknown else group.coordinator,
        members=None if unknown else group.members,
        kind="plain",
        unknown_reason=reason,
    )
    if not unknown:
        for member in range(group.members):
            put(
                GROUP_MEMBERS,
                group=group.name,
                member_id=f"{group.name}-{member}-4f2a",
                client_id=f"{group.name}-{member}",
                host=f"/10.0.0.{10 + member}",
                instance_id=None,
                assigned_partitions=len(range(member, group.topic.partitions, group.members))
                if member < group.topic.partitions
                else 0,
            )
    for partition in range(group.topic.partitions):
        end = group.topic.arrived(partition, at)
        lag = min(end, max(0, round(group.lag(partition, at))))
        never = group.name == "shipping" and partition == 11
        offline = group.topic.name == "audit" and partition == 1 and at > -BROKER_LOST_SECONDS
        known = not (unknown or never or offline)
        rate = group.topic.rate_at(partition, at)
        holder = partition % group.members if group.members and not unknown else None
        put(
            GROUP_OFFSETS,
            group=group.name,
            topic=group.topic.name,
            partition=partition,
            committed=None if unknown or never else end - lag,
            log_start=None
            if offline
            else max(
                0,
                end - round(group.topic.rate(partition) * (group.topic.retention_seconds or 86400)),
            ),
            log_end=None if offline else end,
            lag=lag if known else None,
            lost_messages=0 if known else None,
            time_lag_seconds=lag / rate if known else None,
            unknown_reason=(
                reason
                or ("nothing was ever committed" if never else None)
                or ("the partition has no leader" if offline else None)
            ),
            member_id=None if holder is None else f"{group.name}-{holder}-4f2a",
            client_id=None if holder is None else f"{group.name}-{holder}",
            host=None if holder is None else f"/10.0.0.{10 + holder}",
            committed_at=None if unknown or never else observed_at - timedelta(seconds=2),
        )


def _put_dead_letters(put: Callable[..., None], at: float, observed_at: datetime) -> None:
    end = sum(ORDERS_DLQ.arrived(partition, at) for partition in range(3))
    put(
        DEAD_LETTERS,
        source="kafka",
        name=ORDERS_DLQ.name,
        origin="orders",
        found_by="name",
        redrive_group="orders-redrive",
        unprocessed=1204 + round(at * 0.02),
        retained=9120,
        log_end=end,
        oldest_unprocessed_at=observed_at - timedelta(hours=50),
        reasons=[
            {"key": "java.lang.ValueError", "value": 82},
            {
                "key": "org.springframework.kafka.support.serializer.DeserializationException",
                "value": 12,
            },
            {"key": "java.net.SocketTimeoutException", "value": 6},
        ],
        sampled_records=100,
        unknown_reason=None,
    )
    put(
        DEAD_LETTERS,
        source="kafka",
        name=CONNECT_DLQ.name,
        origin=None,
        found_by="topic config",
        redrive_group=None,
        unprocessed=None,
        retained=312,
        log_end=CONNECT_DLQ.arrived(0, at),
        oldest_unprocessed_at=None,
        reasons=[{"key": "org.apache.kafka.connect.errors.DataException", "value": 50}],
        sampled_records=50,
        unknown_reason="no redrive group is declared",
    )


def _put_collections(put: Callable[..., None], observed_at: datetime, lost: bool) -> None:
    for section, duration in (
        ("metadata", 0.02),
        ("brokers", 0.04),
        ("partitions", 0.09),
        ("topics", 0.05),
        ("groups", 0.06),
        ("group_offsets", 0.11),
        ("dead_letters", 0.2),
    ):
        partly = lost and section in ("groups", "group_offsets")
        put(
            COLLECTIONS,
            section=section,
            started_at=observed_at + timedelta(milliseconds=3),
            duration_seconds=duration * (3 if partly else 1),
            interval_seconds=float(POLL_SECONDS),
            status="partial" if partly else "ok",
            error="reports: the coordinator, broker 2, does not answer" if partly else None,
            rows=12,
        )


def _gold(end: datetime, grain: int, length: int) -> dict[Table, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {table.name: [] for table in _GOLD}
    last = end.timestamp() - end.timestamp() % grain
    count = length // grain
    expected = grain // POLL_SECONDS
    for position in range(count):
        start = last - (count - position) * grain
        at = start - end.timestamp() + grain / 2
        if grain == _MINUTE_GRAIN and -2_700 > at > -3_300:  # ten minutes without collectors
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
        if grain == _HOUR_GRAIN and partition > 3:
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
