"""A management API that answers what a test wants, also what only a broken one would."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.http_serving import serving

OVERVIEW = {"rabbitmq_version": "4.1.0", "cluster_name": "shop", "rates_mode": "basic"}
_REDUCED = ("name", "vhost", "type", "state", "messages", "messages_ready", "arguments")
"""What RabbitMQ 4 tells of a queue where no columns are asked for; not all of it."""


@dataclass(frozen=True)
class Answer:
    """What is sent in place of the ready-made answer.

    Attributes:
        status: HTTP status.
        body: Bytes, or something that becomes JSON.
        headers: Further headers.
        wait_seconds: Before the answer begins.
        is_cut: Whether the connection is closed in the middle of the body.
        trickle_seconds: Between one byte and the next; 0: all at once.
    """

    status: int = 200
    body: Any = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    wait_seconds: float = 0.0
    is_cut: bool = False
    trickle_seconds: float = 0.0


@dataclass
class Management:
    """The things that there are, and the answers that replace the ready-made ones.

    Attributes:
        queues: Virtual host: its queues.
        exchanges: Virtual host: its exchanges.
        bindings: Virtual host: its bindings.
        overview: ``/api/overview``.
        replaced: Path: the answer in place of the ready-made one.
        asked: Every path asked for, in order.
        queries: The query of each.
    """

    queues: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: {"/": []})
    exchanges: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    bindings: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    overview: dict[str, Any] = field(default_factory=lambda: dict(OVERVIEW))
    replaced: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    queries: list[dict[str, str]] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, query: Mapping[str, str]) -> Answer:
        if path in self.replaced:
            return self.replaced[path]
        what, _, rest = path.removeprefix("/api/").partition("/")
        virtual_host = unquote(rest)
        match what:
            case "overview":
                return Answer(body=self.overview)
            case "whoami":
                return Answer(body={"name": "headroom", "tags": ["monitoring"]})
            case "vhosts":
                return Answer(body=[{"name": name} for name in self.queues])
            case "queues" if virtual_host in self.queues:
                return _page(self._columns(self.queues[virtual_host], query), query)
            case "exchanges":
                return _page(self.exchanges.get(virtual_host, []), query)
            case "bindings":
                return Answer(body=self.bindings.get(virtual_host, []))
        return Answer(404, {"error": "Object Not Found", "reason": "Not Found"})

    def _columns(
        self, queues: list[dict[str, Any]], query: Mapping[str, str]
    ) -> list[dict[str, Any]]:
        asked = query.get("columns")
        columns = _REDUCED if asked is None else asked.split(",")
        return [{key: each[key] for key in columns if key in each} for each in queues]


def _page(items: list[dict[str, Any]], query: Mapping[str, str]) -> Answer:
    page, size = int(query["page"]), int(query["page_size"])
    if page > 1 and (page - 1) * size >= len(items):
        reason = f"Page out of range, page: {page} page size: {size}, len: {len(items)}"
        return Answer(400, {"error": "page_out_of_range", "reason": reason})
    shown = items[(page - 1) * size : page * size]
    return Answer(body={"items": shown, "page": page, "page_count": -(-len(items) // size)})


@contextmanager
def serve(management: Management) -> Iterator[Management]:
    """Serve it on a free port of this machine; ``url`` says where."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {key: values[0] for key, values in parse_qs(parts.query).items()}
            management.asked.append(parts.path)
            management.queries.append(query)
            answer = management.answer(parts.path, query)
            time.sleep(answer.wait_seconds)
            body = answer.body
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(answer.status)
            for name, value in answer.headers.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            try:
                self._send(content, answer)
            except (BrokenPipeError, ConnectionResetError):
                self.close_connection = True

        def _send(self, content: bytes, answer: Answer) -> None:
            if answer.is_cut:
                self.wfile.write(content[: len(content) // 2])
                self.close_connection = True
            elif answer.trickle_seconds:
                for byte in content:
                    self.wfile.write(bytes([byte]))
                    self.wfile.flush()
                    time.sleep(answer.trickle_seconds)
            else:
                self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    management.url = f"http://127.0.0.1:{server.server_address[1]}"
    with serving(server):
        yield management
