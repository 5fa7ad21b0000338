"""Alerts: which rules, where their state is kept, and whom they are sent to."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from config.parts import LONGEST_INTERVAL_SECONDS, CredentialSettings, Name, Section
from config.secret import Password, Secret
from config.storage import ALERT_HISTORY_DAYS

TargetKind = Literal["apprise", "alertmanager", "webhook"]
SeverityName = Literal["critical", "warning", "info"]

_BY_ADDRESS: frozenset[TargetKind] = frozenset({"apprise"})
"""Kinds that are reached by one secret address; all others have the URL of an HTTP server."""


class TargetSettings(CredentialSettings):
    """Somebody who is notified."""

    name: Name
    kind: TargetKind
    url: str | None = Field(default=None, description="http:// or https://, without credentials")
    address: Password | None = Field(
        default=None, description="of Apprise, or a webhook's URL that is itself a secret"
    )
    secret: Secret | None = Field(
        default=None, description="of a webhook: signs the body with HMAC-SHA256"
    )
    severities: list[SeverityName] = Field(
        default=["critical", "warning"], description="what it is notified of"
    )
    max_per_minute: int = Field(default=20, ge=1, le=10_000, description="messages, at most")
    timeout_seconds: float = Field(default=10.0, ge=0.1, le=120)
    give_up_after_seconds: float = Field(
        default=86400.0, ge=60, description="how long a message that fails is tried again"
    )

    @model_validator(mode="after")
    def _whole(self) -> Self:
        if self.kind in _BY_ADDRESS:
            if self.address is None or self.url is not None:
                raise ValueError(
                    f"{self.name}: {self.kind} needs address, as {{env: NAME}} or {{file: PATH}}: "
                    "its URLs hold credentials"
                )
            return self
        if (self.url is None) == (self.address is None):
            raise ValueError(f"{self.name}: either url, or address where the URL is a secret")
        if self.url is not None:
            parts = urlsplit(self.url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(
                    f"{self.name}: url must read http://host:port or https://host:port"
                )
            if parts.username or parts.password:
                raise ValueError(f"{self.name}: credentials belong into username and password")
        return self


class AlertingSettings(Section):
    """The alerting service."""

    state: str = Field(
        default="headroom-data/alerts.sqlite",
        min_length=1,
        description="a file (from the configuration's folder) for alerts, silences, deliveries",
    )
    shared: bool | None = Field(
        default=None,
        description="others read and change that state through the lake; none: where the lake is "
        "an object store",
    )
    rules: Path | None = Field(
        default=None, description="a file of rules (from the configuration's folder)"
    )
    evaluate_seconds: float | None = Field(
        default=None,
        ge=1,
        le=LONGEST_INTERVAL_SECONDS,
        description="none: the shortest cadence of the collectors",
    )
    dashboard_url: str | None = Field(
        default=None, description="how others reach the dashboard; none: localhost and app.port"
    )
    group_interval_seconds: float = Field(
        default=60.0, ge=0, description="least time between two messages about one kind of alert"
    )
    repeat_interval_seconds: float = Field(
        default=4 * 3600.0, ge=60, description="what still fires is notified again after this time"
    )
    keep_days: float = Field(
        default=ALERT_HISTORY_DAYS, gt=0, description="how long history is kept"
    )
    targets: list[TargetSettings] = Field(default=[])

    @field_validator("dashboard_url")
    @classmethod
    def _is_http(cls, value: str | None) -> str | None:
        # It stands in messages, as a link that people click.
        parts = urlsplit(value or "http://localhost")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("must read http://host:port or https://host:port")
        return value

    @model_validator(mode="after")
    def _names_differ(self) -> Self:
        names = [target.name for target in self.targets]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"targets: two targets have the name {name}")
        return self
