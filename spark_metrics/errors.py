"""Errors of the history jobs. Each message is one line that says what to do next."""

from __future__ import annotations


class HistoryError(Exception):
    """The history cannot be computed or kept."""


class SessionError(HistoryError):
    """Spark could not be started."""


class BusyError(HistoryError):
    """Another history job works on the same lake."""


class LeaseLostError(HistoryError):
    """Another history job has taken over: this one must not write any more."""
