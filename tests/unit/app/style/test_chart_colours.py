"""Colours of charts: apart from each other, from those of a severity, and from the ground."""

from __future__ import annotations

from itertools import combinations
from math import dist

import pytest

from app.style.theme import DARK, LIGHT, Palette


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours, from their lightness in CIELAB."""
    light, dark = sorted((((lab(each)[0] + 16) / 116) ** 3 for each in (one, other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def lab(colour: str) -> tuple[float, float, float]:
    """Return a colour as CIELAB."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts
    )
    x, y, z = (
        one ** (1 / 3) if one > 0.008856 else 7.787 * one + 16 / 116
        for one in (
            (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047,
            0.2126 * red + 0.7152 * green + 0.0722 * blue,
            (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883,
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.mark.parametrize("palette", [LIGHT, DARK], ids=["light", "dark"])
def test_lines_and_heat_have_no_colour_of_a_severity(palette: Palette) -> None:
    """In CIELAB, where 2 can just be told apart: 25 away at least, and lines 30 from each other."""
    severities = {palette.act, palette.watch}
    lines = (*palette.series, palette.first, palette.second, palette.others)
    for one in (*lines, palette.heat[-1][1]):
        assert all(dist(lab(one), lab(other)) >= 25 for other in severities), one
    assert dist(*map(lab, severities)) >= 25
    pairs = combinations(map(lab, lines), 2)
    assert min(dist(one, other) for one, other in pairs) >= 30


@pytest.mark.parametrize(
    ("palette", "ground"), [(LIGHT, "#ffffff"), (DARK, "#0f1318")], ids=["light", "dark"]
)
def test_lines_and_words_stand_out_from_the_ground(palette: Palette, ground: str) -> None:
    """As WCAG 2.2 asks for: 3 to 1 of what is drawn (1.4.11), 4.5 to 1 of words (1.4.3)."""
    meant = (palette.first, palette.second, palette.others, palette.watch, palette.act)
    drawn = (*palette.series, *meant)
    assert min(contrast(one, ground) for one in drawn) >= 3
    assert min(contrast(one, ground) for one in (palette.quiet, palette.text)) >= 4.5
