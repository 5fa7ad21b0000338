"""What librdkafka's properties say about authentication by SASL."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from collectors.errors import SettingsError

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI")

_NO_KINIT = ("sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin")
_METHOD = "sasl.oauthbearer.method"
_USUAL = {
    "sasl.oauthbearer.grant.type": "client_credentials",
    "sasl.oauthbearer.metadata.authentication.type": "none",
}
"""Ways to a token that librdkafka has beside this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuth:
    """How a token is obtained (OpenID Connect, client credentials)."""

    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str | None = None
    extensions: tuple[tuple[str, str], ...] = ()
    ca_file: str | None = None
    ca_pem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenCallback:
    """A function of the user's own that yields tokens.

    Attributes:
        name: What the configuration calls it, ``package.module:function``.
        function: Takes ``config`` and returns a token and when it expires.
        config: The property ``sasl.oauthbearer.config``; may be a secret.
    """

    name: str
    function: Callable[[str], Any]
    config: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kerberos:
    """How a ticket is obtained.

    Attributes:
        service_name: The brokers' principal up to the slash.
        principal: Who we are; None: the first one of the key table or of the tickets.
        keytab: The file with our key; None: tickets of the environment are used.
    """

    service_name: str = "kafka"
    principal: str | None = None
    keytab: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sasl:
    """How to authenticate."""

    mechanism: str
    username: str = ""
    password: str = field(default="", repr=False)
    oauth: OAuth | TokenCallback | None = None
    kerberos: Kerberos | None = None


def sasl_settings(properties: Mapping[str, str], callback: TokenCallback | None = None) -> Sasl:
    """Understand the properties ``sasl.*``.

    Raises:
        SettingsError: A property's value is wrong or missing.
    """
    mechanism = (
        properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "GSSAPI"
    ).upper()
    if mechanism not in MECHANISMS:
        raise SettingsError(
            f"sasl.mechanism: {mechanism} is not supported; use one of {', '.join(MECHANISMS)}"
        )
    if callback is not None and mechanism != "OAUTHBEARER":
        raise SettingsError("sasl.mechanism: must be OAUTHBEARER where there is an oauth_callback")
    if callback is not None and _is_oidc(properties):
        raise SettingsError(f"{_METHOD}: must not be oidc where there is an oauth_callback")
    if mechanism == "OAUTHBEARER":
        return Sasl(mechanism=mechanism, oauth=_oidc(properties) if callback is None else callback)
    if mechanism == "GSSAPI":
        return Sasl(mechanism=mechanism, kerberos=_kerberos(properties))
    return Sasl(
        mechanism=mechanism,
        username=_needed(properties, "sasl.username", mechanism),
        password=_needed(properties, "sasl.password", mechanism),
    )


def _is_oidc(properties: Mapping[str, str]) -> bool:
    return properties.get(_METHOD, "default").lower() == "oidc"


def _oidc(properties: Mapping[str, str]) -> OAuth:
    if not _is_oidc(properties):
        raise SettingsError(
            f"{_METHOD}: must be oidc, or name an oauth_callback beside the properties"
        )
    for key, usual in _USUAL.items():
        if properties.get(key, usual) != usual:
            raise SettingsError(
                f"{key}: only {usual} is supported; name an oauth_callback beside the properties"
            )
    extensions = []
    for pair in filter(None, properties.get("sasl.oauthbearer.extensions", "").split(",")):
        name, separator, value = pair.partition("=")
        if not separator:
            raise SettingsError("sasl.oauthbearer.extensions: must read name=value,name=value")
        extensions.append((name.strip(), value.strip()))
    return OAuth(
        token_url=_needed(properties, "sasl.oauthbearer.token.endpoint.url", "OAUTHBEARER"),
        client_id=_credential(properties, "id"),
        client_secret=_credential(properties, "secret"),
        scope=properties.get("sasl.oauthbearer.scope") or None,
        extensions=tuple(extensions),
        ca_file=properties.get("https.ca.location") or None,
        ca_pem=properties.get("https.ca.pem") or None,
    )


def _credential(properties: Mapping[str, str], name: str) -> str:
    """Return the client's id or secret, by either of the names that librdkafka has for it."""
    other = properties.get(f"sasl.oauthbearer.client.credentials.client.{name}")
    return other or _needed(properties, f"sasl.oauthbearer.client.{name}", "OAUTHBEARER")


def _kerberos(properties: Mapping[str, str]) -> Kerberos:
    for key in _NO_KINIT:
        if key in properties:
            raise SettingsError(f"{key}: has no effect here; remove it: kinit is not run")
    keytab = properties.get("sasl.kerberos.keytab") or None
    if keytab is not None:
        try:
            with Path(keytab).open("rb"):
                pass
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no path"
            raise SettingsError(f"sasl.kerberos.keytab: cannot be read: {reason}") from None
    return Kerberos(
        service_name=properties.get("sasl.kerberos.service.name") or "kafka",
        principal=properties.get("sasl.kerberos.principal") or None,
        keytab=keytab,
    )


def _needed(properties: Mapping[str, str], key: str, mechanism: str) -> str:
    value = properties.get(key)
    if not value:
        raise SettingsError(f"{key}: is missing; sasl.mechanism {mechanism} needs it")
    return value
