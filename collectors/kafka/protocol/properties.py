"""librdkafka's connection properties, understood for the batched client: the one place for it.

Both Kafka clients take the same settings. The batched client (``broker_requests``) speaks the
protocol itself, so what librdkafka would do with ``security.protocol``, ``ssl.*`` and ``sasl.*`` is
said here once.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from collectors.errors import SettingsError
from collectors.kafka.protocol.sasl.settings import Sasl, TokenCallback, sasl_settings
from collectors.kafka.protocol.sockets import SocketOptions
from collectors.kafka.protocol.tls_identity import (
    CertificateFiles,
    CertificateText,
    Identity,
    KeyStore,
)

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

_MOST_DIGITS = 10
_SHORTEST_BACK_OFF_SECONDS = 0.1  # without any, a dead broker costs hundreds of tries a second
_FAMILIES = {"any": socket.AF_UNSPEC, "v4": socket.AF_INET, "v6": socket.AF_INET6}
_LOOKUPS = ("use_all_dns_ips", "resolve_canonical_bootstrap_servers_only")

_NO_SETTING = "remove it: connections are kept open and opened again by themselves"
_NOT_HERE = {
    "socket.timeout.ms": "set request_timeout_seconds of the cluster instead",
    "socket.max.fails": _NO_SETTING,
    "socket.blocking.max.ms": _NO_SETTING,
    "connections.max.idle.ms": _NO_SETTING,
    "broker.address.ttl": "remove it: a name is looked up for each new connection",
}
"""Properties about connections that would be expected to do something, with what to do instead."""

_FILES = "set ssl.certificate.location and ssl.key.location, or ssl.keystore.location, instead"
_OPENSSL = "set it in OpenSSL's configuration file instead"
_UNUSABLE = {
    "ssl.engine.location": _FILES,
    "ssl.providers": _FILES,
    "ssl.curves.list": _OPENSSL,
    "ssl.sigalgs.list": _OPENSSL,
}
"""Properties about encryption that only librdkafka understands, with what to do instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """How to encrypt; the names follow librdkafka's properties."""

    ca_file: str | None = None
    ca_pem: str | None = None
    identity: Identity | None = None
    revoked_file: str | None = None
    verify: bool = True
    check_host_name: bool = True
    ciphers: str | None = None

    @property
    def files(self) -> Sequence[str]:
        """The files that a context is made from, where they are named."""
        own = self.identity.files if self.identity is not None else ()
        return [path for path in (self.ca_file, self.revoked_file, *own) if path]

    @property
    def trusts_the_system(self) -> bool:
        """Whether the authorities are those that the system trusts."""
        return not self.ca_file and not self.ca_pem

    def context(self) -> ssl.SSLContext:
        """Return what Python's TLS needs."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.check_hostname = self.verify and self.check_host_name
        if not self.verify:
            context.verify_mode = ssl.CERT_NONE
        try:
            key = "ssl.ca.location"
            if self.ca_pem:
                key = "ssl.ca.pem"
                context.load_verify_locations(cadata=self.ca_pem)
            elif self.ca_file and Path(self.ca_file).is_dir():
                context.load_verify_locations(capath=self.ca_file)
            elif self.ca_file:
                context.load_verify_locations(cafile=self.ca_file)
            else:
                context.load_default_certs()
            if self.revoked_file:
                key = "ssl.crl.location"
                context.load_verify_locations(cafile=self.revoked_file)
                context.verify_flags |= ssl.VerifyFlags.VERIFY_CRL_CHECK_LEAF
            if self.ciphers:
                key = "ssl.cipher.suites"
                context.set_ciphers(self.ciphers.replace(",", ":"))
        except (OSError, ValueError) as error:
            raise SettingsError(f"{key}: cannot be used: {error}") from None
        if self.identity is not None:
            self.identity.load(context)
        return context


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionSettings:
    """What librdkafka's properties say about sockets, encryption and authentication."""

    tls: Tls | None = None
    sasl: Sasl | None = None
    sockets: SocketOptions = field(default_factory=SocketOptions)


def connection_settings(
    properties: Mapping[str, str], callback: TokenCallback | None = None
) -> ConnectionSettings:
    """Understand librdkafka's properties about connections.

    Args:
        properties: librdkafka's.
        callback: Where tokens come from, if from a function of the user's own.

    Raises:
        SettingsError: A property's value is wrong, missing, or needs something that only
            librdkafka can do.
    """
    for key, advice in _NOT_HERE.items():
        if key in properties:
            raise SettingsError(f"{key}: has no effect here; {advice}")
    protocol = properties.get("security.protocol", "plaintext").upper()
    if protocol not in PROTOCOLS:
        raise SettingsError(f"security.protocol: must be one of {', '.join(PROTOCOLS)}")
    if callback is not None and not protocol.startswith("SASL"):
        raise SettingsError(
            "security.protocol: must be SASL_SSL or SASL_PLAINTEXT where there is an oauth_callback"
        )
    tls = _tls(properties) if protocol.endswith("SSL") else None
    sasl = sasl_settings(properties, callback) if protocol.startswith("SASL") else None
    return ConnectionSettings(tls=tls, sasl=sasl, sockets=_sockets(properties))


def _sockets(properties: Mapping[str, str]) -> SocketOptions:
    lookup = _choice(properties, "client.dns.lookup", _LOOKUPS)
    family = _choice(properties, "broker.address.family", tuple(_FAMILIES))
    usual = SocketOptions()

    def seconds(key: str, default: float) -> float:
        return _number(properties, key) / 1000 if key in properties else default

    first = max(
        seconds("reconnect.backoff.ms", usual.first_back_off_seconds), _SHORTEST_BACK_OFF_SECONDS
    )
    last = seconds("reconnect.backoff.max.ms", usual.last_back_off_seconds)
    return SocketOptions(
        family=_FAMILIES[family],
        canonical_bootstrap=lookup == "resolve_canonical_bootstrap_servers_only",
        keep_alive=_boolean(properties, "socket.keepalive.enable", False),
        no_delay=_boolean(properties, "socket.nagle.disable", True),
        send_buffer=_number(properties, "socket.send.buffer.bytes"),
        receive_buffer=_number(properties, "socket.receive.buffer.bytes"),
        setup_seconds=seconds("socket.connection.setup.timeout.ms", usual.setup_seconds),
        first_back_off_seconds=first,
        last_back_off_seconds=max(first, last),
    )


def _number(properties: Mapping[str, str], key: str) -> int:
    text = properties.get(key, "0")
    if not (text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS):
        raise SettingsError(f"{key}: must be a whole number")
    return int(text)


def _choice(properties: Mapping[str, str], key: str, values: Sequence[str]) -> str:
    """Return a property's value; the first one where it is not set."""
    value = properties.get(key, values[0]).lower()
    if value not in values:
        raise SettingsError(f"{key}: must be one of {', '.join(values)}")
    return value


def _tls(properties: Mapping[str, str]) -> Tls:
    for key, advice in _UNUSABLE.items():
        if properties.get(key):
            raise SettingsError(f"{key}: is not supported; {advice}")
    algorithm = properties.get("ssl.endpoint.identification.algorithm", "https").lower()
    return Tls(
        ca_file=properties.get("ssl.ca.location") or None,
        ca_pem=properties.get("ssl.ca.pem") or None,
        identity=_identity(properties),
        revoked_file=properties.get("ssl.crl.location") or None,
        verify=_boolean(properties, "enable.ssl.certificate.verification", True),
        check_host_name=algorithm != "none",
        ciphers=properties.get("ssl.cipher.suites") or None,
    )


def _identity(properties: Mapping[str, str]) -> Identity | None:
    password = properties.get("ssl.key.password")
    if properties.get("ssl.keystore.location"):
        return KeyStore(
            location=properties["ssl.keystore.location"],
            password=properties.get("ssl.keystore.password"),
        )
    if properties.get("ssl.certificate.pem"):
        key = properties.get("ssl.key.pem", "")
        return CertificateText(
            certificate=properties["ssl.certificate.pem"], key=key, key_password=password
        )
    if properties.get("ssl.certificate.location"):
        key_file = properties.get("ssl.key.location") or None
        return CertificateFiles(
            certificate=properties["ssl.certificate.location"], key=key_file, key_password=password
        )
    return None


def _boolean(properties: Mapping[str, str], key: str, default: bool) -> bool:
    text = properties.get(key)
    if text is None:
        return default
    if text.lower() in ("true", "t", "1"):
        return True
    if text.lower() in ("false", "f", "0"):
        return False
    raise SettingsError(f"{key}: must be true or false")
