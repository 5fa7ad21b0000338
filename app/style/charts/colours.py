"""Which line has which colour: a name keeps its own, and no two lines of a chart are alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd
from zlib import crc32

from app.style.theme import Palette


def colours_of(
    names: Sequence[str], palette: Palette, kept: Mapping[str, int] | None = None
) -> dict[str, str]:
    """Return the colour of each name; see ``places_of``."""
    places = places_of(names, len(palette.series), kept)
    return {name: palette.series[place] for name, place in places.items()}


def places_of(
    names: Sequence[str], total: int, kept: Mapping[str, int] | None = None
) -> dict[str, int]:
    """Give each name the place of its colour, which is the same in each palette.

    It is the place that the name has already, or else follows from the name alone. Where two names
    of a chart would have the same one, who had it first keeps it, or else the earlier by name; the
    other takes the next in an order of its own that none of the others has, rather one that nobody
    had. So no two lines of a chart are alike, up to as many as there are colours.

    What cannot hold with few colours: names that are never beside each other may share one.

    Args:
        names: What is drawn in one chart.
        total: How many colours there are.
        kept: The places that names have already, those that had theirs first before the others.
    """
    kept, found = kept or {}, dict[str, int]()
    for name, place in kept.items():
        if name in names and place not in found.values():
            found[name] = place
    others = sorted(name for name in names if name not in found)
    for name in others:
        own = _preferred(name, total)[0]
        if own not in found.values() and own not in kept.values():
            found[name] = own
    for name in others:
        if name not in found:
            wished = _preferred(name, total)
            free = [place for place in wished if place not in found.values()]
            new = [place for place in free if place not in kept.values()]
            found[name] = (new or free or wished)[0]
    return found


def _preferred(name: str, total: int) -> list[int]:
    """Return all places in a name's order."""
    digest = crc32(name.encode())
    steps = [step for step in range(1, total) if gcd(step, total) == 1]
    step = steps[digest // total % len(steps)]
    return [(digest + place * step) % total for place in range(total)]
