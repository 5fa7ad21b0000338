"""What the lake holds after the run: polls, duplicates, history beside a plain recomputation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise

import polars as pl

from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, COLLECTIONS, GROUP_OFFSETS, GROUPS, PARTITIONS, TABLES
from lake.storage.store import Lake
from tests.faults.hour.clock import STEP_SECONDS
from tests.faults.hour.schedule import Fault, Kind
from tests.spark.bronze import SOURCES
from tests.spark.comparing import HISTORIES, all_stored, differences
from tests.spark.oracle.history import history

_LATE = 1.5
"""A poll that begins more than so many intervals after the one before leaves a gap."""

_TAKE_OVER_SECONDS = 45.0
"""The longest that docs/sources.md gives a collector to take a cluster over."""

_CLOCK_LAG_SECONDS = 2.0
"""How much later than it was set a clock jumps in the services."""

_MOST_OUT_OF_STEP = 2
"""Polls at the edges of a time that was looked at."""

_NOBODY_POLLS = {
    *(Kind.COLLECTORS_KILLED, Kind.BOTH_COLLECTORS_KILLED, Kind.COLLECTORS_FROZEN),
    Kind.DISK_FULL,
}
"""Faults that may leave the cluster without a collector that holds its lease."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Polls:
    """What became of the polls of the Kafka cluster."""

    present: int
    skipped: int
    given_up: list[str]  # losses that the collectors recorded, in their words
    explained: list[str]  # gaps with the fault: nobody held the lease, or the clock jumped
    gaps: list[str]  # gaps that nothing explains
    out_of_step: list[str]  # clocks that were set and changed how often was polled
    hollow: list[str]  # polls that say they wrote rows which are not there


def polls(lake: Lake, faults: Sequence[Fault], began: datetime, interval: float) -> Polls:
    """Compare the polls that are recorded with the clock."""
    rows = lake.read(COLLECTIONS).filter(pl.col("source") == "kafka")
    losses = rows.filter(pl.col("section") == "lake")
    skipped = rows.filter(pl.col("status") == "skipped")
    polled = rows.filter((pl.col("section") != "lake") & (pl.col("status") != "skipped"))
    seen = polled.select("observed_at", "poll_id").unique().sort("observed_at")
    known = sorted({*seen["observed_at"], *skipped["observed_at"], *losses["observed_at"]})
    explained, gaps = [], []
    for before, after in pairwise(known):
        seconds = (after - before).total_seconds()
        if seconds <= _LATE * interval:
            continue
        at = (before - began).total_seconds()
        what = f"{seconds:.0f} s from {at:.0f} s on"
        cause = _nobody_polled(faults, at, seconds) or _jumped(faults, at, seconds, interval)
        (gaps if cause is None else explained).append(f"{what}: {cause}" if cause else what)
    return Polls(
        present=seen.height,
        skipped=skipped.height,
        given_up=losses["error"].drop_nulls().to_list(),
        explained=explained,
        gaps=gaps,
        out_of_step=list(_out_of_step(known, faults, began, interval)),
        hollow=[] if losses.height else list(_hollow(lake, polled)),
    )


def _nobody_polled(faults: Sequence[Fault], at: float, seconds: float) -> str | None:
    for fault in faults:
        if fault.kind in _NOBODY_POLLS and at < fault.ends and fault.at < at + seconds:
            most = fault.ends - fault.at + _TAKE_OVER_SECONDS
            return str(fault.kind) if seconds <= most else None
    return None


def _jumped(faults: Sequence[Fault], at: float, seconds: float, interval: float) -> str | None:
    """Return what explains a gap that is no longer than a clock's jump and a poll."""
    for fault in faults:
        begins = fault.at - _LATE * interval <= at <= fault.at + _CLOCK_LAG_SECONDS
        if fault.kind is Kind.CLOCK_STEPPED and begins:
            return str(fault.kind) if seconds <= STEP_SECONDS + _LATE * interval else None
    return None


def _out_of_step(
    known: Sequence[datetime], faults: Sequence[Fault], began: datetime, interval: float
) -> Iterator[str]:
    """Yield where a clock that was set changed the cadence, which the monotonic clock gives.

    Whatever its clock said, a poll that was made between two moments before and after lies between
    them.
    """
    for fault in faults:
        if fault.kind is not Kind.CLOCK_STEPPED:
            continue
        since, until = fault.at - STEP_SECONDS, fault.ends + 2 * STEP_SECONDS
        count = sum(since <= (each - began).total_seconds() < until for each in known)
        due = (until - since) / interval
        if abs(count - due) > _MOST_OUT_OF_STEP:
            yield f"{count} polls and not {due:.0f} from {since:.0f} s to {until:.0f} s"


def _hollow(lake: Lake, polled: pl.DataFrame) -> list[str]:
    """Return polls whose section says that it wrote rows of a table which has none of them."""
    found = []
    for table in (BROKERS, GROUPS, PARTITIONS, GROUP_OFFSETS):
        wrote = polled.filter((pl.col("section") == table.name) & (pl.col("rows") > 0))
        there = lake.read(table, columns=["poll_id", "observed_at"])
        missing = wrote.join(there, on="observed_at", how="anti")
        found += [f"{table.name} of {at:%H:%M:%S}" for at in missing["observed_at"].unique().sort()]
    return found


def duplicates(lake: Lake) -> dict[str, int]:
    """Return how many rows too many there are, by table, in the files as they lie there."""
    found = {}
    for table in TABLES.values():
        if table.layer not in ("bronze", "gold") or not lake.exists(table):
            continue
        names = list(table.identity if table.layer == "bronze" else table.key)
        keys = lake.scan(table).select(names).collect()
        if surplus := keys.height - keys.unique().height:
            found[table.name] = surplus
    return found


def history_differences(lake: Lake) -> tuple[int, list[str]]:
    """Return how many rows of history there are, and where they differ from a recomputation."""
    raw = {table.name: _rows(lake, table) for table in SOURCES}
    wanted = history(raw)
    found = all_stored(lake)
    return sum(len(found[table.name]) for table in HISTORIES), list(differences(found, wanted))


def _rows(lake: Lake, table: Table) -> list[dict[str, object]]:
    return lake.read(table).rows(named=True)
