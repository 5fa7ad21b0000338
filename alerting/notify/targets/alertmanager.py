"""Prometheus' Alertmanager."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from alerting.notify.notifications import Notification, NotificationKind
from alerting.notify.targets.http import HttpClient
from alerting.notify.wording import alertmanager_alerts
from alerting.rules.lifecycle import Alert
from config.alerting import TargetSettings

ALERT_LASTS_SECONDS = 300.0
"""For how long Alertmanager takes an alert to go on after it was last sent."""


class AlertmanagerTarget:
    """Alertmanager's API v2; alerts that go on are sent again before it takes them for ended."""

    def __init__(self, settings: TargetSettings, dashboard_url: str) -> None:
        """Prepare the client; nothing is sent yet."""
        self._http = HttpClient(settings)
        self._dashboard_url = dashboard_url
        # What is sent again without them would take them away.
        self._notes: dict[str, tuple[str, ...]] = {}

    def send(self, notification: Notification) -> str:
        """Post the notification's alerts; see ``Target``."""
        lasts = 30.0 if notification.kind is NotificationKind.TEST else ALERT_LASTS_SECONDS
        self._notes |= notification.notes
        return self._post(notification.alerts, lasts)

    def refresh(self, alerts: Sequence[Alert]) -> None:
        """Send alerts that go on again."""
        going_on = {alert.id for alert in alerts}
        self._notes = {id_: lines for id_, lines in self._notes.items() if id_ in going_on}
        if alerts:
            self._post(alerts, ALERT_LASTS_SECONDS)

    def _post(self, alerts: Sequence[Alert], lasts_seconds: float) -> str:
        content: list[dict[str, Any]] = alertmanager_alerts(
            alerts, self._notes, self._dashboard_url, time.time(), lasts_seconds
        )
        return self._http.post("/api/v2/alerts", json.dumps(content).encode())
