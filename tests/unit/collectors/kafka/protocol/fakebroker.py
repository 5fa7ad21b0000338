"""A server that speaks enough of Kafka's protocol to misbehave in a controlled way."""

from __future__ import annotations

import io
import select
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from kafka.protocol.api_header import RequestHeader
from kafka.protocol.metadata import (
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
)

API_VERSIONS = 18
METADATA = 3
METADATA_VERSION = 9  # the first one with a flexible encoding

Behaviour = Callable[["FakeBroker", socket.socket], None]


class FakeBroker:
    """Listens on a port of its own; each connection is handled by a behaviour.

    Attributes:
        early: Requests that came while the client was to send none.
    """

    def __init__(self, behaviour: Behaviour) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 102_400)  # a broker's own
        self.port: int = self._listener.getsockname()[1]
        self.behaviour = behaviour
        self.connections = 0
        self.early = 0
        self.thawed = threading.Event()
        self.requests: list[int] = []
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._handle, args=(connection,), daemon=True).start()

    def _handle(self, connection: socket.socket) -> None:
        try:
            self.behaviour(self, connection)
        except OSError:
            pass
        finally:
            connection.close()

    def thaw(self) -> None:
        """Let a frozen broker go on."""
        self.thawed.set()

    def close(self) -> None:
        self.thawed.set()
        # A close alone would wait for the thread that is accepting.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for connection in self._open:
            connection.close()

    def next_request(self, connection: socket.socket) -> tuple[int, int, int] | None:
        """Return api key, version and correlation id of the next request."""
        head = _read(connection, 4)
        if head is None:
            return None
        (size,) = struct.unpack(">i", head)
        body = _read(connection, size)
        if body is None:
            return None
        header = RequestHeader.decode(io.BytesIO(body), flexible=False)
        self.requests.append(header.request_api_key)
        return header.request_api_key, header.request_api_version, header.correlation_id


def _read(connection: socket.socket, size: int) -> bytes | None:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            return None
        data += part
    return data


def answer(connection: socket.socket, response: Any, version: int, correlation: int) -> None:
    response.API_VERSION = version
    response.with_header(correlation_id=correlation)
    connection.sendall(response.encode(header=True, framed=True))


def api_versions(connection: socket.socket, version: int, correlation: int) -> None:
    key = ApiVersionsResponse.ApiVersion
    response = ApiVersionsResponse(
        error_code=0,
        api_keys=[
            key(api_key=API_VERSIONS, min_version=0, max_version=3),
            key(api_key=METADATA, min_version=0, max_version=METADATA_VERSION),
        ],
        throttle_time_ms=0,
        version=version,
    )
    answer(connection, response, version, correlation)


def metadata(
    connection: socket.socket, version: int, correlation: int, throttle_ms: int = 0
) -> None:
    response = MetadataResponse(
        throttle_time_ms=throttle_ms,
        brokers=[],
        cluster_id="fake",
        controller_id=-1,
        topics=[],
        authorized_operations=set(),
        version=version,
    )
    answer(connection, response, version, correlation)


def well(broker: FakeBroker, connection: socket.socket) -> None:
    """Answer everything."""
    while (request := broker.next_request(connection)) is not None:
        key, version, correlation = request
        (api_versions if key == API_VERSIONS else metadata)(connection, version, correlation)


def silent(broker: FakeBroker, connection: socket.socket) -> None:
    """Take requests and answer none."""
    while broker.next_request(connection) is not None:
        pass


def frozen(broker: FakeBroker, connection: socket.socket) -> None:
    """Answer nothing until it is thawed, and everything then."""
    broker.thawed.wait()
    well(broker, connection)


def trickling(broker: FakeBroker, connection: socket.socket) -> None:
    """Send an answer in pieces, for two and a half seconds: as over a narrow line."""
    while (request := broker.next_request(connection)) is not None:
        key, version, correlation = request
        if key == API_VERSIONS:
            api_versions(connection, version, correlation)
        else:
            _in_pieces(connection, metadata, version, correlation)


def trickling_from_the_start(broker: FakeBroker, connection: socket.socket) -> None:
    """Send the answer of versions in pieces."""
    request = broker.next_request(connection)
    assert request is not None
    _in_pieces(connection, api_versions, *request[1:])


def _in_pieces(
    connection: socket.socket,
    send: Callable[[socket.socket, int, int], None],
    version: int,
    correlation: int,
) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        send(ours, version, correlation)
        whole = theirs.recv(2**16)
    for piece in (whole[:4], *(whole[at : at + 1] for at in range(4, 13)), whole[13:]):
        connection.sendall(piece)
        time.sleep(0.25)


def throttling_and_gone(broker: FakeBroker, connection: socket.socket) -> None:
    """Answer one request, ask for a pause of 0.1 s, and close."""
    for send in (api_versions, partial(metadata, throttle_ms=100)):
        request = broker.next_request(connection)
        if request is None:
            return
        send(connection, *request[1:])


def throttling(milliseconds: int) -> Behaviour:
    """Answer everything, and ask for a pause once, as a broker does since KIP-219."""

    def behave(broker: FakeBroker, connection: socket.socket) -> None:
        asked = False
        while (request := broker.next_request(connection)) is not None:
            key, version, correlation = request
            if key == API_VERSIONS:
                api_versions(connection, version, correlation)
            elif asked:
                metadata(connection, version, correlation)
            else:
                asked = True
                metadata(connection, version, correlation, milliseconds)
                readable, _, _ = select.select([connection], [], [], milliseconds / 1000 - 0.05)
                broker.early += len(readable)

    return behave


def large_answers(broker: FakeBroker, connection: socket.socket) -> None:
    """Send an answer in full before the next request is read, as a broker's muted channel does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 102_400)  # a broker's own
    topic = MetadataResponse.MetadataResponseTopic
    while (request := broker.next_request(connection)) is not None:
        key, version, correlation = request
        if key == API_VERSIONS:
            api_versions(connection, version, correlation)
            continue
        topics = [
            topic(
                error_code=0,
                name=f"{number:0200000}",
                is_internal=False,
                partitions=[],
            )
            for number in range(5)
        ]
        response = MetadataResponse(
            throttle_time_ms=0,
            brokers=[],
            cluster_id="fake",
            controller_id=-1,
            topics=topics,
            authorized_operations=set(),
            version=version,
        )
        answer(connection, response, version, correlation)


def large_request() -> Any:
    """Return a request of one megabyte."""
    topic = MetadataRequest.MetadataRequestTopic
    names = [topic(name=f"{number:0200000}") for number in range(5)]
    return MetadataRequest(topics=names, allow_auto_topic_creation=False)


def silent_after_versions(broker: FakeBroker, connection: socket.socket) -> None:
    """Freeze after the first answer."""
    request = broker.next_request(connection)
    assert request is not None
    api_versions(connection, *request[1:])
    silent(broker, connection)


def hangs_up(broker: FakeBroker, connection: socket.socket) -> None:
    """Close at the first request."""
    broker.next_request(connection)


def one_answer_a_connection(broker: FakeBroker, connection: socket.socket) -> None:
    """Answer versions and one request, then close as if the connection had been idle."""
    for _ in range(2):
        request = broker.next_request(connection)
        if request is None:
            return
        key, version, correlation = request
        (api_versions if key == API_VERSIONS else metadata)(connection, version, correlation)


def speaks_http(_: FakeBroker, connection: socket.socket) -> None:
    connection.recv(1024)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    time.sleep(0.2)


def garbage_once(broker: FakeBroker, connection: socket.socket) -> None:
    """Answer one request of the right frame and no sense, and all others well."""
    is_well = False
    while (request := broker.next_request(connection)) is not None:
        key, version, correlation = request
        if key == API_VERSIONS:
            api_versions(connection, version, correlation)
        elif is_well:
            metadata(connection, version, correlation)
        else:
            is_well = True
            body = struct.pack(">i", correlation) + b"\xff" * 20
            connection.sendall(struct.pack(">i", len(body)) + body)


def garbage_first(broker: FakeBroker, connection: socket.socket) -> None:
    """Answer the first request with no sense, and nothing more."""
    request = broker.next_request(connection)
    assert request is not None
    body = struct.pack(">i", request[2]) + b"\0\0"
    connection.sendall(struct.pack(">i", len(body)) + body)
    silent(broker, connection)


def garbage(broker: FakeBroker, connection: socket.socket) -> None:
    """Answer versions, then something of the right frame and no sense."""
    request = broker.next_request(connection)
    assert request is not None
    api_versions(connection, *request[1:])
    request = broker.next_request(connection)
    assert request is not None
    body = struct.pack(">i", request[2]) + b"\xff" * 20
    connection.sendall(struct.pack(">i", len(body)) + body)
    time.sleep(0.2)


def another_answer(broker: FakeBroker, connection: socket.socket) -> None:
    """Answer with the wrong correlation id."""
    request = broker.next_request(connection)
    assert request is not None
    api_versions(connection, request[1], request[2] + 7)
    time.sleep(0.2)


def ask_metadata() -> Any:
    return MetadataRequest(topics=[], allow_auto_topic_creation=False)


@contextmanager
def fake_broker(behaviour: Behaviour) -> Iterator[FakeBroker]:
    broker = FakeBroker(behaviour)
    try:
        yield broker
    finally:
        broker.close()
