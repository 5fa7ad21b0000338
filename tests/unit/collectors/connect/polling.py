"""Polls of a Connect source as one object, and what a mirror answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import polars as pl

from collectors.connect.client import ConnectClient
from collectors.source.http_source import HttpSource
from collectors.source.model import SectionResult
from config.integrations import ConnectSettings
from tests.unit.collectors.connect.fakeconnect import MIRROR_SOURCE, Answer, entry, says

Source = HttpSource[ConnectClient, ConnectSettings]


def poll(source: Source) -> dict[str, SectionResult]:
    return {result.section: result for result in source.poll(datetime.now(UTC))}


def rows(results: dict[str, SectionResult], table: str) -> list[dict[str, Any]]:
    (found,) = (each.frames[table] for each in results.values() if table in each.frames)
    return found.to_dicts()


def mirror(name: str = "mirror", **config: str) -> dict[str, Any]:
    own = {"connector__class": MIRROR_SOURCE, "source__cluster__alias": "east", **config}
    return entry(name, type_="source", **own)


def offsets(*positions: tuple[str, int, int]) -> Answer:
    return says(
        {
            "offsets": [
                {
                    "partition": {"cluster": "east", "topic": topic, "partition": partition},
                    "offset": {"offset": offset},
                }
                for topic, partition, offset in positions
            ]
        }
    )


def ends(*logs: tuple[str, int, int]) -> pl.DataFrame:
    schema = {"topic": pl.String, "partition": pl.Int32, "log_end": pl.Int64}
    return pl.DataFrame(list(logs), schema=schema, orient="row")
