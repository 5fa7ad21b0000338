"""Pages in a real Chromium: when they stand still, and what went over the wire for them."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
_PHONE = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/140.0 Mobile Safari/537.36"
_PATIENCE = 300_000  # milliseconds
_SETTLED = """(shown) => {
    const all = (found) => [...document.querySelectorAll(found)];
    const seen = (one) => one.checkVisibility();
    const app = document.querySelector('[data-testid=stApp]');
    return app?.getAttribute('data-test-script-state') === 'notRunning'
        && document.querySelector('[data-testid=stMain] h1')
        && all('[data-testid=stSkeleton]').length === 0
        && all('[data-testid=stPlotlyChart]').filter(seen).every(
            (one) => one.querySelector('.main-svg'))
        && all('[data-testid=stDataFrame]').filter(seen).every((one) => one.querySelector('canvas'))
        && performance.now() / 1000;
}"""
"""When the script has ended, and each chart and table that it names is drawn: in seconds."""


class NoChromiumError(RuntimeError):
    """There is no Chromium on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A run of the dashboard's script for one viewer."""

    seconds: float  # from the browser's request to the server's last message
    received_bytes: int


@dataclass(kw_only=True)
class Viewer:
    """A page in Chromium, and what goes over the wire for it."""

    page: Page
    base: str
    http_bytes: int = 0  # headers and bodies as they were sent: compressed ones compressed
    socket_bytes: int = 0
    runs: list[Run] = field(default_factory=list)
    _asked: float | None = None
    _before: int = 0

    def __post_init__(self) -> None:
        """Listen to the browser's own account of the network."""
        session = self.page.context.new_cdp_session(self.page)
        session.send("Network.enable")
        session.on("Network.loadingFinished", self._loaded)
        session.on("Network.webSocketFrameSent", self._sent)
        session.on("Network.webSocketFrameReceived", self._received)

    def open(self, path: str) -> float:
        """Open an address; return the seconds from navigation until all of it is drawn."""
        self.page.goto(self.base + path)
        return self.settled()

    def settled(self) -> float:
        """Wait until the page stands still; return its age in seconds, by the browser's clock."""
        found = self.page.wait_for_function(_SETTLED, timeout=_PATIENCE, polling=20)
        return float(found.json_value())

    def refreshes(self, count: int) -> list[Run]:
        """Wait until the page was drawn again some times; return these runs."""
        before = len(self.runs)
        while len(self.runs) < before + count:
            self.page.wait_for_timeout(100)
        return self.runs[before:]

    def _loaded(self, event: dict[str, Any]) -> None:
        self.http_bytes += int(event["encodedDataLength"])

    def _sent(self, event: dict[str, Any]) -> None:
        asked = BackMsg()
        asked.ParseFromString(_content(event))
        if asked.WhichOneof("type") == "rerun_script" and self._asked is None:
            self._asked, self._before = float(event["timestamp"]), self.socket_bytes

    def _received(self, event: dict[str, Any]) -> None:
        content = _content(event)
        self.socket_bytes += len(content)
        message = ForwardMsg()
        message.ParseFromString(content)
        if self._asked is None or message.WhichOneof("type") != "script_finished":
            return
        # A timer that asks for a run ends its own early: the whole run is what a viewer waits for.
        if message.script_finished == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY:
            self._asked = None  # it looked, and nothing had changed
        elif message.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
            seconds = float(event["timestamp"]) - self._asked
            self.runs.append(Run(seconds=seconds, received_bytes=self.socket_bytes - self._before))
            self._asked = None


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run the Chromium of this machine without a window."""
    path = shutil.which("chromium")
    if path is None:
        raise NoChromiumError("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield browser
        browser.close()


@contextmanager
def viewer(
    browser: Browser,
    base: str,
    *,
    scheme: str = "light",
    size: tuple[int, int] = (1440, 900),
) -> Iterator[Viewer]:
    """Open a window of its own, with an empty cache; one as narrow as a phone is a phone's."""
    is_phone = size[0] < 600
    context = browser.new_context(
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if scheme == "dark" else "light",
        timezone_id="UTC",
        is_mobile=is_phone,
        has_touch=is_phone,
        user_agent=_PHONE if is_phone else None,
    )
    yield Viewer(page=context.new_page(), base=base)
    context.close()


def _content(event: dict[str, Any]) -> bytes:
    # Binary frames (opcode 2) come as base64.
    response = event["response"]
    payload: str = response["payloadData"]
    return base64.b64decode(payload) if response["opcode"] == 2 else payload.encode()
