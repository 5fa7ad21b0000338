"""What the search says of the things that it finds."""

from __future__ import annotations

import pytest

from alerting.status.model import Status
from app.ui.browser.search import state


@pytest.mark.parametrize(
    ("kind", "about", "said"),
    [
        ("group", Status.FALLING_BEHIND.value, "falling behind"),
        ("group", Status.OK.value, "OK"),
        ("group", "", ""),
        ("connector", "FAILED", "failed"),
        ("topic", "dead letter", "dead letter"),
        ("rule", "OK", "OK"),
    ],
)
def test_a_state_is_said_in_the_words_of_the_pages(kind: str, about: str, said: str) -> None:
    assert state(kind, about) == said
