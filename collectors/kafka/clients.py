"""The librdkafka client of a cluster: reads records where a feature needs their headers.

Everything else goes through ``wire``, because librdkafka waits for the slowest broker of a request,
takes one group a call, and asks for topics by name, which can create them.
"""

from __future__ import annotations

import logging
from typing import Any

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

from collectors.errors import SettingsError
from collectors.kafka.properties import Security, security
from config.settings import ClusterSettings

# What librdkafka logs about connections is said once, in words, by the batched client.
_quiet = logging.getLogger("collectors.librdkafka")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False

READER_LOOKS_FOR = "__consumer_offsets"
"""librdkafka's reader looks for the coordinator of its group id, though it joins no group; a
cluster that has no groups yet would create this topic at that."""

# Properties that Headroom decides, whatever the configuration says: it only reads.
_READ_ONLY: dict[str, Any] = {
    "allow.auto.create.topics": False,
}
_READER: dict[str, Any] = {
    **_READ_ONLY,
    # librdkafka wants a group id; nothing joins or commits, since partitions are assigned.
    "group.id": "headroom-reader",
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "auto.offset.reset": "error",
    "enable.partition.eof": True,
    "isolation.level": "read_committed",
    "check.crcs": False,
    "fetch.message.max.bytes": 262_144,
    "queued.max.messages.kbytes": 4_096,
    "fetch.wait.max.ms": 100,
    "topic.metadata.refresh.interval.ms": 5_000,
    "reconnect.backoff.max.ms": 1_000,
}


def validate(settings: ClusterSettings) -> Security:
    """Check a cluster's properties with both clients, without connecting.

    Returns:
        What the batched client needs.

    Raises:
        SettingsError: A property is unknown or has a wrong value; the text names it.
    """
    try:
        understood = security(settings.librdkafka())
        if understood.tls is not None:
            understood.tls.context()
        AdminClient({**settings.librdkafka(), **_READ_ONLY}, logger=_quiet)
    except SettingsError as error:
        raise SettingsError(f"cluster {settings.name}: properties: {error}") from None
    except KafkaException as error:
        raise SettingsError(f"cluster {settings.name}: properties: {error.args[0].str()}") from None
    return understood


def record_reader(settings: ClusterSettings, request_seconds: float) -> Consumer:
    """Return a consumer for ``assign()``: it joins no group, commits nothing, creates no topic."""
    timeout_ms = int(request_seconds * 1000)
    return Consumer(
        {
            **settings.librdkafka(),
            **_READER,
            "socket.timeout.ms": max(timeout_ms, 1_000),
            "socket.connection.setup.timeout.ms": max(timeout_ms, 1_000),
        },
        logger=_quiet,
    )
