from __future__ import annotations

import struct

import pytest

from collectors.kafka.deadletters import (
    Reason,
    find_dead_letters,
    origin_by_name,
    read_headers,
)
from config.settings import DeadLetterSettings

TOPICS = ["orders", "orders.dlq", "payments-dlt", "poison", "terrors", "odd", "__errors"]


@pytest.mark.parametrize(
    ("settings", "marked", "found"),
    [
        pytest.param(
            {},
            (),
            {"orders.dlq": "name", "payments-dlt": "name", "poison": "name"},
            id="by name",
        ),
        pytest.param(
            {"ignore": ["^poison$"]},
            (),
            {"orders.dlq": "name", "payments-dlt": "name"},
            id="ignored",
        ),
        pytest.param(
            {"topics": ["odd"], "patterns": []}, (), {"odd": "configuration"}, id="declared"
        ),
        pytest.param(
            {"redrive_groups": {"odd": "g"}, "patterns": []},
            (),
            {"odd": "configuration"},
            id="declared by its redrive group",
        ),
        pytest.param(
            {"topics": ["odd"], "ignore": ["odd"], "patterns": []},
            (),
            {"odd": "configuration"},
            id="declared beats ignored",
        ),
        pytest.param({"patterns": []}, ("odd",), {"odd": "topic config"}, id="marked"),
        pytest.param({"patterns": [], "topics": ["none"]}, (), {}, id="does not exist"),
    ],
)
def test_find(settings: dict[str, object], marked: tuple[str, ...], found: dict[str, str]) -> None:
    declared = DeadLetterSettings.model_validate(settings)
    assert find_dead_letters(TOPICS, declared, marked, {"__errors"}) == found


@pytest.mark.parametrize(
    ("topic", "origin"),
    [
        ("orders.dlq", "orders"),
        ("orders-dlt", "orders"),
        ("orders.DLT", "orders"),
        ("dead-letter-topic-orders", "orders"),
        ("dlq.orders", "orders"),
        ("orders-retry-dlt", "orders"),
        ("orders_dead_letter", "orders"),
        ("orders.errors", "orders"),
        ("shipments.dlq", None),
        ("errors", None),
    ],
)
def test_origin_by_name(topic: str, origin: str | None) -> None:
    assert origin_by_name(topic, {"orders", topic}) == origin


@pytest.mark.parametrize(
    ("headers", "reason"),
    [
        pytest.param([], Reason(None, None), id="none"),
        pytest.param(
            [
                ("kafka_dlt-exception-fqcn", b"org.springframework.Wrapper"),
                ("kafka_dlt-exception-cause-fqcn", b"java.lang.IllegalStateException"),
                ("kafka_dlt-original-topic", b"orders"),
                ("kafka_dlt-original-partition", struct.pack(">i", 3)),
                ("kafka_dlt-original-offset", struct.pack(">q", 255)),
            ],
            Reason("java.lang.IllegalStateException", "orders"),
            id="spring, the cause and not its wrapper",
        ),
        pytest.param(
            [("kafka_exception-fqcn", b"java.io.IOException"), ("kafka_original-topic", b"o")],
            Reason("java.io.IOException", "o"),
            id="spring retry topic",
        ),
        pytest.param(
            [
                ("__connect.errors.exception.class.name", b"org.apache.kafka.DataException"),
                ("__connect.errors.topic", b"orders"),
            ],
            Reason("org.apache.kafka.DataException", "orders"),
            id="connect",
        ),
        pytest.param(
            [("__streams.errors.exception", b"java.lang.E"), ("__streams.errors.topic", b"t")],
            Reason("java.lang.E", "t"),
            id="streams",
        ),
        pytest.param(
            [("dead-letter-exception-class-name", "java.lang.E"), ("dead-letter-topic", "t")],
            Reason("java.lang.E", "t"),
            id="smallrye",
        ),
        pytest.param([("__dlq.errors.topic", b"t")], Reason(None, "t"), id="share group"),
        pytest.param(
            [("kafka_dlt-exception-fqcn", b"\xff\xfe\x00")], Reason(None, None), id="no text"
        ),
        pytest.param(
            [("kafka_dlt-exception-fqcn", None)], Reason(None, None), id="header without a value"
        ),
        pytest.param(
            [("kafka_dlt-exception-fqcn", b"x" * 1000)], Reason("x" * 256, None), id="cut"
        ),
        pytest.param(
            [("kafka_dlt-exception-message", b"card 4111 refused")],
            Reason(None, None),
            id="messages are not taken",
        ),
    ],
)
def test_read_headers(headers: list[tuple[str, bytes | str | None]], reason: Reason) -> None:
    assert read_headers(headers) == reason
