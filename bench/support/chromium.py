"""Pages in a real Chromium, and when they stand still."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

from bench.support.process_usage import descendants

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


@dataclass(kw_only=True)
class Viewer:
    """A page in Chromium."""

    page: Page
    base: str

    def open(self, path: str) -> float:
        """Open an address; return the seconds from navigation until all of it is drawn."""
        self.page.goto(self.base + path)
        return self.settled()

    def settled(self) -> float:
        """Wait until the page stands still; return its age in seconds, by the browser's clock."""
        found = self.page.wait_for_function(_SETTLED, timeout=_PATIENCE, polling=20)
        return float(found.json_value())


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run the Chromium of this machine without a window."""
    path = shutil.which("chromium")
    if path is None:
        raise NoChromiumError("chromium is not installed")
    others = descendants(os.getpid())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=_ARGUMENTS)
        _give_way(descendants(os.getpid()) - others)
        yield browser
        browser.close()


def _give_way(processes: Iterable[int]) -> None:
    """Let processes have what others leave: a viewer's browser is not on the server's computer.

    Linux weighs sessions first (``sched(7)``, autogroups), and within one its processes.
    """
    for each in processes:
        with suppress(OSError):  # it has ended, or this Linux has no autogroups
            os.setpriority(os.PRIO_PROCESS, each, 10)
            Path(f"/proc/{each}/autogroup").write_text("10", encoding="ascii")


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
