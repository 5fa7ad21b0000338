"""Each way in which a group's offsets get into the log of commits."""

from __future__ import annotations

from contextlib import closing

from confluent_kafka import Consumer, KafkaException, Producer, ShareConsumer, TopicPartition

from demo.kafka.cluster import KafkaCluster
from tests.support import Names, eventually


def commit_as_member(cluster: KafkaCluster, group: str, topic: str, protocol: str) -> None:
    """Read all of a topic as a member of the group, and commit."""
    consumer = Consumer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "group.id": group,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    with closing(consumer):
        consumer.subscribe([topic])
        eventually(lambda: consumer.poll(0.5) is not None, what="a record")
        consumer.commit(asynchronous=False)


def share(cluster: KafkaCluster, group: str, topic: str) -> None:
    """Take part in a share group until its member is written to the log."""
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "group.id": group}
    with closing(ShareConsumer(settings)) as consumer:
        consumer.subscribe([topic])
        for _ in range(10):
            consumer.poll(0.2)


class Transaction:
    """An open transaction in which a group's offsets are committed."""

    def __init__(self, cluster: KafkaCluster, group: str, topic: str, offset: int) -> None:
        self.producer = Producer(
            {
                "bootstrap.servers": cluster.bootstrap_servers,
                "transactional.id": f"{group}-{topic}",
            }
        )
        self.producer.init_transactions(20)
        self.producer.begin_transaction()
        consumer = Consumer({"bootstrap.servers": cluster.bootstrap_servers, "group.id": group})
        with closing(consumer):
            self.producer.send_offsets_to_transaction(
                [TopicPartition(topic, 0, offset)], consumer.consumer_group_metadata(), 20
            )

    def commit(self) -> None:
        self.producer.commit_transaction(20)

    def abort(self) -> None:
        self.producer.abort_transaction(20)


def commits(names: Names, group: str, topic: str, offset: int) -> bool:
    try:
        names.commit(group, topic, {0: offset})
    except KafkaException:
        return False
    return True
