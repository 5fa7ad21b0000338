"""Pictures of every page, light and dark, for the documentation."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from pathlib import Path

from PIL import Image

from bench.support.addresses import PAGES, path_of
from bench.support.chromium import Viewer, chromium, viewer

_EVERY = (*PAGES, "queues", "incident")
_WINDOW = (1440, 900)
_PHONE = (390, 844)
_WIDTH = 720
"""Of a picture, in pixels."""
_QUALITY = 62


def draw(
    base: str, folder: Path, names: Mapping[str, str], on_progress: Callable[[str], None]
) -> list[Path]:
    """Save a picture of each page, its light and its dark half side by side, and some of a phone.

    The incident is the first one that Alerts leads to.

    Args:
        base: The address of a dashboard.
        folder: Where the pictures are saved.
        names: What the pages about one thing show: ``group`` and ``topic``.
        on_progress: Is given what is done next.

    Returns:
        The files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    windows = (("light", _WINDOW), ("dark", _WINDOW), ("light", _PHONE))
    shots: list[dict[str, Image.Image]] = []
    with chromium() as browser:
        for scheme, size in windows:
            taken: dict[str, Image.Image] = {}
            with viewer(browser, base, scheme=scheme, size=size) as one:
                for page in _EVERY:
                    on_progress(f"{page}, {scheme}, {size[0]} px")
                    one.open(_first_incident(one) if page == "incident" else path_of(page, names))
                    one.page.wait_for_function("document.fonts.status === 'loaded'")
                    one.page.mouse.move(0, 0)
                    taken[page] = Image.open(io.BytesIO(one.page.screenshot())).convert("RGB")
            shots.append(taken)
    light, dark, phone = shots
    files = [folder / f"{page}.webp" for page in _EVERY]
    for page, file in zip(_EVERY, files, strict=True):
        _save(_beside([light[page], dark[page]], _WIDTH), file)
    of_phone = folder / "phone.webp"
    _save(
        _beside([phone[page] for page in ("overview", "groups", "alerts", "scaling")], 300),
        of_phone,
    )
    return [*files, of_phone]


def _first_incident(one: Viewer) -> str:
    one.open("/alerts")
    address = one.page.locator("a[href*='incident?']").first.get_attribute("href") or ""
    return address.removeprefix(".")


def _beside(pictures: list[Image.Image], width: int) -> Image.Image:
    """Put pictures of one size side by side, each scaled to a width."""
    height = round(pictures[0].height * width / pictures[0].width)
    gap = 8
    whole = Image.new("RGB", ((width + gap) * len(pictures) - gap, height), "white")
    for number, picture in enumerate(pictures):
        scaled = picture.resize((width, height), Image.Resampling.LANCZOS)
        whole.paste(scaled, (number * (width + gap), 0))
    return whole


def _save(picture: Image.Image, file: Path) -> None:
    picture.save(file, "WEBP", quality=_QUALITY, method=6)
