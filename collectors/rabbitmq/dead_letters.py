"""Dead-letter queues: how much waits in each, since when, and where it comes from."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from collectors.rabbitmq.client import RabbitClient, VirtualHost
from collectors.rabbitmq.topology import origins
from collectors.source.rows import frame
from config.integrations import RabbitMQSettings
from lake.schemas.tables import DEAD_LETTERS

_SOURCE = "rabbitmq"


def collect(
    client: RabbitClient, settings: RabbitMQSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``dead_letters``.

    A message leaves a queue when a consumer acknowledges it. So a dead-letter queue retains exactly
    what nobody has processed: both depths are ready + unacknowledged.
    """
    snapshot = client.snapshot
    client.problems += snapshot.problems
    rows = [
        row
        for host in snapshot.virtual_hosts
        for row in _rows(host)
        if settings.queues.selects(row.pop("queue"))
    ]
    client.problems += snapshot.odd.problems
    return {"dead_letters": frame(DEAD_LETTERS, rows)}


def full_name(virtual_host: str, queue: str) -> str:
    """Return a queue's name in ``dead_letters``: ``shop/orders``; ``/orders`` in the default."""
    return f"/{queue}" if virtual_host == "/" else f"{virtual_host}/{queue}"


def _rows(host: VirtualHost) -> list[dict[str, Any]]:
    rows = []
    for name, sources in sorted(origins(host.targets, host.kinds).items()):
        answer = host.queues[name]
        found_by = sorted({host.queues[source].queue.found_by for source in sources})
        rows.append(
            {
                "queue": name,
                "source": _SOURCE,
                "name": full_name(host.name, name),
                "origin": ", ".join(full_name(host.name, source) for source in sources),
                "found_by": ", ".join(found_by),
                "unprocessed": answer.depth,
                "retained": answer.depth,
                "oldest_unprocessed_at": answer.oldest_at,
                "oldest_retained_at": answer.oldest_at,
                "unknown_reason": answer.unknown_reason,
            }
        )
    return rows
