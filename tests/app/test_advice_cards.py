"""Cards of advice."""

from __future__ import annotations

from streamlit.testing.v1 import AppTest


def _card() -> None:
    from app.ui.advice.advice_cards import card
    from scaling.advice.model import AdviceKind, AdviceSeverity, Confidence, Recommendation

    advice = Recommendation(
        kind=AdviceKind.UNKNOWN,
        cluster="demo",
        subject="late",
        severity=AdviceSeverity.UNKNOWN,
        confidence=Confidence.LOW,
        reason="Nothing can be advised.",
        unknown_reason="its members were not read",
    )
    card(advice, key="card")


def test_a_card_says_once_that_nothing_can_be_advised() -> None:
    page = AppTest.from_function(_card).run()
    assert not page.exception
    said = [one.value for one in page.markdown]
    assert sum("nothing can be advised" in text.lower() for text in said) == 1
    assert any(text.endswith(" Its members were not read.") for text in said), "a sentence"
