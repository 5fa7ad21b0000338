"""One thread a target that takes its messages from the outbox and sends them, in order."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from alerting.errors import AlertingError, DeliveryError
from alerting.notify.outbox import Delivery, free_at, pause_seconds
from alerting.notify.store import AlertStore
from alerting.notify.targets.model import RefreshedTarget, Target
from alerting.rules.lifecycle import Alert
from config.alerting import TargetSettings

REFRESH_SECONDS = 60.0
"""How often alerts that go on are sent again to a target that forgets them."""

_LOOK_SECONDS = 0.5
_log = logging.getLogger(__name__)


class Sender:
    """Sends one target's messages; a target that is down or slow holds up nobody else."""

    def __init__(
        self,
        settings: TargetSettings,
        target: Target,
        store: AlertStore,
        firing: Callable[[], Sequence[Alert]] = tuple,
    ) -> None:
        self._settings = settings
        self._target = target
        self._store = store
        self._firing = firing
        self._woken = threading.Event()
        self._stopped = threading.Event()
        self._refreshed_at = 0.0
        self._thread = threading.Thread(
            target=self._run, name=f"sender-{settings.name}", daemon=True
        )

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def wake(self) -> None:
        """Look into the outbox at once."""
        self._woken.set()

    def stop(self, timeout_seconds: float = 5.0) -> None:
        """End after the message that is being sent; one that takes longer is sent again later."""
        self._stopped.set()
        self._woken.set()
        self._thread.join(timeout_seconds)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                busy = self.step(time.time())
            except AlertingError as error:
                _log.error("%s: %s", self._settings.name, error)
                busy = False
            except Exception as error:  # a fault of ours must not end the thread
                _log.error("%s: a fault: %s", self._settings.name, type(error).__name__)
                busy = False
            if not busy:
                self._woken.wait(_LOOK_SECONDS)
                self._woken.clear()

    def step(self, now: float) -> bool:
        """Send the next message if its time has come; tell whether there may be more."""
        self._refresh(now)
        delivery = self._store.due(self._settings.name, now)
        if delivery is None:
            return False
        sent = self._store.sent_since(self._settings.name, now - 60.0)
        if free_at(sent, self._settings.max_per_minute, now) > now:
            return False
        try:
            answer = self._target.send(delivery.notification)
        except DeliveryError as error:
            self._again(delivery, str(error), error.retry_after_seconds)
        except Exception as error:  # a fault in a library must not end the thread
            # Its text may hold an address with a secret in it: only its kind is reported.
            self._again(delivery, f"a fault in sending: {type(error).__name__}", None)
        else:
            self._store.sent(delivery, answer, time.time())
        return True

    def _again(self, delivery: Delivery, said: str, retry_after_seconds: float | None) -> None:
        now = time.time()
        name = self._settings.name
        if now - delivery.queued_at >= self._settings.give_up_after_seconds:
            _log.error("%s: given up after %d attempts: %s", name, delivery.attempts + 1, said)
            self._store.failed(delivery, said, now)
            return
        pause = pause_seconds(delivery.attempts + 1, retry_after_seconds)
        _log.warning("%s: %s; again in %.0f s", name, said, pause)
        self._store.again(delivery, said, now + pause)

    def _refresh(self, now: float) -> None:
        if not isinstance(self._target, RefreshedTarget):
            return
        if now - self._refreshed_at < REFRESH_SECONDS:
            return
        self._refreshed_at = now
        try:
            self._target.refresh(self._firing())
        except DeliveryError as error:
            _log.warning("%s: %s", self._settings.name, error)
