"""A zoom on one chart: it moves all of the page, stays, and becomes the range."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, TimeoutError

from tests.browser.watched import Watched
from tests.support import eventually

pytestmark = pytest.mark.browser


@pytest.fixture
def watched(browser: Browser, dashboard: str) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, timezone_id="UTC")
    yield Watched(context.new_page(), dashboard)
    context.close()


def test_words_of_a_mark_that_lie_over_the_edge_in_a_zoom_give_way(watched: Watched) -> None:
    charts = """[...document.querySelectorAll('.js-plotly-plot')]
        .filter((one) => one.layout?.meta === 'page axis' && one.layout.annotations?.length)"""
    words = f"() => {charts}.map((one) => one.layout.annotations.map((note) => note.text))"
    watched.go("/group?group=payments&paused=true")
    eventually(lambda: watched.page.evaluate(words), what="marks")
    before = watched.page.evaluate(words)
    assert any(text != "▼" for one in before for text in one)
    # A chart listens half a second after it was drawn, at the latest.
    watched.page.wait_for_timeout(700)
    # The last mark with words to its right: it becomes the end of the axis.
    zoom = f"""() => {{
        const chart = {charts}[0];
        const note = chart.layout.annotations.findLast(
            (one) => one.text.length > 1 && one.xanchor === "left");
        const at = Date.parse(`${{note.x}}Z`);
        const text = (time) => new Date(time).toISOString().slice(0, 23);
        window.Plotly.relayout(chart, {{"xaxis.range": [text(at - 600000), text(at + 6000)]}});
        return chart.layout.annotations.indexOf(note);
    }}"""
    named = watched.page.evaluate(zoom)
    eventually(
        lambda: all(one[named] == "▼" for one in watched.page.evaluate(words)),
        what="a sign alone in all charts",
    )
    watched.page.evaluate(
        f"() => {{ window.Plotly.relayout({charts}[0], {{'xaxis.autorange': true}}); }}"
    )
    eventually(lambda: watched.page.evaluate(words) == before, what="the words again")
    watched.check()


def test_a_chart_that_is_drawn_anew_is_never_painted_without_the_zoom(watched: Watched) -> None:
    charts = """[...document.querySelectorAll('.js-plotly-plot')]
        .filter((one) => one.layout?.meta === 'page axis')"""
    span = """(one) => one._fullLayout.xaxis.range.map((at) => Date.parse(at))
        .reduce((first, last) => Math.round((last - first) / 1000))"""
    watched.go("/group?group=payments&paused=true")
    eventually(lambda: watched.page.evaluate(f"() => {charts}.length > 1"), what="charts")
    # A chart listens half a second after it was drawn, at the latest.
    watched.page.wait_for_timeout(700)
    # The middle third; what each frame shows is kept from when all charts have it.
    zoomed = watched.page.evaluate(f"""() => {{
        const chart = {charts}[0];
        const [from, to] = chart._fullLayout.xaxis.range.map(
            (at) => Date.parse(`${{at.replace(" ", "T")}}Z`));
        const text = (part) => new Date(from + (to - from) * part).toISOString().slice(0, 23);
        window.Plotly.relayout(chart, {{"xaxis.range": [text(1 / 3), text(2 / 3)]}});
        return ({span})(chart);
    }}""")
    shown = f"() => {charts}.map({span})"
    eventually(lambda: set(watched.page.evaluate(shown)) == {zoomed}, what="one zoom")
    watched.page.evaluate(f"""() => {{
        window.painted = new Set();
        {charts}.forEach((one) => {{ one.isOld = true; }});
        const look = () => {{
            {charts}.map({span}).forEach((one) => window.painted.add(one));
            requestAnimationFrame(look);
        }};
        look();
    }}""")
    watched.page.get_by_test_id("stMain").locator("label").filter(
        has_text=re.compile("^log$")
    ).first.click()
    is_new = f"() => {charts}.some((one) => !one.isOld || one._fullLayout.yaxis.type === 'log')"
    eventually(lambda: watched.page.evaluate(is_new), what="a chart drawn anew")
    watched.page.wait_for_timeout(1000)
    assert watched.page.evaluate("() => [...window.painted]") == [zoomed]
    watched.check()


def test_a_zoom_moves_every_chart_and_becomes_the_range(watched: Watched) -> None:
    shown = """() => [...document.querySelectorAll('.js-plotly-plot')]
        .filter((one) => one.layout?.meta === 'page axis')
        .map((one) => one._fullLayout.xaxis.range.map((at) => Math.round(Date.parse(at) / 60000)))
    """
    watched.go("/group?group=payments")
    before = watched.page.evaluate(shown)
    assert len(before) > 1
    chart = watched.page.locator(".js-plotly-plot .nsewdrag").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    button = watched.page.get_by_role("button", name=re.compile(r"^Show \d"))

    def drag(start: float, end: float) -> None:
        watched.page.mouse.move(box["x"] + box["width"] * start, middle)
        watched.page.mouse.down()
        watched.page.mouse.move(box["x"] + box["width"] * end, middle, steps=5)
        watched.page.mouse.up()

    def zoomed() -> bool:
        # A chart listens half a second after it was drawn, at the latest.
        drag(0.3, 0.6)
        try:
            button.wait_for(timeout=2000)
        except TimeoutError:
            return False
        return True

    def together(other: list[int]) -> bool:
        spans = watched.page.evaluate(shown)
        return spans[0] != other and all(one == spans[0] for one in spans)

    eventually(zoomed, what="zoom")
    eventually(lambda: together(before[0]), what="one span on all charts")
    # A zoom within a zoom, and back.
    (once, *_) = watched.page.evaluate(shown)
    drag(0.2, 0.8)
    eventually(lambda: together(once), what="a shorter span on all charts")
    (twice, *_) = watched.page.evaluate(shown)
    assert once[0] < twice[0] < twice[1] < once[1]

    def ended() -> bool:
        watched.page.mouse.dblclick(box["x"] + box["width"] / 2, middle)
        try:
            button.wait_for(state="hidden", timeout=2000)
        except TimeoutError:
            return False
        return True

    eventually(ended, what="the end of a zoom after a double click")
    whole = [last - first for first, last in before]
    eventually(
        lambda: [last - first for first, last in watched.page.evaluate(shown)] == whole,
        what="the whole time on all charts",
    )
    eventually(zoomed, what="another zoom")
    button.click()
    watched.page.wait_for_url("**between=**")
    main = watched.page.get_by_test_id("stMain")
    main.get_by_text(re.compile(r"from \d")).first.wait_for()
    watched.page.go_back()
    main.get_by_text("last hour").first.wait_for()
    search = "location.search"
    eventually(lambda: "between" not in watched.page.evaluate(search), what="the range before")
    watched.check()
