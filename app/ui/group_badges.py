"""How the status of a group looks, and which groups go together in a list."""

from __future__ import annotations

from alerting.status.model import Status
from app.style.theme import BadgeStyle

BADGE_STYLES: dict[Status, BadgeStyle] = {
    Status.LOSING_DATA: BadgeStyle(
        "losing data",
        "✖",
        ":material/delete_forever:",
        "red",
        "Retention deleted messages before the group read them.",
    ),
    Status.STOPPED: BadgeStyle(
        "stopped",
        "■",
        ":material/stop_circle:",
        "red",
        "Messages wait and the group has no member.",
    ),
    Status.STALLED: BadgeStyle(
        "stalled",
        "●",
        ":material/front_hand:",
        "red",
        "Messages wait on a partition whose commits stand still.",
    ),
    Status.REWOUND: BadgeStyle(
        "rewound",
        "↶",
        ":material/replay:",
        "orange",
        "Committed offsets went backwards: messages are read again.",
    ),
    Status.FALLING_BEHIND: BadgeStyle(
        "falling behind",
        "▲",
        ":material/trending_up:",
        "orange",
        "More arrives than is consumed.",
    ),
    Status.UNKNOWN: BadgeStyle(
        "unknown",
        "?",
        ":material/help:",
        "violet",
        "The lag could not be found out; it may be fine or not.",
    ),
    Status.CATCHING_UP: BadgeStyle(
        "catching up",
        "▼",
        ":material/trending_down:",
        "blue",
        "A backlog is being worked off.",
    ),
    Status.OK: BadgeStyle(
        "OK",
        "✓",
        ":material/check:",
        "gray",
        "The group keeps up.",
    ),
}
"""Every status of a group, worst first."""
