from __future__ import annotations

import struct
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collectors.kafka.dead_letters.detection import (
    DeadLetterHeaders,
    HeaderValue,
    find_dead_letters,
    origin_by_name,
    read_headers,
)
from collectors.kafka.dead_letters.header_samples import times_of
from collectors.kafka.protocol.records import Record
from config.settings import DeadLetterSettings

TOPICS = [
    "orders",
    "orders.dlq",
    "payments-dlt",
    "poison",
    "terrors",
    "odd",
    "__errors",
    "orders.dlq-retry-0",
    "errors_retry_5000",
    "app-errors-changelog",
    "app-errors-repartition",
    "hono.event.errors",
    "errors.connect-offsets",
]


@pytest.mark.parametrize(
    ("settings", "marked", "of_sinks", "found"),
    [
        pytest.param(
            {},
            (),
            (),
            {"orders.dlq": "name", "payments-dlt": "name", "poison": "name"},
            id="by name, and no retry topics or machinery",
        ),
        pytest.param(
            {"patterns": []},
            ("orders.dlq",),
            ("orders.dlq", "odd", "not there"),
            {"orders.dlq": "topic config", "odd": "connect config"},
            id="of a sink",
        ),
        pytest.param(
            {"patterns": [], "ignore": ["odd"], "topics": ["poison"]},
            ("poison",),
            ("odd", "poison"),
            {"poison": "configuration"},
            id="a sink's can be ignored, and what is declared beats it",
        ),
        pytest.param(
            {"patterns": [], "ignore": ["odd"]}, ("odd",), (), {}, id="marked and ignored"
        ),
        pytest.param(
            {"patterns": [], "topics": ["errors_retry_5000"]},
            (),
            (),
            {"errors_retry_5000": "configuration"},
            id="a retry topic that is declared",
        ),
        pytest.param(
            {"ignore": ["^poison$"]},
            (),
            (),
            {"orders.dlq": "name", "payments-dlt": "name"},
            id="ignored",
        ),
        pytest.param(
            {"topics": ["odd"], "patterns": []}, (), (), {"odd": "configuration"}, id="declared"
        ),
        pytest.param(
            {"redrive_groups": {"odd": "g"}, "patterns": []},
            (),
            (),
            {"odd": "configuration"},
            id="declared by its redrive group",
        ),
        pytest.param(
            {"topics": ["odd"], "ignore": ["odd"], "patterns": []},
            (),
            (),
            {"odd": "configuration"},
            id="declared beats ignored",
        ),
        pytest.param({"patterns": []}, ("odd",), (), {"odd": "topic config"}, id="marked"),
        pytest.param({"patterns": [], "topics": ["none"]}, (), (), {}, id="does not exist"),
    ],
)
def test_find(
    settings: dict[str, object],
    marked: tuple[str, ...],
    of_sinks: tuple[str, ...],
    found: dict[str, str],
) -> None:
    declared = DeadLetterSettings.model_validate(settings)
    assert find_dead_letters(TOPICS, declared, marked, of_sinks, {"__errors"}) == found


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


AT = 1_700_000_000_123
SPRING = [
    ("kafka_dlt-exception-fqcn", b"org.springframework.Wrapper"),
    ("kafka_dlt-exception-cause-fqcn", b"java.lang.IllegalStateException"),
    ("kafka_dlt-original-topic", b"orders"),
    ("kafka_dlt-original-partition", struct.pack(">i", 3)),
    ("kafka_dlt-original-offset", struct.pack(">q", 255)),
    ("kafka_dlt-original-timestamp", struct.pack(">q", AT)),
    ("kafka_dlt-original-timestamp-type", b"CreateTime"),
    ("kafka_dlt-exception-message", b"card 4111 refused"),
]


@pytest.mark.parametrize(
    ("headers", "letter"),
    [
        pytest.param([], DeadLetterHeaders(reason=None, origin=None), id="none"),
        pytest.param(
            SPRING,
            DeadLetterHeaders(
                reason="java.lang.IllegalStateException",
                origin="orders",
                copies_timestamp=False,
                event_at=AT / 1000,
            ),
            id="spring, the cause and not its wrapper",
        ),
        pytest.param(
            [("kafka_dlt-key-exception-fqcn", b"java.lang.E")],
            DeadLetterHeaders(reason="java.lang.E", origin=None, copies_timestamp=False),
            id="spring, the key",
        ),
        pytest.param(
            [
                ("kafka_exception-fqcn", b"java.io.IOException"),
                ("kafka_original-topic", b"o"),
                ("retry_topic-attempts", struct.pack(">i", 4)),
                ("retry_topic-original-timestamp", AT.to_bytes(6, "big")),
                ("retry_topic-backoff-timestamp", (AT + 5000).to_bytes(6, "big")),
                ("kafka_original-timestamp", struct.pack(">q", AT + 1000)),
            ],
            DeadLetterHeaders(
                reason="java.io.IOException", origin="o", copies_timestamp=False, event_at=AT / 1000
            ),
            id="spring retry topic, a time of the length that it needs",
        ),
        pytest.param(
            [
                ("kafka_original-topic", b"o"),
                ("retry_topic-attempts", b"\x04"),
                ("retry_topic-original-timestamp", b"\x00" + AT.to_bytes(6, "big")),
            ],
            DeadLetterHeaders(reason=None, origin="o", copies_timestamp=False, event_at=AT / 1000),
            id="spring retry topic, attempts in one byte",
        ),
        pytest.param(
            [
                ("kafka_dlt-original-timestamp", b"\x01\x02\x03\x04\x05\x06\x07\x08\x09"),
                ("kafka_dlt-original-topic", b"orders"),
                ("kafka_dlt-exception-fqcn", b"java.lang.E"),
            ],
            DeadLetterHeaders(
                reason="java.lang.E", origin="orders", copies_timestamp=False, event_at=None
            ),
            id="a time of a wrong length spoils nothing else",
        ),
        pytest.param(
            [
                ("__connect.errors.exception.class.name", b"org.apache.kafka.DataException"),
                ("__connect.errors.topic", b"orders"),
                ("__connect.errors.offset", b"12"),
            ],
            DeadLetterHeaders(
                reason="org.apache.kafka.DataException", origin="orders", copies_timestamp=True
            ),
            id="connect",
        ),
        pytest.param(
            [("__streams.errors.exception", b"java.lang.E"), ("__streams.errors.topic", b"t")],
            DeadLetterHeaders(reason="java.lang.E", origin="t", copies_timestamp=True),
            id="streams",
        ),
        pytest.param(
            [("dead-letter-exception-class-name", "java.lang.E"), ("dead-letter-topic", "t")],
            DeadLetterHeaders(reason="java.lang.E", origin="t", copies_timestamp=False),
            id="smallrye",
        ),
        pytest.param(
            [
                ("dead-letter-cause-class-name", b"java.lang.Cause"),
                ("delayed-retry-original-timestamp", str(AT).encode()),
            ],
            DeadLetterHeaders(
                reason="java.lang.Cause", origin=None, copies_timestamp=False, event_at=AT / 1000
            ),
            id="smallrye, its cause alone, a time as text",
        ),
        pytest.param(
            [
                ("__dlq.errors.topic", b"t"),
                ("__dlq.errors.group", b"g"),
                ("__dlq.errors.delivery.count", b"5"),
                ("__dlq.errors.message", b"Offset delivery count exceeded the threshold."),
            ],
            DeadLetterHeaders(reason="delivery limit exceeded", origin="t", copies_timestamp=False),
            id="share group, delivery limit",
        ),
        pytest.param(
            [("__dlq.errors.message", b"Offset rejected by client.")],
            DeadLetterHeaders(
                reason="rejected by the consumer", origin=None, copies_timestamp=False
            ),
            id="share group, rejected",
        ),
        pytest.param(
            [("__dlq.errors.message", b"card 4111"), ("__dlq.errors.delivery.count", b"3")],
            DeadLetterHeaders(reason="delivery count 3", origin=None, copies_timestamp=False),
            id="share group, a message that is not the broker's own is not taken",
        ),
        pytest.param(
            [("__dlq.errors.delivery.count", b"many")],
            DeadLetterHeaders(reason=None, origin=None, copies_timestamp=False),
            id="share group, no number",
        ),
        pytest.param(
            [*SPRING, ("__connect.errors.topic", b"orders-dlt")],
            DeadLetterHeaders(
                reason="java.lang.IllegalStateException",
                origin="orders",
                copies_timestamp=None,
                event_at=AT / 1000,
            ),
            id="through two hands: nobody knows whose timestamp it is",
        ),
        pytest.param(
            [("kafka_original-topic", b"first"), ("kafka_original-topic", b"second")],
            DeadLetterHeaders(reason=None, origin="second", copies_timestamp=False),
            id="the newest of several headers of a name",
        ),
        pytest.param(
            [("kafka_original-topic", b"first"), ("kafka_original-topic", b"\xff")],
            DeadLetterHeaders(reason=None, origin="first", copies_timestamp=False),
            id="the newest one that can be read",
        ),
        pytest.param(
            [("kafka_dlt-exception-fqcn", b"\xff\xfe\x00"), ("kafka_dlt-original-topic", b"t")],
            DeadLetterHeaders(reason=None, origin="t", copies_timestamp=False),
            id="no text",
        ),
        pytest.param(
            [("kafka_dlt-exception-cause-fqcn", b"a\nb"), ("kafka_dlt-exception-fqcn", b"E")],
            DeadLetterHeaders(reason="E", origin=None, copies_timestamp=False),
            id="several lines are no name",
        ),
        pytest.param(
            [("kafka_dlt-original-topic", b"my topic; drop")],
            DeadLetterHeaders(reason=None, origin=None, copies_timestamp=False),
            id="no name of a topic",
        ),
        pytest.param(
            [("kafka_dlt-exception-fqcn", None)],
            DeadLetterHeaders(reason=None, origin=None, copies_timestamp=False),
            id="without a value",
        ),
        pytest.param(
            [("kafka_dlt-exception-fqcn", b"x" * 1000)],
            DeadLetterHeaders(reason="x" * 256, origin=None, copies_timestamp=False),
            id="cut",
        ),
    ],
)
def test_read_headers(headers: list[tuple[str, HeaderValue]], letter: DeadLetterHeaders) -> None:
    assert read_headers(headers) == letter


NAMES = st.sampled_from(
    [
        *(name for name, _ in SPRING),
        "kafka_dlt-exception-stacktrace",
        "kafka_original-timestamp",
        "retry_topic-original-timestamp",
        "__connect.errors.exception.class.name",
        "__connect.errors.topic",
        "__streams.errors.exception",
        "__dlq.errors.message",
        "__dlq.errors.delivery.count",
        "dead-letter-topic",
        "delayed-retry-original-timestamp",
        "application",
    ]
)
VALUES = st.one_of(st.none(), st.binary(max_size=40), st.text(max_size=300))


@given(st.lists(st.tuples(NAMES, VALUES), max_size=12))
def test_any_headers_are_understood_or_left(headers: list[tuple[str, HeaderValue]]) -> None:
    letter = read_headers(headers)
    for text in (letter.reason, letter.origin):
        assert text is None or (0 < len(text) <= 256 and text.isprintable())
    assert letter.event_at is None or 0 < letter.event_at < 253_402_300_800
    times = times_of(Record(0, AT, False, []), letter)
    assert times is not None
    assert times.timestamp == datetime.fromtimestamp(AT / 1000, UTC)


@given(
    st.sampled_from([name for name, _ in SPRING if "cause" not in name and "topic" not in name]),
    VALUES,
    st.integers(min_value=0, max_value=8),
)
def test_a_broken_header_costs_only_itself(name: str, value: HeaderValue, place: int) -> None:
    headers: list[tuple[str, HeaderValue]] = [item for item in SPRING if item[0] != name]
    headers.insert(place, (name, value))
    letter = read_headers(headers)
    assert (letter.reason, letter.origin) == ("java.lang.IllegalStateException", "orders")


@given(
    st.binary(min_size=1, max_size=200),
    st.sampled_from(["kafka_dlt-exception-message", "__connect.errors.exception.stacktrace"]),
)
def test_messages_and_stack_traces_are_never_taken(value: bytes, name: str) -> None:
    letter = read_headers([(name, value)])
    assert (letter.reason, letter.origin, letter.event_at) == (None, None, None)


@given(st.integers(min_value=1, max_value=2**47 - 1))
def test_a_time_is_read_in_every_encoding(milliseconds: int) -> None:
    shortest = milliseconds.to_bytes(milliseconds.bit_length() // 8 + 1, "big", signed=True)
    for value in (struct.pack(">q", milliseconds), shortest):
        letter = read_headers([("kafka_original-timestamp", value)])
        assert letter.event_at == milliseconds / 1000
