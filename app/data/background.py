"""Work that takes too long to draw a page by: done in a thread, the newest result kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, TypeVar

_Value = TypeVar("_Value")
_MOST_KEYS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished(Generic[_Value]):
    """A piece of work that is done."""

    asked_at: datetime
    future: Future[_Value]


class Background(Generic[_Value]):
    """One piece of work for each key, done again when its result has become old."""

    def __init__(self, max_age: timedelta) -> None:
        """Begin with nothing.

        Args:
            max_age: An older result is worked out anew; it is given until that is done.
        """
        self._max_age = max_age
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="background")
        self._lock = threading.Lock()
        self._finished: dict[Hashable, Finished[_Value]] = {}
        self._running: dict[Hashable, Finished[_Value]] = {}

    def newest(
        self, key: Hashable, work: Callable[[], _Value], now: datetime
    ) -> Finished[_Value] | None:
        """Return the newest result without waiting for one; begin the work where it is due."""
        with self._lock:
            running = self._running.get(key)
            if running is not None and running.future.done():
                self._finished[key] = self._running.pop(key)
                running = None
                while len(self._finished) > _MOST_KEYS:
                    self._finished.pop(next(iter(self._finished)))
            found = self._finished.get(key)
            if running is None and (found is None or now - found.asked_at > self._max_age):
                future = self._pool.submit(work)
                self._running[key] = Finished(asked_at=now, future=future)
            return found

    def wait(self) -> None:
        """Wait until nothing is being worked on."""
        with self._lock:
            running = [one.future for one in self._running.values()]
        for future in running:
            future.exception()
