"""Loaded by each Python that starts under libfaketime.

Its ``clock_nanosleep`` refuses what ``time.sleep`` asks for since Python 3.11 (EINVAL), where the
monotonic clock goes on as it is. What waits for an event sleeps well.
"""

import threading
import time


def _sleep(seconds: float) -> None:
    threading.Event().wait(seconds)


time.sleep = _sleep
