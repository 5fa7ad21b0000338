"""Cutting texts of others, which quote records of any size, before anything looks into them."""

from __future__ import annotations

LONGEST = 32_000
"""Most characters that are kept."""


def excerpt(text: str) -> str:
    """Leave out the middle of a long text; its end is kept, as a trace's first cause stands there.

    The word and the line that are cut are left out: half of a secret would not be known as one.
    """
    if len(text) <= LONGEST:
        return text
    whole_words = text[: LONGEST // 2].rsplit(maxsplit=1)[:-1]
    _, _, whole_lines = text[-LONGEST // 2 :].partition("\n")
    return " ".join([*whole_words, "…\n"]) + whole_lines
