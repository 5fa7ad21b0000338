"""Texts of others, which quote records of any size and content: cut, and such as can be stored."""

from __future__ import annotations

LONGEST = 32_000
"""Most characters that are kept."""

_SHOWN_CHARACTERS = 200


def excerpt(text: str) -> str:
    """Leave out the middle of a long text; its end is kept, as a trace's first cause stands there.

    Words and lines that would be cut in half are left out, since half of a secret is not
    recognised.
    """
    if len(text) <= LONGEST:
        return text
    whole_words = text[: LONGEST // 2].rsplit(maxsplit=1)[:-1]
    _, _, whole_lines = text[-LONGEST // 2 :].partition("\n")
    return " ".join([*whole_words, "…\n"]) + whole_lines


def storable(text: str) -> str:
    r"""Return the text with halves of surrogate pairs written out, as ``\ud800``."""
    return text.encode("utf-8", "backslashreplace").decode()


def short(text: str) -> str:
    """Return a text of a server on one line, as much of it as is shown."""
    return " ".join(text.split())[:_SHOWN_CHARACTERS]
