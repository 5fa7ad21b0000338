"""What administrators have set, written when it changes and every half hour."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import polars as pl

from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.kafka.poll.cluster_settings import SettingsFound
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import CLUSTER_SETTINGS


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``cluster_settings``: all of it or nothing.

    A kind that nobody has set has one row without a subject; so has one that could not be read,
    with the reason, beside what was known of it before.
    """
    found = reads.settings.value
    reads.problems.extend(f"{kind}: {why}" for kind, why in found.unknown.items())
    rows = list(_rows(found)) if reads.settings_due.value else []
    return {"cluster_settings": frame(CLUSTER_SETTINGS, rows)}


def _rows(settings: SettingsFound) -> Iterator[dict[str, Any]]:
    for kind in sorted(settings.found.keys() | settings.unknown.keys()):
        found = settings.found.get(kind, {})
        if not found or kind in settings.unknown:
            yield {"kind": kind, "unknown_reason": settings.unknown.get(kind)}
        for subject, values in sorted(found.items()):
            entries = [{"key": key, "value": value} for key, value in sorted(values.items())]
            yield {"kind": kind, "subject": subject, "settings": entries}
