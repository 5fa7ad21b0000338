"""The services that Apprise knows."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable

import apprise
from apprise.plugins.email.base import NotifyEmail

from alerting.errors import DeliveryError
from alerting.notify.notifications import Notification, NotificationKind
from alerting.notify.wording import body, title
from config.alerting import TargetSettings

_APPRISE_TYPES = {
    NotificationKind.RESOLVED: apprise.NotifyType.SUCCESS,
    NotificationKind.TEST: apprise.NotifyType.INFO,
}


_MARKUP = re.compile(r"[@<\]]")
"""Mentions, tags and links of chats begin or go on with one of these."""


def inert(text: str) -> str:
    """Return text in which no chat finds a mention or a link behind other words.

    Groups and topics are named by whoever may create them. A zero-width space is not seen.
    """
    return _MARKUP.sub("\\g<0>\u200b", text)


class AppriseTarget:
    """Any service that Apprise knows: Slack, Teams, PagerDuty, Opsgenie, e-mail and others."""

    def __init__(self, settings: TargetSettings, dashboard_url: str) -> None:
        """Read the address; nothing is sent yet."""
        address = settings.address.get_secret_value() if settings.address else ""
        self._timeout_seconds = settings.timeout_seconds
        self._plugin = apprise.Apprise.instantiate(address)
        # It escapes plain text for the service; the plug-in by itself takes text for markup.
        self._services = apprise.Apprise()
        if self._plugin:
            self._services.add(self._plugin)
        self._dashboard_url = dashboard_url

    def send(self, notification: Notification) -> str:
        """Hand the notification to Apprise; see ``Target``."""
        plugin = self._plugin
        if not plugin:
            raise DeliveryError("its address is none that Apprise knows")
        severe = apprise.NotifyType.FAILURE
        kind = _APPRISE_TYPES.get(
            notification.kind,
            severe if notification.severity == "critical" else apprise.NotifyType.WARNING,
        )
        texts = title(notification), body(notification, self._dashboard_url)
        first, text = texts if isinstance(plugin, NotifyEmail) else map(inert, texts)
        if isinstance(plugin, NotifyEmail):
            # Mail programs join what refers to the same message; there need be none.
            reference = f"<{notification.thread}@headroom.invalid>"
            plugin.headers |= {"In-Reply-To": reference, "References": reference}
        with _heard() as said:
            taken = self._within(
                lambda: bool(
                    self._services.notify(
                        title=first,
                        body=text,
                        notify_type=kind,
                        body_format=apprise.NotifyFormat.TEXT,
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
    """Hears what Apprise logs while a message is sent; only the kind of a failure is reported."""

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
