"""How high cards of advice are about."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.ui.advice.card_size import pixels
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Artefact,
    Caveat,
    CaveatLevel,
    Confidence,
    Evidence,
    Recommendation,
    Subject,
)


def made(text: str) -> Artefact:
    return Artefact(name="kafka-configs", language="bash", text=text)


KEEP = Recommendation(
    kind=AdviceKind.KEEP,
    cluster="east",
    subject="orders",
    subject_kind=Subject.GROUP,
    severity=AdviceSeverity.INFO,
    confidence=Confidence.MEDIUM,
    reason="The group keeps up: no reason to change its consumers.",
    evidence=(Evidence(name="lag", value=12, unit="messages"),),
)
LOST = replace(
    KEEP,
    severity=AdviceSeverity.ACT_NOW,
    reason="Keep messages of telemetry.readings for 1 d instead of 1 min. " * 4,
    consequence="Retention may delete more unread messages, at the present rates.",
    caveats=(Caveat(level=CaveatLevel.LOW, text="Disks fill."),),
    artefacts=(made("kafka-configs.sh --alter --add-config retention.ms=1"),),
)


def test_cards_are_about_as_high_as_they_are_drawn_in_a_window_of_1440_pixels() -> None:
    assert pixels(KEEP) == pytest.approx(170, abs=30)
    assert pixels(LOST) == pytest.approx(520, abs=50)


def test_what_is_folded_takes_no_more_than_its_title() -> None:
    watched = replace(LOST, severity=AdviceSeverity.WATCH)
    long = replace(watched, artefacts=(made("a line\n" * 40),))
    assert pixels(long) == pixels(watched) < pixels(LOST)
