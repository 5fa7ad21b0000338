"""Processes that begin with nothing of the one that starts them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def nameless_main() -> Iterator[None]:
    """Keep the main module from processes that are spawned meanwhile.

    A spawned process begins by running its parent's main file. What is called in it does not need
    that, it costs memory, and what stands in its place may be a page that Streamlit left there, or
    a script without a guard.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main
