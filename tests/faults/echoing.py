"""Servers that answer with what they were sent, in every part of an answer."""

from __future__ import annotations

import base64
import io
import json
import re
import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import urlsplit

from kafka.protocol.api_header import RequestHeader
from kafka.protocol.metadata import ApiVersionsResponse
from kafka.protocol.sasl import SaslAuthenticateResponse, SaslHandshakeResponse

HANDSHAKE, AUTHENTICATE = 17, 36
MECHANISMS = ["PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI"]


class Echo(BaseHTTPRequestHandler):
    """Answers with the credentials that it was sent, wherever a client may look."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        sent = self.headers.get("authorization", "")
        secret = sent.partition(" ")[2]
        if sent.lower().startswith("basic "):
            secret += " " + base64.b64decode(secret).decode()
        mode = urlsplit(self.path).path.split("/")[1]
        said = f"you sent {sent} that is {secret}"
        if mode == "reason":
            self.wfile.write(f"HTTP/1.1 500 {said}\r\ncontent-length: 0\r\n\r\n".encode())
        elif mode == "header":
            self.wfile.write(f"HTTP/1.1 200 OK\r\n{said}\r\nx\x00y {said}\r\n\r\n".encode())
        elif mode == "cut":
            self.wfile.write(f"HTTP/1.1 200 OK\r\ncontent-length: 900\r\n\r\n{said}".encode())
        elif mode == "odd":
            entry = {"name": said, "id": said, "status": said, "error": said, secret: said}
            self._say(200, json.dumps([entry, said]).encode())
        else:
            status = {"text": 200, "redirect": 302}.get(mode) or int(mode)
            self._say(status, said.encode())
        self.close_connection = True

    do_POST = do_GET

    def _say(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("location", f"/{body.decode()[:200]}")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _refuse(connection: socket.socket, received: list[bytes]) -> None:
    """Answer as a broker that refuses whatever it was sent, and repeats it."""
    stream = connection.makefile("rb")
    sent = b""
    while head := stream.read(4):
        body = stream.read(struct.unpack(">i", head)[0])
        header = RequestHeader.decode(io.BytesIO(body), flexible=False)
        response: Any
        if header.request_api_key == HANDSHAKE:
            response = SaslHandshakeResponse(error_code=0, mechanisms=MECHANISMS)
        elif header.request_api_key == AUTHENTICATE:
            challenge = b"" if sent else _challenge(body)
            sent += body
            received.append(body)
            said = f"refused: {sent.decode('latin-1')}"
            response = SaslAuthenticateResponse(
                error_code=0 if challenge else 58,
                error_message=None if challenge else said,
                auth_bytes=challenge or said.encode(),
            )
        else:
            known = {18: 3, HANDSHAKE: 1, AUTHENTICATE: 0}
            response = ApiVersionsResponse(
                error_code=0,
                api_keys=[
                    ApiVersionsResponse.ApiVersion(api_key=key, min_version=0, max_version=version)
                    for key, version in known.items()
                ],
                throttle_time_ms=0,
                version=header.request_api_version,
            )
        response.API_VERSION = header.request_api_version
        response.with_header(correlation_id=header.correlation_id)
        connection.sendall(response.encode(header=True, framed=True))


def _challenge(body: bytes) -> bytes:
    """Return what a server says to the first message of SCRAM; nothing to any other."""
    nonce = re.search(rb"n,,n=me,r=([^,]+)$", body)
    return b"r=" + nonce[1] + b"more,s=c2FsdA==,i=4096" if nonce else b""


@contextmanager
def refusing_broker() -> Iterator[tuple[int, list[bytes]]]:
    """Run a broker that refuses each login and repeats it; give its port, and the logins."""

    received: list[bytes] = []

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with suppress(OSError, ValueError):  # TLS, too, comes here
                _refuse(self.request, received)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1], received
        finally:
            server.shutdown()
            thread.join(5)
