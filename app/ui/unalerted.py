"""How a row of a list looks that no alert tells of."""

from __future__ import annotations

from app.style.theme import BadgeStyle

UNALERTED = BadgeStyle(
    word="no alert",
    symbol="○",
    icon=":material/notifications_off:",
    colour="gray",
    meaning="No rule alerts on that, or not yet.",
)
