"""Login at a real OpenID Connect provider: who sees what, who may act, and under which name."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from playwright.sync_api import Browser

from config.load import load
from tests.app import generated
from tests.browser import logged_in

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("guarded")
    config = generated.settings_yaml(folder, refresh_seconds=30)
    ahead = datetime.now(UTC) + timedelta(minutes=10)
    generated.fill(load(config), now=ahead)
    generated.evaluate(load(config), ahead)
    with logged_in.provider() as metadata, logged_in.dashboard(folder, metadata) as base:
        yield base


def test_nothing_is_shown_before_the_login(browser: Browser, guarded: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    for path in ("/", "/groups", "/group?group=payments", "/health"):
        page.goto(guarded + path)
        page.get_by_role("button", name="Log in").wait_for(timeout=60_000)
        text = page.inner_text("body")
        assert "payments" not in text and "demo" not in text
    context.close()


def test_an_operator_may_act_and_is_named(browser: Browser, guarded: str) -> None:
    context, page = logged_in.log_in(browser, guarded, "ana")
    page.goto(f"{guarded}/silences")
    page.get_by_text("New silence", exact=True).click(timeout=60_000)
    assert page.get_by_label("Who").count() == 0
    matchers = page.get_by_role("combobox", name="Matchers: all must match")
    # As a hand does: what is put in before the list opens, the field forgets.
    matchers.click()
    matchers.press_sequentially("group=payments")
    page.get_by_role("option", name="group=payments").wait_for(timeout=60_000)
    matchers.press("Enter")
    page.get_by_text("that fire now").wait_for(timeout=60_000)
    page.get_by_label("Why").fill("deploy")
    page.get_by_role("button", name="Silence", exact=True).click()
    page.get_by_text("is made").wait_for(timeout=60_000)
    page.goto(f"{guarded}/silences")
    page.get_by_text("ana@example.com").first.wait_for(timeout=60_000)
    context.close()


def test_whoever_has_no_role_sees_nothing(browser: Browser, guarded: str) -> None:
    context, page = logged_in.log_in(browser, guarded, "eve")
    page.get_by_text("You have no role here").wait_for(timeout=60_000)
    page.goto(f"{guarded}/groups")
    page.get_by_text("You have no role here").wait_for(timeout=60_000)
    context.close()


def test_logging_out_ends_it(browser: Browser, guarded: str) -> None:
    context, page = logged_in.log_in(browser, guarded, "ana")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/oauth2/end_session*")
    page.goto(f"{guarded}/groups")
    page.get_by_role("button", name="Log in").wait_for(timeout=60_000)
    context.close()
