"""Reads that are done once in a poll."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from collectors.errors import CollectorError

T = TypeVar("T")


class _Poll(Protocol):
    done: dict[object, object]


class once(Generic[T]):
    """A read that is done when a section first asks for it, and never twice in a poll.

    Where it fails, it fails with the same error for every section.
    """

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read
        self.__doc__ = read.__doc__

    def __get__(self, poll: _Poll, _: object = None) -> T:
        if self._read not in poll.done:
            try:
                poll.done[self._read] = self._read(poll)
            except CollectorError as error:
                poll.done[self._read] = error
        outcome = poll.done[self._read]
        if isinstance(outcome, CollectorError):
            raise outcome
        return outcome  # type: ignore[return-value]  # what the read returned
