"""Importing collectors changes nothing of the process; the service's own process is set up."""

from __future__ import annotations

import os
import subprocess
import sys

VARIABLES = ("_RJEM_MALLOC_CONF", "POLARS_MAX_THREADS")


def _said(code: str) -> str:
    environment = {name: text for name, text in os.environ.items() if name not in VARIABLES}
    return subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    ).stdout.strip()


def test_whoever_imports_collectors_keeps_its_allocator_and_its_threads() -> None:
    code = (
        "import os, collectors.kafka.source, polars\n"
        "print(os.environ.get('POLARS_MAX_THREADS'), polars.thread_pool_size())\n"
        "print('narenas' in os.environ.get('_RJEM_MALLOC_CONF', ''))"
    )
    assert _said(code).splitlines() == [f"None {os.cpu_count()}", "False"]


def test_the_service_sets_up_its_process_before_polars_is_loaded() -> None:
    code = (
        "import sys, collectors.__main__ as main; assert 'polars' not in sys.modules; "
        "sys.argv = ['collectors', '--help']\n"
        "try: main.main()\n"
        "except SystemExit: pass\n"
        "import polars; print(polars.thread_pool_size())"
    )
    assert _said(code).splitlines()[-1] == "1"
