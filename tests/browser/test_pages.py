"""Every page in a real browser, on a generated lake: both themes, a desk and a phone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Locator, TimeoutError

from alerting.rules.defaults import DEFAULT_ALERT_RULES
from app.ui import refresh
from tests.browser.accessibility import findings
from tests.browser.watched import Watched
from tests.selection import MARK
from tests.support import eventually

pytestmark = pytest.mark.browser

MENU = {
    "Overview": "things need you now",
    "Consumer groups": "Of 10 groups: ",
    "Topics": "topics receive",
    "Brokers and replication": "Broker 2 is missing",
    "Dead letters": "fail, in",
    "Kafka Connect": "do not work as they should",
    "Queues": "loses its dead letters",
    "Alerts": "things need you now",
    "Silences": "No silence is on",
    "Rules": f"{len(DEFAULT_ALERT_RULES)} rules",
    "Scaling": "dvice on",
    "Week": "over their objective",
    "Monitoring health": "not collected in full",
}
DETAILS = {
    "/group?group=payments": "payments",
    "/group?group=reports": "reports",
    "/topic?topic=sessions": "sessions",
}
PHONE = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"
MOST_PHONE_PIXELS = {
    **{"Scaling": 2500, "Consumer groups": 2200, "Topics": 2000},
    **{"payments": 2800, "sessions": 2800},
}
"""Of the height of a page on a phone, by its name or that of what it is about."""
FOLDED = ("Consumer groups", "Topics", "Alerts")
"""Pages whose filters a phone folds."""
COVERED = """() => [...document.querySelectorAll('.js-plotly-plot')].flatMap((chart) => {
    const plot = chart.querySelector('.nsewdrag')?.getBoundingClientRect();
    const labels = [...chart.querySelectorAll('.annotation-text-g')]
        .map((one) => [one.textContent, one.getBoundingClientRect()]);
    return labels.flatMap(([text, box], at) => [
        ...(box.left < plot.left && box.right > plot.left || box.right > plot.right
            ? [`${text} at the edge`] : []),
        ...labels.slice(at + 1).filter(([, other]) =>
            other.left < box.right && box.left < other.right && other.top < box.bottom)
            .map(([other]) => `${text} and ${other}`)]);
})"""
"""Labels of charts that cover others, or the edge of the plot; names stand left of it."""
BEGIN = """() => {
    const block = document.querySelector(
        '[data-testid=stMainBlockContainer] [data-testid=stVerticalBlock]');
    const first = [...block.children].find((one) => one.querySelector('h1'));
    const title = block.querySelector('h1').getBoundingClientRect().top;
    return [first.getBoundingClientRect().top, title];
}"""
"""Where the part of a page that has the headline begins, and the headline itself."""
WINDOWS = [
    pytest.param("light", 1280, 800, id="light"),
    pytest.param("dark", 1280, 800, id="dark", marks=MARK),
    pytest.param("light", 390, 844, id="phone", marks=MARK),
]


def watch(browser: Browser, base: str, scheme: str, width: int, height: int) -> Iterator[Watched]:
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        timezone_id="Europe/Berlin",
        is_mobile=width < 600,
        has_touch=width < 600,
        user_agent=PHONE if width < 600 else None,
    )
    yield Watched(context.new_page(), base)
    context.close()


@pytest.fixture
def watched(browser: Browser, dashboard: str) -> Iterator[Watched]:
    yield from watch(browser, dashboard, "light", 1280, 800)


def says(watched: Watched, sentence: str) -> None:
    eventually(lambda: sentence in watched.headline(), what=f"headline that says {sentence!r}")


@pytest.mark.parametrize(("scheme", "width", "height"), WINDOWS)
def test_every_page_is_drawn_without_a_complaint(
    browser: Browser,
    dashboard: str,
    request: pytest.FixtureRequest,
    scheme: str,
    width: int,
    height: int,
) -> None:
    window = request.node.callspec.id
    for watched in watch(browser, dashboard, scheme, width, height):
        begin = set()
        watched.go("/")
        for name, sentence in MENU.items():
            if name != "Overview":
                watched.visit(name)
            # Without a job that advises, advice is evaluated while the page is looked at.
            says(watched, sentence)
            wide = watched.page.evaluate(
                "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            )
            assert wide <= 0, f"{name} is {wide} px too wide"
            assert watched.page.evaluate(COVERED) == [], name
            begin.add(tuple(watched.page.evaluate(BEGIN)))
            assert findings(watched.page) == [], name
            if width < 600:
                assert watched.page.get_by_test_id("stDataFrame").count() == 0, name
                assert_touchable(watched)
                main = watched.page.get_by_test_id("stMain")
                folded = name in FOLDED and main.get_by_test_id("stMultiSelect").first
                assert not (folded and folded.is_visible()), f"{name}: its filters"
                assert_height(watched, name)
            watched.keep(f"pages-{name.lower().replace(' ', '-')}-{window}")
        assert width < 600 or len(begin) == 1, begin
        watched.visit("Alerts")
        drawn = watched.page.get_by_test_id("stPlotlyChart").filter(visible=True)
        assert drawn.count() == 1, "what is over is drawn; what lasts is folded"
        broker = watched.page.locator("li.item", has_text="Broker 2 is missing").first
        story = broker.locator(".what a[href*='incident?']")
        incident = str(story.get_attribute("href")).removeprefix(".")
        titles = set()
        for path, headline in {**DETAILS, incident: "Broker 2 is missing"}.items():
            watched.go(path)
            assert watched.headline() == headline
            titles.add(watched.page.evaluate(BEGIN)[1])
            if width < 600:
                assert_height(watched, headline)
            assert findings(watched.page) == [], headline
            assert watched.page.evaluate(COVERED) == [], headline
            watched.keep(f"pages-{headline}-{window}")
        assert width < 600 or len(titles) == 1, titles
        watched.check()


def assert_touchable(watched: Watched) -> None:
    """Assert that what opens a row has room for a finger."""
    for toggle in watched.page.locator("button.toggle").all():
        box = toggle.bounding_box()
        assert box is None or min(box["width"], box["height"]) >= 32, box


def top_of(place: Locator) -> float:
    box = place.bounding_box()
    assert box is not None
    return box["y"]


def test_the_first_screen_has_what_to_act_on_and_the_top_of_the_lag(
    browser: Browser, dashboard: str
) -> None:
    for watched in watch(browser, dashboard, "light", 1440, 900):
        watched.go("/")
        rows = watched.page.locator("li.item:has(.badge.red)")
        chart = watched.page.get_by_test_id("stPlotlyChart").first
        assert rows.count() >= 6
        assert top_of(rows.last) < top_of(chart) <= 750
        watched.check()


def test_a_phone_has_the_first_sentence_near_its_top(browser: Browser, dashboard: str) -> None:
    for watched in watch(browser, dashboard, "light", 390, 844):
        watched.go("/")
        assert top_of(watched.page.locator("[data-testid=stMain] h1").first) <= 210
        watched.check()


def assert_height(watched: Watched, name: str) -> None:
    main = watched.page.get_by_test_id("stMain")
    height = main.evaluate("element => element.scrollHeight")
    assert height <= MOST_PHONE_PIXELS.get(name, height), f"{name}: {height} px"


def follow(watched: Watched, link: str, url: str) -> None:
    """Follow a link; a click in the very moment of a refresh may need a second one."""

    def followed() -> bool:
        watched.page.get_by_role("link", name=link).click()
        try:
            watched.page.wait_for_url(url, timeout=5000)
        except TimeoutError:
            return False
        return True

    eventually(followed, what=url)


def test_the_range_stays_in_the_address_across_pages(watched: Watched) -> None:
    watched.go("/")
    watched.page.get_by_test_id("stSidebar").get_by_text("6h", exact=True).click()
    eventually(lambda: watched.query().get("range") == ["6h"], what="range in the address")
    watched.visit("Topics")
    assert watched.query()["range"] == ["6h"]
    watched.page.reload()
    watched.drawn()
    assert "last 6 hours" in watched.page.get_by_test_id("stMain").inner_text()
    watched.check()


def test_each_choice_of_the_range_is_a_step_back(watched: Watched) -> None:
    lengths = """[...document.querySelectorAll('.js-plotly-plot')]
        .map((one) => one._fullLayout.xaxis.range.map((at) => Date.parse(at) / 3600000))
        .map(([from, to]) => to - from)"""

    def shows(key: str, words: str) -> None:
        eventually(lambda: watched.query().get("range") == [key], what=f"{key} in the address")
        watched.page.get_by_test_id("stMain").get_by_text(f"last {words}").first.wait_for()
        assert watched.query()["cluster"] == ["demo"]
        menu.get_by_role("radio", name=key, checked=True).wait_for()

    def draws(hours: int) -> None:
        def is_drawn() -> bool:
            found = watched.page.evaluate(lengths)
            return bool(found) and all(abs(one / hours - 1) < 0.05 for one in found)

        eventually(is_drawn, what=f"{hours} h on each chart")

    # Paused: a click in the very moment of a refresh may be lost.
    watched.go("/?paused=true")
    menu = watched.page.get_by_test_id("stSidebar")
    shows("1h", "hour")
    before = watched.entries()
    for key, words, hours in (("6h", "6 hours", 6), ("7d", "7 days", 7 * 24)):
        menu.get_by_text(key, exact=True).click()
        shows(key, words)
        draws(hours)
    assert watched.entries() == before + 2
    watched.page.go_back()
    shows("6h", "6 hours")
    draws(6)
    watched.page.go_back()
    shows("1h", "hour")
    draws(1)
    watched.page.go_forward()
    shows("6h", "6 hours")
    draws(6)
    watched.visit("Silences")
    shows("6h", "6 hours")
    assert watched.entries() == before + 2, "one entry instead of that of 7 days"
    watched.page.go_back()
    path = "location.pathname"
    eventually(lambda: watched.page.evaluate(path) == "/", what="the page before")
    shows("6h", "6 hours")
    draws(6)
    watched.check()


def test_an_item_of_the_overview_leads_to_its_group_and_back(watched: Watched) -> None:
    watched.go("/?range=6h")
    before = watched.entries()
    watched.page.get_by_role("button", name="All of archive stopped").click()
    follow(watched, "group archive", "**/group?**")
    assert watched.query()["group"] == ["archive"]
    # The address comes before the page.
    eventually(lambda: watched.headline() == "archive", what="the group's page")
    assert watched.query()["range"] == ["6h"]
    assert watched.entries() == before + 1
    watched.page.go_back()
    eventually(lambda: "things need you" in watched.headline(), what="overview")
    assert watched.query()["range"] == ["6h"]
    watched.visit("Consumer groups")
    assert "group" not in watched.query()
    watched.check()


def test_a_click_on_a_name_in_a_table_opens_it(watched: Watched) -> None:
    watched.go("/groups?range=6h")
    before = watched.entries()

    def clicked() -> bool:
        # The table is a canvas: it shows no sign of when it begins to listen.
        box = watched.page.get_by_test_id("stDataFrame").first.bounding_box()
        if box is None or "group" in watched.query():
            return "group" in watched.query()
        watched.page.mouse.click(box["x"] + 40, box["y"] + 46)
        try:
            watched.page.wait_for_url("**/group?**", timeout=3000)
        except TimeoutError:
            return False
        return True

    eventually(clicked, what="group's address")
    assert watched.query()["group"] == ["archive"]
    # The address comes before the page.
    eventually(lambda: watched.headline() == "archive", what="the group's page")
    assert watched.query()["range"] == ["6h"]
    assert watched.entries() == before + 1
    watched.page.go_back()
    eventually(lambda: watched.headline() != "archive", what="the list")
    assert urlsplit(watched.page.url).path == "/groups"
    watched.check()


def test_a_page_is_not_drawn_again_before_anything_changes(watched: Watched) -> None:
    watched.go("/groups?range=6h")
    runs, began = watched.runs, time.monotonic()
    eventually(lambda: watched.headline() and watched.runs > runs, what="a refresh")
    assert time.monotonic() - began > refresh.LONGEST_SECONDS / 2, "it looks every 4 s"
    watched.check()


def test_a_refresh_keeps_the_place_and_the_page(watched: Watched) -> None:
    watched.go("/group?group=payments")
    watched.page.get_by_test_id("stPlotlyChart").nth(3).locator(".main-svg").first.wait_for()
    main = watched.page.get_by_test_id("stMain")
    main.evaluate("element => element.scrollTo(0, 700)")
    watched.page.evaluate(
        """() => {
            const pictures = () => document.querySelectorAll(
                '[data-testid=stPlotlyChart] :is(.scatterlayer, .heatmaplayer)').length;
            const full = pictures();
            window.full = full;
            window.blinks = 0;
            const look = () => {
                if (pictures() < full) window.blinks += 1;
                requestAnimationFrame(look);
            };
            look();
        }"""
    )
    runs = watched.runs
    eventually(lambda: watched.headline() and watched.runs > runs, what="a refresh")
    watched.drawn()
    assert main.evaluate("element => element.scrollTop") == 700
    assert watched.page.evaluate("window.full") > 0
    assert watched.page.evaluate("window.blinks") == 0
    watched.check()


def test_the_keyboard_reaches_the_menu_and_the_first_item(watched: Watched) -> None:
    watched.go("/")
    reached = set()
    for _ in range(60):
        watched.page.keyboard.press("Tab")
        reached.add(
            watched.page.evaluate(
                """() => {
                    let found = document.activeElement;
                    while (found?.shadowRoot?.activeElement) found = found.shadowRoot.activeElement;
                    return found?.innerText?.trim() ?? '';
                }"""
            )
        )
    assert any("Consumer groups" in text for text in reached)
    assert any("Broker 2 is missing" in text for text in reached)


def test_the_time_that_is_pointed_at_is_told_by_all_charts(watched: Watched) -> None:
    watched.go("/group?group=payments&paused=true")
    charts = "[...document.querySelectorAll('.js-plotly-plot')]"
    place = watched.page.locator(".js-plotly-plot .nsewdrag").first
    place.wait_for()

    def told() -> list[str]:
        box = place.bounding_box()
        assert box is not None
        for share in (0.5, 0.55, 0.6):
            watched.page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        texts: list[str] = watched.page.evaluate(
            f"{charts}.map(one => one._fullLayout?._hoverlayer?.node()?.textContent ?? '')"
        )
        return texts if sum(": " in text for text in texts) > 1 else []

    texts = eventually(told, what="labels of several charts")
    times = {text.partition(" (")[0] for text in texts if text}
    assert len(times) == 1, texts
    watched.check()
