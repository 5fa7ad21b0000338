"""A webhook receiver for tests: it remembers, and misbehaves as it is told to."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.http_serving import serving


@dataclass
class Received:
    """One request."""

    path: str
    headers: Mapping[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)


@dataclass
class Receiver:
    """What was received, and how the next requests are answered.

    Attributes:
        answers: Status codes of the next answers; 200 afterwards.
        headers: Of every answer.
        says: The body of every answer.
        reason: The phrase beside the status; None: the usual one.
        length: Of the body, as every answer claims; None: as it is.
        delay_seconds: Before every answer.
        on_request: Called before a request is answered.
    """

    port: int = 0
    received: list[Received] = field(default_factory=list)
    answers: list[int] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    says: bytes = b""
    reason: str | None = None
    length: int | None = None
    delay_seconds: float = 0.0
    on_request: Callable[[Received], None] = lambda _: None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook"

    @property
    def keys(self) -> list[str]:
        return [one.headers["Idempotency-Key"] for one in self.received]


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Receive on a free port."""
    receiver = Receiver()
    lock, ended = threading.Lock(), threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", "0"))
            one = Received(self.path, dict(self.headers), self.rfile.read(length))
            with lock:
                status = receiver.answers.pop(0) if receiver.answers else 200
                if status == 200:
                    receiver.received.append(one)
            receiver.on_request(one)
            ended.wait(receiver.delay_seconds)
            try:
                self.send_response(status, receiver.reason)
                for name, text in receiver.headers.items():
                    self.send_header(name, text)
                length = len(receiver.says) if receiver.length is None else receiver.length
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(receiver.says)
            except OSError:  # whoever asked is gone
                return

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing of those who are gone."""

    server = Server(("127.0.0.1", 0), Handler)
    receiver.port = server.server_address[1]
    with serving(server):
        try:
            yield receiver
        finally:
            ended.set()
