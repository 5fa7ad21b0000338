"""What Ditto's connectivity API answers, checked and cut to what is kept.

A connection's configuration holds credentials: in its URI, its SSH tunnel, its specific
configuration. Only what is named here is ever looked at, and the texts in which Ditto explains
a status lose everything that looks like a credential.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from collectors.source.answer import LARGEST_INT, LARGEST_LONG, Fields
from collectors.source.redaction import redact

FIELDS = "id,name,connectionType,connectionStatus,clientCount,sources,specificConfig/groupId"
"""What is asked for of a connection: never its URI."""

_KAFKA_TYPES = frozenset({"kafka", "hono"})
_FAILED = frozenset({"failed", "misconfigured"})
_PARTS = ("clientStatus", "sourceStatus", "targetStatus", "sshTunnelStatus")
_DETAIL_LENGTH = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """What a connection was configured to do.

    Attributes:
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
    clients: int | None
    consumers: int | None
    group: str | None
    topics: tuple[str, ...] | None
    qos: int | None


def connection(value: Fields) -> Connection | None:
    """Return a connection; None where the value has no id."""
    id_ = value.name("id")
    if id_ is None:
        value.note("id")
        return None
    sources = value.objects("sources") or []
    clients = _count(value, "clientCount")
    addresses = [source.texts("addresses") for source in sources]
    per_client = [
        _count(source, "consumerCount")
        for source, listed in zip(sources, addresses, strict=True)
        for _ in listed
    ]
    consumers = None
    if clients is not None and None not in per_client:
        consumers = clients * sum(count for count in per_client if count is not None)
    levels = [level for source in sources if (level := source.whole("qos", largest=2)) is not None]
    type_ = value.text("connectionType")
    group = value.fields("specificConfig").name("groupId")
    names = sorted({address for listed in addresses for address in listed})
    reads_kafka = type_ in _KAFKA_TYPES and bool(names)
    return Connection(
        connection=id_,
        name=value.text("name"),
        type=type_,
        desired_status=value.text("connectionStatus"),
        clients=clients,
        consumers=consumers if consumers is None or consumers <= LARGEST_INT else None,
        group=(group or id_) if reads_kafka else None,
        topics=tuple(names) if type_ == "kafka" and names else None,
        qos=min(levels) if levels else None,
    )


def status_row(value: Fields) -> dict[str, Any]:
    """Return the columns that an answer to ``…/status`` fills."""
    parts = {name: value.objects(name) for name in _PARTS}
    details = [
        f"{part.text('type') or 'part'} {part.text('address') or ''}".strip()
        + f": {part.text('statusDetails') or part.text('status')}"
        for listed in parts.values()
        for part in listed or ()
        if part.text("status") in _FAILED
    ]
    clients = parts["clientStatus"]
    return {
        "live_status": value.text("liveStatus"),
        "recovery_status": value.text("recoveryStatus"),
        "connected_since": _moment(value),
        "clients_open": sum(part.text("status") == "open" for part in clients) if clients else None,
        "sources_failed": _failed(parts["sourceStatus"]),
        "targets_failed": _failed(parts["targetStatus"]),
        "status_details": redact("; ".join(dict.fromkeys(details)))[:_DETAIL_LENGTH] or None,
    }


def metrics_row(value: Fields) -> dict[str, int | None]:
    """Return the columns that an answer to ``…/metrics`` fills.

    Each is of the last minute (``PT1M``), a window that moves: samples of it are never added up.
    """
    whole = value.fields("connectionMetrics")
    inbound, outbound = whole.fields("inbound"), whole.fields("outbound")
    failed = [
        _minute(direction, name, "failure")
        for direction in (inbound, outbound)
        for name, _ in direction.items()
    ]
    dropped = [_minute(direction, "dropped", "success") for direction in (inbound, outbound)]
    return {
        "consumed_minute": _minute(inbound, "consumed", "success"),
        "published_minute": _minute(outbound, "published", "success"),
        "dropped_minute": _sum(dropped),
        "failed_minute": _sum(failed),
    }


def _minute(direction: Fields, name: str, outcome: str) -> int | None:
    return direction.fields(name).fields(outcome).whole("PT1M")


def _sum(values: Sequence[int | None]) -> int | None:
    """Return a sum; None where none of it is known, or it is larger than any count."""
    known = [value for value in values if value is not None]
    return sum(known) if known and sum(known) <= LARGEST_LONG else None


def _failed(parts: Sequence[Fields] | None) -> int | None:
    """Return how many addresses have failed, on any client; None where Ditto does not say."""
    if parts is None:
        return None
    return len({part.text("address") for part in parts if part.text("status") in _FAILED})


def _moment(value: Fields) -> datetime | None:
    text = value.text("connectedSince")
    try:
        moment = datetime.fromisoformat(text) if text else None
        if moment is None:
            return None
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # before the year 1 in UTC
        value.note("connectedSince")
        return None


def _count(value: Fields, key: str) -> int | None:
    """Return a count; Ditto leaves out those that are 1."""
    if key not in value:
        return 1
    return value.whole(key, smallest=1, largest=LARGEST_INT)
