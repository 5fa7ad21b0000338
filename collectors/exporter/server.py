"""The small HTTP server of the polling service: it tells states, and never asks a source."""

from __future__ import annotations

import errno
import json
import logging
import socket
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from prometheus_client.exposition import gzip_accepted

log = logging.getLogger(__name__)

CONNECTIONS = 16
"""At once; what comes on top is turned away."""

REQUEST_SECONDS = 5.0
"""How long a client may take to send the next part of its request, or to take one of the answer."""

CONNECTION_SECONDS = 30.0
"""How long a connection may last altogether, however slow its client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is sent back."""

    parts: Iterable[bytes]
    content_type: str
    status: HTTPStatus = HTTPStatus.OK
    packed: bool = False

    @staticmethod
    def of_object(value: object, status: HTTPStatus = HTTPStatus.OK) -> Answer:
        """Return a JSON answer."""
        return Answer(
            parts=[json.dumps(value).encode() + b"\n"],
            content_type="application/json",
            status=status,
        )


Respond = Callable[[bool], Answer]
"""Makes the answer for a path; told whether the client accepts gzip."""

Take = Callable[[bytes], Answer]
"""Makes the answer to what was sent to a path."""

LARGEST_BODY_BYTES = 64 * 1024
"""A request that brings more is refused before it is read."""


_NO_TOKEN = Answer(
    parts=[b"this page wants a bearer token\n"],
    content_type="text/plain",
    status=HTTPStatus.UNAUTHORIZED,
)


class ServeError(Exception):
    """The address cannot be served; its text says why and what to change."""


class ExporterServer:
    """Serves paths from a thread of its own until it is closed."""

    def __init__(
        self,
        address: str,
        port: int,
        paths: Mapping[str, Respond],
        connection_seconds: float = CONNECTION_SECONDS,
        tokens: Mapping[str, str] | None = None,
        takes: Mapping[str, Take] | None = None,
    ) -> None:
        """Bind the address; clients are answered between ``__enter__`` and ``__exit__``.

        Args:
            address: A name or an address of this machine.
            port: 0 is any that is free.
            paths: What is answered.
            connection_seconds: How long a connection may last.
            tokens: By path, the bearer token without which nothing is answered.
            takes: What is done with what is posted; such a path needs a token.

        Raises:
            ServeError: The address is not one of this machine, or the port is in use.
        """
        try:
            family, place = _place(address, port)
            self._server = _Server(
                family, place, paths, connection_seconds, tokens or {}, takes or {}
            )
        except OSError as error:
            raise ServeError(_why(address, port, error)) from None
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.2,), name="exporter", daemon=True
        )

    @property
    def port(self) -> int:
        """The port that is served."""
        return int(self._server.server_address[1])

    @property
    def thread(self) -> threading.Thread:
        """The thread that accepts connections."""
        return self._thread

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop answering and give the port back; connections that last are cut."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = CONNECTIONS

    def __init__(
        self,
        family: socket.AddressFamily,
        place: tuple[Any, ...],
        paths: Mapping[str, Respond],
        connection_seconds: float,
        tokens: Mapping[str, str],
        takes: Mapping[str, Take],
    ) -> None:
        self.address_family = family
        self.paths = paths
        self.tokens = tokens
        self.takes = takes
        self._connection_seconds = connection_seconds
        self._lock = threading.Lock()
        self._open: dict[socket.socket, float] = {}
        super().__init__(place[:2], _Handler)

    def server_bind(self) -> None:
        # Not HTTPServer's: it asks the DNS for this machine's name, which may take long.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = str(self.server_address[0]), self.server_address[1]

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            full = len(self._open) >= CONNECTIONS
            if not full:
                self._open[request] = time.monotonic() + self._connection_seconds
        if full:
            self.shutdown_request(request)
            return
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Cut connections that last too long; asked for several times a second."""
        self._cut(time.monotonic())

    def server_close(self) -> None:
        super().server_close()
        self._cut(float("inf"))

    def handle_error(self, request: Any, client_address: Any) -> None:
        log.exception("a request failed")

    def _cut(self, now: float) -> None:
        with self._lock:
            late = [connection for connection, ends in self._open.items() if ends <= now]
        for connection in late:
            # Wakes the thread that waits for it; that one closes it.
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    timeout = REQUEST_SECONDS

    def version_string(self) -> str:
        return "headroom"

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_POST(self) -> None:
        path = self.path.partition("?")[0]
        take = self.server.takes.get(path)
        if take is None:
            self._refuse_method()
        elif path not in self.server.tokens or not self._may_use(path):
            self._send(_NO_TOKEN)
        else:
            self._send(self._taken(take))

    def _refuse_method(self) -> None:
        self.send_error(HTTPStatus.METHOD_NOT_ALLOWED, "only GET and HEAD are answered")

    do_PUT = do_DELETE = do_PATCH = do_OPTIONS = _refuse_method

    def log_message(self, format: str, *args: Any) -> None:
        log.debug(format, *args)

    def _answer(self, with_body: bool) -> None:
        path = self.path.partition("?")[0]
        respond = self.server.paths.get(path)
        if not self._may_use(path):
            answer = _NO_TOKEN
        elif respond is None:
            there = ", ".join(self.server.paths)
            answer = Answer(
                parts=[f"there are {there}\n".encode()],
                content_type="text/plain",
                status=HTTPStatus.NOT_FOUND,
            )
        else:
            accepts = gzip_accepted(self.headers.get("Accept-Encoding", ""))
            answer = self._made(lambda: respond(accepts))
        self._send(answer, with_body=with_body)

    def _taken(self, take: Take) -> Answer:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdigit()) or int(length[:9]) > LARGEST_BODY_BYTES:
            said = f"needs a Content-Length of at most {LARGEST_BODY_BYTES} bytes"
            return Answer.of_object({"error": said}, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return self._made(lambda: take(self.rfile.read(int(length))))

    def _send(self, answer: Answer, *, with_body: bool = True) -> None:
        parts = list(answer.parts)
        with suppress(ConnectionError, TimeoutError):
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.content_type)
            if answer.packed:
                self.send_header("Content-Encoding", "gzip")
            if answer.status is HTTPStatus.UNAUTHORIZED:
                self.send_header("WWW-Authenticate", "Bearer")
            self.send_header("Vary", "Accept-Encoding")
            self.send_header("Content-Length", str(sum(len(part) for part in parts)))
            self.end_headers()
            if with_body:
                for part in parts:
                    self.wfile.write(part)

    def _may_use(self, path: str) -> bool:
        token = self.server.tokens.get(path)
        said = self.headers.get("Authorization", "").encode(errors="replace")
        return token is None or compare_digest(said, f"Bearer {token}".encode())

    def _made(self, respond: Callable[[], Answer]) -> Answer:
        try:
            return respond()
        except Exception:  # a fault of ours in one page must not take the others away
            log.exception("path=%s", self.path)
            failed = [b"this page could not be made; the service's log says why\n"]
            return Answer(
                parts=failed, content_type="text/plain", status=HTTPStatus.INTERNAL_SERVER_ERROR
            )


def _place(address: str, port: int) -> tuple[socket.AddressFamily, tuple[Any, ...]]:
    """Return what to bind: the IPv4 address where the name has one, otherwise the first."""
    found = socket.getaddrinfo(
        address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE, proto=socket.IPPROTO_TCP
    )
    family, _, _, _, place = min(found, key=lambda each: each[0] != socket.AF_INET)
    return family, place


def _why(address: str, port: int, error: OSError) -> str:
    start = f"collectors.exporter: cannot serve {address}:{port}: "
    if isinstance(error, socket.gaierror):
        return start + "the address is unknown; set collectors.exporter.address"
    if error.errno == errno.EADDRINUSE:
        return start + "the port is in use; set another collectors.exporter.port"
    if error.errno == errno.EADDRNOTAVAIL:
        return start + "it is no address of this machine; set collectors.exporter.address"
    if error.errno == errno.EACCES:
        return start + "this user may not use the port; set another collectors.exporter.port"
    return start + (error.strerror or str(error))
