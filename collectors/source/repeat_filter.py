"""Which repeats are worth a line in the log: new ones, and old ones once an hour."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass

AGAIN_SECONDS = 3600.0

# How much or how long is no news; who is. So only numbers that stand alone are left out: not those
# of brokers, and not those that touch a letter, a hyphen, or another part of a name or an address.
_NUMBER = re.compile(r"(?<![\w.:/-])(?<!broker )(?<!node )\d+(?:\.\d+)?(?![\w:/-]|\.\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Logged:
    """What was logged last of something, without its figures, and when."""

    shape: str
    at: float


class RepeatFilter:
    """What was logged of each section of each source. For one thread a source."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._said: dict[tuple[str, ...], _Logged] = {}

    def should_log(self, about: tuple[str, ...], text: str | None) -> bool:
        """Return whether to log how something is.

        Args:
            about: What it is about.
            text: What is wrong; None: nothing is, which is news after something was.
        """
        before = self._said.get(about)
        if text is None:
            return self._said.pop(about, None) is not None
        shape = _NUMBER.sub("#", text)
        now = self._clock()
        if before is not None and before.shape == shape and now - before.at < AGAIN_SECONDS:
            return False
        self._said[about] = _Logged(shape=shape, at=now)
        return True
