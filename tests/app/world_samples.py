"""Raw samples of the generated lake: what collectors would have written."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from lake.schemas.model import Table
from lake.schemas.tables import (
    BROKER_METRICS,
    BROKERS,
    CLUSTER_EVENTS,
    CLUSTER_SETTINGS,
    COLLECTIONS,
    DEAD_LETTERS,
    GROUP_MEMBERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
    REBALANCES,
    TOPICS,
    TRANSACTIONS,
)
from tests.app.world import (
    BROKER_LOST_SECONDS,
    CLUSTER,
    CONNECT_DLQ,
    GROUPS_HERE,
    ORDERS_DLQ,
    POLL_SECONDS,
    TOPICS_HERE,
    Group,
    Topic,
)


def overrides(table: Table, rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: kind for name, kind in table.polars_schema.items() if rows and name in rows[0]}


def _polls(end: datetime) -> Iterator[tuple[datetime, float, str]]:
    for back in range(1200, -1, -POLL_SECONDS):
        if 700 <= back < 760:  # a minute without a poll: charts must show the hole
            continue
        yield end - timedelta(seconds=back), -float(back), f"poll-{back:05d}"


def bronze_rows(end: datetime) -> dict[Table, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = {}

    def put(table: Table, **values: Any) -> None:
        rows.setdefault(table.name, []).append({**sample, **values})

    for observed_at, at, poll_id in _polls(end):
        sample = {"cluster": CLUSTER, "observed_at": observed_at, "poll_id": poll_id}
        lost = at > -BROKER_LOST_SECONDS
        _put_brokers(put, lost, end)
        for topic in TOPICS_HERE:
            _put_partitions(put, topic, at, lost)
        if poll_id in ("poll-01200", "poll-00000"):
            _put_topics(put)
        if poll_id == "poll-00030":
            _put_transaction(put, end)
            _put_broker_metrics(put)
        if poll_id == "poll-00300":
            _put_events(put)
            _put_settings(put)
            _put_rebalances(put, observed_at)
        for group in GROUPS_HERE:
            _put_group(put, group, at, observed_at)
        _put_dead_letters(put, at, observed_at)
        _put_collections(put, observed_at, lost)
    return {table: rows[table.name] for table in _BRONZE}


_BRONZE = (
    BROKER_METRICS,
    BROKERS,
    CLUSTER_EVENTS,
    CLUSTER_SETTINGS,
    TRANSACTIONS,
    REBALANCES,
    PARTITIONS,
    TOPICS,
    GROUPS,
    GROUP_MEMBERS,
    GROUP_OFFSETS,
    DEAD_LETTERS,
    COLLECTIONS,
)


def _put_brokers(put: Callable[..., None], lost: bool, end: datetime) -> None:
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
            throttled_seconds=2.5 if broker == 3 else 0.0,
            version="4.3",
            registration="active" if alive else "fenced",
            certificate_expires_at=end + timedelta(days=100) if alive else None,
            unknown_reason=None if alive else "broker 2 is not connected",
        )


def _put_events(put: Callable[..., None]) -> None:
    put(
        CLUSTER_EVENTS,
        kind="topic configuration changed",
        subject="sessions",
        before="retention.ms=604800000 (default)",
        after="retention.ms=3600000",
        topic="sessions",
    )
    put(
        CLUSTER_EVENTS,
        kind="controller changed",
        subject="controller",
        before="2",
        after="1",
    )
    put(
        CLUSTER_EVENTS,
        kind="leaders moved",
        subject="2",
        before="broker 2",
        after="broker 1",
        detail="2 partitions: orders-0, payments-1",
        topics=["orders", "payments"],
    )
    for text, group in (("payments <b>1.4.2</b>, as shipping", "payments"), ("stock 7", "stock")):
        put(CLUSTER_EVENTS, kind="deploy", subject=text, group=group, detail="by ana")


def _put_rebalances(put: Callable[..., None], observed_at: datetime) -> None:
    for number, reason in enumerate(("till-3 at 10.0.0.7 left", "till-4 at 10.0.0.8 joined")):
        put(
            REBALANCES,
            group="billing",
            rebalanced_at=observed_at - timedelta(seconds=5 - number),
            generation=17 + number,
            generation_before=16 + number,
            members=2 + number,
            members_before=3 - number,
            joined=number,
            left=1 - number,
            reason=reason,
            protocol="range",
            session_timeout_seconds=45.0,
            rebalance_timeout_seconds=300.0,
            log_partition=3,
            log_offset=100 + number,
        )


def _put_transaction(put: Callable[..., None], end: datetime) -> None:
    put(
        TRANSACTIONS,
        transactional_id="sessions-writer-7",
        producer_id=4711,
        coordinator=1,
        state="Ongoing",
        started_at=end - timedelta(minutes=5),
        timeout_seconds=900.0,
        topics=["clicks", "sessions"],
    )


def _put_settings(put: Callable[..., None]) -> None:
    for kind, subject, values in (
        ("feature", "metadata.version", {"level": "27", "supported": "30"}),
        ("broker configuration", "1", {"num.io.threads": "16", "node.id": "1"}),
        ("broker configuration", "3", {"num.io.threads": "8 (default)", "node.id": "3"}),
        ("client quota", "client-id=batch", {"producer_byte_rate": "1048576"}),
        ("acl", "User:reader", {"allow READ on topic orders from *": ""}),
    ):
        entries = [{"key": key, "value": value} for key, value in values.items()]
        put(CLUSTER_SETTINGS, kind=kind, subject=subject, settings=entries, unknown_reason=None)
    refused = "not permitted: needs DESCRIBE on the cluster"
    put(CLUSTER_SETTINGS, kind="scram user", subject=None, settings=None, unknown_reason=refused)


def _put_broker_metrics(put: Callable[..., None]) -> None:
    client = {"clientSoftwareName": "librdkafka", "clientSoftwareVersion": "2.3.0"}
    told: tuple[tuple[str, float, dict[str, str]], ...] = (
        ("request_handler_idle_ratio", 0.21, {}),
        ("request_time_seconds", 0.25, {"request": "Produce", "quantile": "0.99"}),
        ("client_connections", 7.0, client),
    )
    for metric, value, labels in told:
        entries = [{"key": key, "value": text} for key, text in labels.items()]
        put(
            BROKER_METRICS,
            prometheus="monitoring",
            metric=metric,
            broker="kafka-1:9404",
            labels=entries,
            value=value,
            is_backfilled=False,
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
        idle_members=None if unknown else max(0, group.members - group.topic.partitions),
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
        newest_record=_record("1", "9119", observed_at, "java.lang.ValueError"),
        oldest_record=_record("0", "12", observed_at - timedelta(hours=50), None),
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


def _record(partition: str, offset: str, at: datetime, reason: str | None) -> list[dict[str, str]]:
    said = {"partition": partition, "offset": offset, "timestamp": at.isoformat(), "reason": reason}
    return [{"key": name, "value": text} for name, text in said.items() if text is not None]


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
            collector="watch-2/71" if lost else "watch-1/17",
        )
