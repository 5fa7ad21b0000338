"""Matchers of labels."""

from __future__ import annotations

import pytest

from alerting.rules.matchers import parse_matcher


@pytest.mark.parametrize(
    ("text", "accepts", "refuses"),
    [
        pytest.param("group=a", "a", "ab", id="equal"),
        pytest.param("group!=a", "b", "a", id="not equal"),
        pytest.param("group=~a.*", "ab", "ba", id="whole value"),
        pytest.param("group!~a.*", "ba", "ab", id="no match"),
        pytest.param('group="a b"', "a b", "a", id="quoted"),
        pytest.param("group = a", "a", "", id="spaces"),
    ],
)
def test_matchers(text: str, accepts: str, refuses: str) -> None:
    matcher = parse_matcher(text)
    assert matcher.accepts({"group": accepts})
    assert not matcher.accepts({"group": refuses})


@pytest.mark.parametrize("text", ["", "group", "group=~(", "=a", "a b=c"])
def test_what_is_no_matcher_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"matcher|expression"):
        parse_matcher(text)
