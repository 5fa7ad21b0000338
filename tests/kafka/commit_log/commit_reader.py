"""An independent reader of ``__consumer_offsets``: librdkafka, and a decoder in plain steps."""

from __future__ import annotations

import io
import struct
import time
from datetime import UTC, datetime

from confluent_kafka import Consumer, KafkaError, TopicPartition

from demo.kafka.cluster import KafkaCluster

TOPIC = "__consumer_offsets"
Key = tuple[str, str, int]
Last = dict[Key, tuple[int, datetime]]


def last_commits(cluster: KafkaCluster, topic: str = TOPIC) -> Last:
    """Read the topic with read_committed to its last stable offsets.

    Returns:
        (group, topic, partition): offset and time of the last commit.
    """
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": "independent-reader",
            "enable.auto.commit": False,
            "isolation.level": "read_committed",
            "enable.partition.eof": True,
        }
    )
    last: Last = {}
    try:
        left = set(consumer.list_topics(topic, timeout=10).topics[topic].partitions)
        consumer.assign([TopicPartition(topic, number, 0) for number in left])
        deadline = time.monotonic() + 30
        while left:
            assert time.monotonic() < deadline, f"partitions {left} were not read in time"
            message = consumer.poll(1.0)
            if message is None:
                continue
            error = message.error()
            if error is not None:
                assert error.code() == KafkaError._PARTITION_EOF, error  # noqa: SLF001
                left.discard(message.partition())
                continue
            _take(message.key(), message.value(), last)
    finally:
        consumer.close()
    return last


def _take(key: bytes, value: bytes | None, last: Last) -> None:
    stream = io.BytesIO(key)
    if _number(stream, ">h") > 1:
        return
    group, topic = _text(stream), _text(stream)
    place = (group, topic, _number(stream, ">i"))
    if value is None:
        last.pop(place, None)
        return
    stream = io.BytesIO(value)
    version, offset = _number(stream, ">h"), _number(stream, ">q")
    if version >= 3:
        _number(stream, ">i")
    if version >= 4:
        length = stream.read(1)[0]
        assert 1 <= length < 128, "long metadata is not needed here"
        stream.read(length - 1)
    else:
        _text(stream)
    last[place] = (offset, datetime.fromtimestamp(_number(stream, ">q") / 1000, UTC))


def _number(stream: io.BytesIO, layout: str) -> int:
    (number,) = struct.unpack(layout, stream.read(struct.calcsize(layout)))
    return int(number)


def _text(stream: io.BytesIO) -> str:
    return stream.read(_number(stream, ">h")).decode()
