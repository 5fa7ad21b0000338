"""What the management API answers, understood: any field may be missing or of another type."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from collectors.errors import ProtocolError
from collectors.rabbitmq.topology import Binding, Exchange, Queue
from collectors.source.answer import LARGEST_INT, LARGEST_LONG, Fields, Odd

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What the server says of itself.

    Attributes:
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


def read_overview(answer: Any, odd: Odd) -> Overview:
    """Understand ``/api/overview``."""
    found = Fields(answer, odd, "overview")
    version = found.text("rabbitmq_version") or found.text("product_version")
    if version is None:
        raise ProtocolError("this is not RabbitMQ's management API: check url")
    return Overview(
        version=version,
        cluster=found.text("cluster_name") or "",
        rates_mode=found.text("rates_mode") or "basic",
        has_statistics=dict(found.items()).get("disable_stats") is not True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueAnswer:
    """One queue as it was answered, with the rules' view of it."""

    fields: Fields
    queue: Queue

    @property
    def type(self) -> str | None:
        """classic, quorum, stream, or a plugin's."""
        arguments = self.fields.fields("arguments")
        return self.fields.text("type") or arguments.text("x-queue-type") or "classic"

    @property
    def depth(self) -> int | None:
        """Messages that wait or are with a consumer; None for a stream and where it is unknown."""
        ready, taken = self.ready, self.unacknowledged
        total = None if ready is None or taken is None else ready + taken
        return None if total is None or total > LARGEST_LONG else total

    @property
    def ready(self) -> int | None:
        """Messages that wait; None for a stream and where it is unknown."""
        return None if self.type == "stream" else self.fields.whole("messages_ready")

    @property
    def unacknowledged(self) -> int | None:
        """Messages that are with a consumer; None for a stream and where it is unknown."""
        return None if self.type == "stream" else self.fields.whole("messages_unacknowledged")

    @property
    def oldest_at(self) -> datetime | None:
        """The timestamp that the publisher gave the first message; None without one."""
        seconds = self.fields.whole("head_message_timestamp")
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
        state = self.fields.text("state")
        if state in (None, "running", "live", "idle", "flow"):
            return NO_STATISTICS
        return f"its state is {state}"

    def rates(self, overview: Overview) -> dict[str, float | None]:
        """Return messages per second by column.

        A counter that is missing was never needed: RabbitMQ makes it at the first such event since
        the node's statistics began. So it is 0 where there are statistics of the queue, and unknown
        where there are none.
        """
        stats = self.fields.fields("message_stats")
        is_odd = "message_stats" in self.fields and not stats.is_known
        if not overview.has_rates or is_odd or self.fields.whole("messages_ready") is None:
            return dict.fromkeys(_RATES)
        return {
            column: stats.fields(f"{counter}_details").number("rate") if counter in stats else 0.0
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
        arguments = self.fields.fields("arguments")
        policy = self.fields.fields("effective_policy_definition")
        values = (arguments.whole(f"x-{key}", smallest=-1), policy.whole(key, smallest=-1))
        return [limit for limit in values if limit is not None]


def read_queue(fields: Fields, overview: Overview) -> QueueAnswer | None:
    """Understand one item of ``/api/queues``; None where it has no name."""
    name = fields.name("name")
    if name is None:
        fields.note("name")
        return None
    arguments = fields.fields("arguments")
    policy = fields.fields("effective_policy_definition")
    for key in ("dead-letter-exchange", "dead-letter-routing-key"):
        arguments.name(f"x-{key}")
        policy.name(key)
    queue = Queue(
        name=name,
        arguments=dict(arguments.items()),
        policy=dict(policy.items()),
        is_consumed=_is_consumed(fields, overview),
    )
    return QueueAnswer(fields=fields, queue=queue)


def _is_consumed(fields: Fields, overview: Overview) -> bool | None:
    consumers = fields.whole("consumers", largest=LARGEST_INT)
    if consumers or "deliver_get" in fields.fields("message_stats"):
        return True
    return False if consumers == 0 and overview.has_rates else None


def read_exchange(fields: Fields) -> Exchange | None:
    """Understand one item of ``/api/exchanges``; None where it has no name or type."""
    name, type_ = fields.name("name"), fields.text("type")
    if name is None or type_ is None:
        return None
    arguments = dict(fields.fields("arguments").items())
    return Exchange(name=name, type=type_, arguments=arguments, policy=fields.text("policy"))


def read_binding(fields: Fields) -> Binding | None:
    """Understand one item of ``/api/bindings``; None where a part is missing."""
    values = dict(fields.items())
    parts = [values.get(key) for key in ("source", "destination", "routing_key")]
    source, destination, key = parts
    if isinstance(source, str) and isinstance(destination, str) and isinstance(key, str):
        return Binding(
            source=source,
            destination=destination,
            to_exchange=values.get("destination_type") == "exchange",
            routing_key=key,
        )
    fields.note("source, destination or routing_key")
    return None
