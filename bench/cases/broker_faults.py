"""What polls tell while one of three brokers is killed, frozen, throttled, or far away.

A group is late in a poll that does not tell its committed offsets, or its lag in partitions whose
leader is well, or that takes longer than its interval.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.cimpl import NewTopic
from kafka.protocol.admin import AlterClientQuotasRequest
from kafka.protocol.metadata import MetadataRequest

from bench.support.figures import Figure
from bench.support.kafka_groups import ask, connect
from bench.support.network import Network, network
from bench.support.poller import polled
from collectors.kafka.source import KafkaSource
from collectors.source.shared_facts import SharedFacts
from demo.kafka.cluster import KafkaCluster
from runtime.processes import wait_until

_INTERVAL_SECONDS = 5.0
_POLLS = 4  # while the broker is not well
_PATIENCE = 12  # polls
_VICTIM = 2
_GROUPS = [f"reader-{number:02}" for number in range(30)]
_TOPIC, _PARTITIONS = "orders", 6
_FAR_SECONDS = 0.3
_PERCENT = 5.0  # of one thread of a broker
_HAMMERS = 4

# The broker coordinates and leads again soon after it was away: before the next fault.
_QUICK_ELECTIONS = {
    "leader.imbalance.check.interval.seconds": "1",
    "leader.imbalance.per.broker.percentage": "0",
}


class BrokerFaultsError(Exception):
    """The cluster was never well, so that there is nothing to compare with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What a poll told.

    Attributes:
        is_whole: Whether nothing was unknown.
        coordinators: Group: its coordinator; groups that are unknown are left out.
        leaders: Partition: its leader.
        known: Group: the partitions whose lag is known.
        throttled_seconds: How long a broker asked to wait, at most.
    """

    seconds: float
    is_whole: bool
    coordinators: dict[str, int]
    leaders: dict[int, int | None]
    known: dict[str, set[int]]
    throttled_seconds: float


def measure(on_progress: Callable[[str], None]) -> list[Figure]:
    """Break one broker in four ways, one after the other, and poll at a fixed interval.

    Args:
        on_progress: Is told what happens.

    Raises:
        BrokerFaultsError: The cluster is not well between two faults.
    """
    on_progress("starting three brokers")
    with (
        TemporaryDirectory(prefix="headroom-bench-") as folder,
        KafkaCluster(Path(folder), heap_mb=160, properties=_QUICK_ELECTIONS) as cluster,
        network() as between,
    ):
        _fill(cluster)
        between.path(cluster.port(_VICTIM))  # from the first connection on
        source = KafkaSource(polled(cluster.bootstrap_servers), _INTERVAL_SECONDS, SharedFacts())
        try:
            figures = []
            for name, fault in _FAULTS.items():
                on_progress(f"broker {_VICTIM}: {name}")
                figures += _measure(name, fault(cluster, between), source)
            return figures
        finally:
            source.close()


@contextmanager
def _killed(cluster: KafkaCluster, _: Network) -> Iterator[None]:
    cluster.kill(_VICTIM)
    yield
    cluster.restart(_VICTIM)


@contextmanager
def _frozen(cluster: KafkaCluster, _: Network) -> Iterator[None]:
    cluster.freeze(_VICTIM)
    yield
    cluster.thaw(_VICTIM)
    cluster.wait_until_ready()


@contextmanager
def _far(cluster: KafkaCluster, between: Network) -> Iterator[None]:
    path = between.path(cluster.port(_VICTIM))
    path.round_trip_seconds = _FAR_SECONDS
    yield
    path.round_trip_seconds = 0.0


@contextmanager
def _throttled(cluster: KafkaCluster, _: Network) -> Iterator[None]:
    """Let others use up the quota that this user has on the one broker."""
    ends = threading.Event()

    def hammer() -> None:
        connection = connect(f"127.0.0.1:{cluster.port(_VICTIM)}")
        try:
            while not ends.is_set():
                ask(connection, [MetadataRequest(topics=None) for _ in range(20)])
        finally:
            connection.close()

    _set_quota(cluster, _PERCENT)
    threads = [threading.Thread(target=hammer, daemon=True) for _ in range(_HAMMERS)]
    for thread in threads:
        thread.start()
    yield
    ends.set()
    _set_quota(cluster, None)
    for thread in threads:
        thread.join()


_FAULTS = {
    "killed": _killed,
    "frozen": _frozen,
    "throttled": _throttled,
    f"behind {_FAR_SECONDS * 1000:g} ms": _far,
}


def _measure(name: str, fault: AbstractContextManager[None], source: KafkaSource) -> list[Figure]:
    """Poll a cluster that is well, then with the fault, then until it is well again."""
    polls = _polls(source)
    before = next(
        (seen for seen in polls if seen.is_whole and _VICTIM in seen.coordinators.values()), None
    )
    if before is None:
        raise BrokerFaultsError(f"the cluster was not well before the broker was {name}")
    others = {group for group, broker in before.coordinators.items() if broker != _VICTIM}
    led = {number for number, leader in before.leaders.items() if leader != _VICTIM}
    polls = _polls(source)
    with fault:
        during = [next(polls) for _ in range(_POLLS)]
    after: list[_Seen] = []
    for seen in _polls(source):
        after.append(seen)
        if seen.is_whole:
            break
    is_back = after[-1].is_whole
    polled_meanwhile = [*during, *after]
    late = sum(
        seen.seconds > _INTERVAL_SECONDS or not seen.known.get(group, set()) >= led
        for seen in polled_meanwhile
        for group in others
    )
    slowest = max(seen.seconds for seen in polled_meanwhile)
    incomplete = sum(not seen.is_whole for seen in during)
    return [
        Figure(name=f"{name}: polls, until it was back", value=len(polled_meanwhile), unit="polls"),
        Figure(name=f"{name}: of these with something unknown", value=incomplete, unit="polls"),
        Figure(
            name=f"{name}: longest wait that a broker asked for",
            value=max(seen.throttled_seconds for seen in during),
            unit="s",
        ),
        Figure(name=f"{name}: slowest poll", value=slowest, unit="s", most=_INTERVAL_SECONDS),
        Figure(
            name=f"{name}: groups of the other brokers, late in a poll, of {len(others)}",
            value=late,
            unit="groups",
            most=0,
        ),
        Figure(
            name=f"{name}: polls after the recovery until all is known",
            value=len(after) if is_back else float("inf"),
            unit="polls",
            most=2,
        ),
    ]


def _polls(source: KafkaSource) -> Iterator[_Seen]:
    """Poll at the interval, as the service does; not for ever."""
    due = time.monotonic()
    for _ in range(_PATIENCE):
        time.sleep(max(0.0, due - time.monotonic()))
        yield _poll(source)
        due = max(due + _INTERVAL_SECONDS, time.monotonic())


def _poll(source: KafkaSource) -> _Seen:
    began = time.monotonic()
    results = list(source.poll(datetime.now(UTC)))
    seconds = time.monotonic() - began
    frames = {table: frame for result in results for table, frame in result.frames.items()}
    groups = frames.get("groups", pl.DataFrame(schema={"group": pl.String, "state": pl.String}))
    offsets = frames.get("group_offsets")
    known: dict[str, set[int]] = {}
    if offsets is not None:
        for group, partition in (
            offsets.filter(pl.col("committed").is_not_null() & pl.col("lag").is_not_null())
            .select("group", "partition")
            .iter_rows()
        ):
            known.setdefault(group, set()).add(partition)
    partitions = frames.get("partitions")
    brokers = frames.get("brokers")
    waits = [] if brokers is None else brokers["throttled_seconds"].drop_nulls().to_list()
    return _Seen(
        seconds=seconds,
        is_whole=all(result.status == "ok" for result in results)
        and all(len(known.get(group, ())) == _PARTITIONS for group in _GROUPS),
        coordinators=dict(
            groups.filter(pl.col("state") != "unknown").select("group", "coordinator").iter_rows()
        )
        if groups.height
        else {},
        leaders={}
        if partitions is None
        else dict(partitions.filter(topic=_TOPIC).select("partition", "leader").iter_rows()),
        known=known,
        throttled_seconds=max(waits, default=0.0),
    )


def _fill(cluster: KafkaCluster) -> None:
    (made,) = cluster.admin().create_topics([NewTopic(_TOPIC, _PARTITIONS, 3)]).values()
    made.result(30)
    places = [TopicPartition(_TOPIC, number, 0) for number in range(_PARTITIONS)]
    for group in _GROUPS:
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})

        def committed(consumer: Consumer = consumer) -> bool:
            try:
                consumer.commit(offsets=places, asynchronous=False)
            except KafkaException:  # its coordinator is being chosen
                return False
            return True

        wait_until(committed, timeout_seconds=60, waiting_for=f"the commit of {group}")
        consumer.close()


def _set_quota(cluster: KafkaCluster, percent: float | None) -> None:
    """Set how much of a broker's time the user without a name may take; None: no limit."""
    entry = AlterClientQuotasRequest.EntryData
    request = AlterClientQuotasRequest(
        entries=[
            entry(
                entity=[entry.EntityData(entity_type="user", entity_name="ANONYMOUS")],
                ops=[
                    entry.OpData(
                        key="request_percentage", value=percent or 0.0, remove=percent is None
                    )
                ],
            )
        ],
        validate_only=False,
    )
    connection = connect(cluster.bootstrap_servers)
    try:
        for answer in ask(connection, [request])[0].entries:
            if answer.error_code:
                raise BrokerFaultsError(f"the quota was refused: {answer.error_message}")
    finally:
        connection.close()
