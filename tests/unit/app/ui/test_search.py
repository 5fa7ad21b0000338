"""What the search says of the things that it finds."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from alerting.status.model import Status
from app.data.context import View
from app.ui import routes
from app.ui.browser.search import KEYS, hit, state


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


def test_each_page_of_the_menu_has_keys_and_none_is_one_of_streamlits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def page(name: str, *_: str, hidden: bool = False, **__: Any) -> str | None:
        return None if hidden else name

    monkeypatch.setattr(routes, "_page", page)
    of_menu = {one for some in routes.all_pages().values() for one in some} - {None}
    assert set(KEYS.values()) == of_menu
    assert not {keys.split()[1] for keys in KEYS} & {"c", "r"}
