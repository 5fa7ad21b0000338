"""Settings of the workload's clients: small buffers and few requests.

A consumer that fetches ahead would hide what the broker sees, for example how close retention
is; a consumer that fetches each record by itself would cost the brokers more than the records.
"""

from __future__ import annotations

import logging
from typing import Any

from confluent_kafka import KafkaError

from demo.workload.model import Group

LOG = logging.getLogger("demo.workload")


def note_error(error: KafkaError) -> None:
    """Write a client's error to the log: a broker that was killed on purpose, for example."""
    LOG.info("client: %s", error)


def common(bootstrap_servers: str, client_id: str) -> dict[str, Any]:
    """Return what all clients share."""
    return {
        "bootstrap.servers": bootstrap_servers,
        "client.id": client_id,
        "log_level": 2,
        "error_cb": note_error,
        "reconnect.backoff.ms": 100,
        "reconnect.backoff.max.ms": 2000,
        "topic.metadata.refresh.interval.ms": 60_000,
        "statistics.interval.ms": 0,
    }


def producer_settings(
    bootstrap_servers: str, client_id: str, transactional_id: str | None = None
) -> dict[str, Any]:
    """Return the settings of a producer that loses nothing."""
    settings = {
        **common(bootstrap_servers, client_id),
        "acks": "all",
        "enable.idempotence": True,
        "linger.ms": 50,
        "compression.type": "lz4",
        "partitioner": "murmur2_random",  # Java's: a key's partition is the same in both
        "queue.buffering.max.messages": 50_000,
        # A broker works on one request of a connection at a time, and a request of librdkafka
        # carries one batch of each partition: a busy partition gets through what a batch holds
        # in each round of them, which may take seconds on a busy machine.
        "batch.size": 65_536,
    }
    if transactional_id:
        settings |= {"transactional.id": transactional_id, "transaction.timeout.ms": 20_000}
    return settings


def consumer_settings(bootstrap_servers: str, client_id: str, group: Group) -> dict[str, Any]:
    """Return the settings of one member of a group."""
    settings = {
        **common(bootstrap_servers, client_id),
        "group.id": group.name,
        "group.protocol": group.protocol,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "isolation.level": "read_committed" if group.read_committed else "read_uncommitted",
        "fetch.min.bytes": 65_536,
        "fetch.wait.max.ms": 700,
        # A few hundred compressed records. More would let a busy consumer work on one partition for
        # a minute while its others stand still and look stuck.
        "max.partition.fetch.bytes": 4096,
        "queued.min.messages": 20,
    }
    if group.protocol == "classic":
        settings |= {
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": 10_000,
            "heartbeat.interval.ms": 2_000,
        }
    return settings
