"""Errors of the history jobs. Each message is one line that says what to do next."""

from __future__ import annotations


class HistoryError(Exception):
    """The history cannot be computed or kept."""


class SessionError(HistoryError):
    """Spark could not be started."""
