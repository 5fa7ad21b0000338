from __future__ import annotations

import asyncio
import gzip
from typing import Any

import pytest

from app.compression import CompressedFiles

SCRIPT = b"let lag = 0;\n" * 1000


class Files:
    """A server of files, as Streamlit's is one."""

    def __init__(self, status: int = 200) -> None:
        self.status = status
        self.ends_early = False
        self.asked: list[str] = []

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked.append(scope["path"])
        headers = [(b"content-length", b"%d" % len(SCRIPT)), (b"etag", b'"1"')]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        middle = len(SCRIPT) // 2
        for part, more in ((SCRIPT[:middle], True), (SCRIPT[middle:], False)):
            if self.ends_early and not more:
                return
            await send({"type": "http.response.body", "body": part, "more_body": more})


def ask(
    app: CompressedFiles, path: str = "/static/js/main.1a2b.js", method: str = "GET", **headers: str
) -> tuple[int, dict[str, str], bytes]:
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "headers": [
            (name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()
        ],
    }
    messages: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        messages.append(message)

    asyncio.run(app(scope, lambda: None, send))  # type: ignore[arg-type, return-value]
    start, *rest = messages
    found = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], found, b"".join(one["body"] for one in rest)


def test_a_script_is_compressed_once_and_the_server_asked_each_time() -> None:
    files = Files()
    app = CompressedFiles(files)
    answers = [ask(app, accept_encoding="gzip, br") for _ in range(2)]
    for status, headers, body in answers:
        assert status == 200
        assert gzip.decompress(body) == SCRIPT
        assert headers["content-encoding"] == "gzip"
        assert headers["content-length"] == str(len(body))
        assert headers["vary"] == "Accept-Encoding"
        assert headers["etag"] == '"1"'
    assert len(files.asked) == 2
    assert len(answers[0][2]) < len(SCRIPT) / 3


@pytest.mark.parametrize(
    ("path", "method", "headers"),
    [
        ("/static/js/main.1a2b.js", "GET", {}),
        ("/static/js/main.1a2b.js", "GET", {"accept_encoding": "br"}),
        ("/static/js/main.1a2b.js", "GET", {"accept_encoding": "gzip", "range": "bytes=0-9"}),
        ("/static/js/main.1a2b.js", "HEAD", {"accept_encoding": "gzip"}),
        ("/static/media/font.woff2", "GET", {"accept_encoding": "gzip"}),
        ("/groups.js", "GET", {"accept_encoding": "gzip"}),
    ],
)
def test_anything_else_passes_as_it_is(path: str, method: str, headers: dict[str, str]) -> None:
    status, found, body = ask(CompressedFiles(Files()), path, method, **headers)
    assert (status, body) == (200, SCRIPT)
    assert "content-encoding" not in found


def test_what_the_server_refuses_stays_refused() -> None:
    files = Files()
    app = CompressedFiles(files)
    ask(app, accept_encoding="gzip")
    files.status = 400
    status, found, body = ask(app, accept_encoding="gzip")
    assert (status, body) == (400, SCRIPT)
    assert "content-encoding" not in found


def test_an_answer_that_ended_early_is_kept_for_nobody() -> None:
    files = Files()
    app = CompressedFiles(files)
    files.ends_early = True
    _, headers, _ = ask(app, accept_encoding="gzip")
    assert "content-encoding" not in headers

    files.ends_early = False
    _, _, body = ask(app, accept_encoding="gzip")
    assert gzip.decompress(body) == SCRIPT
