"""Which line has which look: the colour of a group or topic follows from its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zlib import crc32

from app.style.theme import Palette

_SEED = 4751
"""Of a name's checksum; any would do. With this one, the late groups of the demo share none."""

SHARED_DASHES = ("solid", "8px,3px", "8px,3px,2px,3px")
"""Of names that share a colour in one chart, in their order; levels have others."""

FAMILIES = (
    *("purple", "green", "pink", "blue", "brown"),
    *("olive", "blue", "purple", "purple"),
)
"""Of the palette's colours, in their order: two of a family look alike as thin lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """How a line of a name is drawn."""

    colour: str
    dash: str


def colour_of(name: str, palette: Palette) -> str:
    """Return the colour of a name: it follows from the name alone, on each page and each day."""
    return palette.series[_place_of(name, palette)]


def looks_of(names: Sequence[str], palette: Palette, *, are_own: bool = True) -> dict[str, Look]:
    """Return the look of each name in a chart.

    Names that are drawn on several pages keep their own colours. With few colours, some share one:
    there a dash tells them apart, and the earlier by name has the solid line. What one chart alone
    draws takes another colour where its own looks like that of a name beside it.

    Args:
        names: What the chart draws.
        palette: The colours.
        are_own: Whether each has its own colour, whatever is drawn beside it.
    """
    ordered = sorted(set(names))
    places = {name: _place_of(name, palette) for name in ordered}
    if not are_own:
        places = _apart(places)
    looks: dict[str, Look] = {}
    of_place = Counter[int]()
    for name in ordered:
        place = places[name]
        dash = SHARED_DASHES[of_place[place] % len(SHARED_DASHES)]
        looks[name] = Look(colour=palette.series[place], dash=dash)
        of_place[place] += 1
    return looks


def _place_of(name: str, palette: Palette) -> int:
    return crc32(name.encode(), _SEED) % len(palette.series)


def _apart(own: Mapping[str, int]) -> dict[str, int]:
    """Return the places of names, of which none shares a colour, or a family, where it need not.

    As many as can keep their own. The others take the next that is free behind it.
    """
    places: dict[str, int] = {}
    families: set[str] = set()
    for name, place in own.items():
        if FAMILIES[place] not in families:
            places[name] = place
            families.add(FAMILIES[place])
    for name, place in own.items():
        if name in places:
            continue
        behind = [(place + step) % len(FAMILIES) for step in range(len(FAMILIES))]
        free = [one for one in behind if one not in places.values()]
        unlike = [one for one in free if FAMILIES[one] not in families]
        places[name] = next(iter((*unlike, *free)), place)
        families.add(FAMILIES[places[name]])
    return places
