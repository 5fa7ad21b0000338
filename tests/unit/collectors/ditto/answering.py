"""An HTTP server that answers what a test tells it to, and remembers what it was asked."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

from tests.http_serving import serving


@dataclass(frozen=True)
class Request:
    """What was asked.

    Attributes:
        path: Without the query, percent-encoded.
        query: Parameter: its last value.
        headers: Lower-cased name: value.
    """

    path: str
    query: dict[str, str]
    headers: dict[str, str]


@dataclass(frozen=True)
class Reply:
    """What is answered.

    Attributes:
        body: The body.
        status: The status.
        headers: Further headers.
        delay_seconds: Before anything is sent.
        cut_after: The connection is cut after so many bytes of the body; None: it is not.
        byte_seconds: Between single bytes of the body; 0: it is sent at once.
    """

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    delay_seconds: float = 0.0
    cut_after: int | None = None
    byte_seconds: float = 0.0


@dataclass
class Answering:
    """The server as a test sees it.

    Attributes:
        url: Its address.
        requests: What it was asked so far.
        answer: Gives the reply to a request; may be exchanged at any time.
    """

    url: str
    answer: Callable[[Request], Reply]
    requests: list[Request] = field(default_factory=list)


@contextmanager
def answering(answer: Callable[[Request], Reply]) -> Iterator[Answering]:
    """Serve on an ephemeral port of this machine."""
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Request(parts.path, query, headers)
            served.requests.append(request)
            reply = served.answer(request)
            closing.wait(reply.delay_seconds)
            try:
                self._send(reply)
            except OSError:
                self.close_connection = True  # the client lost its patience

        def _send(self, reply: Reply) -> None:
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            if reply.byte_seconds:
                for byte in reply.body:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    if closing.wait(reply.byte_seconds):
                        return
                return
            self.wfile.write(reply.body[: reply.cut_after])
            if reply.cut_after is not None:
                self.close_connection = True
                self.connection.close()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Say nothing of a client that hung up."""

    server = Server(("127.0.0.1", 0), Handler)
    served = Answering(f"http://127.0.0.1:{server.server_address[1]}", answer)
    with serving(server):
        try:
            yield served
        finally:
            closing.set()


def seconds_of(work: Callable[[], object]) -> float:
    """Return how long something takes."""
    start = time.monotonic()
    work()
    return time.monotonic() - start
