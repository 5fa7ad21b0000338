"""Queues: depth, rates, consumers, and where their dead letters go."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from collectors.rabbitmq.answers import NO_RATES, QueueAnswer
from collectors.rabbitmq.client import RabbitClient, VirtualHost
from collectors.source.answer import LARGEST_INT
from collectors.source.rows import frame
from config.integrations import RabbitMQSettings
from lake.schemas.tables import QUEUES


def collect(
    client: RabbitClient, settings: RabbitMQSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``queues``."""
    snapshot = client.snapshot
    client.problems += snapshot.problems
    if not snapshot.overview.has_rates:
        client.problems.append(NO_RATES)
    rows = [
        _row(client, host, answer)
        for host in snapshot.virtual_hosts
        for answer in host.queues.values()
        if settings.queues.selects(answer.queue.name)
    ]
    client.problems += snapshot.odd.problems
    return {"queues": frame(QUEUES, rows)}


def _row(client: RabbitClient, host: VirtualHost, answer: QueueAnswer) -> dict[str, Any]:
    overview = client.snapshot.overview
    fields, queue = answer.fields, answer.queue
    targets = host.targets.get(queue.name)
    policies = [fields.text(key) for key in ("policy", "operator_policy")]
    capacity = fields.number("consumer_capacity")
    reasons = [answer.unknown_reason, targets.reason if targets else None]
    return {
        "vhost": host.name,
        "queue": queue.name,
        "type": answer.type,
        "kind": "stream" if answer.type == "stream" else host.kinds[queue.name],
        "state": fields.text("state"),
        "node": fields.text("node") or fields.text("leader"),
        "ready": answer.ready,
        "unacknowledged": answer.unacknowledged,
        **answer.rates(overview),
        "consumers": fields.whole("consumers", largest=LARGEST_INT),
        # Before RabbitMQ 3.9 it had another name.
        "consumer_capacity": fields.number("consumer_utilisation")
        if capacity is None
        else capacity,
        "oldest_at": answer.oldest_at,
        "memory_bytes": fields.whole("memory"),
        "message_bytes": fields.whole("message_bytes"),
        "dead_letter_exchange": queue.dead_letter_exchange,
        "dead_letter_routing_key": queue.dead_letter_routing_key,
        "dead_letter_queues": list(targets.queues) if targets else None,
        "dead_letter_target_missing": targets.is_missing if targets else None,
        "delivery_limit": answer.delivery_limit(overview),
        "message_ttl_seconds": answer.time_to_live_seconds(),
        "policy": ", ".join(name for name in policies if name) or None,
        "unknown_reason": "; ".join(reason for reason in reasons if reason) or None,
    }
