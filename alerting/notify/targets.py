"""One class a kind of target: how a notice is sent, and what the target said."""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import ssl
import threading
import time
from collections.abc import Callable, Sequence
from email.utils import parsedate_to_datetime
from typing import Any, Protocol

import apprise
import httpx

from alerting.errors import DeliveryError
from alerting.notify.notifications import Kind, Notice
from alerting.notify.wording import alertmanager_alerts, body, title, webhook_payload
from alerting.rules.lifecycle import Alert
from config.alerting import TargetSettings

ALERT_LASTS_SECONDS = 300.0
"""For how long Alertmanager takes an alert to go on after it was last told."""


class Target(Protocol):
    """Somebody who is told."""

    def send(self, notice: Notice) -> str:
        """Send a notice and return what was said.

        Raises:
            DeliveryError: It was not taken.
        """
        ...


def make_target(settings: TargetSettings, dashboard_url: str) -> Target:
    """Return the target that the settings describe."""
    if settings.kind == "apprise":
        return AppriseTarget(settings, dashboard_url)
    if settings.kind == "alertmanager":
        return AlertmanagerTarget(settings, dashboard_url)
    return WebhookTarget(settings, dashboard_url)


class _Http:
    """Posts JSON; what goes wrong is told without addresses, which may hold secrets."""

    def __init__(self, settings: TargetSettings) -> None:
        secret_address = settings.address
        self.url = settings.url or (secret_address.get_secret_value() if secret_address else "")
        auth = None
        if settings.username is not None and settings.password is not None:
            auth = httpx.BasicAuth(settings.username, settings.password.get_secret_value())
        headers = {}
        if settings.token is not None:
            headers["Authorization"] = f"Bearer {settings.token.get_secret_value()}"
        verify: ssl.SSLContext | bool = True
        if settings.ca_file is not None:
            verify = ssl.create_default_context(cafile=str(settings.ca_file))
        self._client = httpx.Client(
            auth=auth, headers=headers, timeout=settings.timeout_seconds, verify=verify
        )
        self._timeout_seconds = settings.timeout_seconds

    def post(self, path: str, content: bytes, headers: dict[str, str] | None = None) -> str:
        """Post a body and return the status line.

        Raises:
            DeliveryError: It was not taken.
        """
        try:
            answer = self._client.post(
                self.url.rstrip("/") + path if path else self.url,
                content=content,
                headers={"Content-Type": "application/json", **(headers or {})},
            )
        except httpx.TimeoutException:
            raise DeliveryError(f"no answer within {self._timeout_seconds:g} s") from None
        except httpx.InvalidURL:
            raise DeliveryError("its address is not a URL") from None
        except httpx.HTTPError as error:
            raise DeliveryError(f"cannot be reached: {type(error).__name__}") from None
        said = f"HTTP {answer.status_code} {answer.reason_phrase}".rstrip()
        if answer.is_success:
            return said
        raise DeliveryError(said, _retry_after(answer.headers.get("Retry-After")))


def _retry_after(value: str | None) -> float | None:
    if value is None:
        return None
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


class WebhookTarget:
    """A webhook: JSON, signed with HMAC-SHA256 where a secret is configured."""

    def __init__(self, settings: TargetSettings, dashboard_url: str) -> None:
        """Prepare the client; nothing is sent yet."""
        self._http = _Http(settings)
        self._secret = settings.secret
        self._dashboard_url = dashboard_url

    def send(self, notice: Notice) -> str:
        """Post the notice; see ``Target``."""
        content = json.dumps(webhook_payload(notice, self._dashboard_url)).encode()
        at = str(int(time.time()))
        headers = {"Idempotency-Key": notice.key, "X-Headroom-Timestamp": at}
        if self._secret is not None:
            headers["X-Headroom-Signature"] = signature(
                self._secret.get_secret_value(), at, content
            )
        return self._http.post("", content, headers)


def signature(secret: str, timestamp: str, content: bytes) -> str:
    """Return ``sha256=`` and the HMAC of ``<timestamp>.<body>`` in hexadecimal digits.

    Args:
        secret: What sender and receiver share.
        timestamp: The header ``X-Headroom-Timestamp``.
        content: The body as it is sent.
    """
    signed = timestamp.encode() + b"." + content
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()


class AlertmanagerTarget:
    """Alertmanager's API v2; alerts that go on are told again before it takes them for ended."""

    def __init__(self, settings: TargetSettings, dashboard_url: str) -> None:
        """Prepare the client; nothing is sent yet."""
        self._http = _Http(settings)
        self._dashboard_url = dashboard_url

    def send(self, notice: Notice) -> str:
        """Post the notice's alerts; see ``Target``."""
        lasts = 30.0 if notice.kind is Kind.TEST else ALERT_LASTS_SECONDS
        return self._post(notice.alerts, lasts)

    def refresh(self, alerts: Sequence[Alert]) -> None:
        """Tell again that alerts go on.

        Raises:
            DeliveryError: It was not taken.
        """
        if alerts:
            self._post(tuple(alerts), ALERT_LASTS_SECONDS)

    def _post(self, alerts: tuple[Alert, ...], lasts_seconds: float) -> str:
        content: list[dict[str, Any]] = alertmanager_alerts(
            alerts, self._dashboard_url, time.time(), lasts_seconds
        )
        return self._http.post("/api/v2/alerts", json.dumps(content).encode())


_APPRISE_TYPES = {
    Kind.RESOLVED: apprise.NotifyType.SUCCESS,
    Kind.TEST: apprise.NotifyType.INFO,
}


class AppriseTarget:
    """Any service that Apprise knows: Slack, Teams, PagerDuty, Opsgenie, e-mail and others."""

    def __init__(self, settings: TargetSettings, dashboard_url: str) -> None:
        """Read the address; nothing is sent yet."""
        address = settings.address.get_secret_value() if settings.address else ""
        self._timeout_seconds = settings.timeout_seconds
        self._plugin = apprise.Apprise.instantiate(address)
        self._dashboard_url = dashboard_url

    def send(self, notice: Notice) -> str:
        """Hand the notice to Apprise; see ``Target``."""
        plugin = self._plugin
        if not plugin:
            raise DeliveryError("its address is none that Apprise knows")
        severe = apprise.NotifyType.FAILURE
        kind = _APPRISE_TYPES.get(
            notice.kind, severe if notice.severity == "critical" else apprise.NotifyType.WARNING
        )
        with _heard() as said:
            taken = self._within(
                lambda: bool(
                    plugin.notify(
                        title=title(notice),
                        body=body(notice, self._dashboard_url),
                        notify_type=kind,
                    )
                )
            )
        if not taken:
            raise DeliveryError(f"{plugin.service_name} did not take it: {said.word()}")
        return f"{plugin.service_name} took it"

    def _within(self, act: Callable[[], bool]) -> bool:
        """Give up a service that does not answer; its thread ends when its connection does."""
        result: list[bool] = []
        thread = threading.Thread(target=lambda: result.append(act()), daemon=True)
        thread.start()
        thread.join(self._timeout_seconds)
        if thread.is_alive():
            raise DeliveryError(f"no answer within {self._timeout_seconds:g} s")
        return bool(result and result[0])


class _heard(logging.Handler):
    """Hears what Apprise logs while a message is sent; only its kind of failure is told."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self._texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a line."""
        if record.levelno >= logging.WARNING:
            self._texts.append(record.getMessage())

    def __enter__(self) -> _heard:
        logging.getLogger("apprise").addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logging.getLogger("apprise").removeHandler(self)

    def word(self) -> str:
        """Return what went wrong in words that hold no address."""
        text = " ".join(self._texts).lower()
        for sign, word in (
            ("401", "not authorised"),
            ("403", "forbidden"),
            ("404", "not found"),
            ("429", "too many requests"),
            ("500", "a fault of the server"),
            ("502", "a fault of the server"),
            ("503", "the service is unavailable"),
            ("timed out", "no answer in time"),
            ("timeout", "no answer in time"),
            ("refused", "the connection was refused"),
            ("connection", "it cannot be reached"),
            ("smtp", "the mail server refused it"),
        ):
            if sign in text:
                return word
        return "it gave no reason"
