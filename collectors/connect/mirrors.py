"""How far MirrorMaker 2 is behind its source clusters."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import polars as pl

from collectors.connect.answers import MIRROR_SOURCE
from collectors.connect.client import ConnectClient
from collectors.connect.comparison import compare
from collectors.errors import CollectorError
from collectors.source.rows import frame
from config.integrations import ConnectSettings
from lake.schemas.tables import MIRROR_OFFSETS


def collect(
    client: ConnectClient, settings: ConnectSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``mirror_offsets``: a row for each partition that was ever copied.

    The position is what the connector last committed (every minute by default), the end that of
    the last poll of the source cluster.
    """
    mirrors = [each for each in client.connectors() if each.class_name == MIRROR_SOURCE]
    before, client.compared = client.compared, {}
    rows: list[dict[str, Any]] = []
    failed = []
    for connector in mirrors:
        try:
            positions = client.positions(connector)
        except CollectorError as error:
            failed.append(f"{connector.name}: how far it has copied is unknown: {error}")
            continue
        for alias in sorted({each.alias for each in positions}):
            copied = [each for each in positions if each.alias == alias]
            key = (connector.name, alias)
            outcomes: list[tuple[int | None, int | None, str | None]]
            try:
                ends = client.source_ends(alias)
            except CollectorError as error:
                client.problems.append(f"{connector.name}: its lag is unknown: {error}")
                outcomes = [(None, None, str(error))] * len(copied)
            else:
                compared = client.compared[key] = compare(copied, ends, before.get(key))
                outcomes = [compared.lag(each) for each in copied]
            rows += [
                {
                    "connect": settings.name,
                    "connector": connector.name,
                    "source_cluster": alias,
                    "topic": each.topic,
                    "partition": each.partition,
                    "replicated": each.replicated,
                    "source_log_end": end,
                    "lag": lag,
                    "unknown_reason": reason,
                }
                for each, (end, lag, reason) in zip(copied, outcomes, strict=True)
            ]
    if failed and len(failed) == len(mirrors):
        raise CollectorError("; ".join(failed))
    client.problems.extend(failed)
    return {"mirror_offsets": frame(MIRROR_OFFSETS, rows)}
