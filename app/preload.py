"""What pages are made of, loaded before the first viewer comes."""

from __future__ import annotations

import gc
import inspect
import pkgutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path

from streamlit.starlette import App

_SCRIPTS = ("main", "server", "page", "__main__")
"""Streamlit runs these by itself."""
_TABLE_STYLES = "pandas.io.formats.style"
"""Imported at the first coloured table; it takes a second."""


@asynccontextmanager
async def preloaded(_: App) -> AsyncIterator[None]:
    """Import the modules of all pages while the server starts.

    The first viewer does not wait for them then. And Streamlit collects garbage after each run of
    a script, through all objects that ever were imported: those that are there now stay for good,
    so that the collector may leave them out.
    """
    folder = Path(__file__).parent
    for found in pkgutil.walk_packages([str(folder)], "app."):
        if found.name.rpartition(".")[2] not in _SCRIPTS:
            import_module(found.name)
    import_module(_TABLE_STYLES)
    # Streamlit asks once who called, at the first element drawn: that looks for the file of each
    # module, and remembers it.
    inspect.stack()
    gc.collect()
    gc.freeze()
    yield
