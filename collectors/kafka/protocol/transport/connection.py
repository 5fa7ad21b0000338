"""One open connection to one broker: requests out, answers in.

kafka-python brings the messages and the SASL mechanisms; its own event loop is not used, since one
slow name look-up or one large answer would hold up every broker there.

This module, ``connector`` and ``messages`` are the only ones that know kafka-python's inner names.
"""

from __future__ import annotations

import io
import math
import socket
import ssl
import struct
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, Literal

from cryptography import x509
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.broker_version_data import BrokerVersionData

from collectors.errors import OF_ONE_REQUEST, CollectorError, ProtocolError
from collectors.kafka.protocol.failures import translated
from collectors.kafka.protocol.many_partitions import ManyPartitions
from collectors.kafka.protocol.transport.throttling import MOST_SECONDS

_LARGEST_ANSWER = 256 * 2**20
_UNANSWERED_BYTES = 32 * 2**10
"""Requests that may be under way at once: what fits into any socket's buffers.

A broker reads no request before it has sent the answer to the one before. If both sides sent more
than the buffers hold, each would wait for the other to read.
"""


_first_use = threading.Lock()
_used: set[tuple[str, int, int]] = set()
"""What kafka-python has made, a class or code, and for which answer: API key and version."""


@contextmanager
def first_use(made: Literal["class", "code"], header: Any) -> Iterator[None]:
    """Let one thread at a time be the first that needs the class of an answer, or its code.

    kafka-python makes both when they are first used. It keeps the newest class by a weak reference:
    of two threads that make one at the same time, one may throw away what the other has registered.
    While two make code, one may take what the other has set for the moment. Either way no such
    answer is understood until the process ends.

    Args:
        made: Which of them. An answer of which this project decodes the partitions itself may need
            the code much later than the class.
        header: The request's.
    """
    message = made, header.request_api_key, header.request_api_version
    if message in _used:
        yield
        return
    with _first_use:
        yield
        _used.add(message)


def as_it_is(answer: Any) -> Any:
    """Return an answer unchanged."""
    return answer


def always() -> bool:
    """Say that answers are wanted."""
    return True


class Connection:
    """An open connection; not for several threads at once, but for ``close``.

    Attributes:
        label: Names the broker in messages.
        throttled_until: Until when the broker does not want to be asked (KIP-219), in monotonic
            seconds.
        set_up_until: When the set-up must be done, in monotonic seconds; infinite once it is.
        heard_at: When its last bytes came, in monotonic seconds; infinite while they are decoded.
        renew_at: When to open another one: because the session ends, or to see whether a
            certificate that expires soon was replaced; None: it may stay open.
        certificate_expires_at: When the broker's certificate expires; None without encryption.
    """

    def __init__(
        self,
        label: str,
        opened: socket.socket,
        client_id: str,
        on_throttled: Callable[[float], None],
    ) -> None:
        self.label = label
        self.throttled_until = 0.0
        self.set_up_until = math.inf
        self.heard_at = time.monotonic()
        self.renew_at: float | None = None
        self.certificate_expires_at: datetime | None = None
        self.versions: BrokerVersionData | None = None
        self._socket = opened
        self._client_id = client_id
        self._on_throttled = on_throttled
        self._correlation = 0
        self._unanswered = 0  # bytes of requests whose answers have not come
        self._closed = threading.Event()

    def exchange(
        self,
        requests: Sequence[Any],
        patience: float,
        read: Callable[[Any], Any] = as_it_is,
        is_wanted: Callable[[], bool] = always,
    ) -> list[Any]:
        """Send requests one behind the other and return their answers in the same order.

        Args:
            requests: kafka-python request objects; the version is chosen by what the broker knows.
            patience: How many seconds the broker may be silent, beside the time in which it asks
                this client to wait.
            read: What to make of each answer as soon as it is there. An answer as it is takes ten
                times the memory of what is of interest in it.
            is_wanted: Asked before each answer is decoded; answers that nobody wants any more are
                dropped.

        Raises:
            CollectorError: No answer, or none that is understood; the text names the broker. The
                connection is closed, unless the broker does not know a request, or an answer came
                whole that makes no sense.
        """
        try:
            return self._exchange(requests, patience, read, is_wanted)
        except BaseException as error:
            reported = translated(self.label, error)
            if self._unanswered or not isinstance(reported, OF_ONE_REQUEST):
                self.close()
            raise reported from error

    def close(self) -> None:
        """Close the connection, from any thread: whoever waits for it waits no longer."""
        self._closed.set()
        with suppress(OSError):
            # Not that of an encrypted socket, which another thread may be reading from.
            socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        self._socket.close()

    def encrypt(self, context: ssl.SSLContext, name: str) -> None:
        """Go on in an encrypted way.

        Args:
            context: How.
            name: What the server's certificate must be for.
        """
        self._socket.settimeout(self.at_most(math.inf))
        encrypted = context.wrap_socket(self._socket, server_hostname=name)
        self._socket = encrypted
        self.certificate_expires_at = _expires_at(encrypted.getpeercert(binary_form=True))
        self.heard_at = time.monotonic()

    def at_most(self, patience: float) -> float:
        """Return how many seconds may be waited now.

        Raises:
            TimeoutError: The set-up has taken too long.
        """
        left = self.set_up_until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(patience, left)

    def _exchange(
        self,
        requests: Sequence[Any],
        patience: float,
        read: Callable[[Any], Any],
        is_wanted: Callable[[], bool],
    ) -> list[Any]:
        for request in requests:
            self._choose_version(request)  # before any is sent
        waiting = deque(requests)
        sent: deque[tuple[Any, int]] = deque()
        answers = []
        encoded: bytes | None = None
        odd: Exception | None = None
        while waiting or sent:
            while waiting:
                encoded = encoded or self._encoded(waiting[0])
                if sent and self._unanswered + len(encoded) > _UNANSWERED_BYTES:
                    break
                self._send(encoded, patience)
                sent.append((waiting.popleft(), len(encoded)))
                self._unanswered += len(encoded)
                encoded = None
            request, size = sent.popleft()
            payload = self._receive(patience)
            self._unanswered -= size
            if is_wanted():
                self.heard_at = math.inf  # nobody is silent whose answer is being decoded
                try:
                    answers.append(read(self._decoded(request, payload)))
                except CollectorError:
                    raise
                except Exception as error:  # whatever a broken answer makes a decoder raise
                    odd = error
                self.heard_at = time.monotonic()
        if odd is not None:  # told when nothing is on its way any more
            raise odd
        return answers

    def _choose_version(self, request: Any) -> None:
        if self.versions is not None:  # else it is the request for them
            request.API_VERSION = self.versions.api_version(request)

    def _encoded(self, request: Any) -> bytes:
        self._correlation += 1
        request.with_header(correlation_id=self._correlation, client_id=self._client_id)
        return bytes(request.encode(header=True, framed=True))

    def _send(self, encoded: bytes, patience: float) -> None:
        throttled = self.throttled_until - time.monotonic()
        if throttled > 0 and self._closed.wait(self.at_most(throttled)):
            raise ConnectionResetError("closed")
        self._socket.settimeout(self.at_most(patience))
        self._socket.sendall(encoded)

    def _receive(self, patience: float) -> bytearray:
        (size,) = struct.unpack(">i", self._read(4, patience))
        if not 4 <= size <= _LARGEST_ANSWER:
            raise ProtocolError(
                f"{self.label}: does not speak Kafka's protocol; is this the right port, and "
                "does security.protocol fit the listener?"
            )
        return self._read(size, patience)

    def _decoded(self, request: Any, payload: bytearray) -> Any:
        head = io.BytesIO(payload)
        with first_use("class", request.header):
            response_class = ResponseClassRegistry.get_response_class(request.header)
            header = response_class.parse_header(head)
        if header.correlation_id != request.header.correlation_id:
            raise ProtocolError(f"{self.label}: answered another request")
        body = memoryview(payload)[head.tell() :]
        answer = None
        if isinstance(request, ManyPartitions):
            # What is unusual is left to kafka-python to understand or to refuse.
            with suppress(ValueError, IndexError, struct.error):
                answer = request.decode_answer(body)
        if answer is None:
            with first_use("code", request.header):
                answer = response_class.decode(body)
        throttled = (getattr(answer, "throttle_time_ms", None) or 0) / 1000
        if throttled > 0:
            throttled = min(throttled, MOST_SECONDS)
            self._on_throttled(throttled)
            self.throttled_until = max(self.throttled_until, time.monotonic() + throttled)
        return answer

    def _read(self, size: int, patience: float) -> bytearray:
        data = bytearray(size)
        view = memoryview(data)
        got = 0
        while got < size:
            # A broker that asks for a pause reads and answers nothing before it is over.
            pause = max(0.0, self.throttled_until - time.monotonic())
            self._socket.settimeout(self.at_most(patience + pause))
            count = self._socket.recv_into(view[got:])
            if count == 0:
                raise ConnectionResetError("the broker closed the connection")
            self.heard_at = time.monotonic()
            got += count
        return data


def _expires_at(certificate: bytes | None) -> datetime | None:
    """Return when a certificate expires; None where it is odd, which is for TLS to judge."""
    if certificate is None:
        return None
    try:
        return x509.load_der_x509_certificate(certificate).not_valid_after_utc
    except (ValueError, x509.InvalidVersion):
        return None
