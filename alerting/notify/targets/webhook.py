"""A webhook."""

from __future__ import annotations

import hashlib
import hmac
import json
import time

from alerting.notify.notifications import Notification
from alerting.notify.targets.http import HttpClient
from alerting.notify.wording import webhook_payload
from config.alerting import TargetSettings


class WebhookTarget:
    """A webhook: JSON, signed with HMAC-SHA256 where a secret is configured."""

    def __init__(self, settings: TargetSettings, dashboard_url: str) -> None:
        """Prepare the client; nothing is sent yet."""
        self._http = HttpClient(settings)
        self._secret = settings.secret
        self._dashboard_url = dashboard_url

    def send(self, notification: Notification) -> str:
        """Post the notification; see ``Target``."""
        content = json.dumps(webhook_payload(notification, self._dashboard_url)).encode()
        at = str(int(time.time()))
        headers = {"Idempotency-Key": notification.key, "X-Headroom-Timestamp": at}
        if self._secret is not None:
            headers["X-Headroom-Signature"] = signature(
                self._secret.get_secret_value(), at, content
            )
        return self._http.post("", content, headers)


def signature(secret: str, timestamp: str, content: bytes) -> str:
    """Return ``sha256=`` and the HMAC of ``<timestamp>.<body>`` in hexadecimal digits."""
    signed = timestamp.encode() + b"." + content
    return "sha256=" + hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
