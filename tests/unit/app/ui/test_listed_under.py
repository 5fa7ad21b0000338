"""Advice that is the same on a group and on its topic."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.ui.advice import advice_cards
from app.views.scaling import decisions
from scaling.advice.advice_table import recommendation_frame, recommendation_rows
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Confidence,
    Evidence,
    Recommendation,
    Subject,
)
from scaling.advisers.durability import LOSING_GROUPS
from scaling.advisers.group_evidence import HOT_PARTITIONS
from scaling.advisers.retention import TOPICS

NOW = datetime(2026, 11, 25, tzinfo=UTC)


def losing(subject: str, kind: Subject, figure: str, names: str) -> Recommendation:
    return Recommendation(
        kind=AdviceKind.DATA_LOST,
        cluster="demo",
        subject=subject,
        subject_kind=kind,
        severity=AdviceSeverity.ACT_NOW,
        confidence=Confidence.HIGH,
        reason="Retention deletes messages that were not read yet.",
        evidence=(Evidence(name=figure, value=names),),
    )


@pytest.mark.parametrize(
    ("topic", "reader", "rows"),
    [
        pytest.param("telemetry.readings", "archive", ["archive"], id="each names the other"),
        pytest.param(
            "telemetry.read", "archive", ["archive", "telemetry.read"], id="another topic"
        ),
        pytest.param(
            "telemetry.readings",
            "archive-2",
            ["archive", "telemetry.readings"],
            id="lost by another group",
        ),
    ],
)
def test_the_same_advice_on_a_group_and_on_its_topic_is_one_row(
    topic: str, reader: str, rows: list[str]
) -> None:
    given = [
        losing(topic, Subject.TOPIC, LOSING_GROUPS, f"{reader}, zoo"),
        losing("archive", Subject.GROUP, TOPICS, "a.topic, telemetry.readings"),
    ]
    advice = recommendation_frame(recommendation_rows(given, at=NOW))
    found = decisions.items(advice, {}, picked=None, now=NOW, zone=UTC)
    assert sorted(one.what for one in found) == sorted(rows)
    said = advice_cards.summary(advice)
    assert said.startswith("Advice on 1 group: 1") == (len(rows) == 1)
    if len(rows) == 1:
        assert found[0].links == []
        assert [link.label for link in found[0].acts] == [
            f"{advice_cards.WORDS[given[0].kind]} (topic {topic})"
        ]


def hot(subject: str, kind: Subject, severity: AdviceSeverity, where: str = "") -> Recommendation:
    return replace(
        losing(subject, kind, HOT_PARTITIONS, where),
        kind=AdviceKind.HOT_PARTITION,
        severity=severity,
    )


@pytest.mark.parametrize(
    ("severity", "where", "rows"),
    [
        pytest.param(AdviceSeverity.ACT_NOW, "web.views-0", ["builder"], id="one thing"),
        pytest.param(
            AdviceSeverity.ACT_NOW, "web.views-eu-0", ["builder", "web.views"], id="another topic"
        ),
        pytest.param(
            AdviceSeverity.INFO, "web.views-0", ["builder", "web.views"], id="no harm to the group"
        ),
    ],
)
def test_a_hot_partition_is_one_row_on_the_group_that_is_late_on_it(
    severity: AdviceSeverity, where: str, rows: list[str]
) -> None:
    given = [
        hot("builder", Subject.GROUP, severity, where),
        hot("web.views", Subject.TOPIC, AdviceSeverity.WATCH),
    ]
    advice = recommendation_frame(recommendation_rows(given, at=NOW))
    found = decisions.items(advice, {}, picked=None, now=NOW, zone=UTC)
    assert [one.what for one in found] == rows
    split = replace(given[1], quantity="partitions", current=6, proposed=12)
    advice = recommendation_frame(recommendation_rows([given[0], split], at=NOW))
    if len(rows) == 1:
        (row,) = decisions.items(advice, {}, picked=None, now=NOW, zone=UTC)
        assert [link.label for link in row.links] == ["6 → 12 partitions (topic web.views)"]
