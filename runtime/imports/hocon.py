"""As much of HOCON as configurations of kafka-lag-exporter use: objects, lists, texts, variables.

The format: https://github.com/lightbend/config/blob/main/HOCON.md
"""

from __future__ import annotations

import re
from typing import Any

from runtime.errors import RuntimeSetupError

_TOKEN = re.compile(
    r'(?P<blank>[ \t\r]+|#[^\n]*|//[^\n]*)|(?P<text>"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*")'
    r"|(?P<variable>\$\{\??[^}\n]*\})|(?P<sign>[{}\[\],=:\n]|\+=)"
    r"|(?P<word>(?:(?!//)[^\s{}\[\],=:#\"$+]|\$(?!\{)|\+(?!=))+)"
)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}


class Variable(str):
    """A reference ``${NAME}`` to the environment or to another key; the text is the name."""

    __slots__ = ()


def parse(text: str) -> dict[str, Any]:
    """Return the object that a text describes; keys with dots are objects in objects.

    Raises:
        RuntimeSetupError: It cannot be understood; the line is named.
    """
    return _Parser(text).document()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens: list[tuple[str, str, int]] = []
        place, line = 0, 1
        while place < len(text):
            match = _TOKEN.match(text, place)
            if match is None or match.lastgroup is None:
                raise RuntimeSetupError(f"line {line}: this is no HOCON")
            # Blanks stay: they stand between the words of a value that has no quotes.
            self._tokens.append((match.lastgroup, match.group(), line))
            line += match.group().count("\n")
            place = match.end()
        self._tokens.append(("end", "", line))
        self._at = 0

    def document(self) -> dict[str, Any]:
        self._skip("\n")
        if self._peek()[1] == "{":
            self._take("{")
            return self._members("}")
        return self._members("")

    def _members(self, end: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while True:
            self._skip("\n,")
            kind, text, line = self._peek()
            if text == end and kind in ("sign", "end"):
                self._at += 1
                return found
            if kind == "word" and text == "include":
                raise RuntimeSetupError(f"line {line}: include is not followed: paste the file")
            path = self._key()
            if self._peek()[1] in ("=", ":"):
                self._at += 1
            elif self._peek()[1] != "{":
                raise RuntimeSetupError(f"line {line}: there is no value")
            _put(found, path, self._value())

    def _key(self) -> list[str]:
        kind, text, line = self._peek()
        self._at += 1
        if kind == "text":
            return [_unquoted(text)]
        if kind != "word":
            raise RuntimeSetupError(f"line {line}: {text!r} is no key")
        return text.strip(".").split(".")

    def _value(self) -> Any:
        self._skip("\n")
        _, text, _ = self._peek()
        if text == "{":
            self._take("{")
            return self._members("}")
        if text == "[":
            self._take("[")
            return self._items()
        return self._scalar()

    def _items(self) -> list[Any]:
        found: list[Any] = []
        while True:
            self._skip("\n,")
            if self._peek()[1] == "]":
                self._at += 1
                return found
            found.append(self._value())

    def _scalar(self) -> str:
        parts: list[str] = []
        line = self._peek()[2]
        while self._tokens[self._at][0] not in ("sign", "end"):
            kind, text, line = self._tokens[self._at]
            self._at += 1
            if kind == "variable":
                name = text[2:-1].removeprefix("?")
                if not "".join(parts).strip():
                    parts = [Variable(name)]
                    continue
            if kind != "blank" or text.isspace():
                parts.append(_unquoted(text) if kind == "text" else text)
            # A colon or an equals sign inside of a value without quotes is not HOCON.
        while parts and not parts[-1].strip():
            parts.pop()
        if len(parts) == 1:
            return parts[0]
        if not parts:
            raise RuntimeSetupError(f"line {line}: there is no value")
        return "".join(parts)

    def _peek(self) -> tuple[str, str, int]:
        while self._tokens[self._at][0] == "blank":
            self._at += 1
        return self._tokens[self._at]

    def _skip(self, signs: str) -> None:
        while self._peek()[0] == "sign" and self._peek()[1] in signs:
            self._at += 1

    def _take(self, sign: str) -> None:
        assert self._peek()[1] == sign  # noqa: S101 (only called after a look)
        self._at += 1


def _put(found: dict[str, Any], path: list[str], value: Any) -> None:
    """Put a value at a path. A later one replaces an earlier one; objects are merged.

    ``key = ${?NAME}`` after another value leaves that one: the variable need not be set.
    """
    *parents, last = path
    for key in parents:
        inner = found.get(key)
        if not isinstance(inner, dict):
            inner = found[key] = {}
        found = inner
    before = found.get(last)
    if isinstance(before, dict) and isinstance(value, dict):
        for key, inner in value.items():
            _put(before, [key], inner)
    elif not (isinstance(value, Variable) and last in found):
        found[last] = value


def _unquoted(text: str) -> str:
    if text.startswith('"""'):
        return text[3:-3]
    return re.sub(r"\\(.)", lambda match: _ESCAPES.get(match[1], match[1]), text[1:-1])
