"""Colours for both themes, and the words, symbols and colours of every status."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Badge = Literal["red", "orange", "yellow", "blue", "green", "violet", "gray"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Palette:
    """What a figure needs to know of the theme that it is drawn on.

    Attributes:
        series: Colours of names, such as groups: none is near one that means something.
        first: What arrives, and lines and bars that are of no name.
        second: What is consumed, and what stands beside the first.
        quiet: Colour of ticks, grids' labels and event marks that are no alarm.
        ground: What lies behind a label that would else touch a line.
        heat: Scale of a heatmap from nothing to most; its lower end is neutral, and none of it
            is the red of what is to be acted on.
    """

    series: tuple[str, ...]
    first: str
    second: str
    others: str
    text: str
    quiet: str
    grid: str
    ground: str
    watch: str
    act: str
    heat: tuple[tuple[float, str], ...]


LIGHT = Palette(
    series=(
        *("#7a35d0", "#1f7a2e", "#cf2fb0", "#1a9ad6", "#7d4a26"),
        *("#7f9a00", "#16306e", "#b070d0", "#5e1050"),
    ),
    first="#2f5fd0",
    second="#0f9d86",
    others="#8893a3",
    text="#1d2530",
    quiet="#5d6877",
    grid="#e7eaef",
    ground="rgba(255,255,255,0.75)",
    watch="#b26a00",
    act="#c0303c",
    heat=((0.0, "#eef1f5"), (0.35, "#f6dfb4"), (0.7, "#d08a3c"), (1.0, "#5f2f12")),
)
DARK = Palette(
    series=(
        *("#9d63f5", "#3fae4e", "#ff62d6", "#7fe0ff", "#b07a52"),
        *("#cfe04a", "#fff3d6", "#e6b3fa", "#b0508c"),
    ),
    first="#6d97f2",
    second="#2dbfa6",
    others="#7b8696",
    text="#e7ebf0",
    quiet="#9aa5b4",
    grid="#252c36",
    ground="rgba(15,19,24,0.75)",
    watch="#e5a54b",
    act="#ff6b66",
    heat=((0.0, "#1c222b"), (0.35, "#5a4a2c"), (0.7, "#c0823a"), (1.0, "#ffe0b0")),
)


def palette(theme: str | None) -> Palette:
    """Return the palette of a theme; the light one where the browser has not said yet."""
    return DARK if theme == "dark" else LIGHT


@dataclass(frozen=True, slots=True, kw_only=True)
class BadgeStyle:
    """How a status is written: never by its colour alone."""

    word: str
    symbol: str
    icon: str
    colour: Badge
    meaning: str

    @property
    def label(self) -> str:
        """The word with its symbol, as it stands in a table."""
        return f"{self.symbol} {self.word}"


OK = BadgeStyle(
    word="OK", symbol="✓", icon=":material/check:", colour="gray", meaning="Nothing to do."
)
WATCH = BadgeStyle(
    word="watch",
    symbol="▲",
    icon=":material/visibility:",
    colour="orange",
    meaning="It may become a problem.",
)
URGENT = BadgeStyle(
    word="act now",
    symbol="●",
    icon=":material/error:",
    colour="red",
    meaning="Something is lost or stands still, or soon will.",
)
UNSURE = BadgeStyle(
    word="unknown",
    symbol="?",
    icon=":material/help:",
    colour="violet",
    meaning="It could not be found out; that is no good sign and no bad one.",
)
