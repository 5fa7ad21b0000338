"""SASL GSSAPI: Kerberos, by MIT's library through the package ``gssapi``.

The package is optional, since it must be compiled against the library of the machine.
"""

from __future__ import annotations

import hashlib
import threading
import time
from types import ModuleType
from typing import Any

from collectors.errors import SecurityError, SettingsError
from collectors.kafka.protocol.sasl.settings import Kerberos

_NO_LAYER = b"\x01\x00\x00\x00"
"""Neither integrity nor encryption, which Kafka leaves to TLS (RFC 4752, 3.1)."""

_SLOW_SECONDS = 1.0


def library() -> ModuleType:
    """Return the package ``gssapi``.

    Raises:
        SettingsError: It is not installed, or does not fit the machine.
    """
    try:
        import gssapi
    except (ImportError, OSError):
        raise SettingsError(
            "sasl.mechanism: GSSAPI needs MIT Kerberos and the Python package gssapi; see "
            "docs/sources.md, Kerberos"
        ) from None
    found: ModuleType = gssapi
    return found


class Tickets:
    """Kerberos tickets of one cluster; for any number of threads.

    With a key table, MIT's library fetches a ticket when it is needed, keeps it in the memory of
    this process, and fetches another one when half of its life is over. Without one, tickets are
    those that somebody else keeps fresh, for example kinit.
    """

    def __init__(self, kerberos: Kerberos) -> None:
        self._kerberos = kerberos
        self._lock = threading.Lock()
        self._asked_at: float | None = None

    @property
    def delay(self) -> str | None:
        """What a look-up that takes long waits for; None where there is none."""
        asked_at = self._asked_at
        if asked_at is None or time.monotonic() - asked_at < _SLOW_SECONDS:
            return None
        return "Kerberos has given no ticket yet"

    def mechanism(self, host: str) -> Mechanism:
        """Begin to authenticate to a broker.

        Raises:
            SecurityError: There is no ticket.
        """
        gssapi = library()
        service = f"{self._kerberos.service_name}@{host}"
        # A ticket that is being renewed is for a moment not there for others.
        with self._lock:
            self._asked_at = time.monotonic()
            try:
                return _begin(gssapi, service, self._own(gssapi))
            except gssapi.exceptions.GSSError as error:
                raise SecurityError(f"Kerberos: no ticket for {service}: {_why(error)}") from None
            finally:
                self._asked_at = None

    def _own(self, gssapi: Any) -> Any:
        """Return who we are."""
        principal, keytab = self._kerberos.principal, self._kerberos.keytab
        options: dict[str, Any] = {}
        if principal:
            options["name"] = gssapi.Name(principal, gssapi.NameType.kerberos_principal)
        if keytab:
            identity = hashlib.sha256(f"{principal}|{keytab}".encode()).hexdigest()[:16]
            options["store"] = {
                "client_keytab": f"FILE:{keytab}",
                "ccache": f"MEMORY:headroom-{identity}",
            }
        try:
            return gssapi.Credentials(usage="initiate", **options)
        except gssapi.exceptions.GSSError as error:
            who = f"of {principal}" if principal else "of our own"
            where = f"sasl.kerberos.keytab {keytab}" if keytab else "what kinit has fetched"
            raise SecurityError(
                f"Kerberos: no ticket {who}: {_why(error)}; check {where}"
            ) from None


def _begin(gssapi: Any, service: str, own: Any) -> Mechanism:
    context = gssapi.SecurityContext(
        name=gssapi.Name(service, gssapi.NameType.hostbased_service),
        creds=own,
        mech=gssapi.MechType.kerberos,
        flags=[
            gssapi.RequirementFlag.mutual_authentication,
            gssapi.RequirementFlag.integrity,
        ],
        usage="initiate",
    )
    return Mechanism(gssapi, context)


class Mechanism:
    """One authentication, in the steps of kafka-python's mechanisms."""

    def __init__(self, gssapi: Any, context: Any) -> None:
        self._gssapi = gssapi
        self._context = context
        self._next: bytes = context.step() or b""
        self._is_answered = False
        self._is_done = False

    def auth_bytes(self) -> bytes:
        """Return what to send next."""
        return self._next

    def receive(self, received: bytes) -> None:
        """Take the broker's answer.

        Raises:
            SecurityError: It is not from a broker that has the key of its service.
        """
        try:
            self._receive(received)
        except self._gssapi.exceptions.GSSError as error:
            raise SecurityError(f"Kerberos: the broker's answer is wrong: {_why(error)}") from None

    def is_done(self) -> bool:
        """Return whether the broker was sent everything, and agrees."""
        return self._is_done

    def is_authenticated(self) -> bool:
        """Return whether each side has shown who it is."""
        return self._is_done

    def _receive(self, received: bytes) -> None:
        if not self._context.complete:
            self._next = self._context.step(received) or b""
        elif not self._is_answered:
            offered = self._context.unwrap(received).message
            if len(offered) != len(_NO_LAYER) or not offered[0] & _NO_LAYER[0]:
                raise SecurityError(
                    "Kerberos: the broker wants a security layer, which Kafka does not have"
                )
            self._next = self._context.wrap(_NO_LAYER, False).message
            self._is_answered = True
        else:
            self._is_done = True


def _why(error: Any) -> str:
    """Return what Kerberos says, without the words that it has for every error."""
    texts = error.get_all_statuses(error.min_code, False) if error.min_code else []
    said = "; ".join(texts) or "; ".join(error.get_all_statuses(error.maj_code, True))
    return " ".join(said.split())
