"""Time lag beyond what was watched: from the broker's own timestamps, or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition

from collectors.kafka.time_lag import record_lookups
from collectors.kafka.time_lag.timestamp_lookups import NOT_PERMITTED, Wanted
from demo.kafka.cluster import KafkaCluster
from tests.kafka.collecting import Poller, polling
from tests.support import Names, eventually

HOUR = 3600.0


@pytest.fixture
def poller(kafka_cluster: KafkaCluster) -> Iterator[Poller]:
    with polling(kafka_cluster) as made:
        yield made


def produce_at(names: Names, topic: str, times: list[float]) -> None:
    """Produce a record for each time, each in a batch of its own."""
    producer = Producer(
        {
            "bootstrap.servers": names.cluster.bootstrap_servers,
            "acks": "all",
            "batch.num.messages": 1,
        }
    )
    for at in times:
        producer.produce(topic, b"x", partition=0, timestamp=int(at * 1000))
        assert producer.flush(20) == 0


def past(names: Names, **config: str) -> tuple[str, str, float]:
    """Return a group that stands at offset 3 of a topic with a record a minute, and now."""
    topic = names.topic("past", partitions=1, config=config)
    group = names.group("late")
    now = time.time()
    produce_at(names, topic, [now - HOUR + 60 * minute for minute in range(20)])
    names.commit(group, topic, {0: 3})
    return topic, group, now


def test_the_first_poll_knows_how_late_a_group_is(names: Names, poller: Poller) -> None:
    topic, group, now = past(names)
    row = poller.poll().offsets(group, topic)[0]
    assert row["lag"] == 17
    assert row["time_lag_source"] == "record"
    assert row["time_lag_seconds"] == pytest.approx(HOUR - 180 + time.time() - now, abs=3)


def test_reprocessing_from_the_start_is_late_by_the_age_of_the_oldest_record(
    names: Names, poller: Poller
) -> None:
    topic, group, now = past(names)
    names.commit(group, topic, {0: 20})
    assert poller.poll().offsets(group, topic)[0]["time_lag_seconds"] == 0.0
    names.commit(group, topic, {0: 0})
    row = poller.poll().offsets(group, topic)[0]
    assert row["time_lag_seconds"] == pytest.approx(HOUR + time.time() - now, abs=3)


def test_where_reading_is_not_permitted_the_time_is_searched_for(
    names: Names, poller: Poller, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_wire: Any, wanted: set[Wanted], *_: Any) -> Mapping[Wanted, float | str]:
        return dict.fromkeys(wanted, NOT_PERMITTED)

    monkeypatch.setattr(record_lookups, "fetch_times", refuse)
    topic, group, now = past(names)
    row = poller.poll().offsets(group, topic)[0]
    assert row["time_lag_source"] == "record"
    # Searched for until it is known to a quarter of itself.
    assert row["time_lag_seconds"] == pytest.approx(HOUR - 180 + time.time() - now, rel=0.25)


def test_nothing_is_asked_for_where_that_is_switched_off(
    names: Names, kafka_cluster: KafkaCluster
) -> None:
    topic, group, _ = past(names)
    with polling(kafka_cluster, time_lag={"ask_brokers": False}) as poller:
        row = poller.poll().offsets(group, topic)[0]
    assert row["time_lag_seconds"] is None
    assert row["unknown_reason"].startswith("time lag: ")


def test_what_retention_has_removed_has_no_time(names: Names, poller: Poller) -> None:
    topic, group, _ = past(names)
    names.admin.delete_records([TopicPartition(topic, 0, 7)])
    row = eventually(
        lambda: next(
            (row for row in poller.poll().offsets(group, topic).values() if row["log_start"] == 7),
            None,
        ),
        what="deleted records",
    )
    assert row["time_lag_seconds"] is None
    assert row["unknown_reason"] == "time lag: retention has removed the next record"
    assert row["lost_messages"] == 4


def test_more_records_than_one_poll_may_ask_for_take_their_turn(
    names: Names, kafka_cluster: KafkaCluster
) -> None:
    topic, group, _ = past(names)
    others = [names.group(f"late{number}") for number in range(3)]
    for number, other in enumerate(others):
        names.commit(other, topic, {0: 5 + 3 * number})
    everyone = [group, *others]
    with polling(kafka_cluster, time_lag={"lookups": 1}, groups={"include": everyone}) as poller:

        def known() -> int:
            poll = poller.poll()
            rows = [poll.offsets(name, topic)[0] for name in everyone]
            assert all(
                (row["time_lag_seconds"] is None) != (row["unknown_reason"] is None) for row in rows
            )
            return sum(row["time_lag_seconds"] is not None for row in rows)

        assert known() >= 1
        eventually(lambda: known() == len(everyone), what="every group's turn")


def test_an_open_transaction_holds_back_the_last_stable_offset(
    names: Names, poller: Poller
) -> None:
    topic = names.topic("paid", partitions=1)
    group = names.group("reader")
    names.produce(topic, 2, partition=0)
    names.commit(group, topic, {0: 2})
    producer = Producer(
        {
            "bootstrap.servers": names.cluster.bootstrap_servers,
            "transactional.id": f"open-{topic}",
        }
    )
    producer.init_transactions(20)
    before = time.time()
    producer.begin_transaction()
    producer.produce(topic, b"x", partition=0)
    assert producer.flush(20) == 0
    first = poller.poll().offsets(group, topic)[0]
    second = poller.poll().offsets(group, topic)[0]
    producer.commit_transaction(20)
    assert (first["log_end"], first["last_stable"]) == (3, 2)
    assert first["open_since"] is not None
    assert first["open_since"].timestamp() >= before - 1
    assert second["open_since"] == first["open_since"]

    def closed() -> bool:
        row = poller.poll().offsets(group, topic)[0]
        return bool(row["last_stable"] == row["log_end"] == 4 and row["open_since"] is None)

    eventually(closed, what="the transaction's marker")
