"""A page of a dashboard in a real browser, as a test looks at it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

from playwright.sync_api import ConsoleMessage, Page, TimeoutError
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

# Taken out of the environment: to Headroom itself it would be a setting with a wrong name.
SCREENSHOTS = os.environ.pop("HEADROOM_SCREENSHOTS", None)


@dataclass
class Watched:
    """A page whose complaints are kept."""

    page: Page
    base: str
    complaints: list[str] = field(default_factory=list)
    runs: int = 0  # of whole pages; a timer that only looks is none

    def __post_init__(self) -> None:
        self.page.on("console", self._heard)
        self.page.on("websocket", lambda socket: socket.on("framereceived", self._received))
        self.page.on("pageerror", lambda error: self.complaints.append(f"page error: {error}"))
        self.page.on(
            "request",
            lambda request: self._left(request.url),
        )

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type != "error":
            return
        where = urlsplit(message.location.get("url", ""))
        # On an address below the root Streamlit looks for its server there first, then above.
        is_probe = where.path.count("/") > 2 and where.path.endswith(
            ("/_stcore/health", "/_stcore/host-config")
        )
        if not is_probe:
            self.complaints.append(f"console: {message.text} ({where.geturl()})")

    def _received(self, payload: str | bytes) -> None:
        if isinstance(payload, bytes):
            message = ForwardMsg.FromString(payload)
            # The field has this value, its first, in messages of other kinds too.
            if message.WhichOneof("type") == "script_finished":
                self.runs += message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY

    def _left(self, url: str) -> None:
        if url.startswith("http") and urlsplit(url).hostname not in ("localhost", "127.0.0.1"):
            self.complaints.append(f"request to another machine: {url}")

    def go(self, path: str) -> None:
        """Open an address and wait until the page is drawn."""
        self.page.goto(self.base + path)
        self.drawn()

    def open_menu(self) -> None:
        """Show the menu where the window is too narrow for it."""
        button = self.page.get_by_test_id("stExpandSidebarButton")
        if button.is_visible():
            button.click()

    def visit(self, name: str) -> None:
        """Follow a link of the menu; click again, once, where nothing came of the click.

        A refresh that the page's timer asks for in the same milliseconds overtakes the click
        inside of Streamlit 1.67 (2 of 430 clicks with the gap widened to 0.4 s).
        """
        self.open_menu()
        menu = self.page.get_by_test_id("stSidebarNav")
        for last in (False, True):
            menu.get_by_role("link", name=name, exact=True).click()
            try:
                self.page.wait_for_function(
                    "name => document.title.includes(name)", arg=name, timeout=20_000
                )
                break
            except TimeoutError as error:
                state = self.page.get_by_test_id("stApp").get_attribute("data-test-script-state")
                said = f"{name} was not opened; title {self.page.title()!r}, script {state}"
                if last:
                    raise AssertionError(said) from error
                print(said)
        self.drawn()

    def drawn(self) -> None:
        """Wait until the page has its headline and the script that draws it has ended."""
        self.page.locator("[data-testid=stMain] h1").first.wait_for(timeout=60_000)
        self.page.wait_for_function(
            "document.querySelector('[data-testid=stApp]')"
            "?.getAttribute('data-test-script-state') === 'notRunning'",
            timeout=60_000,
        )
        # Charts and tables are loaded apart; until they are there, a grey block holds their place.
        self.page.wait_for_function(
            "document.querySelectorAll('[data-testid=stSkeleton]').length === 0", timeout=60_000
        )
        for kind in ("stPlotlyChart", "stDataFrame"):
            boxes = self.page.get_by_test_id(kind)
            inner = ".main-svg" if kind == "stPlotlyChart" else "canvas"
            for position in range(boxes.count()):
                box = boxes.nth(position)
                if box.is_visible():
                    box.locator(inner).first.wait_for(timeout=30_000)

    def headline(self) -> str:
        """Return the page's first sentence."""
        return self.page.locator("[data-testid=stMain] h1").first.inner_text()

    def query(self) -> dict[str, list[str]]:
        """Return what the address asks for."""
        # The browser is asked: Playwright learns of a new address only while it is waited for.
        return parse_qs(self.page.evaluate("location.search.slice(1)"))

    def entries(self) -> int:
        """Return how many steps the browser's buttons can go back and forward."""
        return int(self.page.evaluate("window.history.length"))

    def check(self) -> None:
        """Fail on anything that the browser or the page complained about."""
        assert self.page.get_by_test_id("stException").count() == 0, "an exception is on the page"
        assert self.complaints == []

    def keep(self, name: str) -> None:
        """Save a picture of the whole page where somebody asked for pictures."""
        if not SCREENSHOTS:
            return
        Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
        size = self.page.viewport_size or {"width": 1280, "height": 800}
        height = self.page.evaluate("document.querySelector('[data-testid=stMain]').scrollHeight")
        self.page.set_viewport_size({"width": size["width"], "height": max(size["height"], height)})
        self.page.wait_for_function("document.fonts.status === 'loaded'")
        self.drawn()
        self.page.screenshot(path=str(Path(SCREENSHOTS) / f"{name}.png"))
        self.page.set_viewport_size(size)


def answers(url: str) -> bool:
    """Return whether somebody answers there."""
    try:
        with urlopen(url, timeout=2) as response:  # noqa: S310 (an address of this machine)
            return bool(response.status == 200)
    except OSError:
        return False
