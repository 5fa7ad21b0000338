from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaling.advice.model import AdviceKind, AdviceSeverity, CaveatLevel
from scaling.advisers.partitions import partition_advice, proposed_partitions
from scaling.advisers.recommend import recommend_topic
from scaling.facts.topic_facts import Reader, TopicFacts


def topic(per_partition: float = 100.0, partitions: int = 6, **more: object) -> TopicFacts:
    return TopicFacts(
        cluster="demo",
        topic="orders",
        partitions=partitions,
        **{  # type: ignore[arg-type]
            "brokers": 3,
            "replication_factor": 3,
            "min_in_sync_replicas": 2,
            "kind": "application",
            "rates": {number: per_partition for number in range(partitions)},
            "span_seconds": 600.0,
            "readers": (
                Reader(
                    group="billing",
                    age_seconds=1.0,
                    kind="plain",
                    members=3,
                    capacity_per_second=500.0,
                ),
            ),
            "broker_replicas": 40,
            **more,
        },
    )


def test_enough_partitions_need_no_advice() -> None:
    assert partition_advice(topic(100.0)) is None


def test_too_few_partitions_grow_to_a_multiple_for_peak_and_growth() -> None:
    advice = partition_advice(topic(400.0))  # 2400 x 1.5 / (0.7 x 500) = 10.3
    assert advice is not None
    assert (advice.kind, advice.current, advice.proposed) == (AdviceKind.ADD_PARTITIONS, 6, 12)
    assert "50.0% of the keys move" in advice.caveats[0].text
    assert [one.name for one in advice.artefacts] == [
        "kafka-topics",
        "Strimzi KafkaTopic",
        "Terraform kafka_topic",
    ]
    assert advice.blockers


def test_the_forecast_peak_counts_beyond_the_usual_room() -> None:
    peak = Reader(
        group="billing",
        age_seconds=1.0,
        kind="plain",
        members=3,
        capacity_per_second=500.0,
        growth_ratio=4.0,
    )
    advice = partition_advice(topic(400.0, readers=(peak,)))
    assert advice is not None and advice.proposed == 30  # 2400 x 4 / 350 = 27.4


def test_the_slowest_reader_decides() -> None:
    readers = (
        Reader(group="fast", age_seconds=None, kind="plain", members=3, capacity_per_second=5000.0),
        Reader(group="slow", age_seconds=None, kind="plain", members=3, capacity_per_second=300.0),
    )
    advice = partition_advice(topic(250.0, readers=readers))
    assert advice is not None and "slow" in advice.reason


def test_unknown_capacity_or_rates_give_no_number() -> None:
    assert partition_advice(topic(400.0, readers=(Reader(group="billing"),))) is None
    assert partition_advice(topic(400.0, rates={0: 400.0, 1: None})) is None


def test_bytes_bind_where_no_reader_is_known() -> None:
    advice = partition_advice(topic(1.0, readers=(), bytes_per_second=60e6))
    assert advice is not None and advice.proposed == 12 and "MB/s" in advice.reason


def test_a_hot_partition_is_not_too_few_partitions() -> None:
    rates = {**{n: 50.0 for n in range(6)}, 2: 600.0}
    advice = partition_advice(topic(rates=rates))
    assert advice is not None
    assert advice.kind is AdviceKind.HOT_PARTITION and advice.proposed is None
    assert "orders-2" in advice.reason and advice.unknown_reason
    reported = partition_advice(topic(rates=rates, busiest_key_per_second=100.0))
    assert reported is not None and reported.proposed == 12 and reported.unknown_reason is None


def test_a_hot_key_is_helped_by_neither() -> None:
    rates = {**{n: 50.0 for n in range(6)}, 2: 600.0}
    advice = partition_advice(topic(rates=rates, busiest_key_per_second=580.0))
    assert advice is not None
    assert advice.kind is AdviceKind.HOT_KEY and advice.proposed is None
    assert "Neither more partitions nor more consumers help" in advice.reason


def test_brokers_ceiling_is_said_outright() -> None:
    advice = partition_advice(topic(400.0, broker_replicas=3998))
    assert advice is not None
    assert advice.kind is AdviceKind.BROKER_CEILING and advice.proposed is None
    assert "will not help" in advice.reason


def test_late_whatever_the_consumers_is_watched() -> None:
    advice = partition_advice(topic(600.0))
    assert advice is not None and advice.severity is AdviceSeverity.WATCH and advice.consequence


def test_streams_and_compaction_are_caveats() -> None:
    readers = (
        Reader(group="app", age_seconds=None, kind="streams", members=3, capacity_per_second=500.0),
    )
    advice = partition_advice(topic(400.0, readers=readers, is_compacted=True))
    assert advice is not None
    assert any("Streams" in one.text for one in advice.blockers)
    high = [one.text for one in advice.caveats if one.level is CaveatLevel.HIGH]
    assert any("compacted" in text for text in high)


@given(
    present=st.integers(1, 200),
    needed=st.integers(1, 5000),
    brokers=st.one_of(st.none(), st.integers(1, 30)),
)
def test_proposed_is_a_multiple_that_is_enough(
    present: int, needed: int, brokers: int | None
) -> None:
    proposed = proposed_partitions(present, needed, brokers)
    assert proposed % present == 0
    assert proposed >= needed
    assert proposed - needed < max(present, 0.5 * (needed + present)) + present


def test_multiples_that_spread_over_the_brokers_are_preferred() -> None:
    assert proposed_partitions(4, 7, 3) == 12
    assert proposed_partitions(4, 7, 5) == 8


def test_partitions_are_told_beside_durability() -> None:
    found = recommend_topic(topic(400.0, min_in_sync_replicas=3))
    assert {one.kind for one in found} == {AdviceKind.ADD_PARTITIONS, AdviceKind.DURABILITY}


def test_a_topic_made_by_default_is_noticed() -> None:
    made = topic(1.0, partitions=1, replication_factor=1, min_in_sync_replicas=1)
    assert AdviceKind.DEFAULTS in {one.kind for one in recommend_topic(made)}
    chosen = replace(made, settings={"retention.ms": "1"})
    assert AdviceKind.DEFAULTS not in {one.kind for one in recommend_topic(chosen)}


@pytest.mark.parametrize(
    ("partitions", "rate", "noticed"), [(96, 0.1, True), (96, 5.0, False), (24, 0.1, False)]
)
def test_far_too_many_partitions_are_noticed(partitions: int, rate: float, noticed: bool) -> None:
    found = recommend_topic(topic(rate, partitions=partitions))
    assert (AdviceKind.OVER_PARTITIONED in {one.kind for one in found}) is noticed
