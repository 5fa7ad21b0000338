"""One connection to one broker: blocking, with a deadline for everything.

kafka-python brings the messages and the SASL mechanisms; its own event loop is not used, since one
slow name look-up or one large answer would hold up every broker there. Here each broker has a
connection and a worker thread (``broker_requests``), so that a broker that hangs holds up itself
alone.

This module and ``messages`` are the only ones that know kafka-python's inner names.
"""

from __future__ import annotations

import io
import socket
import ssl
import struct
import time
from collections.abc import Callable, Sequence
from typing import Any

import kafka.errors as kafka_errors
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.api_header import ResponseClassRegistry
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from collectors.errors import (
    CollectorError,
    NoAnswerError,
    ProtocolError,
    SecurityError,
    UnreachableError,
    UnsupportedError,
)
from collectors.kafka.protocol.oauth import TokenProvider
from collectors.kafka.protocol.properties import Sasl, Security

_LARGEST_ANSWER = 256 * 2**20
_REAUTHENTICATE_AT = 0.8  # of the session's life (KIP-368): a new connection is made then


def as_it_is(answer: Any) -> Any:
    """Return an answer unchanged."""
    return answer


class Connection:
    """A connection to one address, opened at need; not for several threads at once.

    After any failure it is closed, and the next exchange opens it anew.
    """

    def __init__(self, name: str, host: str, port: int, security: Security, client_id: str) -> None:
        self.name = name
        self.host = host
        self.port = port
        self._security = security
        self._client_id = client_id
        self._tls = security.tls.context() if security.tls else None
        self._socket: socket.socket | None = None
        self._versions: BrokerVersionData | None = None
        self._session_ends: float | None = None
        self._correlation = 0

    def exchange(
        self, requests: Sequence[Any], deadline: float, read: Callable[[Any], Any] = as_it_is
    ) -> list[Any]:
        """Send requests one behind the other and return their answers in the same order.

        Args:
            requests: kafka-python request objects; the version is chosen by what the broker knows.
            deadline: Monotonic time in seconds by which all must be answered.
            read: What to make of each answer as soon as it is there. An answer as it is takes ten
                times the memory of what is of interest in it.

        Raises:
            CollectorError: No answer, or none that is understood; the text names the broker.
        """
        reused = self._socket is not None
        try:
            try:
                return self._exchange(requests, deadline, read)
            except ConnectionError:
                if not reused:
                    raise
                # A connection that was idle may have been closed by a broker that is well.
                self.close()
                return self._exchange(requests, deadline, read)
        except BaseException as error:
            self.close()
            raise self._translated(error, deadline) from error

    def close(self) -> None:
        """Close the connection; the next exchange opens it anew."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _exchange(
        self, requests: Sequence[Any], deadline: float, read: Callable[[Any], Any]
    ) -> list[Any]:
        self._open(deadline)
        for request in requests:
            self._send(request, deadline)
        return [read(self._receive(request, deadline)) for request in requests]

    def _open(self, deadline: float) -> None:
        if self._session_ends is not None and time.monotonic() > self._session_ends:
            self.close()
        if self._socket is not None:
            return
        self._session_ends = None
        self._socket = socket.create_connection((self.host, self.port), _remaining(deadline))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self._tls is not None:
            self._socket = self._tls.wrap_socket(self._socket, server_hostname=self.host)
        self._versions = self._ask_versions(deadline)
        if self._security.sasl is not None:
            self._authenticate(self._security.sasl, deadline)

    def _ask_versions(self, deadline: float) -> BrokerVersionData:
        version = ApiVersionsRequest.max_version
        while True:
            request = ApiVersionsRequest(
                client_software_name="headroom", client_software_version="0.1.0"
            )
            request.API_VERSION = version
            self._send(request, deadline)
            answer = self._receive(request, deadline)
            if answer.error_code == 0:
                break
            if answer.error_code != kafka_errors.UnsupportedVersionError.errno or version == 0:
                raise kafka_errors.for_code(answer.error_code)()
            version = 0  # a broker answers a version that it does not know in version 0
        return BrokerVersionData(
            api_versions={
                api.api_key: (api.min_version, api.max_version) for api in answer.api_keys
            }
        )

    def _authenticate(self, sasl: Sasl, deadline: float) -> None:
        (handshake,) = self._ask(SaslHandshakeRequest(mechanism=sasl.mechanism), deadline)
        if sasl.mechanism not in handshake.mechanisms:
            offered = ", ".join(handshake.mechanisms)
            raise SecurityError(
                f"{self._label}: does not offer sasl.mechanism {sasl.mechanism}; it offers "
                f"{offered or 'none'}"
            )
        options: dict[str, Any] = {
            "sasl_mechanism": sasl.mechanism,
            "sasl_plain_username": sasl.username,
            "sasl_plain_password": sasl.password,
        }
        if sasl.oauth is not None:
            options["sasl_oauth_token_provider"] = TokenProvider(sasl.oauth, _remaining(deadline))
        mechanism = get_sasl_mechanism(sasl.mechanism)(host=self.host, **options)
        answer = None
        while not mechanism.is_done():
            (answer,) = self._ask(SaslAuthenticateRequest(mechanism.auth_bytes()), deadline)
            if answer.error_code:
                key = "the token" if sasl.oauth else "sasl.username and sasl.password"
                raise SecurityError(
                    f"{self._label}: authentication failed ({sasl.mechanism}); check {key}"
                )
            mechanism.receive(answer.auth_bytes)
        if not mechanism.is_authenticated():
            raise SecurityError(f"{self._label}: authentication failed ({sasl.mechanism})")
        if answer is not None and answer.session_lifetime_ms:
            life = answer.session_lifetime_ms / 1000
            self._session_ends = time.monotonic() + life * _REAUTHENTICATE_AT

    def _ask(self, request: Any, deadline: float) -> list[Any]:
        self._send(request, deadline)
        return [self._receive(request, deadline)]

    def _send(self, request: Any, deadline: float) -> None:
        assert self._socket is not None  # noqa: S101 (_open came before)
        if request.API_VERSION is None:
            assert self._versions is not None  # noqa: S101 (_open asked for them)
            request.API_VERSION = self._versions.api_version(request)
        self._correlation += 1
        request.with_header(correlation_id=self._correlation, client_id=self._client_id)
        self._socket.settimeout(_remaining(deadline))
        self._socket.sendall(request.encode(header=True, framed=True))

    def _receive(self, request: Any, deadline: float) -> Any:
        (size,) = struct.unpack(">i", self._read(4, deadline))
        if not 4 <= size <= _LARGEST_ANSWER:
            raise ProtocolError(
                f"{self._label}: does not speak Kafka's protocol; is this the right port, and "
                "does security.protocol fit the listener?"
            )
        payload = self._read(size, deadline)
        response_class = ResponseClassRegistry.get_response_class(request.header)
        head = io.BytesIO(payload)
        header = response_class.parse_header(head)
        if header.correlation_id != request.header.correlation_id:
            raise ProtocolError(f"{self._label}: answered another request")
        return response_class.decode(memoryview(payload)[head.tell() :])

    def _read(self, size: int, deadline: float) -> bytearray:
        assert self._socket is not None  # noqa: S101 (_open came before)
        data = bytearray(size)
        view = memoryview(data)
        got = 0
        while got < size:
            self._socket.settimeout(_remaining(deadline))
            count = self._socket.recv_into(view[got:])
            if count == 0:
                raise ConnectionResetError("the broker closed the connection")
            got += count
        return data

    @property
    def _label(self) -> str:
        return f"{self.name} ({self.host}:{self.port})"

    def _translated(self, error: BaseException, deadline: float) -> BaseException:
        """Say what happened in one line; what is no failure of the broker stays as it is."""
        if isinstance(error, CollectorError) or not isinstance(error, Exception):
            return error
        if isinstance(error, TimeoutError | ssl.SSLWantReadError | ssl.SSLWantWriteError):
            return NoAnswerError(f"{self._label}: did not answer in time")
        if isinstance(error, ssl.SSLCertVerificationError):
            advice = "renew it" if "expired" in error.verify_message else "check ssl.ca.location"
            return SecurityError(
                f"{self._label}: its certificate is not trusted ({error.verify_message}); {advice}"
            )
        if isinstance(error, ssl.SSLError):
            why = error.reason or str(error)
            if "ALERT" in why and "CERTIFICATE" in why:
                return SecurityError(
                    f"{self._label}: refused this client's certificate ({why}); check "
                    "ssl.certificate.location and ssl.key.location, and whether it has expired"
                )
            return SecurityError(
                f"{self._label}: no encrypted connection ({why}); does security.protocol fit the "
                "listener?"
            )
        if isinstance(error, socket.gaierror):
            return UnreachableError(f"{self._label}: the host name cannot be resolved")
        if isinstance(error, ConnectionResetError | BrokenPipeError):
            return UnreachableError(
                f"{self._label}: closed the connection; if it always does, check security.protocol"
            )
        if isinstance(error, OSError):
            return UnreachableError(f"{self._label}: {error.strerror or error}")
        if isinstance(error, kafka_errors.IncompatibleBrokerVersion):
            return UnsupportedError(f"{self._label}: {error}")
        if isinstance(error, kafka_errors.KafkaError):
            return ProtocolError(f"{self._label}: {error}")
        # Whatever a broken answer makes the decoder raise is the broker's failure, not ours.
        return ProtocolError(f"{self._label}: answer not understood: {error!r}")


def _remaining(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
