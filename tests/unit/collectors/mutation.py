"""Answers of servers with one value, or one key, replaced by what nobody expects there."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

Path = tuple[str | int, ...]

_RAW = {
    "@@deep": "[" * 3_000 + "]" * 3_000,
    "@@deep-object": '{"a":' * 3_000 + "1" + "}" * 3_000,
    "@@long": "9" * 6_000,
    "@@bytes": '"\udcff\udcfe"',  # of no UTF-8
}
ODD: tuple[Any, ...] = (
    *("\ud800", "a\udfffb", "\U0001f600", "x" * 300, "", " ", "²", "nan", "\x00"),
    *(None, True, False, -1, 0, 1.5, 1e308, float("nan"), float("inf")),
    *(2**31, 2**32, 2**63, 2**64, -(2**63) - 1, 10**400),
    *([], {}, [None], [[[]]], {"a": {"b": 1}}, {"\ud800": 1}, *_RAW),
)
_WITHOUT = object()


@dataclass(frozen=True)
class Mutation:
    """One answer that was changed in one place.

    Attributes:
        answers: Every answer of the server, ready to be sent.
        asked: Whose answer was changed.
        place: Where in it.
        is_left_out: Whether nothing stands there now.
    """

    answers: dict[str, bytes]
    asked: str
    place: Path
    value: Any
    is_left_out: bool


def mutations(answers: dict[str, Any], seed: int, count: int) -> Iterator[Mutation]:
    """Yield so many servers, each with one odd value below the top of one answer."""
    chance = random.Random(seed)  # noqa: S311  which value is odd is no secret
    sound = {asked: encoded(answer) for asked, answer in answers.items()}
    places = [(asked, place) for asked, answer in answers.items() for place in _places(answer)]
    for _ in range(count):
        asked, place = chance.choice(places)
        value = chance.choice((*ODD, _WITHOUT, _WITHOUT))
        changed = copy.deepcopy(answers[asked])
        inner = changed
        for step in place[:-1]:
            inner = inner[step]
        key = place[-1]
        is_renamed = isinstance(inner, dict) and chance.random() < 0.1
        if value is _WITHOUT:
            del inner[key]
        elif is_renamed:
            inner[chance.choice(("\ud800", "", "x" * 300, "\x00"))] = inner.pop(key)
        else:
            inner[key] = value
        yield Mutation(
            {**sound, asked: encoded(changed)}, asked, place, value, is_renamed or value is _WITHOUT
        )


def encoded(answer: Any) -> bytes:
    """Return an answer as a server would send it."""
    text = json.dumps(answer)
    for name, raw in _RAW.items():
        text = text.replace(json.dumps(name), raw)
    return text.encode("utf-8", "surrogateescape")


def _places(value: Any, above: Path = ()) -> Iterator[Path]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*above, key)
        if isinstance(inner, dict | list):
            yield from _places(inner, (*above, key))
