"""Advice that is the same on a group and on its topic."""

from __future__ import annotations

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
        assert [link.label for link in found[0].links] == [
            f"also: {advice_cards.WORDS[given[0].kind]} (topic {topic})"
        ]
