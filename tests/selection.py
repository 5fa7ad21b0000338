"""Which of the exhaustive tests run today: one part a day, so that each runs once in two weeks.

Exhaustive tests repeat for many cases what others show for a few: every alert scenario, more
rounds of a loop, every page once more. ``--all`` runs them all.
"""

from __future__ import annotations

from datetime import date
from typing import Any
from zlib import crc32

import pytest

PARTS = 14
MARK = pytest.mark.exhaustive


def exhaustive(*values: Any) -> list[Any]:
    """Return parameters of a test that are left to the exhaustive run; a tuple for several."""
    return [
        pytest.param(*(value if isinstance(value, tuple) else (value,)), marks=MARK)
        for value in values
    ]


def runs_on(node_id: str, day: int) -> bool:
    """Return whether an exhaustive test runs on a day; the same ones do on every machine.

    Args:
        node_id: The test's, as pytest names it.
        day: Of the year, from 1.
    """
    return crc32(node_id.encode()) % PARTS == day % PARTS


def today() -> int:
    """Return the day of the year."""
    return date.today().timetuple().tm_yday
