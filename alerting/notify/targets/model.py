"""What a notification target is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from alerting.notify.notifications import Notification
from alerting.rules.lifecycle import Alert


class Target(Protocol):
    """Where notifications are sent."""

    def send(self, notification: Notification) -> str:
        """Send a notification and return what was said.

        Raises:
            DeliveryError: It was not taken.
        """
        ...


@runtime_checkable
class RefreshedTarget(Target, Protocol):
    """A target that takes an alert for ended unless it hears of it again."""

    def refresh(self, alerts: Sequence[Alert]) -> None:
        """Send again the alerts that go on.

        Raises:
            DeliveryError: It was not taken.
        """
        ...
