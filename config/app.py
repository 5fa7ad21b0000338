"""The dashboard: where it listens, who may log in, and what each role sees and does."""

from __future__ import annotations

from ipaddress import ip_address
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from config.parts import Name, Section, Selection
from config.secret import Password

_CALLBACK = "/oauth2callback"
_LEAST_COOKIE_SECRET = 32


class RoleSettings(Section):
    """What some users see, and whether they may act."""

    name: Name
    values: list[str] = Field(
        min_length=1, description="whoever has one of them in the claim has this role; *: everyone"
    )
    operator: bool = Field(default=False, description="may acknowledge and silence")
    clusters: Selection = Selection()
    topics: Selection = Selection()
    groups: Selection = Selection()


class AuthSettings(Section):
    """Login by OpenID Connect."""

    metadata_url: str = Field(description="the provider's /.well-known/openid-configuration")
    client_id: str = Field(min_length=1)
    client_secret: Password
    cookie_secret: Password = Field(description="signs the cookie: 32 random characters or more")
    url: str = Field(description="how browsers reach the dashboard: https://headroom.example.com")
    scope: str = Field(default="openid email profile", pattern=r"\bopenid\b")
    claim: str = Field(default="groups", min_length=1, description="holds what roles are given by")
    name_claim: str = Field(
        default="email", min_length=1, description="holds the name that actions are signed with"
    )
    session_hours: float = Field(default=12.0, gt=0, le=720, description="then: log in again")
    roles: list[RoleSettings] = Field(min_length=1)

    @field_validator("metadata_url", "url")
    @classmethod
    def _is_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must read https://host")
        if parts.username or parts.password:
            raise ValueError("must hold no credentials")
        if parts.scheme == "http" and not is_loopback(parts.hostname):
            raise ValueError("must begin with https://, but for localhost")
        return value.rstrip("/")

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if len(self.cookie_secret.get_secret_value()) < _LEAST_COOKIE_SECRET:
            raise ValueError(f"cookie_secret: needs {_LEAST_COOKIE_SECRET} characters or more")
        names = [role.name for role in self.roles]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"roles: two roles have the name {name}")
        return self

    def streamlit(self) -> dict[str, str]:
        """Return Streamlit's section ``auth``, secrets in the clear."""
        return {
            "redirect_uri": self.url + _CALLBACK,
            "cookie_secret": self.cookie_secret.get_secret_value(),
            "client_id": self.client_id,
            "client_secret": self.client_secret.get_secret_value(),
            "server_metadata_url": self.metadata_url,
        }


class AppSettings(Section):
    """The dashboard."""

    address: str = Field(default="localhost", description="0.0.0.0 to serve other machines")
    port: int = Field(default=8501, ge=1, le=65535)
    refresh_seconds: float = Field(default=10.0, ge=2, le=3600)
    hosts: list[str] = Field(
        default=[], description="names under which browsers reach it, beside localhost"
    )
    allow_anonymous: bool = Field(
        default=False, description="serve other machines without login: everyone may act"
    )
    auth: AuthSettings | None = None

    @property
    def allowed_hosts(self) -> list[str]:
        """The names that a browser may have asked for: others are another site's (rebinding)."""
        own = [] if self.auth is None else [urlsplit(self.auth.url).hostname or ""]
        return list(dict.fromkeys(["localhost", "127.0.0.1", "::1", *self.hosts, *own]))

    def is_open(self, address: str | None) -> bool:
        """Return whether other machines reach that address, and nobody has to log in."""
        return self.auth is None and not is_loopback(address or "")

    def refusal(self, address: str | None) -> str | None:
        """Return why the dashboard must not listen there; None: it may."""
        if self.allow_anonymous or not self.is_open(address):
            return None
        return (
            f"app: without login the dashboard serves this machine only, not {address or '*'}: "
            "configure app.auth (docs/security.md), or set app.allow_anonymous: true"
        )


def is_loopback(host: str) -> bool:
    """Return whether a name or an address is of this machine alone."""
    try:
        return host == "localhost" or ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
