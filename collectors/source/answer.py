"""Reading the JSON of others: nothing in it is trusted to be there, or to be of its type.

A value that no table could hold is unknown. It is counted, and the section says so in one line.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from collectors.source.excerpt import short, storable
from config.secret import hide

LARGEST_INT = 2**31 - 1
LARGEST_LONG = 2**63 - 1
LONGEST_TEXT = 256

_DEEPEST = 50
_LONGEST_NUMBER = 25
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+(?:"|\Z)|[][{}]', re.DOTALL)
_ESCAPES = re.compile(
    r"\\\\|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_NOTHING = (None, "", "undefined")
"""How servers write a number that they do not know: the last two are RabbitMQ's."""


def parse(body: bytes) -> Any:
    r"""Return the JSON of an answer, in which every text can be stored.

    Halves of surrogate pairs and bytes that are not UTF-8 become texts such as ``\\ud800``, so that
    two names stay two. What is nested too deeply is null, and a number too long to be one is
    infinite.

    Raises:
        ValueError: It is not JSON.
    """
    text = storable(body.decode(json.detect_encoding(body), "surrogateescape"))
    text = hide(text)  # a server may say what it was sent
    text = _ESCAPES.sub(lambda match: "\\" + match[0] if match[1] else match[0], text)
    try:
        return json.loads(text, parse_int=_integer)
    except RecursionError:
        return json.loads(_shallow(text), parse_int=_integer)


@dataclass(slots=True, kw_only=True)
class Odd:
    """Where values could not be understood; a place counts once, however often it is read."""

    places: dict[str, None] = field(default_factory=dict)

    def note(self, place: str) -> None:
        """Count a place."""
        self.places[place] = None

    @property
    def problems(self) -> list[str]:
        """One line, or none."""
        if not self.places:
            return []
        number, first = len(self.places), short(next(iter(self.places)))
        values = "a value" if number == 1 else f"{number} values"
        return [f"{values} of the answers could not be understood: {first}"]


class Fields:
    """An object of an answer, asked for its values by name and type.

    A value of another type, or larger than its column, is None and noted as odd. One that is
    missing or null is None.

    Attributes:
        is_known: Whether there is such an object at all.
    """

    def __init__(self, value: Any, odd: Odd, place: str) -> None:
        self.is_known = isinstance(value, dict)
        self._values: dict[str, Any] = value if isinstance(value, dict) else {}
        self._odd = odd
        self.place = place
        # Erlang writes an object without entries as a list.
        if not self.is_known and value not in (None, []):
            odd.note(place)

    def __contains__(self, key: str) -> bool:
        return key in self._values

    def name(self, key: str) -> str | None:
        """Return a text as it is, which may be a key of a table."""
        value = self._values.get(key)
        if value is not None and not isinstance(value, str):
            self.note(key)
            return None
        return value or None

    def text(self, key: str) -> str | None:
        """Return a text without blanks at its ends, at most 256 characters of it."""
        value = self.name(key)
        return None if value is None else value.strip()[:LONGEST_TEXT] or None

    def whole(self, key: str, *, smallest: int = 0, largest: int = LARGEST_LONG) -> int | None:
        """Return a whole number; also one that is written as a text."""
        value = self._values.get(key)
        if value in _NOTHING:
            return None
        if isinstance(value, str) and len(value) < _LONGEST_NUMBER:
            try:
                value = int(value)
            except ValueError:
                pass
        if isinstance(value, int) and not isinstance(value, bool) and smallest <= value <= largest:
            return value
        self.note(key)
        return None

    def number(self, key: str) -> float | None:
        """Return a number."""
        value = self._values.get(key)
        if value in _NOTHING:
            return None
        if isinstance(value, int | float) and not isinstance(value, bool):
            found = float(value)
            if math.isfinite(found):
                return found
        self.note(key)
        return None

    def fields(self, key: str) -> Fields:
        """Return an object; one without values where there is none."""
        return Fields(self._values.get(key), self._odd, f"{self.place}.{key}")

    def objects(self, key: str) -> list[Fields] | None:
        """Return the objects of a list; None where there is no list."""
        value = self._values.get(key)
        if not isinstance(value, list):
            if value is not None:
                self.note(key)
            return None
        return objects(value, self._odd, f"{self.place}.{key}")

    def texts(self, key: str) -> list[str]:
        """Return the texts of a list."""
        value = self._values.get(key)
        if value is None:
            return []
        listed = value if isinstance(value, list) else [None]
        found = [each for each in listed if isinstance(each, str) and each]
        if len(found) < len(listed):
            self.note(key)
        return found

    def items(self) -> Iterator[tuple[str, Any]]:
        """Return all keys, with values that may be anything."""
        yield from self._values.items()

    def note(self, key: str) -> None:
        """Note a value as odd."""
        self._odd.note(f"{self.place}.{key}")


def objects(values: Iterable[Any], odd: Odd, place: str) -> list[Fields]:
    """Return the objects of a list; what is none is left out and noted."""
    found = []
    for number, value in enumerate(values):
        if isinstance(value, dict):
            found.append(Fields(value, odd, f"{place}[{number}]"))
        else:
            odd.note(f"{place}[{number}]")
    return found


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) < _LONGEST_NUMBER else math.inf


def _shallow(text: str) -> str:
    """Return JSON with null in place of what is nested too deeply."""
    kept, depth, begin = [], 0, 0
    for token in _TOKENS.finditer(text):
        sign = token[0]
        if sign in "[{":
            depth += 1
            if depth == _DEEPEST + 1:
                kept += [text[begin : token.start()], "null"]
        elif sign in "]}":
            if depth == _DEEPEST + 1:
                begin = token.end()
            depth -= 1
    if depth > _DEEPEST:
        raise ValueError("its brackets do not end")
    return "".join([*kept, text[begin:]])
