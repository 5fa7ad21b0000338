"""What the management API answers, understood: any field may be missing or of another type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from collectors.errors import ProtocolError
from collectors.rabbitmq.topology import Binding, Exchange, Queue

QUEUE_COLUMNS = ",".join(
    (
        *("name", "type", "state", "node", "leader", "arguments", "policy", "operator_policy"),
        *("effective_policy_definition", "messages", "messages_ready", "messages_unacknowledged"),
        *("message_bytes", "memory", "consumers", "consumer_capacity", "consumer_utilisation"),
        *("head_message_timestamp", "message_stats"),
    )
)
"""Asked for by name: without names, RabbitMQ 4 leaves most of them out."""

OVERVIEW_COLUMNS = "rabbitmq_version,product_version,cluster_name,rates_mode,disable_stats"
EXCHANGE_COLUMNS = "name,type,arguments,policy"
BINDING_COLUMNS = "source,destination,destination_type,routing_key"

# From RabbitMQ 4.0, for quorum queues that name none.
_DEFAULT_DELIVERY_LIMIT = 20
_NO_LIMIT = 2**31 - 1
_RATES = {
    "publish_per_second": "publish",
    "deliver_per_second": "deliver_get",
    "ack_per_second": "ack",
    "redeliver_per_second": "redeliver",
}

NO_STATISTICS = "RabbitMQ has no statistics of it yet"
NO_RATES = "message rates are switched off (rates_mode, disable_metrics_collector)"
A_STREAM = "a stream keeps what was read: it has no backlog"


@dataclass(frozen=True, slots=True)
class Overview:
    """What the server says of itself.

    Attributes:
        version: Of RabbitMQ, for example ``3.10.8``.
        rates_mode: ``none``, ``basic`` or ``detailed``.
        has_statistics: Whether it collects statistics at all; without, it tells nothing but depths.
    """

    version: str
    cluster: str
    rates_mode: str
    has_statistics: bool

    @property
    def has_rates(self) -> bool:
        """Whether it counts messages."""
        return self.has_statistics and self.rates_mode != "none"

    @property
    def major(self) -> int:
        """The first number of the version."""
        first = self.version.partition(".")[0]
        return int(first) if first.isdigit() else 0


def read_overview(answer: Any) -> Overview:
    """Understand ``/api/overview``."""
    found = _mapping(answer)
    version = text(found.get("rabbitmq_version")) or text(found.get("product_version"))
    if version is None:
        raise ProtocolError("this is not RabbitMQ's management API: check url")
    return Overview(
        version,
        text(found.get("cluster_name")) or "",
        text(found.get("rates_mode")) or "basic",
        found.get("disable_stats") is not True,
    )


@dataclass(frozen=True, slots=True)
class QueueAnswer:
    """One queue as it was answered, with the rules' view of it."""

    fields: Mapping[str, Any]
    queue: Queue

    @property
    def type(self) -> str | None:
        """classic, quorum, stream, or a plugin's."""
        declared = self.queue.arguments.get("x-queue-type", "classic")
        return text(self.fields.get("type")) or text(declared)

    @property
    def depth(self) -> int | None:
        """Messages that wait or are with a consumer; None for a stream and where it is unknown."""
        if self.type == "stream":
            return None
        ready, taken = self.ready, self.unacknowledged
        return None if ready is None or taken is None else ready + taken

    @property
    def ready(self) -> int | None:
        """Messages that wait; None for a stream and where it is unknown."""
        return None if self.type == "stream" else whole(self.fields.get("messages_ready"))

    @property
    def unacknowledged(self) -> int | None:
        """Messages that are with a consumer; None for a stream and where it is unknown."""
        return None if self.type == "stream" else whole(self.fields.get("messages_unacknowledged"))

    @property
    def oldest_at(self) -> datetime | None:
        """The timestamp that the publisher gave the first message; None without one."""
        seconds = whole(self.fields.get("head_message_timestamp"))
        try:
            return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
        except (ValueError, OverflowError, OSError):  # milliseconds, written by mistake
            return None

    @property
    def unknown_reason(self) -> str | None:
        """Why its figures are unknown."""
        if self.type == "stream":
            return A_STREAM
        if self.depth is not None:
            return None
        state = text(self.fields.get("state"))
        if state in (None, "running", "live", "idle", "flow"):
            return NO_STATISTICS
        return f"its state is {state}"

    def rates(self, overview: Overview) -> dict[str, float | None]:
        """Return messages per second by column.

        A counter that is missing was never needed: RabbitMQ makes it at the first such event since
        the node's statistics began. So it is 0 where there are statistics of the queue, and unknown
        where there are none.
        """
        if not overview.has_rates or whole(self.fields.get("messages_ready")) is None:
            return dict.fromkeys(_RATES)
        stats = _mapping(self.fields.get("message_stats"))
        return {
            column: number(_mapping(stats.get(f"{counter}_details")).get("rate"))
            if counter in stats
            else 0.0
            for column, counter in _RATES.items()
        }

    def time_to_live_seconds(self) -> float | None:
        """Return after how long a message dies: the shorter of argument and policy."""
        found = self._limits("message-ttl")
        return min(found) / 1000 if found else None

    def delivery_limit(self, overview: Overview) -> int | None:
        """Return how often a quorum queue delivers a message; None without a limit."""
        if self.type != "quorum":
            return None
        found = self._limits("delivery-limit")
        if not found:
            return _DEFAULT_DELIVERY_LIMIT if overview.major >= 4 else None
        return min(found) if 0 <= min(found) < _NO_LIMIT else None

    def _limits(self, key: str) -> list[int]:
        values = (self.queue.arguments.get(f"x-{key}"), self.queue.policy.get(key))
        return [limit for value in values if (limit := whole(value)) is not None]


def read_queue(answer: Any, overview: Overview) -> QueueAnswer:
    """Understand one item of ``/api/queues``."""
    fields = _mapping(answer)
    name = fields.get("name")
    if not isinstance(name, str):
        raise ProtocolError("a queue without a name was answered")
    queue = Queue(
        name,
        _mapping(fields.get("arguments")),
        _mapping(fields.get("effective_policy_definition")),
        _is_consumed(fields, overview),
    )
    return QueueAnswer(fields, queue)


def _is_consumed(fields: Mapping[str, Any], overview: Overview) -> bool | None:
    consumers = whole(fields.get("consumers"))
    if consumers or "deliver_get" in _mapping(fields.get("message_stats")):
        return True
    return False if consumers == 0 and overview.has_rates else None


def read_exchange(answer: Any) -> Exchange | None:
    """Understand one item of ``/api/exchanges``; None where it has no name or type."""
    fields = _mapping(answer)
    name, type_ = fields.get("name"), fields.get("type")
    if not isinstance(name, str) or not isinstance(type_, str):
        return None
    return Exchange(name, type_, _mapping(fields.get("arguments")), text(fields.get("policy")))


def read_binding(answer: Any) -> Binding | None:
    """Understand one item of ``/api/bindings``; None where a part is missing."""
    fields = _mapping(answer)
    parts = [fields.get(key) for key in ("source", "destination", "routing_key")]
    source, destination, key = parts
    if isinstance(source, str) and isinstance(destination, str) and isinstance(key, str):
        return Binding(source, destination, fields.get("destination_type") == "exchange", key)
    return None


def _mapping(value: Any) -> Mapping[str, Any]:
    # Erlang's empty list of properties may come out as [].
    return value if isinstance(value, dict) else {}


def text(value: Any) -> str | None:
    """Return a text that is not empty."""
    return value if isinstance(value, str) and value else None


def whole(value: Any) -> int | None:
    """Return a whole number."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: Any) -> float | None:
    """Return a number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value)
