"""Threads of the transport."""

from __future__ import annotations

import threading
from collections.abc import Callable


def started(work: Callable[..., None], *given: object, name: str) -> threading.Thread:
    """Return a thread that runs, and does not keep the process.

    Whoever notes a thread only once it runs tries again later where the system has none left.

    Args:
        work: What it does.
        given: What that is called with.
        name: The thread's.

    Raises:
        RuntimeError: The system has no thread left.
    """
    thread = threading.Thread(target=work, args=given, name=name, daemon=True)
    thread.start()
    return thread
