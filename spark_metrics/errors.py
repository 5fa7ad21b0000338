"""Errors of the history jobs. Each message is one line that says what to do next."""

from __future__ import annotations

import re


class HistoryError(Exception):
    """The history cannot be computed or kept."""


class SessionError(HistoryError):
    """Spark could not be started."""


_RAISED = re.compile(r"Traceback \(most recent call last\):\n(?:[ \t].*\n)+(\S.*)")


def raised_in_python(text: str) -> str | None:
    """Return what Python raised that Spark ran, of Spark's account of it; None if nothing did."""
    found = _RAISED.findall(text)
    return str(found[-1]) if found else None
