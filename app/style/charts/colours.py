"""Which line has which look: a colour belongs to a name, whoever draws it beside whatever."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

from app.style.theme import Palette

_SEED = 4751
"""Of a name's checksum; any would do. With this one, the late groups of the demo share none."""

SHARED_DASHES = ("solid", "8px,3px", "8px,3px,2px,3px")
"""Of names that share a colour in one chart, in their order; levels have others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a line of a name is drawn."""

    colour: str
    dash: str


def colour_of(name: str, palette: Palette) -> str:
    """Return the colour of a name: it follows from the name alone, on each page and each day."""
    return palette.series[crc32(name.encode(), _SEED) % len(palette.series)]


def looks_of(names: Sequence[str], palette: Palette) -> dict[str, Look]:
    """Return the look of each name in a chart.

    With few colours, some names share one. Where two of a chart do, a dash tells them apart: the
    earlier by name has the solid line.
    """
    looks: dict[str, Look] = {}
    of_colour = Counter[str]()
    for name in sorted(set(names)):
        colour = colour_of(name, palette)
        dash = SHARED_DASHES[of_colour[colour] % len(SHARED_DASHES)]
        looks[name] = Look(colour=colour, dash=dash)
        of_colour[colour] += 1
    return looks
