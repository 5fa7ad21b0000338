"""Queues of a RabbitMQ as its collector writes them, for the pages."""

from __future__ import annotations

import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl

from config.load import load
from lake.schemas.tables import COLLECTIONS, QUEUES
from lake.storage.store import Lake

RABBIT = "rabbit"


def queue(name: str, now: datetime, **values: Any) -> dict[str, Any]:
    """A row of ``queues``: a classic queue that is idle."""
    return {
        "cluster": RABBIT,
        "observed_at": now,
        "poll_id": "rabbit-1",
        "vhost": "shop",
        "queue": name,
        "type": "classic",
        "kind": "plain",
        "state": "running",
        "node": "rabbit@one",
        "ready": 0,
        "unacknowledged": 0,
        "publish_per_second": 0.0,
        "deliver_per_second": 0.0,
        "ack_per_second": 0.0,
        "redeliver_per_second": 0.0,
        "consumers": 1,
        "consumer_capacity": 1.0,
        **values,
    }


def shop(now: datetime) -> pl.DataFrame:
    """The rows of one poll: a queue in each status."""
    rows = [
        queue(
            "invoices",
            now,
            type="quorum",
            ready=12_345,
            unacknowledged=20,
            publish_per_second=20.0,
            deliver_per_second=15.5,
            ack_per_second=15.0,
            consumers=2,
            consumer_capacity=0.4,
            dead_letter_exchange="failed",
            dead_letter_queues=["invoices.dead"],
            dead_letter_target_missing=False,
            delivery_limit=20,
        ),
        queue(
            "invoices.dead",
            now,
            kind="dead letter",
            ready=7,
            unacknowledged=2,
            consumers=0,
            oldest_at=now - timedelta(hours=3),
        ),
        queue(
            "mails.wait",
            now,
            kind="retry",
            ready=4,
            consumers=0,
            message_ttl_seconds=15.0,
            dead_letter_exchange="",
            dead_letter_routing_key="mails",
            dead_letter_queues=["mails"],
            dead_letter_target_missing=False,
        ),
        queue(
            "parcels",
            now,
            policy="parcels",
            dead_letter_exchange="parcels.failed",
            dead_letter_queues=[],
            dead_letter_target_missing=True,
        ),
        queue("forgotten", now, ready=3, consumers=0),
        queue(
            "new",
            now,
            ready=None,
            unacknowledged=None,
            publish_per_second=None,
            unknown_reason="RabbitMQ has no statistics of it yet",
        ),
        queue(
            "by.headers",
            now,
            dead_letter_exchange="match",
            dead_letter_queues=["invoices.dead"],
            unknown_reason="the exchange match of type headers does not route by the key",
        ),
        queue("audit", now, type="stream", kind="stream", ready=None, unacknowledged=None),
    ]
    schema = {name: QUEUES.polars_schema[name] for row in rows for name in row}
    return pl.DataFrame(rows, schema=schema)


def add_rabbit(
    filled: Path, folder: Path, now: datetime, *, rows: bool = True, error: str | None = None
) -> Path:
    """Copy a filled folder, and let it watch a RabbitMQ too."""
    shutil.copytree(filled, folder)
    config = folder / "headroom.yaml"
    servers = f"rabbitmq:\n  - name: {RABBIT}\n    url: http://127.0.0.1:15672\n"
    config.write_text(config.read_text() + servers)
    lake = Lake(load(config).lake)
    if rows:
        lake.append(QUEUES, shop(now))
    attempt = {
        "cluster": RABBIT,
        "observed_at": now,
        "poll_id": "rabbit-1",
        "source": f"rabbitmq/{RABBIT}",
        "section": "queues",
        "started_at": now,
        "status": "ok" if error is None else "failed",
        "error": error,
        "rows": 8,
    }
    schema = {name: COLLECTIONS.polars_schema[name] for name in attempt}
    lake.append(COLLECTIONS, pl.DataFrame([attempt], schema=schema))
    return folder
