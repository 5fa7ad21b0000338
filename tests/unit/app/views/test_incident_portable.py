"""Text of others in Markdown: it reads well, and does nothing."""

from __future__ import annotations

import pytest

from app.views.incident.portable import portable


@pytest.mark.parametrize(
    "text",
    [
        "order-fulfilment stopped",
        "the majority: broker 1 (of 3)!",
        "1970-01-01 23:52:15 UTC",
        "web.page_views",
        "a__b, Outer$Inner",
        "1.5 s behind, 2) of 3",
        "-1 min",
        "#7 + 3 {x} ^ R&D",
    ],
)
def test_what_means_nothing_to_markdown_stays_as_it_is(text: str) -> None:
    assert portable(text) == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        pytest.param("a|b", r"a\|b", id="cell"),
        pytest.param("a\\|b", r"a\\\|b", id="cell behind a backslash"),
        pytest.param("`x` *y* ~z~", r"\`x\` \*y\* \~z\~", id="code, emphasis, struck out"),
        pytest.param("<b>&lt;b&#62;", r"\<b\>\&lt;b\&#62;", id="HTML"),
        pytest.param("![x](y)", r"!\[x](y)", id="image or link"),
        pytest.param("_a_ and __b__", r"\_a\_ and \_\_b\_\_", id="emphasis by underscores"),
        pytest.param("__consumer_offsets", r"\_\_consumer_offsets", id="before a word"),
        pytest.param("$x$", r"\$x\$", id="formula"),
        pytest.param("# a", r"\# a", id="heading"),
        pytest.param("- a", r"\- a", id="list"),
        pytest.param("+ a", r"\+ a", id="list with plus"),
        pytest.param("12. a", r"12\. a", id="numbered list"),
        pytest.param("---", r"\---", id="rule"),
        pytest.param("- - -", r"\- - -", id="rule with spaces"),
        pytest.param("===", r"\===", id="underline of a heading"),
        pytest.param("> a", r"\> a", id="quote"),
        pytest.param("    a", "a", id="indented code"),
        pytest.param("a\n\n# b\r\n| c", r"a  # b \| c", id="several lines"),
        pytest.param("http://x", "http:<!-- -->//x", id="address"),
        pytest.param("WWW.x", "WWW<!-- -->.x", id="address without a scheme"),
        pytest.param("a@b.c", "a<!-- -->@b.c", id="mail"),
        pytest.param("<!-- a", r"\<!-- a", id="comment"),
        pytest.param("a\u202eb", "a\ufffdb", id="what turns the text around"),
        pytest.param("x" * 2000, f"{'x' * 500} … {'x' * 500}", id="long"),
    ],
)
def test_what_markdown_would_take_for_markup_is_escaped(text: str, written: str) -> None:
    assert portable(text) == written
