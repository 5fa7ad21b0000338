"""Scripts that nearly every page needs are asked for with the page, not with its first chart.

Streamlit's browser part loads what draws an element when the first one comes. That of charts has
megabytes: a chart waited for its way over the wire and for its compilation after all else was
there.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import streamlit
from starlette.datastructures import MutableHeaders

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FOLDER = Path(streamlit.__file__).parent / "static" / "static" / "js"
_DRAW = ("PlotlyChart", "DataFrame", "BidiComponent")
"""What draws charts, tables, and this dashboard's lists: names of Streamlit's scripts."""


def link_header(folder: Path = _FOLDER) -> str:
    """Return the header that has a browser load them, by what they are called in this version.

    Names hold a hash. What a version does not have is left out: its page loads it later.
    """
    found = (path.name for name in _DRAW for path in sorted(folder.glob(f"{name}.*.js")))
    return ", ".join(f"<./static/js/{name}>; rel=modulepreload" for name in found)


class EarlyScripts:
    """Adds that header to pages; files and messages pass through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._link = link_header()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or not self._link:
            await self._app(scope, receive, send)
            return

        async def told(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(raw=list(message["headers"]))
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("Link", self._link)
                    message = {**message, "headers": headers.raw}
            await send(message)

        await self._app(scope, receive, told)
