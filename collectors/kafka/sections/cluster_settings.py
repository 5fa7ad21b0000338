"""What administrators have set, written when it changes and every half hour."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import polars as pl

from collectors.kafka.poll.cluster_settings import SettingsMemory
from collectors.kafka.poll.reads import PollView
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import CLUSTER_SETTINGS, WRITTEN_EVERY_SECONDS


def collect(client: PollView, settings: ClusterSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the table ``cluster_settings``: all of it or nothing.

    A kind that nobody has set has one row without a subject; so has one that could not be read,
    with the reason, beside what was known of it before.
    """
    _ = client.metadata  # where no broker answers, the section fails as all others do
    memory = client.memory.settings
    _ = client.settings_found
    unknown = memory.unknown
    client.problems += [f"{kind}: {why}" for kind, why in unknown.items()]
    content = memory.found, unknown
    written = memory.written
    every = WRITTEN_EVERY_SECONDS[CLUSTER_SETTINGS.name]
    rows = []
    if written is None or written[0] != content or client.tick - written[1] >= every:
        rows = list(_rows(memory))
        memory.written = content, client.tick
    return {"cluster_settings": frame(CLUSTER_SETTINGS, rows)}


def _rows(memory: SettingsMemory) -> Iterator[dict[str, Any]]:
    for kind in sorted(memory.found.keys() | memory.unknown.keys()):
        found = memory.found.get(kind, {})
        if not found or kind in memory.unknown:
            yield {"kind": kind, "unknown_reason": memory.unknown.get(kind)}
        for subject, values in sorted(found.items()):
            entries = [{"key": key, "value": value} for key, value in sorted(values.items())]
            yield {"kind": kind, "subject": subject, "settings": entries}
