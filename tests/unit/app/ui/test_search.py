"""What the search says of the things that it finds."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from alerting.status.model import Status
from app.data.context import View
from app.ui.browser.search import hit, state


@pytest.mark.parametrize("name", ["a&b=c", "100% #1", "ä/ö?x", "a+b c", "<i>", '"', "\\"])
def test_a_name_of_any_characters_leads_to_its_page(view: View, name: str) -> None:
    row = {"kind": "topic", "name": name, "about": "", "page": "topic"}
    href = hit({**row, "parameter": "topic", "value": name}, view)["href"]
    address = urlsplit(href)
    assert address.path.endswith("topic")
    assert dict(parse_qsl(address.query))["topic"] == name
    assert not address.fragment


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
