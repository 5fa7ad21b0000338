"""What rows of ``cluster_events`` say, one phrase for each event: pages, files, notifications."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

BROKER_MISSING, BROKER_BACK = "broker missing", "broker back"
CONTROLLER_CHANGED = "controller changed"
ISR_SHRUNK, ISR_EXPANDED, LEADERS_MOVED = "isr shrunk", "isr expanded", "leaders moved"

_PHRASES: Mapping[str, str] = {
    BROKER_MISSING: "broker {subject} is missing",
    BROKER_BACK: "broker {subject} is back",
    "broker added": "broker {subject} added",
    "broker unregistered": "broker {subject} unregistered",
    CONTROLLER_CHANGED: "controller moved to {after}",
    "quorum voters changed": "quorum voters: {before} → {after}",
    LEADERS_MOVED: "leaders moved: {before} → {after}",
    ISR_SHRUNK: "broker {subject} out of sync",
    ISR_EXPANDED: "broker {subject} in sync",
    "unclean election": "unclean election: {subject}",
    "log truncated": "log truncated: {subject}",
    "topic created": "topic {subject} appeared",
    "topic deleted": "topic {subject} disappeared",
    "topic recreated": "topic {subject} created anew",
    "partitions added": "{subject}: {before} → {after}",
    "deploy": "deploy {subject}",
}
"""By kind, columns in braces. Labels of marks hold some twenty letters: the subject comes early."""


def event_phrase(row: Mapping[str, Any]) -> str:
    """Say in a few words what happened, with the name of what it happened to.

    Args:
        row: kind, subject, before and after of a row of ``cluster_events``.
    """
    known = _PHRASES.get(row["kind"])
    if known is not None:
        return known.format_map(row)
    return f"{row['kind']}: {row['subject']}" if row["subject"] else str(row["kind"])


def missing_broker(number: int) -> str:
    """Return the phrase of a broker that is missing, as the begin of a sentence."""
    said = _PHRASES[BROKER_MISSING].format(subject=number)
    return f"{said[0].upper()}{said[1:]}"
