"""Whole polls of a cluster of which one answer has an odd value."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from types import SimpleNamespace as Answer
from typing import Any, cast

import pytest

from collectors.errors import CollectorError
from collectors.kafka.poll.memory import Memory
from collectors.kafka.poll.read_cluster import Selection, read_cluster
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.failures import translated
from collectors.kafka.protocol.many_partitions import OffsetsRequest
from collectors.kafka.protocol.poll_context import PollContext
from collectors.kafka.sections.registry import SECTIONS
from collectors.service.rows import Stamp, rows_of
from collectors.source.model import SectionResult
from collectors.source.section import run_collector
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings
from lake.storage.append import conform
from tests.selection import MARK
from tests.unit.collectors.kafka.protocol.test_records import batch

NOW = datetime(2026, 11, 20, tzinfo=UTC)
BROKERS = (1, 2)
TOPICS = ("odd", "orders", "orders-dlq")
SETTINGS = ClusterSettings.model_validate(
    {"name": "c", "bootstrap_servers": "kafka:9092", "commit_log": False}
)
START = -2
LETTERS = batch(0, [[("kafka_dlt-original-topic", b"orders")]] * 3)


def answers() -> dict[str, Any]:
    """Return what a small cluster with a bit of everything answers, by the request's name."""

    def each(make: Callable[[int], Answer]) -> list[Answer]:
        return [make(number) for number in range(2)]

    def by_topic(partition: Callable[[int], Answer], **more: Any) -> list[Answer]:
        return [
            Answer(name=topic, topic=topic, partitions=each(partition), **more) for topic in TOPICS
        ]

    def setting(name: str, value: str) -> Answer:
        return Answer(name=name, value=value, config_source=1, is_sensitive=False)

    def node(number: int) -> Answer:
        return Answer(
            replica_id=number,
            log_end_offset=90 + number,
            last_fetch_timestamp=1_700_000_000_000,
            last_caught_up_timestamp=1_700_000_000_000,
        )

    groups = ("billing", "modern")
    member = Answer(
        member_id="m",
        client_id="c",
        client_host="/10.0.0.1",
        instance_id=None,
        rack_id=None,
        member_epoch=3,
        subscribed_topic_names=["orders"],
        subscribed_topic_regex="ord.*",
        assignment=Answer(topic_partitions=[Answer(topic_name="orders", partitions=[0, 1])]),
    )
    classic = Answer(
        member_id="m",
        client_id="c",
        client_host="/10.0.0.1",
        group_instance_id=None,
        member_metadata=b"",
        member_assignment=b"",
    )
    return {
        "MetadataRequest": Answer(
            cluster_id="id",
            controller_id=1,
            brokers=[Answer(node_id=n, host="k", port=9000 + n, rack=None) for n in BROKERS],
            topics=[
                Answer(
                    name=topic,
                    error_code=0,
                    topic_id=None,
                    is_internal=False,
                    partitions=[
                        Answer(
                            partition_index=number,
                            leader_id=leader,
                            replica_nodes=[1, 2],
                            isr_nodes=[leader] if leader > 0 else [],
                        )
                        for number, leader in enumerate(leaders)
                    ],
                )
                for topic, leaders in (*((topic, BROKERS) for topic in TOPICS), ("dark", [-1]))
            ],
        ),
        "ListGroupsRequest": Answer(
            error_code=0,
            groups=[
                Answer(group_id=group, group_type=kind, protocol_type="consumer")
                for group, kind in zip(groups, ("Classic", "Consumer"), strict=True)
            ],
        ),
        "DescribeGroupsRequest": Answer(
            groups=[
                Answer(
                    group_id="billing",
                    error_code=0,
                    group_state="Stable",
                    protocol_type="consumer",
                    protocol_data="range",
                    members=[classic],
                )
            ]
        ),
        "ConsumerGroupDescribeRequest": Answer(
            groups=[
                Answer(
                    group_id="modern",
                    error_code=0,
                    group_state="Stable",
                    group_epoch=3,
                    assignor_name="uniform",
                    members=[member],
                )
            ]
        ),
        "OffsetFetchRequest": Answer(
            groups=[
                Answer(
                    group_id=group,
                    error_code=0,
                    topics=by_topic(
                        lambda n: Answer(partition_index=n, error_code=0, committed_offset=10)
                    ),
                )
                for group in groups
            ]
        ),
        **{
            kind: Answer(
                topics=by_topic(
                    partial(
                        lambda at, n: Answer(
                            partition_index=n, error_code=0, offset=at, timestamp=at * 10**10
                        ),
                        at,
                    )
                )
            )
            for kind, at in (("ListOffsetsRequest", 100), ("ListOffsetsRequest: starts", 0))
        },
        "FetchRequest": Answer(
            error_code=0,
            responses=by_topic(
                lambda n: Answer(
                    partition_index=n,
                    error_code=0,
                    high_watermark=100,
                    aborted_transactions=[Answer(producer_id=5, first_offset=0)],
                    records=LETTERS,
                )
            ),
        ),
        "DescribeConfigsRequest": Answer(
            results=[
                Answer(
                    error_code=0,
                    resource_name=name,
                    configs=[
                        setting("min.insync.replicas", "2"),
                        setting("retention.ms", "3600000"),
                        setting("remote.storage.enable", "true"),
                    ],
                )
                for name in (*TOPICS, "dark")
            ]
        ),
        "ListConfigResourcesRequest": Answer(
            error_code=0, config_resources=[Answer(resource_name=group) for group in groups]
        ),
        "DescribeTopicPartitionsRequest": Answer(
            topics=[
                Answer(
                    name="dark",
                    error_code=0,
                    partitions=[Answer(partition_index=0, eligible_leader_replicas=[1, 2])],
                )
            ]
        ),
        "DescribeLogDirsRequest": Answer(
            error_code=0,
            version=5,
            results=[
                Answer(
                    error_code=0,
                    log_dir="/data",
                    total_bytes=10**12,
                    usable_bytes=10**11,
                    is_cordoned=False,
                    topics=by_topic(
                        lambda n: Answer(
                            partition_index=n, partition_size=1000, is_future_key=False
                        )
                    ),
                )
            ],
        ),
        "DescribeQuorumRequest": Answer(
            error_code=0,
            topics=[
                Answer(
                    partitions=[
                        Answer(
                            error_code=0,
                            leader_id=1,
                            current_voters=[node(1), node(2)],
                            observers=[node(3)],
                        )
                    ]
                )
            ],
        ),
        "ListPartitionReassignmentsRequest": Answer(
            error_code=0,
            topics=by_topic(
                lambda n: Answer(partition_index=n, adding_replicas=[2], removing_replicas=[1])
            ),
        ),
        "DescribeClusterRequest": Answer(
            error_code=0, brokers=[Answer(broker_id=n, is_fenced=False) for n in BROKERS]
        ),
        "ApiVersionsRequest": Answer(
            error_code=0,
            api_keys=[Answer(api_key=1, min_version=0, max_version=17)],
            finalized_features_epoch=7,
            supported_features=[Answer(name="metadata.version", max_version=30)],
            finalized_features=[Answer(name="metadata.version", max_version_level=29)],
        ),
        "DescribeClientQuotasRequest": Answer(
            error_code=0,
            entries=[
                Answer(
                    entity=[Answer(entity_type="user", entity_name="a")],
                    values=[Answer(key="consumer_byte_rate", value=1e6)],
                )
            ],
        ),
        "DescribeAclsRequest": Answer(
            error_code=0,
            resources=[
                Answer(
                    resource_type=2,
                    pattern_type=3,
                    resource_name="orders",
                    acls=[Answer(permission_type=3, operation=3, host="*", principal="User:a")],
                )
            ],
        ),
        "DescribeUserScramCredentialsRequest": Answer(
            error_code=0,
            results=[
                Answer(
                    user="a",
                    error_code=0,
                    credential_infos=[Answer(mechanism=1, iterations=4096)],
                )
            ],
        ),
        "ListTransactionsRequest": Answer(
            error_code=0,
            transaction_states=[Answer(transactional_id=f"pipeline-{n}") for n in BROKERS],
        ),
        "DescribeTransactionsRequest": Answer(
            transaction_states=[
                Answer(
                    error_code=0,
                    transactional_id=f"pipeline-{n}",
                    producer_id=5,
                    transaction_state="Ongoing",
                    transaction_start_time_ms=1_700_000_000_000,
                    transaction_timeout_ms=60_000,
                    topics=[Answer(topic="orders")],
                )
                for n in BROKERS
            ]
        ),
    }


class Brokers:
    """Brokers that all answer the same, by the name of the request."""

    failures: Mapping[int, str] = {}
    certificates: Mapping[int, datetime] = {}

    def __init__(self, said: Mapping[str, Any]) -> None:
        self._said = said
        self.asked: set[str] = set()

    def each(
        self,
        requests: Mapping[int, Sequence[Any]],
        deadline: Deadline,
        read: Callable[[Any], Any] = lambda answer: answer,
    ) -> dict[int, list[Any] | CollectorError]:
        found: dict[int, list[Any] | CollectorError] = {}
        for broker, asked in requests.items():
            try:
                found[broker] = [read(self._answer(one, broker)) for one in asked]
            except Exception as error:  # as a connection does it
                found[broker] = cast(CollectorError, translated(f"broker {broker}", error))
        return found

    def any(self, make: Callable[[], Any], deadline: Deadline) -> Any:
        return self._answer(make(), BROKERS[0])

    def take_throttled_seconds(self) -> Mapping[int, float]:
        return {}

    forwarded = any

    def meet(self, brokers: object) -> None:
        """Take nothing over."""

    def _answer(self, request: Any, broker: int) -> Any:
        kind = request.name
        if isinstance(request, OffsetsRequest) and request.time == START:
            kind += ": starts"
        self.asked.add(kind)
        answer = copy.deepcopy(self._said[kind])
        asked = places(request)
        if asked is not None:  # what it was not asked for, a sound broker does not tell
            others = {(topic, n) for topic in TOPICS for n in range(2)} - asked
            listed = answer.responses if kind == "FetchRequest" else answer.topics
            for topic in listed or ():
                topic.partitions = topic.partitions and [
                    each
                    for each in topic.partitions
                    if (topic.name, each.partition_index) not in others
                ]
        if kind.endswith("TransactionsRequest"):  # each broker tells those that it coordinates
            answer.transaction_states = (answer.transaction_states or [])[broker % 2 :: 2]
        return answer


def places(request: Any) -> set[tuple[str, int]] | None:
    """Return the partitions that a request for offsets or records names."""
    if isinstance(request, OffsetsRequest):
        return {(topic, n) for topic, partitions in request.wanted.by_topic() for n in partitions}
    if request.name == "ListOffsetsRequest":
        return {
            (one.name, each.partition_index) for one in request.topics for each in one.partitions
        }
    if request.name == "FetchRequest":
        return {(one.topic, each.partition) for one in request.topics for each in one.partitions}
    return None


def poll(
    wire: Brokers, memory: Memory | None = None, tick: float = 0.0
) -> dict[str, SectionResult]:
    deadline = Deadline(60.0, 30.0)
    context = PollContext(wire=cast(Wire, wire), deadline=deadline, now=NOW, tick=tick)
    selection = Selection(topic=bool, group=bool)
    reads = read_cluster(context, SETTINGS, selection, memory or Memory(), SharedFacts())
    stamp = Stamp.new("kafka", "c", NOW)
    found = {}
    for name, section in SECTIONS.items():
        result = run_collector(name, section.collect, reads, SETTINGS, NOW)
        for table, rows in rows_of(result, stamp, 15.0):
            written = conform(table, rows)
            assert written.select(table.identity).is_unique().all(), "a key is there twice"
        found[name] = result
    return found


def test_every_answer_is_read() -> None:
    said = answers()
    wire = Brokers(said)
    found = poll(wire)
    assert wire.asked == set(said)
    assert {name: one.error for name, one in found.items() if one.error} == {
        "partitions": "the offsets of 1 of 7 partitions are unknown: the partition has no leader"
    }
    (dark,) = found["partitions"].frames["partitions"].filter(topic="dark").to_dicts()
    assert dark["eligible_leader_replicas"] == [1, 2]
    assert {name for name, one in found.items() if one.rows} >= SECTIONS.keys() - WITHOUT_ROWS


def test_a_partition_that_its_leader_leaves_out_is_unknown_and_not_gone() -> None:
    said = answers()
    for kind in ("ListOffsetsRequest", "ListOffsetsRequest: starts"):
        (orders,) = [topic for topic in said[kind].topics if topic.name == "orders"]
        del orders.partitions[1]
    found = poll(Brokers(said))
    for table in ("partitions", "group_offsets"):
        rows = found[table].frames[table].filter(topic="orders", partition=1)
        assert set(rows["unknown_reason"]) == {"the leader did not tell of the partition"}
        assert rows["log_end"].null_count() == rows.height > 0
    assert found["group_offsets"].status == "partial"


WITHOUT_ROWS = {"commit_log", "cluster_events"}  # at a first poll
TEXTS = ("", "\x00", "x" * 300, "²", "nan", "true", "2147483648", None)
NUMBERS = (-1, 0, 1, 99, 2**31 - 1, -(2**31))
LARGE = (2**63 - 1, -(2**63))
WIDE = ("offset", "timestamp", "size", "bytes", "_ms", "producer_id", "watermark", "epoch")
"""What the names of fields of 64 bits have in them."""


def odd(chance: random.Random, name: str, value: Any) -> Any:
    """Return what else a field may hold by the protocol's types."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        wide = any(each in name for each in WIDE) and "epoch" not in name
        return chance.choice((*NUMBERS, *(LARGE if wide else ())))
    if isinstance(value, float):
        return chance.choice((float("nan"), float("inf"), -1.0, 1e308))
    if isinstance(value, list):
        return chance.choice((None, [], [*value, *copy.deepcopy(value)]))
    if isinstance(value, bytes):
        return chance.choice((None, b"", b"\xff" * 80, value[: chance.randrange(len(value) + 1)]))
    return chance.choice(TEXTS)


def mutated(seed: int, count: int) -> Iterator[tuple[str, dict[str, Any]]]:
    chance = random.Random(seed)  # noqa: S311  which value is odd is no secret
    for _ in range(count):
        said = answers()
        kind = chance.choice(sorted(said))
        inner, path = said[kind], [kind]
        while True:
            name = chance.choice(sorted(vars(inner)))
            value = getattr(inner, name)
            path.append(name)
            items = value if isinstance(value, list) else [value]
            if items and isinstance(items[0], Answer) and chance.random() < 0.8:
                inner = chance.choice(items)
                continue
            if isinstance(value, Answer):
                continue
            setattr(inner, name, odd(chance, name, value))
            path.append(repr(getattr(inner, name))[:60])
            break
        yield " ".join(path), said


def run(seed: int, count: int) -> None:
    """Expect that no odd value is a fault of ours, and that it costs one section at the most."""
    for what, said in mutated(seed, count):
        found = poll(Brokers(said))
        faults = {name: one.error for name, one in found.items() if is_fault(one.error)}
        assert faults == {}, what


def is_fault(error: str | None) -> bool:
    return error is not None and any(
        sign in error for sign in ("Error: ", "Exception: ", "Error(", "not understood")
    )


def test_one_odd_value_is_no_fault_of_ours() -> None:
    run(1, 300)


@MARK
@pytest.mark.parametrize("seed", range(2, 22))
def test_one_odd_value_of_many_is_no_fault_of_ours(seed: int) -> None:
    run(seed, 500)
