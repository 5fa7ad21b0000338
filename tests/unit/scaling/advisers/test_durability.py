from __future__ import annotations

import pytest

from alerting.checks.retention_deadline import Retention
from scaling.advice.model import AdviceKind, AdviceSeverity
from scaling.advisers.durability import LOSING_GROUPS, brokers_that_may_fail
from scaling.advisers.recommend import recommend_topic
from scaling.facts.topic_facts import Reader, TopicFacts


def topic(**more: object) -> TopicFacts:
    return TopicFacts(
        **{  # type: ignore[arg-type]
            "cluster": "demo",
            "topic": "orders",
            "partitions": 6,
            "brokers": 3,
            "replication_factor": 3,
            "min_in_sync_replicas": 2,
            "retention": Retention(seconds=1000.0),
            **more,
        }
    )


@pytest.mark.parametrize(
    ("copies", "minimum", "expected"),
    [(3, 2, 1), (3, 3, 0), (3, 1, 2), (1, 1, 0), (2, 3, 0), (None, 2, None), (3, None, None)],
)
def test_brokers_that_may_fail(
    copies: int | None, minimum: int | None, expected: int | None
) -> None:
    assert brokers_that_may_fail(copies, minimum) == expected


@pytest.mark.parametrize(
    ("more", "quantity", "current", "proposed", "severity"),
    [
        pytest.param(
            {"replication_factor": 1, "min_in_sync_replicas": 1},
            "replication factor", 1, 3, AdviceSeverity.WATCH, id="one copy",
        ),
        pytest.param(
            {"replication_factor": 1, "brokers": 2},
            "replication factor", 1, 2, AdviceSeverity.WATCH, id="one copy, two brokers",
        ),
        pytest.param(
            {"replication_factor": 1, "brokers": 1},
            "replication factor", 1, None, AdviceSeverity.WATCH, id="one copy, one broker",
        ),
        pytest.param(
            {"replication_factor": 1, "brokers": None},
            "replication factor", 1, None, AdviceSeverity.WATCH, id="one copy, brokers unknown",
        ),
        pytest.param(
            {"min_in_sync_replicas": 3},
            "min.insync.replicas", 3, 2, AdviceSeverity.WATCH, id="factor equals minimum",
        ),
        pytest.param(
            {"replication_factor": 2, "min_in_sync_replicas": 2},
            "replication factor", 2, 3, AdviceSeverity.WATCH, id="two of two",
        ),
        pytest.param(
            {"replication_factor": 2, "min_in_sync_replicas": 2, "brokers": 2},
            "min.insync.replicas", 2, 1, AdviceSeverity.WATCH, id="two of two, two brokers",
        ),
        pytest.param(
            {"replication_factor": 2, "min_in_sync_replicas": 1},
            "replication factor", 2, 3, AdviceSeverity.INFO, id="two copies",
        ),
        pytest.param(
            {"min_in_sync_replicas": 1},
            "min.insync.replicas", 1, 2, AdviceSeverity.INFO, id="three copies, one confirms",
        ),
    ],
)  # fmt: skip
def test_durability(
    more: dict[str, object],
    quantity: str,
    current: int,
    proposed: int | None,
    severity: AdviceSeverity,
) -> None:
    [advice] = recommend_topic(topic(**more))

    assert advice.kind is AdviceKind.DURABILITY
    assert (advice.quantity, advice.current, advice.proposed) == (quantity, current, proposed)
    assert (proposed is None) == (advice.unknown_reason is not None)
    assert advice.severity is severity


def test_sound_topic_is_kept_and_says_what_it_survives() -> None:
    [advice] = recommend_topic(topic())

    assert advice.kind is AdviceKind.KEEP
    assert advice.reason.startswith("1 broker may fail")
    assert {e.name: e.value for e in advice.evidence}["brokers that may fail"] == 1


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"replication_factor": None}, id="no replication factor"),
        pytest.param({"min_in_sync_replicas": None}, id="no minimum"),
    ],
)
def test_unknown_settings_are_said(more: dict[str, object]) -> None:
    [advice] = recommend_topic(topic(unknown_reason="not authorized", **more))

    assert advice.kind is AdviceKind.UNKNOWN
    assert advice.unknown_reason == "not authorized"


@pytest.mark.parametrize(
    ("age", "severity"),
    [
        pytest.param(499.0, None, id="under half"),
        pytest.param(500.0, AdviceSeverity.WATCH, id="half"),
        pytest.param(800.0, AdviceSeverity.ACT_NOW, id="four fifths"),
        pytest.param(None, None, id="unknown age"),
    ],
)
def test_retention_against_the_slowest_group(
    age: float | None, severity: AdviceSeverity | None
) -> None:
    [advice] = recommend_topic(topic(slowest_group="billing", slowest_age_seconds=age))

    if severity is None:
        assert advice.kind is AdviceKind.KEEP
    else:
        assert advice.kind is AdviceKind.RETENTION_DEADLINE
        assert advice.severity is severity
        assert "billing" in advice.reason


def test_a_topic_of_which_a_reader_loses_data_cannot_wait_however_late_the_slowest_is() -> None:
    readers = (Reader(group="bi"), Reader(group="archive", lost_messages=4000))
    [advice] = recommend_topic(
        topic(slowest_group="archive", slowest_age_seconds=600.0, readers=readers)
    )

    assert (advice.kind, advice.severity) == (AdviceKind.DATA_LOST, AdviceSeverity.ACT_NOW)
    assert "not read yet by archive." in advice.reason
    figures = {one.name: one.value for one in advice.evidence}
    assert figures[LOSING_GROUPS] == "archive", "lists put it into the row of that group"
    (change,) = advice.artefacts
    assert change.text.endswith("--add-config retention.ms=86400000")


def test_commands_quote_the_name() -> None:
    [advice] = recommend_topic(topic(topic="a b;c", min_in_sync_replicas=3))

    assert "--entity-name 'a b;c' " in advice.artefacts[0].text
