from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from app.early_scripts import EarlyScripts, link_header


def answered(content_type: bytes, kind: str = "http") -> list[dict[str, Any]]:
    """Return the messages of an answer behind the middleware."""

    async def server(scope: Any, receive: Any, send: Any) -> None:
        headers = [(b"content-type", content_type)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"x"})

    messages: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        messages.append(message)

    scope: Any = {"type": kind}
    asyncio.run(EarlyScripts(server)(scope, lambda: None, send))  # type: ignore[arg-type, return-value]
    return messages


def test_the_installed_streamlit_has_each_of_the_scripts() -> None:
    links = link_header().split(", ")
    assert len(links) == 3
    assert all(link.endswith(".js>; rel=modulepreload") for link in links)


def test_a_page_names_what_draws_it_and_is_answered_as_it_was() -> None:
    start, body = answered(b"text/html; charset=utf-8")
    assert (b"link", link_header().encode()) in start["headers"]
    assert body["body"] == b"x"


@pytest.mark.parametrize(
    ("content_type", "kind"), [(b"text/javascript", "http"), (b"text/html", "websocket")]
)
def test_nothing_else_does(content_type: bytes, kind: str) -> None:
    start, _ = answered(content_type, kind)
    assert [name for name, _ in start["headers"]] == [b"content-type"]


def test_what_a_version_does_not_have_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "PlotlyChart.abc.js").touch()
    assert link_header(tmp_path) == "<./static/js/PlotlyChart.abc.js>; rel=modulepreload"
    assert link_header(tmp_path / "none") == ""
