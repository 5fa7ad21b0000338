"""A broker's card, prepared for its page: pure functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape
from typing import Any

from alerting.status.phrases import time_left
from app.style.format import count, duration, exact, rate, size
from config.visible import visible

_ROW = (
    "<dt style='opacity:.75;margin:0;padding:0'>{}</dt>"
    "<dd style='margin:0;padding:0;overflow-wrap:anywhere'>{}</dd>"
)
_LIST = (
    "<dl style='display:grid;grid-template-columns:max-content 1fr;gap:.15rem 1rem;"
    "margin:0;padding:0;font-size:.875rem;line-height:1.35'>{}</dl>"
)


def html(rows: Sequence[tuple[str, str]]) -> str:
    """Write labels and their values below each other, as a list that a screen reader tells."""
    shown = (_ROW.format(escape(label), escape(visible(said))) for label, said in rows)
    return _LIST.format("".join(shown))


def rows(
    broker: Mapping[str, Any], led_by: Mapping[int, float | None], now: datetime
) -> list[tuple[str, str]]:
    """Return what a card says of a row of ``broker_status``: labels and values.

    Args:
        broker: The row.
        led_by: Messages a second that arrive in what each broker leads; empty: not shown.
        now: The present.
    """
    is_missing = broker["is_alive"] is False
    replicas = exact(broker["replicas"])
    free = broker["disk_free_bytes"]
    # A broker that leads nothing is not among them.
    led = led_by.get(broker["broker_id"], 0.0 if broker["leaders"] == 0 else None)
    return [
        ("leads", _partitions(broker["leaders"])),
        # The same lines on all cards: what is below them stands at one height.
        *([("messages in", "unknown" if led is None else f"{rate(led)}, led")] if led_by else []),
        ("replicas", f"{replicas}, out of reach" if is_missing else replicas),
        ("logs", size(broker["log_bytes"]) + (f", {size(free)} free" if free is not None else "")),
        ("address", f"{broker['host'] or 'host unknown'}:{broker['port'] or '?'}"),
        ("rack", broker["rack"] or "not set"),
        *facts(broker, now),
    ]


def _partitions(leaders: int | None) -> str:
    return exact(None) if leaders is None else count(leaders, "partition")


def disk_full(broker: Mapping[str, Any]) -> float | None:
    """Return how full the disks of a broker are, as a ratio; None: it does not tell."""
    total, free = broker["disk_total_bytes"], broker["disk_free_bytes"]
    return min(max(1.0 - free / total, 0.0), 1.0) if total and free is not None else None


_MOST_ABREAST = 4


def cards_abreast(number: int) -> int:
    """Return how many cards stand in a row, so that rows are as full as they can be.

    Args:
        number: How many cards there are.
    """
    if number <= _MOST_ABREAST:
        return max(1, number)
    return min((_MOST_ABREAST, _MOST_ABREAST - 1), key=lambda abreast: -number % abreast)


def facts(broker: Mapping[str, Any], now: datetime) -> list[tuple[str, str]]:
    """Return what else is worth a line on a broker's card."""
    found = []
    if broker["version"]:
        found.append(("Kafka", broker["version"]))
    if broker["registration"] == "fenced":
        found.append(("registered", "but fenced: down, or not ready yet"))
    elif broker["registration"] == "none":
        found.append(("registered", "no: it was taken out of the cluster"))
    if broker["throttled_seconds"]:
        waited = duration(broker["throttled_seconds"])
        found.append(("quota", f"made the collector wait {waited}"))
    expires_at = broker["certificate_expires_at"]
    if expires_at is not None:
        left = (expires_at - now).total_seconds()
        found.append(("certificate", f"expires {time_left(left)}" if left > 0 else "has expired"))
    return found
