"""Connect, Ditto, RabbitMQ and Spark: what bounds them is not what bounds a plain group."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from alerting.inputs.windows import GroupKey
from config.scaling import SparkQuerySettings
from lake.schemas.tables import CONNECTORS, DITTO_CONNECTIONS, QUEUES
from scaling.advice.model import AdviceKind, AdviceSeverity, Confidence, Recommendation
from scaling.advisers.advise import advise_sources
from scaling.advisers.integrations.connect import ConnectorFacts, connector_advice
from scaling.advisers.integrations.ditto import counts
from scaling.advisers.integrations.rabbitmq import QueueFacts, queue_advice
from scaling.advisers.integrations.spark_query import QueryFacts, min_partitions_advice, query_facts
from tests.unit.scaling.advisers.advising import facts, six

SINK = ConnectorFacts(
    cluster="demo",
    connector="to-db",
    type="sink",
    class_name="x.Sink",
    tasks_expected=2,
    tasks=2,
    partitions=6,
)
MORE = Recommendation(
    kind=AdviceKind.ADD_CONSUMERS,
    cluster="demo",
    subject="connect-to-db",
    severity=AdviceSeverity.WATCH,
    confidence=Confidence.HIGH,
    reason="More is needed.",
    quantity="consumers",
    current=2,
    proposed=4,
    limiting_factor="steady",
)


def test_tasks_beyond_the_partitions_are_idle() -> None:
    advice = connector_advice(replace(SINK, tasks_expected=9))
    assert advice is not None and (advice.current, advice.proposed) == (9, 6)
    assert json.dumps({"tasks.max": "6"}) in advice.artefacts[0].text


def test_advice_on_a_sinks_group_is_advice_on_its_tasks() -> None:
    advice = connector_advice(replace(SINK, group_advice=MORE))
    assert advice is not None and advice.proposed == 4 and advice.limiting_factor == "steady"
    unknown = connector_advice(
        replace(SINK, group_advice=replace(MORE, proposed=None, unknown_reason="no capacity"))
    )
    assert unknown is not None and unknown.proposed is None and unknown.artefacts == ()


def test_a_source_with_one_log_has_one_task() -> None:
    source = ConnectorFacts(
        cluster="demo",
        connector="cdc",
        type="source",
        class_name="io.debezium.connector.mysql.X",
        tasks_expected=4,
        tasks=1,
    )
    advice = connector_advice(source)
    assert advice is not None and advice.proposed == 1
    assert connector_advice(replace(source, class_name="x.Other")) is None
    assert connector_advice(replace(SINK, partitions=None)) is None


@given(consumers=st.integers(1, 200), partitions=st.integers(1, 200), instances=st.integers(1, 20))
def test_ditto_counts_keep_both_bounds(consumers: int, partitions: int, instances: int) -> None:
    clients, each = counts(consumers, partitions, instances)
    assert 1 <= clients <= instances and each >= 1
    assert clients * each <= partitions
    if consumers <= partitions and clients * each < consumers:
        assert all(
            n * k < consumers or n * k > partitions
            for n in range(1, instances + 1)
            for k in range(1, partitions + 1)
        )


@pytest.mark.parametrize(
    ("consumers", "partitions", "instances", "expected"),
    [
        (6, 12, 3, (3, 2)),
        (5, 12, 3, (1, 5)),
        (12, 12, 5, (4, 3)),
        (9, 6, 2, (2, 3)),
        (7, 8, 2, (1, 7)),
    ],
)
def test_ditto_counts(
    consumers: int, partitions: int, instances: int, expected: tuple[int, int]
) -> None:
    assert counts(consumers, partitions, instances) == expected


BUSY = QueueFacts(
    cluster="demo",
    vhost="/",
    queue="work",
    kind="plain",
    type="quorum",
    ready=5000,
    growth_per_second=40.0,
    unacknowledged=20,
    publish_per_second=100.0,
    ack_per_second=60.0,
    redeliver_per_second=0.0,
    consumers=3,
    consumer_capacity=0.2,
    dead_letter_exchange="dlx",
    delivery_limit=20,
)


def test_busy_consumers_of_a_growing_queue_get_company() -> None:
    [advice] = queue_advice(BUSY)
    assert (advice.kind, advice.proposed) == (AdviceKind.QUEUE_CONSUMERS, 7)  # 100 / (0.8 x 20)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"consumer_capacity": 1.0}, id="consumers-are-free"),
        pytest.param({"growth_per_second": -5.0}, id="it-shrinks"),
        pytest.param({"ack_per_second": None}, id="rate-unknown"),
        pytest.param({"kind": "dead letter"}, id="dead-letter-queue"),
    ],
)
def test_no_more_consumers_without_need(other: dict[str, object]) -> None:
    assert queue_advice(replace(BUSY, **other)) == []  # type: ignore[arg-type]


def test_nobody_consumes() -> None:
    [advice] = queue_advice(replace(BUSY, consumers=0, ack_per_second=0.0))
    assert advice.severity is AdviceSeverity.ACT_NOW and advice.proposed is None


def test_hoarded_messages_ask_for_a_smaller_prefetch() -> None:
    held = replace(BUSY, unacknowledged=6000, growth_per_second=0.0)
    [advice] = queue_advice(held)
    assert (advice.kind, advice.current, advice.proposed) == (AdviceKind.PREFETCH, 2000, 40)


def test_a_prefetch_of_one_throttles_fast_consumers() -> None:
    [advice] = queue_advice(replace(BUSY, unacknowledged=3, growth_per_second=0.0))
    assert (advice.kind, advice.proposed) == (AdviceKind.PREFETCH, 40)


def test_a_requeue_loop_gets_a_policy_not_consumers() -> None:
    loop = replace(
        BUSY,
        growth_per_second=0.0,
        redeliver_per_second=50.0,
        dead_letter_exchange=None,
        delivery_limit=None,
    )
    [advice] = queue_advice(loop)
    policy = json.loads(advice.artefacts[0].text)
    assert policy["definition"]["delivery-limit"] == 20
    assert policy["definition"]["dead-letter-routing-key"] == "work.dead"


def test_spark_splits_partitions_to_whole_waves() -> None:
    query = QueryFacts(
        cluster="demo",
        query="query",
        partitions=4,
        arrival_per_second=1000.0,
        task_per_second=100.0,
        cores=6,
    )
    advice = min_partitions_advice(query)
    assert advice is not None and advice.proposed == 18  # 1000 / 70 = 14.3 -> 15 -> 3 waves of 6
    assert min_partitions_advice(replace(query, min_partitions=15)) is None
    assert min_partitions_advice(replace(query, task_per_second=None)) is None
    assert min_partitions_advice(replace(query, arrival_per_second=None)) is None


def test_what_arrives_for_a_query_is_measured_on_its_topics() -> None:
    """Known only where every partition of every topic is: unknown is not zero."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    rows = pl.DataFrame(
        {
            "cluster": "demo",
            "topic": topic,
            "partition": partition,
            "observed_at": start + timedelta(seconds=10 * poll),
            "log_end": None if topic == "broken" else 1000 * poll,
        }
        for topic, partitions in (("orders", 3), ("payments", 1), ("broken", 1))
        for partition in range(partitions)
        for poll in range(6)
    )

    def query(*topics: str) -> QueryFacts:
        settings = SparkQuerySettings(
            name="enrich", cluster="demo", topics=list(topics), task_per_second=100.0, cores=6
        )
        [found] = query_facts([settings], rows)
        return found

    assert query("orders", "payments").arrival_per_second == pytest.approx(400.0)
    assert query("orders", "payments").partitions == 4
    assert query("orders", "broken").arrival_per_second is None
    assert query("orders", "nowhere").arrival_per_second is None
    advice = min_partitions_advice(query("orders", "payments"))
    assert advice is not None
    assert (advice.subject_kind, advice.subject, advice.proposed) == ("query", "enrich", 6)


def test_rows_of_the_lake_become_advice() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)

    def rows(table: object, *some: dict[str, object]) -> pl.DataFrame:
        schema = dict(table.polars_schema)  # type: ignore[attr-defined]
        full = [
            {name: None for name in schema}
            | {"cluster": "demo", "observed_at": now, "poll_id": "p", "date": now.date()}
            | one
            for one in some
        ]
        return pl.DataFrame(full, schema=schema)

    group = facts(six(members=3))
    queue = {"vhost": "/", "queue": "work", "kind": "plain", "consumers": 0, "ready": 9}
    found = advise_sources(
        {GroupKey("demo", "billing"): group},
        (),
        connectors=rows(
            CONNECTORS,
            {
                "connect": "c",
                "connector": "to-db",
                "type": "sink",
                "tasks_expected": 9,
                "group": "billing",
            },
        ),
        connections=rows(
            DITTO_CONNECTIONS,
            {"ditto": "d", "connection": "c-1", "clients": 2, "consumers": 10, "group": "billing"},
        ),
        queues=rows(
            QUEUES, {**queue, "observed_at": now - timedelta(seconds=30), "ready": 4}, queue
        ),
        streaming=[
            QueryFacts(
                cluster="demo",
                query="enrich",
                partitions=4,
                arrival_per_second=1000.0,
                task_per_second=100.0,
            )
        ],
    )
    assert [(one.kind, one.subject, one.proposed) for one in found] == [
        (AdviceKind.TASKS, "to-db", 6),
        (AdviceKind.CLIENTS, "c-1", 6),
        (AdviceKind.MIN_PARTITIONS, "enrich", 15),
        (AdviceKind.QUEUE_CONSUMERS, "work", None),
    ]
