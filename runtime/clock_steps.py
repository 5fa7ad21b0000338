"""Notices that this machine's clock was set."""

from __future__ import annotations

import logging
from collections.abc import Callable

_STEP_SECONDS = 0.5
_log = logging.getLogger(__name__)


class ClockSteps:
    """Compares the clock with one that cannot be set."""

    def __init__(self, steady: Callable[[], float]) -> None:
        """Begin with nothing to compare.

        Args:
            steady: The clock that cannot be set, in seconds. If it stands still while the machine
                sleeps, waking up counts as a step.
        """
        self._steady = steady
        self._offset: float | None = None

    def step(self, now: float) -> float:
        """Return by how many seconds the clock was set since this was last asked; 0: it was not.

        Args:
            now: What the clock says, in Unix seconds.
        """
        offset = now - self._steady()
        before, self._offset = self._offset, offset
        if before is None or abs(offset - before) < _STEP_SECONDS:
            return 0.0
        _log.warning("this machine's clock was set by %+.1f s", offset - before)
        return offset - before
