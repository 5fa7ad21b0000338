"""Advice in a line, and in the few words of a table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.ui.advice.advice_cards import in_a_line, in_few_words
from scaling.advice.model import AdviceKind, AdviceSeverity, Confidence, Evidence, Recommendation


@pytest.mark.parametrize(
    ("figures", "said"),
    [
        pytest.param(
            {"hot partitions": "clicks-4", "share of the busiest partition": 0.83},
            "a hot partition: clicks-4, 83\u202f%; look at the keys",
            id="known",
        ),
        pytest.param({}, "a hot partition; look at the keys", id="unknown"),
    ],
)
def test_advice_on_a_hot_partition_says_which_and_how_hot(
    figures: dict[str, float | str], said: str
) -> None:
    advice = Recommendation(
        kind=AdviceKind.HOT_PARTITION,
        cluster="c",
        subject="clicks",
        severity=AdviceSeverity.WATCH,
        confidence=Confidence.HIGH,
        reason="One partition gets most.",
        unknown_reason="keys are not read",
        evidence=tuple(
            Evidence(name=name, value=value, unit="ratio" if isinstance(value, float) else "")
            for name, value in figures.items()
        ),
    )
    assert in_a_line(advice) == said
    assert in_few_words(advice) == "hot partition", "a table has little room"
    more = replace(advice, kind=AdviceKind.ADD_CONSUMERS, current=2, proposed=3)
    assert in_few_words(replace(more, quantity="consumers")) == "2 → 3 consumers"
