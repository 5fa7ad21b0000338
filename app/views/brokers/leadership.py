"""Which brokers do not lead what prefers them, such as one that has just returned: pure functions.

A broker that is back leads nothing until leaders are moved: its load is on the others.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, tzinfo

import polars as pl

from alerting.inputs.event_phrases import BROKER_BACK
from app.style.format import clock, exact

IMBALANCE = 0.1
"""Kafka's ``leader.imbalance.per.broker.percentage``: less of what prefers a broker is no news."""
_NAMED = 4
_STEP = (
    "a preferred leader election (kafka-leader-election.sh) or auto.leader.rebalance.enable moves "
    "leaders there"
)


def lacking(brokers: pl.DataFrame) -> pl.DataFrame:
    """Return the brokers that are up and do not lead what prefers them, the worst first.

    Args:
        brokers: Rows of ``broker_status``.
    """
    led = pl.col("preferred_led") / pl.col("preferred")
    is_so = (pl.col("preferred") > 0) & (led < 1 - IMBALANCE)
    return brokers.filter("is_alive", is_so).sort(led, "broker_id")


def returned(events: pl.DataFrame) -> dict[str, datetime]:
    """Return when brokers were last found to be back, from rows of ``cluster_events``."""
    back = events.filter(kind=BROKER_BACK).group_by("subject").agg(pl.max("observed_at"))
    return dict(back.rows())


def clauses(
    found: pl.DataFrame, back: Mapping[str, datetime], zone: tzinfo, now: datetime
) -> list[str]:
    """Say what each of these brokers leads, since when it is back, and what moves leaders there.

    Args:
        found: Rows of ``lacking``.
        back: When brokers were found to be back, where that is known.
        zone: The viewer's zone.
        now: The present.
    """
    said = []
    for row in found.head(_NAMED).iter_rows(named=True):
        at = back.get(str(row["broker_id"]))
        since = "" if at is None else f"is back since {clock(at, zone, now=now)} and "
        said.append(
            f"broker {row['broker_id']} {since}leads {exact(row['preferred_led'])} of the "
            f"{exact(row['preferred'])} partitions that prefer it"
        )
    if found.height > _NAMED:
        said.append(f"{found.height - _NAMED} more brokers lead less than prefers them")
    return [*said, _STEP] if said else []
