"""How the status of a group looks, and which groups go together in a list."""

from __future__ import annotations

from alerting.status.model import Status
from app.style.theme import BadgeStyle

BADGE_STYLES: dict[Status, BadgeStyle] = {
    Status.LOSING_DATA: BadgeStyle(
        word="losing data",
        symbol="✖",
        icon=":material/delete_forever:",
        colour="red",
        meaning="Retention deleted messages before the group read them.",
    ),
    Status.STOPPED: BadgeStyle(
        word="stopped",
        symbol="■",
        icon=":material/stop_circle:",
        colour="red",
        meaning="Messages wait and the group has no member.",
    ),
    Status.STALLED: BadgeStyle(
        word="stalled",
        symbol="●",
        icon=":material/front_hand:",
        colour="red",
        meaning="Messages wait on a partition whose commits stand still.",
    ),
    Status.REWOUND: BadgeStyle(
        word="rewound",
        symbol="↶",
        icon=":material/replay:",
        colour="orange",
        meaning="Committed offsets went backwards: messages are read again.",
    ),
    Status.FALLING_BEHIND: BadgeStyle(
        word="falling behind",
        symbol="▲",
        icon=":material/trending_up:",
        colour="orange",
        meaning="More arrives than is consumed.",
    ),
    Status.UNKNOWN: BadgeStyle(
        word="unknown",
        symbol="?",
        icon=":material/help:",
        colour="violet",
        meaning="The lag could not be found out; it may be fine or not.",
    ),
    Status.NO_MEMBERS: BadgeStyle(
        word="no members",
        symbol="○",
        icon=":material/person_off:",
        colour="gray",
        meaning="Messages wait and its members just left, as in a restart.",
    ),
    Status.CATCHING_UP: BadgeStyle(
        word="catching up",
        symbol="▼",
        icon=":material/trending_down:",
        colour="blue",
        meaning="A backlog is being worked off.",
    ),
    Status.OK: BadgeStyle(
        word="OK",
        symbol="✓",
        icon=":material/check:",
        colour="gray",
        meaning="The group is on time, or nothing waits.",
    ),
}
"""Every status of a group, worst first."""
