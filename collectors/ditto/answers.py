"""What Ditto's connectivity API answers, checked and cut to what is kept.

A connection's configuration holds credentials: in its URI, its SSH tunnel, its specific
configuration. Only what is named here is ever looked at, and the texts in which Ditto explains
a status lose everything that looks like a credential.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from collectors.source.excerpt import excerpt

FIELDS = "id,name,connectionType,connectionStatus,clientCount,sources,specificConfig/groupId"
"""What is asked for of a connection: never its URI."""

_KAFKA_TYPES = frozenset({"kafka", "hono"})
_FAILED = frozenset({"failed", "misconfigured"})
_DETAIL_LENGTH = 256
_ADDRESS = re.compile(r"://\S*")
_CREDENTIALS = re.compile(
    r"((?:password|passwd|pwd|secret|token|key|credentials?|authorization)"
    r"\s*[=:]\s*)(\"[^\"]*\"|'[^']*'|(?:basic|bearer)\s+\S+|\S+)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What a connection was configured to do.

    Attributes:
        name: Its name; None where it has none.
        type: kafka, hono, amqp-10, mqtt …
        consumers: Consumers of all its clients: for each address of each source ``consumerCount``.
        group: The consumer group of a connection that reads from Kafka: its id where none is
            configured; None for any other.
        topics: What such a connection reads; None where the addresses are no topics.
        qos: The smallest of its sources; with 0 an offset is committed whatever became of the
            message.
    """

    connection: str
    name: str | None
    type: str | None
    desired_status: str | None
    clients: int
    consumers: int
    group: str | None
    topics: tuple[str, ...] | None
    qos: int | None


def connection(value: Any) -> Connection | None:
    """Return a connection; None where the value is none."""
    if not isinstance(value, Mapping) or not isinstance(value.get("id"), str):
        return None
    sources = [source for source in _list(value.get("sources")) if isinstance(source, Mapping)]
    clients = _count(value.get("clientCount"))
    addresses = [address for source in sources for address in _texts(source.get("addresses"))]
    per_client = sum(
        _count(source.get("consumerCount")) * len(_texts(source.get("addresses")))
        for source in sources
    )
    levels = [source["qos"] for source in sources if isinstance(source.get("qos"), int)]
    type_ = _text(value.get("connectionType"))
    specific = value.get("specificConfig")
    group = _text(specific.get("groupId")) if isinstance(specific, Mapping) else None
    reads_kafka = type_ in _KAFKA_TYPES and bool(addresses)
    return Connection(
        connection=value["id"],
        name=_text(value.get("name")),
        type=type_,
        desired_status=_text(value.get("connectionStatus")),
        clients=clients,
        consumers=clients * per_client,
        group=(group or value["id"]) if reads_kafka else None,
        topics=tuple(sorted(set(addresses))) if type_ == "kafka" and addresses else None,
        qos=min(levels) if levels else None,
    )


def status_row(value: Any) -> dict[str, Any]:
    """Return the columns that an answer to ``…/status`` fills."""
    if not isinstance(value, Mapping):
        return {}
    parts = [
        part
        for name in ("clientStatus", "sourceStatus", "targetStatus", "sshTunnelStatus")
        for part in _list(value.get(name))
        if isinstance(part, Mapping)
    ]
    clients = [part for part in _list(value.get("clientStatus")) if isinstance(part, Mapping)]
    details = [
        f"{part.get('type', 'part')} {_text(part.get('address')) or ''}".strip()
        + f": {_text(part.get('statusDetails')) or part.get('status')}"
        for part in parts
        if part.get("status") in _FAILED
    ]
    return {
        "live_status": _text(value.get("liveStatus")),
        "recovery_status": _text(value.get("recoveryStatus")),
        "connected_since": _moment(value.get("connectedSince")),
        "clients_open": sum(part.get("status") == "open" for part in clients) if clients else None,
        "sources_failed": _failed(value.get("sourceStatus")),
        "targets_failed": _failed(value.get("targetStatus")),
        "status_details": redacted("; ".join(dict.fromkeys(details)))[:_DETAIL_LENGTH] or None,
    }


def metrics_row(value: Any) -> dict[str, int | None]:
    """Return the columns that an answer to ``…/metrics`` fills.

    Each is of the last minute (``PT1M``), a window that moves: samples of it are never added up.
    """
    whole = value.get("connectionMetrics") if isinstance(value, Mapping) else None
    whole = whole if isinstance(whole, Mapping) else {}
    inbound, outbound = whole.get("inbound"), whole.get("outbound")
    failed = [
        _minute(direction, name, "failure")
        for direction in (inbound, outbound)
        if isinstance(direction, Mapping)
        for name in direction
    ]
    dropped = [_minute(direction, "dropped", "success") for direction in (inbound, outbound)]
    return {
        "consumed_minute": _minute(inbound, "consumed", "success"),
        "published_minute": _minute(outbound, "published", "success"),
        "dropped_minute": _sum(dropped),
        "failed_minute": _sum(failed),
    }


def redacted(text: str) -> str:
    """Return a text, or an excerpt of a long one, without what looks like a credential."""
    return _CREDENTIALS.sub(r"\1***", _ADDRESS.sub(_without_user, excerpt(text)))


def _without_user(address: re.Match[str]) -> str:
    _, user_info, rest = address[0].rpartition("@")
    return f"://***@{rest}" if user_info else rest


def _minute(direction: Any, name: str, outcome: str) -> int | None:
    value = direction
    for key in (name, outcome, "PT1M"):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _sum(values: Sequence[int | None]) -> int | None:
    """Return a sum; None where none of it is known."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _failed(parts: Any) -> int | None:
    """Return how many addresses have failed, on any client; None where Ditto does not say."""
    if not isinstance(parts, list):
        return None
    return len(
        {
            _text(part.get("address"))
            for part in parts
            if isinstance(part, Mapping) and part.get("status") in _FAILED
        }
    )


def _moment(value: Any) -> datetime | None:
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(value: Any) -> list[str]:
    return [text for text in _list(value) if isinstance(text, str)]


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def _count(value: Any) -> int:
    """Return a count; Ditto leaves out those that are 1."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1
