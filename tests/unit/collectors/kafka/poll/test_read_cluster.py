"""One poll: its order, what it leaves out, and what a failure of one read costs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest

from bench.support import synthetic_cluster as cluster
from collectors.errors import CollectorError, SwitchedOffError
from collectors.kafka.cluster import broker_reads
from collectors.kafka.poll import read_cluster as sequence
from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.kafka.poll.memory import Memory
from collectors.kafka.poll.outcome import Outcome
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.librdkafka import validate
from collectors.kafka.protocol.poll_context import PollContext
from collectors.kafka.sections.registry import SECTIONS
from collectors.source.model import SectionResult
from collectors.source.section import run_collector
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings
from lake.replication import with_replication

NOW = datetime(2026, 11, 20, tzinfo=UTC)
TOPIC = cluster.topic_name(0)


class AskedWire(Wire):
    """Notes which requests are sent, in order."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.asked: list[str] = []

    def each(self, requests: Mapping[int, Sequence[Any]], *others: Any) -> Any:
        names = {type(request).__name__ for batch in requests.values() for request in batch}
        self.asked += sorted(names)
        return super().each(requests, *others)

    def any(self, make_request: Callable[[], Any], deadline: Deadline) -> Any:
        self.asked.append(type(make_request()).__name__)
        return super().any(make_request, deadline)

    def forwarded(self, make_request: Callable[[], Any], deadline: Deadline) -> Any:
        self.asked.append(type(make_request()).__name__)
        return super().forwarded(make_request, deadline)


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with cluster.synthetic_cluster(cluster.Size(topics=10, groups=3)) as found:
        yield found


class Polled:
    """A cluster that is polled with a memory of its own."""

    def __init__(self, servers: str, **settings: Any) -> None:
        self.settings = ClusterSettings(name="c", bootstrap_servers=servers, **settings)
        self.wire = AskedWire(servers, validate(self.settings), "test")
        self.memory = Memory()

    def poll(self, *, begun_seconds_ago: float = 0.0) -> ClusterReads:
        self.wire.begin_poll()
        self.wire.asked.clear()
        context = PollContext(
            wire=self.wire,
            deadline=Deadline(60.0, 30.0),
            now=NOW,
            tick=time.monotonic() - begun_seconds_ago,
        )
        selection = sequence.Selection(topic=bool, group=bool)
        shared = SharedFacts()
        return sequence.read_cluster(context, self.settings, selection, self.memory, shared)

    def sections(self) -> dict[str, SectionResult]:
        reads = self.poll()
        return {
            name: run_collector(name, section.collect, reads, self.settings, NOW)
            for name, section in SECTIONS.items()
        }


@pytest.fixture
def polled(servers: str) -> Iterator[Polled]:
    made = Polled(servers)
    yield made
    made.wire.close()


def test_committed_offsets_are_read_before_the_ends(polled: Polled) -> None:
    polled.poll()
    asked = polled.wire.asked
    assert asked[0] == "ClusterRequest"
    assert asked.index("OffsetFetchRequest") < asked.index("OffsetsRequest")


def test_ends_have_the_time_at_which_they_were_read(polled: Polled) -> None:
    polled.poll(begun_seconds_ago=2.0)  # as if reading all groups had taken so long
    known = polled.memory.time_lags
    assert TOPIC in known.partitions["topic"]
    _, times = known.timelines.oldest(np.arange(len(known.timelines)))
    assert (times >= NOW.timestamp() + 2.0).all()


ADDED = 9
IN_SYNC = [1, 2]
BEING_ADDED = Outcome(
    found=pl.DataFrame(
        [(TOPIC, 0, [ADDED], [2])], schema=broker_reads.REASSIGNMENTS_SCHEMA, orient="row"
    )
)


@pytest.mark.parametrize(
    ("replicas", "moving", "lacking"),
    [
        pytest.param([*IN_SYNC, ADDED], BEING_ADDED, set(), id="one is being added"),
        pytest.param([*IN_SYNC, 3, ADDED], BEING_ADDED, {3}, id="and another lacks"),
        pytest.param([*IN_SYNC, 3], BEING_ADDED, {3}, id="the move began after the metadata"),
        pytest.param(
            [*IN_SYNC, ADDED], Outcome(error=CollectorError("no")), {ADDED}, id="moves unknown"
        ),
    ],
)
def test_brokers_and_partitions_agree_on_what_is_under_replicated(
    polled: Polled, replicas: list[int], moving: Outcome[pl.DataFrame], lacking: set[int]
) -> None:
    reads = polled.poll()
    topics = reads.topics.value
    rows = topics.partitions.filter(topic=TOPIC, partition=0).with_columns(
        pl.lit(replicas, pl.List(pl.Int32)).alias("replicas"),
        pl.lit(IN_SYNC, pl.List(pl.Int32)).alias("in_sync_replicas"),
    )
    seen = replace(
        reads,
        metadata=Outcome(found=replace(reads.metadata.value, partitions=rows)),
        topics=Outcome(found=replace(topics, partitions=rows)),
        reassignments=moving,
    )
    brokers, partitions = (
        run_collector(name, SECTIONS[name].collect, seen, polled.settings, NOW).frames[name]
        for name in ("brokers", "partitions")
    )
    behind = brokers.filter(pl.col("under_replicated") > 0)["broker_id"]
    assert set(behind) == lacking
    assert with_replication(partitions)["is_under_replicated"].to_list() == [bool(lacking)]


def test_what_is_switched_off_costs_no_request(servers: str) -> None:
    off = ["topic_configs", "quorum", "reassignments", "log_directories", "registrations"]
    off += ["versions", "broker_configs", "client_quotas", "acls", "scram_users", "transactions"]
    off += ["group_configs", "eligible_leaders"]
    polled = Polled(servers, switched_off=off, time_lag={"ask_brokers": False})
    try:
        reads = polled.poll()
    finally:
        polled.wire.close()
    allowed = {"ClusterRequest", "ListGroupsRequest", "DescribeGroupsRequest"}
    assert set(polled.wire.asked) <= allowed | {"OffsetFetchRequest", "OffsetsRequest"}
    with pytest.raises(SwitchedOffError):
        _ = reads.configs.value


def test_what_is_read_rarely_is_not_asked_for_again(polled: Polled) -> None:
    polled.poll()
    first = set(polled.wire.asked)
    polled.poll()
    assert {"TopicConfigsRequest", "LogDirectoriesRequest"} <= first
    assert not {"TopicConfigsRequest", "LogDirectoriesRequest"} & set(polled.wire.asked)


def test_groups_that_cannot_be_read_cost_no_end_offsets(
    polled: Polled, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise CollectorError("refused")

    monkeypatch.setattr(sequence, "read_groups", refuse)
    found = polled.sections()
    failed = {name: result.error for name, result in found.items() if result.status == "failed"}
    assert failed == {"groups": "refused", "group_offsets": "refused"}
    assert found["partitions"].frames["partitions"]["log_end"].unique().to_list() == [cluster.END]


def test_a_fault_in_one_read_costs_what_needs_it(
    polled: Polled, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fault(*_: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr(sequence, "compare_ends", fault)
    found = polled.sections()
    failed = {name: result.error for name, result in found.items() if result.status == "failed"}
    assert failed == {"cluster_events": "RuntimeError: a fault of ours"}
    assert "a fault of ours" in caplog.text


def test_where_no_broker_answers_every_section_fails_with_the_reason() -> None:
    polled = Polled("127.0.0.1:1")
    try:
        found = polled.sections()
    finally:
        polled.wire.close()
    assert {result.status for result in found.values()} == {"failed"}
    assert all("127.0.0.1:1" in (result.error or "") for result in found.values())
