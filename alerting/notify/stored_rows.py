"""Rows of the alert store as values: one that cannot be read is left out and said."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from alerting.notify.json_codec import matchers_from_json, matchers_to_json
from alerting.rules.lifecycle import LAST_MOMENT, Moment
from alerting.rules.matchers import Acknowledgement, Silence, TakenBack, parse_matcher
from alerting.rules.rule_file import LONGEST_SECONDS

T = TypeVar("T")
_MOMENT: TypeAdapter[float] = TypeAdapter(Moment)
_log = logging.getLogger(__name__)


class RowReader:
    """Reads rows; threads may share one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._unreadable: dict[str, float] = {}

    def read(self, row: str, read: Callable[[str], T], body: str) -> T | None:
        """Return what a row says; None where it cannot be read, which is logged once."""
        try:
            return read(body)
        except ValueError as error:
            line = f"{row} in the alert store cannot be read and was left out: {error}"
            with self._lock:
                if line not in self._unreadable:
                    _log.error("%s", line)
                    self._unreadable[line] = time.time()
            return None

    def unreadable(self, since: float) -> list[str]:
        """Return which rows were found to be unreadable since a moment, a line each."""
        with self._lock:
            return [line for line, at in self._unreadable.items() if at >= since]


def acknowledgement_of(row: Sequence[Any]) -> Acknowledgement:
    """Return the acknowledgement of a row: alert, author, comment, making."""
    alert, author, comment, at = row
    return Acknowledgement(alert=alert, author=author, comment=comment, at=at)


def taken_back_of(row: Sequence[Any]) -> TakenBack:
    """Return what was taken back of a row: alert, author, comment, making, by whom, when."""
    *said, by, at = row
    return TakenBack(acknowledgement=acknowledgement_of(said), by=by, at=at)


def silence_of(row: Sequence[Any]) -> Silence:
    """Return the silence of a row: id, matchers, start, end, author, comment, making.

    One that cannot be read matches nothing and keeps the reason, so that it can be ended.
    """
    id_, matchers, *times, author, comment, created_at = row
    found = Silence(
        id=id_,
        matchers=(),
        starts_at=0.0,
        ends_at=LAST_MOMENT,
        author=author,
        comment=comment,
        created_at=0.0,
    )
    try:
        starts, ends, created = (_MOMENT.validate_python(at) for at in (*times, created_at))
    except ValidationError:
        return replace(found, problem="its times cannot be read")
    found = replace(found, starts_at=starts, ends_at=ends, created_at=created)
    try:
        return replace(found, matchers=matchers_from_json(matchers))
    except ValueError as error:
        return replace(found, problem=str(error))


def silence_to_json(
    matchers: Iterable[str],
    *,
    starts_at: float,
    ends_at: float,
    author: str,
    comment: str,
    now: float,
) -> str:
    """Return the matchers of a silence that can be made, as they are kept.

    Raises:
        ValueError: It cannot be made like this; the message says why.
    """
    parsed = [parse_matcher(text) for text in matchers]
    if not parsed:
        raise ValueError("a silence needs a matcher such as group=payments")
    if ends_at <= max(starts_at, now):
        raise ValueError("a silence must end after it starts, and in the future")
    if not ends_at <= now + LONGEST_SECONDS:
        raise ValueError("a silence may last ten years at most")
    if not author.strip() or not comment.strip():
        raise ValueError("a silence needs an author and a comment")
    texts = matchers_to_json(parsed)
    if matchers_from_json(texts) != tuple(parsed):
        raise ValueError("these matchers cannot be kept")
    return texts
