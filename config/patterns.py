"""Regular expressions of settings, rules, silences and Kafka's clients.

They and the names that they are applied to are written by others. Python's ``re`` may take years
for one name, and holds the interpreter's lock meanwhile; RE2 takes time in proportion to the
name's length. No other module may import RE2, and ``re`` takes constant patterns only.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import re2

LONGEST_PATTERN = 1000
"""Most characters of a pattern."""

_MEMORY = 128 * 1024
"""Most bytes that a pattern takes once compiled: about 7,000 instructions."""

_CONSTRUCTS = {
    "(?=": "look-ahead",
    "(?!": "look-ahead",
    "(?<": "look-behind",
    "(?P": "a named back-reference",
    "(?>": "an atomic group",
    "(?(": "a condition",
}


class PatternError(ValueError):
    """A pattern cannot be used; the message says which part of it."""


def check_pattern(pattern: str) -> str:
    """Return the pattern as it is."""
    _compiled(pattern)
    return pattern


def matches_whole(pattern: str, text: str) -> bool:
    """Return whether the pattern matches the whole text."""
    return _compiled(pattern).fullmatch(_bytes(text)) is not None


def matches_part(pattern: str, text: str) -> bool:
    """Return whether the pattern matches some part of the text."""
    return _compiled(pattern).search(_bytes(text)) is not None


# Errors are not kept: a pattern that cannot be used is refused before it is asked for often.
@lru_cache(maxsize=256)
def _compiled(pattern: str) -> Any:
    if len(pattern) > LONGEST_PATTERN:
        raise PatternError(f"not a regular expression: more than {LONGEST_PATTERN:,} characters")
    options = re2.Options()
    options.max_mem = _MEMORY
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile(_bytes(pattern), options)
    except re2.error as error:
        said = error.args[0].decode("utf-8", "replace")
        raise PatternError(f"not a regular expression: {_plain(said)}") from None


def _plain(said: str) -> str:
    """Name what RE2 leaves out, which it tells by its beginning; anything else it says well."""
    problem, _, part = said.partition(": ")
    name = _CONSTRUCTS.get(part[:3]) if problem == "invalid perl operator" else None
    if problem == "invalid escape sequence" and part[1:].isdecimal():
        name = "a back-reference"
    return f"{name} ({part}) is not in RE2's syntax" if name else said


def _bytes(text: str) -> bytes:
    """Encode a text; halves of surrogate pairs, which JSON may hold, become question marks."""
    return text.encode("utf-8", "replace")
