"""The parts that scripts draw, and what comes over the wire, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, WebSocketRoute

from app.style.theme import DARK, LIGHT
from tests.browser.watched import Watched
from tests.support import eventually

pytestmark = pytest.mark.browser

FIRST_VISIT_BYTES = 3_500_000


@pytest.fixture
def watched(browser: Browser, dashboard: str) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, timezone_id="UTC")
    yield Watched(context.new_page(), dashboard)
    context.close()


def test_a_first_visit_is_compressed(watched: Watched) -> None:
    received = 0

    def arrived(event: dict[str, Any]) -> None:
        nonlocal received
        received += int(event["encodedDataLength"])

    session = watched.page.context.new_cdp_session(watched.page)
    session.send("Network.enable")
    session.on("Network.loadingFinished", arrived)
    watched.go("/")
    assert 1_000_000 < received <= FIRST_VISIT_BYTES
    watched.check()


def test_a_key_opens_the_search_and_enter_what_was_found(watched: Watched) -> None:
    watched.go("/")
    before, start = watched.entries(), watched.headline()
    watched.page.keyboard.press("/")
    box = watched.page.get_by_role("combobox", name="Search demo")
    # A whole name is found before the alerts of it.
    box.press_sequentially("clicks-enricher")
    watched.page.get_by_role("option", name="group clicks-enricher").wait_for()
    box.press("Enter")
    watched.page.wait_for_url("**/group?**group=clicks-enricher**")
    # The address changes before the script of the next page begins.
    watched.page.get_by_role("heading", level=1, name="clicks-enricher").wait_for()
    watched.drawn()
    assert watched.headline() == "clicks-enricher"
    assert watched.entries() == before + 1
    watched.page.go_back()
    eventually(lambda: watched.headline() == start, what="the page before, after one step")
    watched.check()


def test_enter_before_the_answer_leads_to_the_first_hit(watched: Watched) -> None:
    watched.go("/")
    watched.page.keyboard.press("/")
    box = watched.page.get_by_role("combobox", name="Search demo")
    box.press_sequentially("clicks-enricher", delay=0)
    box.press("Enter")
    watched.page.wait_for_url("**/group?**group=clicks-enricher**")
    watched.check()


def test_the_ends_of_a_time_are_filled_once_they_are_asked_for(watched: Watched) -> None:
    watched.go("/health?paused=true")
    watched.page.get_by_role("button", name="From – to").click()  # noqa: RUF001
    first, last = (
        watched.page.get_by_role("spinbutton", name=f"year, {end}") for end in ("From", "To")
    )
    eventually(
        lambda: first.inner_text().isdecimal() and last.inner_text().isdecimal(), what="the years"
    )
    show = watched.page.get_by_role("button", name="Show this time").bounding_box()
    size = watched.page.viewport_size
    assert show and size and show["y"] + show["height"] <= size["height"]
    watched.check()


@pytest.mark.parametrize("page", ["group", "topic"])
def test_the_address_of_what_is_not_known_stays(watched: Watched, page: str) -> None:
    asked = {page: ["nosuch"], "cluster": ["demo"], "range": ["6h"]}
    watched.go(f"/{page}?{page}=nosuch&cluster=demo&range=6h")
    assert watched.headline() == f"This {page} is not known"
    assert watched.query() == asked
    runs = watched.runs
    eventually(lambda: watched.headline() and watched.runs > runs, what="a refresh")
    assert watched.headline() == f"This {page} is not known"
    assert watched.query() == asked
    link = watched.page.get_by_test_id("stMain").get_by_role("link", name=re.compile("^All "))
    href = str(link.get_attribute("href"))
    assert "cluster=demo" in href and "range=6h" in href
    watched.check()


def test_another_theme_gives_charts_its_colours_at_once(watched: Watched) -> None:
    watched.go("/?paused=true")
    colour = "document.querySelector('.js-plotly-plot')._fullLayout.font.color"
    for scheme, palette in (("dark", DARK), ("light", LIGHT)):
        watched.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        # A page that is paused is drawn by nothing else.
        eventually(lambda: watched.page.evaluate(colour) == palette.text, what=scheme)  # noqa: B023
    watched.check()


def test_what_to_act_on_has_its_step_in_two_lines_and_all_of_it_when_opened(
    watched: Watched,
) -> None:
    watched.page.set_viewport_size({"width": 1440, "height": 900})
    watched.go("/alerts?paused=true")
    rows = watched.page.locator("ul.items").first.locator("li.item:has(> .red)")
    rows.nth(4).wait_for()
    for row in rows.all():
        assert row.locator(".why").is_visible() and row.locator(".step").is_visible()
        height, line = row.evaluate(
            "row => [row.clientHeight, parseFloat(getComputedStyle(row).lineHeight)]"
        )
        assert 2 * line <= height < 3 * line, row.inner_text()
    first = rows.first
    assert first.locator("> .more").is_hidden()
    first.get_by_role("link").first.focus()
    for key in ("Tab", "Enter"):
        watched.page.keyboard.press(key)
    first.locator("> .more").wait_for()
    for part in (".why", ".step"):
        is_cut = "part => part.scrollHeight > part.clientHeight"
        assert not first.locator(part).evaluate(is_cut), part
    what = first.locator(".what").inner_text()
    assert first.get_by_role("button", name=f"All of {what}", expanded=True).count() == 1
    watched.check()


def test_more_than_five_urgent_rows_of_overview_have_a_line_each_until_they_are_opened(
    watched: Watched,
) -> None:
    watched.page.set_viewport_size({"width": 1440, "height": 900})
    watched.go("/?paused=true")
    rows = watched.page.locator("ul.items").first.locator("li.item:has(> .red)")
    rows.nth(5).wait_for()
    for row in rows.all():
        height, line = row.evaluate(
            "row => [row.clientHeight, parseFloat(getComputedStyle(row).lineHeight)]"
        )
        assert line <= height < 2 * line, row.inner_text()
    rows.first.locator(".step").click()
    rows.first.locator(".why").wait_for()
    watched.check()


def test_a_click_beside_the_links_of_a_row_opens_it_unless_it_selects_a_text(
    watched: Watched,
) -> None:
    watched.go("/alerts?paused=true")
    row = watched.page.locator("ul.items").first.locator("li.item").first
    row.locator(".why").click()
    row.locator("> .more").wait_for()
    row.locator(".why").click()
    row.locator("> .more").wait_for(state="hidden")
    box = row.locator(".why").bounding_box()
    assert box is not None
    watched.page.mouse.move(box["x"] + 5, box["y"] + 8)
    watched.page.mouse.down()
    watched.page.mouse.move(box["x"] + 100, box["y"] + 8, steps=5)
    watched.page.mouse.up()
    assert row.locator("> .more").is_hidden(), "the text stays selected"
    watched.check()


def test_what_rows_say_stands_below_each_other_and_below_what_it_is(watched: Watched) -> None:
    watched.go("/alerts?paused=true")
    rows = watched.page.locator("ul.items").first
    rows.locator("li.item").first.wait_for()
    for parts, edge in ((".said", "left"), (".step", "left"), (":is(.until, .when)", "right")):
        edges = rows.locator(f":is({parts}):visible").evaluate_all(
            f"parts => parts.map((part) => Math.round(part.getBoundingClientRect().{edge}))"
        )
        assert len(set(edges)) == 1, parts
    heads = rows.locator("li.head span")
    assert heads.all_inner_texts() == ["What is wrong", "Next step", "When"]
    for head, part in zip(heads.all(), (".said", ".step"), strict=False):
        lefts = [
            round(one.evaluate("part => part.getBoundingClientRect().left"))
            for one in (head, rows.locator(part).first)
        ]
        assert abs(lefts[0] - lefts[1]) <= 1, part
    watched.check()


def test_what_is_not_to_be_acted_on_now_is_folded_below_the_rows(watched: Watched) -> None:
    watched.go("/?paused=true")
    rows = watched.page.locator("ul.items").first
    named = re.compile(r"^\d+ more: ")
    rows.get_by_role("button", name=named, expanded=False).wait_for()
    assert rows.locator("li.folded").first.is_hidden()
    rows.get_by_role("button", name=named).click()
    rows.locator("li.folded").first.wait_for()
    assert rows.get_by_role("button", name=named, expanded=True).count() == 1
    watched.check()


def test_every_row_of_what_is_wrong_leads_to_its_incident(watched: Watched) -> None:
    watched.go("/alerts?paused=true")
    rows = watched.page.locator("ul.items").first.locator("li.item")
    rows.first.wait_for()
    assert watched.page.locator("li.item:not(:has(> .red))").count()
    for row in rows.all():
        assert row.locator(".what a[href*='incident?']").is_visible(), row.inner_text()
    watched.check()


def test_the_name_of_a_row_opens_its_incident_in_a_new_tab_where_that_is_asked(
    watched: Watched,
) -> None:
    watched.go("/alerts?paused=true")
    name = watched.page.locator("ul.items").first.locator("li.item .what a").first
    name.hover()
    assert name.evaluate("one => getComputedStyle(one).textDecorationLine") == "underline"
    with watched.page.context.expect_page() as opened:
        name.click(modifiers=["Control"])
    assert "/incident?" in opened.value.url
    opened.value.close()
    assert "/alerts" in watched.page.url
    watched.check()


def test_a_chart_is_close_to_its_title_and_to_what_is_said_of_it(watched: Watched) -> None:
    watched.go("/topic?topic=sessions")
    watched.drawn()
    gaps = watched.page.evaluate(
        """() => [...document.querySelectorAll('[data-testid=stPlotlyChart]')].map((chart) => {
            const of = (one) => one.getBoundingClientRect();
            const element = chart.closest('[data-testid=stElementContainer]');
            const caption = element.nextElementSibling?.querySelector(
                '[data-testid=stCaptionContainer]');
            const drawn = of(chart.querySelector('.main-svg'));
            const title = element.previousElementSibling;
            return [title ? drawn.top - of(title).bottom : 0,
                    caption ? of(caption).top - drawn.bottom : null];
        })"""
    )
    assert all(0 <= above <= 6 for above, _ in gaps), gaps
    below = [one for _, one in gaps if one is not None]
    assert below, "Dotted: an even share."
    assert all(0 <= one <= 6 for one in below), gaps


@pytest.mark.parametrize("way", ["button", "Enter"])
def test_an_acknowledgement_closes_its_form_and_opens_no_other(watched: Watched, way: str) -> None:
    watched.go("/alerts?paused=true")
    name = {"button": "stock misses its objective", "Enter": "Broker 2 is missing"}[way]
    rows = watched.page.locator("ul.items").first.locator("li.item")
    row = rows.filter(has=watched.page.locator(".what", has_text=name)).first
    row.wait_for()
    watched.go("/" + str(row.locator(".what a[href*='incident?']").first.get_attribute("href")))
    main = watched.page.get_by_test_id("stMain")
    who = main.get_by_test_id("stMetric").filter(has_text="Looked after by")
    main.get_by_role("button", name="Acknowledge").click()
    form = watched.page.get_by_test_id("stPopoverBody")
    author = form.get_by_label("Who looks after it")
    author.fill("Ada")
    assert form.get_by_text("Press Enter").filter(visible=True).count() == 0
    if way == "Enter":
        author.press("Enter")
    else:
        form.get_by_role("button", name="Acknowledge").click()
    who.filter(has_text="Ada").wait_for()
    form.wait_for(state="hidden")
    watched.drawn()
    watched.page.wait_for_timeout(500)
    assert form.filter(visible=True).count() == 0, "no other form opens"
    main.get_by_role("button", name="Acknowledged").click()
    assert form.get_by_label("Who takes it back").input_value() == "Ada"
    watched.go("/?paused=true")
    noted = watched.page.locator("ul.items li.item", has_text="looked after by Ada")
    noted.filter(has_text=name).first.wait_for(state="attached")
    weight = "one => getComputedStyle(one).fontWeight"
    assert noted.filter(has_text=name).first.locator(".what").evaluate(weight) == "400"
    watched.page.go_back()
    who.filter(has_text="Ada").wait_for()
    main.get_by_role("button", name="Acknowledged").click()
    form.get_by_text("Ada looks after it since").wait_for()
    form.get_by_label("Who takes it back").fill("Ben")
    form.get_by_role("button", name="Take back").click()
    who.filter(has_text="nobody").wait_for()
    form.wait_for(state="hidden")
    watched.drawn()
    watched.page.wait_for_timeout(500)
    assert form.filter(visible=True).count() == 0, "no other form opens"
    watched.check()


def test_what_has_the_focus_of_keys_has_a_ring_and_the_page_has_none(watched: Watched) -> None:
    watched.go("/?paused=true")
    outline = "one => getComputedStyle(one).outlineStyle"
    shadow = "one => getComputedStyle(one).boxShadow"
    watched.page.keyboard.press("Tab")
    main = watched.page.get_by_test_id("stMain")
    main.focus()
    assert main.evaluate(outline) == "none" and main.evaluate(shadow) == "none"
    entry = watched.page.get_by_test_id("stSidebarNavLink").nth(1)
    entry.focus()
    assert entry.evaluate(outline) == "solid"
    watched.check()


def test_the_strip_ticks_and_says_when_the_connection_is_lost(watched: Watched) -> None:
    sockets: list[WebSocketRoute] = []

    def meet(socket: WebSocketRoute) -> None:
        if sockets:  # a server that is gone answers nobody
            socket.close()
            return
        sockets.append(socket)
        socket.connect_to_server()

    watched.page.route_web_socket("**/_stcore/stream", meet)
    watched.go("/?paused=true")
    strip = watched.page.get_by_role("status").filter(has_text="paused")
    first = strip.inner_text()
    eventually(lambda: strip.inner_text() != first, what="an age that grows by itself")
    sockets[0].close()
    watched.page.get_by_role("status").filter(has_text="connection lost").wait_for()
