"""How a connection to a broker comes about: TCP, encryption, versions, authentication."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import kafka.errors as kafka_errors
from kafka.net.sasl import get_sasl_mechanism
from kafka.protocol.broker_version_data import BrokerVersionData
from kafka.protocol.metadata import ApiVersionsRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from collectors.errors import (
    OF_ONE_REQUEST,
    NoAnswerError,
    ProtocolError,
    SecurityError,
)
from collectors.kafka.protocol.failures import translated
from collectors.kafka.protocol.properties import ConnectionSettings
from collectors.kafka.protocol.sasl.kerberos import Tickets
from collectors.kafka.protocol.sasl.settings import Sasl
from collectors.kafka.protocol.sasl.tokens import TokenProvider, Tokens
from collectors.kafka.protocol.sockets import addresses, connect
from collectors.kafka.protocol.transport.connection import Connection
from collectors.kafka.protocol.transport.throttling import Throttling
from collectors.kafka.protocol.transport.tls_context import TlsContexts

_CONNECT_SECONDS = 10.0
"""Most that TCP alone may take. The system tries again ever more rarely, we do not."""

_RENEW_AT = 0.8  # of the session's life (KIP-368)

_EXPIRES_SOON = timedelta(days=30)
_LOOK_AGAIN_SECONDS = 3600.0
"""A broker that got a new certificate shows it on new connections only."""


class Connector:
    """Opens connections to the brokers of one cluster; for any number of threads.

    Certificates, keys and tokens are those of the moment in which a connection is opened.
    """

    def __init__(
        self, settings: ConnectionSettings, client_id: str, throttling: Throttling | None = None
    ) -> None:
        self.throttling = throttling or Throttling()
        self.options = settings.sockets
        self._sasl = settings.sasl
        self._client_id = client_id
        self._contexts = TlsContexts(settings.tls) if settings.tls else None
        self._tokens = (
            Tokens(settings.sasl.oauth) if settings.sasl and settings.sasl.oauth else None
        )
        self._tickets = (
            Tickets(settings.sasl.kerberos) if settings.sasl and settings.sasl.kerberos else None
        )

    @property
    def delay(self) -> str | None:
        """What connections wait for beside the brokers; None: for nothing."""
        source = self._tokens or self._tickets
        return source.delay if source is not None else None

    def open(
        self,
        label: str,
        host: str,
        port: int,
        *,
        is_bootstrap: bool = False,
        on_progress: Callable[[Connection], None] | None = None,
    ) -> Connection:
        """Open a connection that can be asked at once.

        Args:
            label: Names the broker in messages.
            host: The broker's name or address; all its addresses are tried.
            port: The broker's port.
            is_bootstrap: Whether the address comes from the settings.
            on_progress: Told of the connection once TCP stands, to watch or to close it.

        Raises:
            CollectorError: It could not be opened; the text names the broker.
        """
        connection = None
        try:
            context = self._contexts.current() if self._contexts else None
            found = addresses(host, port, self.options, is_bootstrap=is_bootstrap)
            now, patience = time.monotonic(), self.options.setup_seconds
            try:
                opened, address = connect(
                    found, self.options, now + min(patience, _CONNECT_SECONDS)
                )
            except TimeoutError:
                raise NoAnswerError(
                    f"{label}: no TCP connection in time; can its address and port be reached "
                    "from here, through every firewall?"
                ) from None
            connection = Connection(
                label, opened, self._client_id, partial(self.throttling.add, (host, port))
            )
            connection.set_up_until = now + patience
            if on_progress is not None:
                on_progress(connection)
            if context is not None:
                connection.encrypt(context, address.name)
            connection.versions = _ask_versions(connection)
            if self._sasl is not None:
                self._authenticate(connection, self._sasl, address.name)
            _look_again(connection)
            connection.set_up_until = math.inf
        except BaseException as error:
            if connection is not None:
                connection.close()
            reported = translated(label, error)
            if isinstance(reported, OF_ONE_REQUEST):
                reported = ProtocolError(str(reported))  # of the whole connection
            raise reported from error
        return connection

    def _authenticate(self, connection: Connection, sasl: Sasl, host: str) -> None:
        label = connection.label
        request = SaslHandshakeRequest(mechanism=sasl.mechanism)
        (handshake,) = connection.exchange([request], math.inf)
        if sasl.mechanism not in handshake.mechanisms:
            offered = ", ".join(handshake.mechanisms)
            raise SecurityError(
                f"{label}: does not offer sasl.mechanism {sasl.mechanism}; it offers "
                f"{offered or 'none'}"
            )
        mechanism = (
            self._tickets.mechanism(host)
            if self._tickets is not None
            else get_sasl_mechanism(sasl.mechanism)(
                host=host, **self._options(sasl, connection.at_most(math.inf))
            )
        )
        answer = None
        while not mechanism.is_done():
            (answer,) = connection.exchange(
                [SaslAuthenticateRequest(mechanism.auth_bytes())], math.inf
            )
            if answer.error_code:
                key = "sasl.username and sasl.password"
                if self._tokens is not None:
                    self._tokens.forget()
                    key = "the token"
                elif self._tickets is not None:
                    key = "sasl.kerberos.principal and the broker's log"
                raise SecurityError(
                    f"{label}: authentication failed ({sasl.mechanism}); check {key}"
                )
            mechanism.receive(answer.auth_bytes)
        if not mechanism.is_authenticated():
            raise SecurityError(f"{label}: authentication failed ({sasl.mechanism})")
        if answer is not None and answer.session_lifetime_ms:
            life = answer.session_lifetime_ms / 1000
            connection.renew_at = time.monotonic() + life * _RENEW_AT

    def _options(self, sasl: Sasl, patience: float) -> dict[str, Any]:
        username = sasl.username
        if sasl.mechanism.startswith("SCRAM"):  # RFC 5802, 5.1: kafka-python writes it as it is
            username = username.replace("=", "=3D").replace(",", "=2C")
        options: dict[str, Any] = {
            "sasl_mechanism": sasl.mechanism,
            "sasl_plain_username": username,
            "sasl_plain_password": sasl.password,
        }
        if self._tokens is not None:
            options["sasl_oauth_token_provider"] = TokenProvider(self._tokens.current(patience))
        return options


def _look_again(connection: Connection) -> None:
    """Let a connection be renewed within the hour while the broker's certificate expires soon."""
    expires_at = connection.certificate_expires_at
    if expires_at is not None and expires_at - datetime.now(UTC) < _EXPIRES_SOON:
        at = time.monotonic() + _LOOK_AGAIN_SECONDS
        connection.renew_at = at if connection.renew_at is None else min(connection.renew_at, at)


def _ask_versions(connection: Connection) -> BrokerVersionData:
    version = ApiVersionsRequest.max_version
    while True:
        request = ApiVersionsRequest(
            client_software_name="headroom", client_software_version="0.1.0"
        )
        request.API_VERSION = version
        (answer,) = connection.exchange([request], math.inf)
        if answer.error_code == 0:
            break
        if answer.error_code != kafka_errors.UnsupportedVersionError.errno or version == 0:
            raise kafka_errors.for_code(answer.error_code)()
        version = 0  # a broker answers a version that it does not know in version 0
    return BrokerVersionData(
        api_versions={api.api_key: (api.min_version, api.max_version) for api in answer.api_keys}
    )
