"""The server has loaded what pages are made of before anybody comes."""

import subprocess
import sys

_SCRIPT = """
import asyncio, gc, sys
from app.server import app
from app.preload import preloaded

async def start():
    async with preloaded(app):
        return {name for name in sys.modules if name.startswith(("app.", "pandas."))}

loaded = asyncio.run(start())
assert gc.get_freeze_count() > 100_000, gc.get_freeze_count()
assert {"app.ui.tables", "app.views.group.view_model", "pandas.io.formats.style"} <= loaded
assert not any(name.startswith("app.") and name.endswith(".page") for name in loaded)
"""


def test_a_server_that_starts_loads_the_modules_of_all_pages_and_runs_none() -> None:
    run = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
