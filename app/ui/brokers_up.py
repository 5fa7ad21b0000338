"""Whether all brokers are up, in one sentence: the same on each page that says it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

import polars as pl

from alerting.inputs.frames import STALE_INTERVALS
from app.data import present, queries
from app.data.context import View
from app.style.format import clock, listing
from lake.schemas.current import BROKER_STATUS, CLUSTER_STATUS


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokersUp:
    """What is known of the brokers.

    Attributes:
        said: The sentence, without its full stop.
        is_so: Whether all of them are up.
        is_now: Whether the newest poll read them; else all that is known is of an older one.
        why: Why a broker does not answer.
    """

    said: str
    is_so: bool = False
    is_now: bool = True
    why: str = ""

    def tells_of(self, out_of_sync: int | None) -> bool:
        """Whether a number of partitions out of sync is known.

        The others list a broker that does not answer as in sync until its session ends: then none
        is not known to be none.

        Args:
            out_of_sync: What the newest poll read.
        """
        return bool(out_of_sync) or (out_of_sync is not None and self.is_now and not self.why)


UNKNOWN = BrokersUp(said="Whether all brokers are up is not known", is_now=False)


def here(view: View) -> BrokersUp:
    """Return what is known of the brokers of the cluster."""
    return brokers_up(
        present.rows(view, CLUSTER_STATUS),
        present.rows(view, BROKER_STATUS),
        zone=view.zone,
        now=view.now,
        stale_after=timedelta(seconds=STALE_INTERVALS * view.interval_seconds),
        is_read=queries.was_read(view, "brokers"),
    )


def brokers_up(
    cluster: pl.DataFrame,
    brokers: pl.DataFrame,
    *,
    zone: tzinfo,
    now: datetime,
    stale_after: timedelta,
    is_read: bool = True,
) -> BrokersUp:
    """Return what is known of the brokers: they are up where the newest poll saw each answer.

    The others list a broker that died as one of theirs until its session ends, and a poll that
    waits for it is late, or fails.

    Args:
        cluster: Rows of ``cluster_status``.
        brokers: Rows of ``broker_status``.
        zone: The viewer's zone.
        now: The present.
        stale_after: Rows that are older say nothing about now.
        is_read: Whether the newest poll read the brokers.
    """
    row = cluster.row(0, named=True) if cluster.height else None
    if row is None or row["brokers"] is None:
        return BrokersUp(said="Which brokers are up is unknown", is_now=False)
    if missing := [str(broker) for broker in row["missing_brokers"] or ()]:
        since = brokers.filter(pl.col("is_alive").eq(False))["missing_since"].min()
        when = f" since {clock(since, zone, now=now)}" if isinstance(since, datetime) else ""
        return BrokersUp(said=f"{_named(missing)} {_are(missing)} missing{when}")
    newest = brokers["observed_at"].max()
    read_at = newest if isinstance(newest, datetime) else None
    if not is_read or (read_at is not None and now - read_at > stale_after):
        when = f" since {clock(read_at, zone, now=now, to_seconds=True)}" if read_at else ""
        return BrokersUp(said=f"Whether all brokers are up is not known{when}", is_now=False)
    silent = brokers.filter(IS_SILENT).sort("broker_id")
    if silent.height:
        names = [str(broker) for broker in silent["broker_id"]]
        answer = "does not answer" if silent.height == 1 else "do not answer"
        others = brokers.height - silent.height
        rest = f", the other {others} do" if others > 1 else ", the other one does"
        said = f"{_named(names)} {answer}{rest if others else ''}"
        return BrokersUp(said=said, why=silent["unknown_reason"][0])
    all_of = "All brokers are" if row["brokers"] > 1 else "The broker is"
    return BrokersUp(said=f"{all_of} up", is_so=True)


_OF_DISKS = r"^(?:disk: |log directory )"
_WAITS = "throttles this client"
_REASON = pl.col("unknown_reason")
IS_SILENT = (
    pl.col("is_alive")
    & _REASON.is_not_null()
    & ~_REASON.str.contains(_OF_DISKS)
    & ~_REASON.str.contains(_WAITS, literal=True)
)
"""A reason that is of no disk and no quota says why the broker did not answer."""


def _named(brokers: list[str]) -> str:
    return f"{'Broker' if len(brokers) == 1 else 'Brokers'} {listing(brokers)}"


def _are(brokers: list[str]) -> str:
    return "is" if len(brokers) == 1 else "are"
