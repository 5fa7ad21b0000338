"""A zoom on one chart: it moves all of the page, stays, and becomes the range."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from importlib.resources import files

import pytest
from playwright.sync_api import Browser, TimeoutError

from app.style.charts.base import Axis, ChartEvent, plot
from app.style.charts.marks import marks, put_marks
from app.style.columns import text_pixels
from app.style.theme import LIGHT
from tests.browser.watched import Watched
from tests.support import eventually

pytestmark = pytest.mark.browser


@pytest.fixture
def watched(browser: Browser, dashboard: str) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, timezone_id="UTC")
    yield Watched(context.new_page(), dashboard)
    context.close()


def test_marks_are_placed_in_the_browser_by_the_rule_of_the_server(watched: Watched) -> None:
    """Given events that stand anyhow, then both give the same marks, words, sides and lines."""
    seeded, start = random.Random(3), datetime(2026, 11, 20, 8, 0, tzinfo=UTC)  # noqa: S311 (no secret)
    watched.page.goto("about:blank")
    watched.page.add_script_tag(content=files("app.ui.browser").joinpath("marks.js").read_text())
    for pixels in (220, 500, 1100):
        for _ in range(40):
            events = tuple(
                ChartEvent(
                    at=start + timedelta(minutes=seeded.uniform(-5, 65)),
                    text=f"broker {number} is {'x' * seeded.randint(1, 40)}",
                    kind=seeded.choice(["act", "fired", "main", "quiet", "quiet"]),
                    is_own=seeded.random() < 0.1,
                )
                for number in range(seeded.randint(1, 20))
            )
            axis = Axis(
                start=start,
                end=start + timedelta(hours=1),
                zone=UTC,
                events=tuple(sorted(events, key=lambda one: one.at)),
                pixels=pixels,
            )
            made = plot(LIGHT, height=120)
            put_marks(made, axis, LIGHT)
            sent = made.layout.get("meta", {"marks": {"events": []}})["marks"]["events"]
            for one in sent:
                one["at"] = datetime.fromisoformat(f"{one['x']}+00:00").timestamp() * 1000
            texts = [one["word"] for one in sent] + [f"{number} changes" for number in range(21)]
            widths = {text: text_pixels(text, font=11) for text in texts}
            given = [sent, start.timestamp() * 1000, axis.end.timestamp() * 1000, pixels, widths]
            placed = watched.page.evaluate(
                """([events, start, end, pixels, widths]) => placedMarks(
                    events, {start, end, pixels, width: (text) => widths[text]}, 2,
                ).map((one) => [
                    ...[one.events, one.lines].map((all) => all.map(({x}) => x)),
                    one.text, one.isLeft, one.row])""",
                given,
            )
            assert placed == [
                [
                    [f"{event.at:%Y-%m-%dT%H:%M:%S.%f}" for event in one.events],
                    [f"{event.at:%Y-%m-%dT%H:%M:%S.%f}" for event in one.lines],
                    one.text,
                    one.is_left,
                    one.row,
                ]
                for one in marks(axis)
            ]


def test_marks_are_placed_anew_in_a_zoom(watched: Watched) -> None:
    charts = """[...document.querySelectorAll('.js-plotly-plot')]
        .filter((one) => one.layout?.meta?.axis === 'page axis' && one.layout.meta.marks)"""
    words = f"""() => {charts}.map((one) => one.layout.annotations
        .filter(({{name}}) => name === "mark").map(({{text}}) => text))"""
    watched.go("/group?group=payments&paused=true")
    eventually(lambda: watched.page.evaluate(words), what="marks")
    before = watched.page.evaluate(words)
    assert any(text != "▼" for one in before for text in one)
    # A chart listens half a second after it was drawn, at the latest.
    watched.page.wait_for_timeout(700)
    # Some seconds around the last event: there is room beside it.
    zoom = f"""([from, to]) => {{
        const chart = {charts}[0];
        const {{events}} = chart.layout.meta.marks;
        const time = ({{x}}) => Date.parse(`${{x}}Z`);
        const at = time(events.at(-1));
        const text = (time) => new Date(time).toISOString().slice(0, 23);
        const seen = [text(at + 1000 * from), text(at + 1000 * to)];
        window.Plotly.relayout(chart, {{"xaxis.range": seen}});
        const near = events.filter((one) => Math.abs(time(one) - at) < 5000);
        return [...near.map(({{word}}) => word), `${{near.length}} changes`].filter(Boolean);
    }}"""
    names = watched.page.evaluate(zoom, [-5, 5])
    right, left = {f"▼ {name}" for name in names}, {f"{name} ▼" for name in names}

    def are_all(texts: set[str]) -> bool:
        found = watched.page.evaluate(words)
        return len(found) > 1 and all(one and one[-1] in texts for one in found)

    eventually(lambda: are_all(right | left), what="its words in all charts")
    # New figures have the words for the whole time: none is painted with those.
    watched.page.evaluate(f"""() => {{
        window.painted = new Set();
        const look = () => {{
            ({words})().flat().forEach((text) => window.painted.add(text));
            requestAnimationFrame(look);
        }};
        look();
    }}""")
    old = f"() => {charts}.forEach((one) => {{ one.isOld = true; }})"
    watched.page.evaluate(old)
    watched.page.get_by_test_id("stMain").locator("label").filter(
        has_text=re.compile("^log$")
    ).first.click()
    is_new = f"() => {charts}.some((one) => !one.isOld || one._fullLayout.yaxis.type === 'log')"
    eventually(lambda: watched.page.evaluate(is_new), what="a chart drawn anew")
    watched.page.wait_for_timeout(1000)
    assert set(watched.page.evaluate("() => [...window.painted]")) <= right | left
    # At the end of the axis its words have room on its other side alone.
    watched.page.evaluate(zoom, [-600, 6])
    eventually(lambda: are_all(left | {"▼"}), what="words that do not stick out")
    watched.page.evaluate(
        f"() => {{ window.Plotly.relayout({charts}[0], {{'xaxis.autorange': true}}); }}"
    )
    eventually(
        lambda: watched.page.evaluate(words) == before,
        what=lambda: f"the words as they were: {before}, not {watched.page.evaluate(words)}",
        timeout_seconds=8,
    )
    watched.check()


def test_a_chart_that_is_drawn_anew_is_never_painted_without_the_zoom(watched: Watched) -> None:
    charts = """[...document.querySelectorAll('.js-plotly-plot')]
        .filter((one) => one.layout?.meta?.axis === 'page axis')"""
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
        .filter((one) => one.layout?.meta?.axis === 'page axis')
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
