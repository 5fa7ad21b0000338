"""A small HTTP server that speaks Connect's REST interface, and misbehaves on demand."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.http_serving import serving

Answer = Callable[[BaseHTTPRequestHandler], None]

FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
MIRROR_SOURCE = "org.apache.kafka.connect.mirror.MirrorSourceConnector"


def says(content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Answer:
    """Answer with JSON, or with bytes as they are."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        for name, value in (headers or {}).items():
            request.send_header(name, value)
        request.send_header("content-length", str(len(body)))
        request.end_headers()
        request.wfile.write(body)

    return answer


def in_turn(*answers: Answer) -> Answer:
    """Answer differently each time; the last one stays."""
    left = list(answers)

    def answer(request: BaseHTTPRequestHandler) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(request)

    return answer


def cuts_the_connection(request: BaseHTTPRequestHandler) -> None:
    """Announce more than is sent, and hang up."""
    request.send_response(200)
    request.send_header("content-length", "1000")
    request.end_headers()
    request.wfile.write(b'{"orders-sink": {')
    request.close_connection = True


def trickles(request: BaseHTTPRequestHandler) -> None:
    """Send a byte now and then until nobody listens any more."""
    request.send_response(200)
    request.send_header("content-length", "1000000")
    request.end_headers()
    ended: threading.Event = request.server.ended  # type: ignore[attr-defined]
    try:
        while not ended.wait(0.05):
            request.wfile.write(b" ")
            request.wfile.flush()
    except OSError:
        request.close_connection = True


class FakeConnect:
    """Answers by path; what has no answer is a 404 as Connect sends it."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self._server = server
        self.answers: dict[str, Answer] = {
            "/": says({"version": "4.3.1", "commit": "abc", "kafka_cluster_id": "id"}),
            "/health": says({"status": "healthy", "message": "ready"}),
        }
        self.asked: list[str] = []
        self.headers: list[Mapping[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def lists(self, connectors: Mapping[str, Any], names: list[str] | None = None) -> None:
        """Have connectors, by name the entry of the expanded list."""
        self.answers["/connectors?expand=status&expand=info"] = says(connectors)
        self.answers["/connectors"] = says(list(connectors) if names is None else names)


@contextmanager
def fake_connect() -> Iterator[FakeConnect]:
    """Serve on a free port."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            fake.asked.append(self.path)
            fake.headers.append(dict(self.headers.items()))
            missing = says({"error_code": 404, "message": "HTTP 404 Not Found"}, 404)
            fake.answers.get(self.path, missing)(self)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.ended = threading.Event()  # type: ignore[attr-defined]
    fake = FakeConnect(server)
    with serving(server):
        try:
            yield fake
        finally:
            server.ended.set()  # type: ignore[attr-defined]


def entry(
    name: str,
    *,
    state: str = "RUNNING",
    tasks: Mapping[int, str] | None = None,
    traces: Mapping[int, str] | None = None,
    trace: str | None = None,
    type_: str = "sink",
    **config: str,
) -> dict[str, Any]:
    """Return a connector as the expanded list has it; ``__`` in a key of ``config`` is a dot."""
    states = {0: "RUNNING"} if tasks is None else tasks
    worker = {"worker_id": "10.0.0.1:8083"}
    own = {"state": state, **worker, **({"trace": trace} if trace else {})}
    return {
        "status": {
            "name": name,
            "connector": own,
            "tasks": [
                {
                    "id": number,
                    "state": each,
                    **worker,
                    **({"trace": traces[number]} if traces and number in traces else {}),
                }
                for number, each in states.items()
            ],
            "type": type_,
        },
        "info": {
            "name": name,
            "config": {
                "connector.class": FILE_SINK,
                "name": name,
                "topics": "orders",
                **{key.replace("__", "."): value for key, value in config.items()},
            },
            "tasks": [{"connector": name, "task": number} for number in states],
            "type": type_,
        },
    }
