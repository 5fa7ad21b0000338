"""Headers of dead-letter records as Spring Kafka and Kafka Connect write them."""

from __future__ import annotations

import struct
from dataclasses import dataclass

Headers = list[tuple[str, str | bytes | None]]

ERRORS = (
    # (share of ten, exception class, message)
    (7, "java.lang.IllegalArgumentException", "unknown article number"),
    (2, "java.util.concurrent.TimeoutException", "no answer from the stock service in 5000 ms"),
    (1, "com.fasterxml.jackson.databind.JsonMappingException", "field 'total' is missing"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Where a record that failed came from."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int  # its timestamp in milliseconds since 1970, UTC


def failure(number: int) -> tuple[str, str]:
    """Return exception class and message of the so-manieth failure: 7 : 2 : 1 of ten."""
    place = number % 10
    for share, name, message in ERRORS:
        if place < share:
            return name, message
        place -= share
    raise AssertionError("the shares do not add up to ten")


def spring_headers(origin: Origin, group: str, number: int) -> Headers:
    """Return the headers of Spring's dead-letter publishing recoverer.

    Numbers are binary, big-endian: partition 32 bits, offset and timestamp 64.
    """
    name, message = failure(number)
    wrapper = "org.springframework.kafka.listener.ListenerExecutionFailedException"
    return [
        ("kafka_dlt-original-topic", origin.topic.encode()),
        ("kafka_dlt-original-partition", struct.pack(">i", origin.partition)),
        ("kafka_dlt-original-offset", struct.pack(">q", origin.offset)),
        ("kafka_dlt-original-timestamp", struct.pack(">q", origin.timestamp_ms)),
        ("kafka_dlt-original-timestamp-type", b"CreateTime"),
        ("kafka_dlt-original-consumer-group", group.encode()),
        ("kafka_dlt-exception-fqcn", wrapper.encode()),
        ("kafka_dlt-exception-cause-fqcn", name.encode()),
        ("kafka_dlt-exception-message", f"Listener failed; {message}".encode()),
        (
            "kafka_dlt-exception-stacktrace",
            f"{wrapper}: Listener failed\nCaused by: {name}: {message}\n".encode(),
        ),
    ]


def connect_headers(origin: Origin, connector: str, number: int) -> Headers:
    """Return the headers of a Kafka Connect sink with context headers enabled; all are text."""
    name, message = failure(number)
    values = {
        "topic": origin.topic,
        "partition": str(origin.partition),
        "offset": str(origin.offset),
        "connector.name": connector,
        "task.id": "0",
        "stage": "VALUE_CONVERTER",
        "class.name": "org.apache.kafka.connect.json.JsonConverter",
        "exception.class.name": "org.apache.kafka.connect.errors.DataException",
        "exception.message": message,
        "exception.stacktrace": (
            f"org.apache.kafka.connect.errors.DataException: {message}\nCaused by: {name}\n"
        ),
    }
    return [(f"__connect.errors.{key}", value.encode()) for key, value in values.items()]
