"""Scripts and styles over the wire in a third of their size: each is compressed once and kept."""

from __future__ import annotations

import asyncio
import gzip
from typing import TYPE_CHECKING

from starlette.datastructures import Headers, MutableHeaders

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FOLDER = "/static/"
_ENDS = (".js", ".css")


class CompressedFiles:
    """Compresses the files that Streamlit serves as they are.

    Their names hold a hash of their content, so that what was compressed once stays right; there
    are as many as the package has. The answer itself is always the server's: who may ask for what
    is its business. It may end early, as when the browser went on to another page: such an answer
    is never kept, or nobody would ever get the rest.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._kept: dict[str, bytes] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; what is no such file, or not asked for compressed, passes through."""
        if not _is_wanted(scope):
            await self._app(scope, receive, send)
            return
        started: Message | None = None
        parts: list[bytes] = []

        async def collect(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = message
            else:
                parts.append(message.get("body", b""))

        await self._app(scope, receive, collect)
        if started is None:
            return
        body = b"".join(parts)
        headers = MutableHeaders(raw=list(started["headers"]))
        if started["status"] == 200 and headers.get("Content-Length") == str(len(body)):
            body = await self._compressed(scope["path"], body)
            headers["Content-Encoding"] = "gzip"
            headers["Content-Length"] = str(len(body))
            headers.add_vary_header("Accept-Encoding")
            started = {**started, "headers": headers.raw}
        await send(started)
        await send({"type": "http.response.body", "body": body})

    async def _compressed(self, path: str, body: bytes) -> bytes:
        if path not in self._kept:
            self._kept[path] = await asyncio.to_thread(gzip.compress, body, 9, mtime=0)
        return self._kept[path]


def _is_wanted(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "GET":
        return False
    if not (scope["path"].startswith(_FOLDER) and scope["path"].endswith(_ENDS)):
        return False
    headers = Headers(scope=scope)
    return "gzip" in headers.get("accept-encoding", "") and "range" not in headers
