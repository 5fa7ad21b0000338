"""A small cluster that has a bit of everything, as its answers tell of it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from types import SimpleNamespace as Answer
from typing import Any, cast

from collectors.errors import CollectorError
from collectors.kafka.protocol.broker_requests import Deadline
from collectors.kafka.protocol.failures import translated
from collectors.kafka.protocol.many_partitions import OffsetsRequest
from tests.unit.collectors.kafka.protocol.test_records import batch

BROKERS = (1, 2)
TOPICS = ("odd", "orders", "orders-dlq")
GROUPS = ("billing", "modern")
RESOURCES = (*TOPICS, "dark", *GROUPS, *map(str, BROKERS))
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
                for group, kind in zip(GROUPS, ("Classic", "Consumer"), strict=True)
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
                for group in GROUPS
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
                for name in RESOURCES
            ]
        ),
        "ListConfigResourcesRequest": Answer(
            error_code=0, config_resources=[Answer(resource_name=group) for group in GROUPS]
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
        if kind == "DescribeConfigsRequest":
            others_asked = set(RESOURCES) - {one.resource_name for one in request.resources}
            answer.results = answer.results and [
                one for one in answer.results if one.resource_name not in others_asked
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
