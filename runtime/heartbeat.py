"""A file that a living process touches, for health checks of services that serve no HTTP.

``python heartbeat.py`` is the check itself: it uses the standard library alone and starts fast.
"""

from __future__ import annotations

import os
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path

VARIABLE = "HEADROOM_HEARTBEAT"
"""Names the file; without it nothing is touched."""

_EVERY_SECONDS = 10.0
_DEAD_AFTER_SECONDS = 60.0
_DASHBOARD = "http://127.0.0.1:8501/_stcore/health"


def start() -> None:
    """Touch the file as long as this process runs Python; one that hangs stops doing so."""
    name = os.environ.get(VARIABLE)
    if name:
        threading.Thread(target=_touch, args=(Path(name),), name="heartbeat", daemon=True).start()


def _touch(file: Path) -> None:
    while True:
        with suppress(OSError):  # a full disk today is none tomorrow
            file.touch()
        time.sleep(_EVERY_SECONDS)


def problem(name: str, dashboard: str) -> str | None:
    """Return why a container is not healthy: its service hangs, or its dashboard is silent.

    A container with the dashboard alone has no heartbeat.
    """
    try:
        age = time.time() - Path(name).stat().st_mtime
    except OSError:
        try:
            with urllib.request.urlopen(dashboard, timeout=5):  # noqa: S310 (a constant)
                return None
        except (urllib.error.URLError, OSError) as error:
            return f"neither a heartbeat nor a dashboard: {error}"
    return f"the heartbeat is {age:.0f} s old" if age > _DEAD_AFTER_SECONDS else None


if __name__ == "__main__":
    sys.exit(problem(os.environ.get(VARIABLE, ""), _DASHBOARD))
