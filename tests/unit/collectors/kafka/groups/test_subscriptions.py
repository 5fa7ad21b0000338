from __future__ import annotations

import polars as pl
import pytest

from collectors.kafka.groups import subscriptions as module
from collectors.kafka.groups.member_protocol import decode_subscription
from collectors.kafka.groups.model import SUBSCRIPTIONS_SCHEMA
from collectors.kafka.groups.subscriptions import TopicPatterns, with_subscriptions

TOPICS = ["orders", "orders.dlq", "payments"]


def subscriptions(*rows: tuple[str, str | None, str | None]) -> pl.DataFrame:
    return pl.DataFrame(list(rows), schema=SUBSCRIPTIONS_SCHEMA, orient="row")


def subscribed(topic: str, owner: str | None, *rows: tuple[str, str | None, str | None]) -> object:
    offsets = pl.DataFrame(
        {"group": ["g"], "topic": [topic], "member_id": [owner]},
        schema_overrides={"member_id": pl.String},
    )
    return with_subscriptions(offsets, subscriptions(*rows), TOPICS, TopicPatterns())[
        "is_subscribed"
    ][0]


@pytest.mark.parametrize(
    ("topic", "owner", "rows", "expected"),
    [
        pytest.param("orders", None, [("g", "orders", None)], True, id="named"),
        pytest.param("payments", None, [("g", "orders", None)], False, id="not named"),
        pytest.param("payments", "m", [("g", "orders", None)], True, id="owned in spite of that"),
        pytest.param("orders", None, [], None, id="nobody says what it reads"),
        pytest.param("orders", None, [("h", "orders", None)], None, id="another group's"),
        pytest.param("orders.dlq", None, [("g", None, "orders.*")], True, id="fits the expression"),
        pytest.param("payments", None, [("g", None, "orders.*")], False, id="does not fit it"),
        pytest.param(
            "orders.dlq", None, [("g", None, "orders")], False, id="fits whole names only"
        ),
        pytest.param("gone", None, [("g", "gone", None)], True, id="named, and deleted"),
        pytest.param("payments", None, [("g", None, "(")], None, id="an expression nobody reads"),
        pytest.param(
            "orders", None, [("g", "orders", None), ("g", None, "(")], True, id="named beside it"
        ),
    ],
)
def test_what_a_group_reads(
    topic: str,
    owner: str | None,
    rows: list[tuple[str, str | None, str | None]],
    expected: bool | None,
) -> None:
    assert subscribed(topic, owner, *rows) is expected


def test_every_row_stays_in_its_place() -> None:
    offsets = pl.DataFrame(
        {
            "group": ["b", "a", "a", "b"],
            "topic": ["orders", "payments", "orders", "orders"],
            "member_id": [None, None, "m", None],
        }
    )
    found = with_subscriptions(
        offsets, subscriptions(("a", "payments", None)), TOPICS, TopicPatterns()
    )
    assert found.drop("is_subscribed").equals(offsets)
    assert found["is_subscribed"].to_list() == [None, True, True, None]


@pytest.mark.parametrize(
    ("payload", "expected"),
    [
        pytest.param(b"\0\1\0\0\0\1\0\6orders\xff\xff\xff\xff", ["orders"], id="one topic"),
        pytest.param(b"\0\3\0\0\0\2\0\1a\0\1b\0\0\0\0", ["a", "b"], id="two, and more behind"),
        pytest.param(b"\0\0\0\0\0\0", [], id="none"),
    ],
)
def test_a_subscription_is_read(payload: bytes, expected: list[str]) -> None:
    assert decode_subscription(payload) == expected


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\0\1\0\0\0\1", id="ends before the name"),
        pytest.param(b"\0\1\0\0\0\1\0\6ord", id="ends inside the name"),
        pytest.param(b"\0\1\0\0\0\1\xff\xfeab", id="a negative length"),
        pytest.param(b"\0\1\0\0\0\1\0\2\xff\xfe", id="not UTF-8"),
    ],
)
def test_what_is_no_subscription_is_refused(payload: bytes) -> None:
    with pytest.raises(ValueError):
        decode_subscription(payload)


def test_patterns_that_there_is_no_time_for_are_unclear_until_a_later_poll(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patterns = TopicPatterns()
    clock = iter(range(1000))
    monkeypatch.setattr(module.time, "monotonic", lambda: float(next(clock)))
    monkeypatch.setattr(module, "MATCHING_SECONDS", 5.5)
    topics = ["orders", "payments", "refunds"]

    polls = []
    for _ in range(3):
        patterns.begin(topics)
        polls.append([_names(patterns, pattern) for pattern in ("orders", "pay.*", ".*")])

    assert polls == [
        [["orders"], None, None],
        [["orders"], ["payments"], None],
        [["orders"], ["payments"], sorted(topics)],
    ]


def test_what_patterns_match_follows_the_topics() -> None:
    patterns = TopicPatterns()
    patterns.begin(["orders"])
    assert _names(patterns, ".*") == ["orders"]
    patterns.begin(["orders", "payments"])
    assert _names(patterns, ".*") == ["orders", "payments"]


def _names(patterns: TopicPatterns, pattern: str) -> list[str] | None:
    try:
        return sorted(patterns.matching(pattern))
    except TimeoutError:
        return None
