"""Work spread over processes."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from scaling.backtest.workers import Workers

TASKS = [-1, 2, -3]


def test_one_process_is_the_calling_one() -> None:
    seen: list[int] = []
    with Workers(1) as workers:
        assert list(workers.map(seen.append, TASKS)) == [None] * 3
    assert seen == TASKS


def test_processes_do_not_run_what_stands_for_the_main_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "page.py"
    script.write_text("raise RuntimeError('a page was run')\n", encoding="utf-8")
    left_by_a_page = ModuleType("__main__")
    left_by_a_page.__file__ = str(script)
    monkeypatch.setitem(sys.modules, "__main__", left_by_a_page)

    with Workers(2) as workers:
        found = list(workers.map(abs, TASKS))

    assert found == [1, 2, 3]
    assert sys.modules["__main__"] is left_by_a_page
