"""Text of others on every page of a real browser: it is shown, and does nothing.

Every name, host, reason, trace, header and queue of the lake carries markup of each kind that a
browser, Streamlit, Markdown or Plotly would obey.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polars as pl
import pytest
from playwright.sync_api import Browser, Dialog

from alerting.rules.lifecycle import State
from config.load import load
from lake.schemas.model import Table
from lake.storage.store import Lake
from tests.app import generated
from tests.app.conftest import alarm, store_of
from tests.app.connect import add_connect
from tests.app.queues import add_rabbit
from tests.browser.conftest import served
from tests.browser.watched import Watched

pytestmark = pytest.mark.browser

HOSTILE = (
    "<img src=http://127.0.0.1:9/evil.png onerror=window.owned=1><script>window.owned=1</script>"
    "![i](http://127.0.0.1:9/evil.png) [c](http://evil.example/) http://evil.example/ "
    "www.evil.example me@evil.example <a href='http://evil.example'>x</a> :material/dangerous: "
    ":streamlit: $$\\frac{1}{2}$$ `code` \u202e\n# heading"
)
COPIED = " http://evil.example/ www.evil.example me@evil.example "
COLUMNS = {
    *("topic", "group", "name", "origin", "redrive_group", "client_id", "host", "rack"),
    *("member_id", "instance_id", "unknown_reason", "transactional_id", "reason", "subject"),
    *("before", "after", "detail", "error", "error_class", "cause_class", "worker", "connector"),
    *("connect", "dead_letter_topic", "source_cluster", "vhost", "queue", "node", "policy"),
    *("dead_letter_exchange", "dead_letter_routing_key", "topics", "dead_letter_queues"),
    *("reasons", "settings", "configs"),
}
"""What others write: names, addresses, traces, headers, settings."""

LIVE = """() => {
    const all = (root) => [...root.querySelectorAll("*")].flatMap(
        (one) => [one, ...(one.shadowRoot ? all(one.shadowRoot) : [])]);
    const found = all(document).filter((one) =>
        (one.tagName === "A" && one.hasAttribute("href") && one.origin !== location.origin)
        || (one.tagName === "a" && /evil/.test(one.getAttribute("xlink:href")))
        || (one.tagName === "IMG" && /evil/.test(one.src))
        || (one.tagName === "SCRIPT" && /owned/.test(one.textContent))
        || one.classList?.contains("katex")
        || (one.tagName === "CODE" && one.textContent === "code")
        || (/^(dangerous|Streamlit logo)/.test(one.ariaLabel ?? one.alt ?? ""))
        || (one.dataset?.testid === "stIconMaterial" && one.textContent === "dangerous"));
    return [...(window.owned ? ["owned"] : []), ...found.map((one) => one.outerHTML.slice(0, 300))];
}"""
TURNED = "document.body.innerText.includes('\\u202e')"


def _poisoned(frame: pl.DataFrame) -> pl.DataFrame:
    def column(name: str, kind: Any) -> pl.Expr | None:
        one = pl.col(name)
        if name not in COLUMNS:
            return None
        if kind == pl.String:
            return one + HOSTILE
        if kind == pl.List(pl.String):
            return one.list.eval(pl.element() + HOSTILE)
        if isinstance(kind, pl.List) and isinstance(kind.inner, pl.Struct):
            key = pl.element().struct.field("key") + HOSTILE
            return one.list.eval(pl.element().struct.with_fields(key=key))
        return None

    made = [column(name, kind) for name, kind in frame.schema.items()]
    return frame.with_columns(one for one in made if one is not None)


def _poisoning(write: Callable[[Lake, Table, pl.DataFrame], Any]) -> Callable[..., Any]:
    return lambda lake, table, rows: write(lake, table, _poisoned(rows))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, list[str]]]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    ahead = datetime.now(UTC) + timedelta(minutes=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Lake, "append", _poisoning(Lake.append))
        patch.setattr(generated, "write_gold", _poisoning(generated.write_gold))
        first = generated.settings_yaml(folder).parent
        generated.fill(load(first / "headroom.yaml"), now=ahead)
        folder = add_connect(first, first / "connect", ahead)
        folder = add_rabbit(folder, first / "rabbit", ahead)
    settings = load(folder / "headroom.yaml")
    generated.evaluate(settings, ahead)
    alarm(folder, ahead)
    store = store_of(folder)
    alerts = [one.id for one in store.alerts().values() if one.state is State.FIRING]
    store.close()
    with served(folder / "headroom.yaml") as base:
        yield base, alerts


def test_no_page_obeys_the_text_of_others(browser: Browser, hostile: tuple[str, list[str]]) -> None:
    base, alerts = hostile
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    watched = Watched(context.new_page(), base)
    dialogs: list[str] = []
    asked: list[str] = []

    def heard(dialog: Dialog) -> None:
        dialogs.append(dialog.message)
        dialog.dismiss()

    watched.page.on("dialog", heard)
    watched.page.on("request", lambda one: asked.append(one.url))
    watched.go("/")
    menu = watched.page.get_by_test_id("stSidebarNav").get_by_role("link").all()
    pages = [str(one.get_attribute("href")).removeprefix(base) for one in menu]
    assert len(pages) >= 12
    details = [
        *(f"/group?group={quote(name + HOSTILE)}" for name in ("payments", "billing", "reports")),
        *(f"/topic?topic={quote(name + HOSTILE)}" for name in ("sessions", "orders")),
        f"/dead-letters?name={quote('orders.dlq' + HOSTILE)}",
        *(f"/incident?alert={one}" for one in alerts[:3]),
        *(f"/{page}={quote(HOSTILE)}" for page in ("group?group", "topic?topic", "incident?alert")),
        f"/?cluster={quote(HOSTILE)}&range={quote(HOSTILE)}",
    ]
    named = f"/group?group={quote('payments' + HOSTILE)}"
    for path in [*pages, *details]:
        watched.go(path)
        assert watched.page.evaluate(LIVE) == [], path
        assert not watched.page.evaluate(TURNED), path
        assert watched.page.get_by_test_id("stException").count() == 0, path
        if path == named:
            heading = watched.page.locator("[data-testid=stMain] h1").first
            assert COPIED in heading.inner_text(), "a name is copied from a heading as it is"
    text = watched.page.inner_text("body")
    assert "window.owned=1" in text, "it is shown"
    assert dialogs == []
    assert [url for url in asked if "evil" in url and "127.0.0.1:9" in url] == []
    watched.check()
    context.close()
