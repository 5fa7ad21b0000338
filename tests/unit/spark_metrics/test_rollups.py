"""What workers compute of samples, without Spark: in any cut, what plain Python computes."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from itertools import pairwise, product
from typing import Any

import polars as pl
import pytest

from lake.change_encoding.compact import ChangeEncoder
from lake.change_encoding.expand import HEARTBEAT
from lake.schemas.grain import Grain
from lake.schemas.model import Table
from lake.schemas.tables import BROKERS, CLUSTER_HISTORY, COLLECTIONS
from lake.storage.append import conform
from spark_metrics.rollups.clusters import POLLS
from spark_metrics.rollups.passes import HISTORIES, PASSES, SOURCES, Pass, of_clusters
from spark_metrics.rollups.windows import coarser
from spark_metrics.samples import Source
from tests.selection import exhaustive
from tests.spark import bronze
from tests.spark.comparing import Found, assert_same
from tests.spark.oracle import history as oracle
from tests.spark.pasts import eventful, quiet

REACH = timedelta(seconds=60)
# A seed, whether rows that did not change are left out.
CASES = list(product(range(1, 7), [False, True]))
ALWAYS = [(1, False), (2, True), (6, True)]


def written(polls: list[bronze.Rows], *, thin: bool) -> dict[str, pl.DataFrame]:
    """Return what collectors write of polls, by table."""
    found = {}
    for table in SOURCES:
        encoder = ChangeEncoder(table) if table.change_only and thin else None
        frames = [pl.DataFrame(schema=table.polars_schema)]
        for poll in polls:
            rows = bronze.frame(table, poll[table.name])
            if not rows.is_empty():
                rows = rows if encoder is None else encoder.compact("demo", rows)
                frames.append(conform(table, rows))
        found[table.name] = pl.concat(frames)
    return found


def of_task(
    one: Pass, lake: dict[str, pl.DataFrame], start: datetime, end: datetime, share: int, of: int
) -> tuple[dict[str, pl.DataFrame], dict[str, pl.DataFrame]]:
    """Return what a task makes of its share of the groups or topics, and what stands after it."""
    samples, standing = {}, {}
    for table in one.sources:
        rows = lake[table.name]
        if not table.change_only:
            rows = rows.filter(pl.col("observed_at") >= start - REACH, pl.col("observed_at") < end)
        polls = rows.filter(pl.col("row_kind") == HEARTBEAT) if table.change_only else None
        series = (
            rows.filter(pl.col("row_kind").ne_missing(HEARTBEAT)) if table.change_only else rows
        )
        mine = series.filter(pl.col(one.together[-1]).hash(seed=1) % of == share)
        names = one.columns[table.name]
        source = Source(
            table=table,
            columns=names,
            together=one.together,
            since=start - REACH,
            until=end,
            polls=polls,
        )
        samples[table.name] = source.whole(mine)
        if table.change_only:
            standing[table.name] = source.standing(mine, end - REACH).select(source.names)
    made = one.work({**samples, COLLECTIONS.name: lake[COLLECTIONS.name]}, start, end)
    return dict(made), standing


def since_then(rows: pl.DataFrame, standing: list[pl.DataFrame], since: datetime) -> pl.DataFrame:
    """Return what is read of a table where it is known what stood at a moment."""
    inside = rows.filter(pl.col("observed_at") >= since)
    return pl.concat([inside, *standing], how="diagonal") if standing else rows


def history(
    everything: dict[str, pl.DataFrame], edges: list[datetime], of: int, *, follows: bool = False
) -> dict[str, Found]:
    """Compute all history, time range by time range, each in so many tasks.

    Where each follows the one before it, what stood then is all that is known of the time before.
    """
    made: dict[str, list[pl.DataFrame]] = {table.name: [] for table in HISTORIES}
    stood: dict[str, list[pl.DataFrame]] = {name: [] for name in everything}
    for start, end in pairwise(edges):
        polls = []
        lake = {
            name: since_then(rows, stood[name], start - REACH) for name, rows in everything.items()
        }
        stood = {name: [] for name in everything}
        for one in PASSES:
            for share in range(of):
                results, standing = of_task(one, lake, start, end, share, of)
                for name, rows in standing.items() if follows else ():
                    stood[name].append(rows)
                polls += [results.pop(POLLS.name)] if POLLS.name in results else []
                for name, rows in results.items():
                    made[name].append(rows)
        rest = lake[BROKERS.name], lake[COLLECTIONS.name]
        made[CLUSTER_HISTORY.name].append(of_clusters(pl.concat(polls), *rest, start, end))
    return {table.name: rolled_up(pl.concat(made[table.name]), table) for table in HISTORIES}


def rolled_up(rows: pl.DataFrame, table: Table) -> Found:
    hours = coarser(rows, table, Grain.HOUR)
    return keyed(pl.concat([rows, hours, coarser(hours, table, Grain.DAY)]), table)


def keyed(rows: pl.DataFrame, table: Table) -> Found:
    names = ["grain_seconds", *(name for name in table.key if name != "grain_seconds")]
    found: Found = {}
    for row in rows.drop("date", "hour", "generated").iter_rows(named=True):
        key = tuple(row[name] for name in names)
        assert key not in found, f"{table.name} has a row twice: {key}"
        found[key] = {name: value for name, value in row.items() if name not in names}
    return found


def wanted(polls: list[bronze.Rows]) -> dict[str, Any]:
    return oracle.history(
        {table.name: [row for poll in polls for row in poll[table.name]] for table in SOURCES}
    )


@pytest.mark.parametrize(
    ("seed", "thin"), [*ALWAYS, *exhaustive(*(case for case in CASES if case not in ALWAYS))]
)
def test_any_cut_gives_what_plain_python_computes(seed: int, thin: bool) -> None:
    """Whatever happens in it, however it is cut in time and into tasks, whether what did not change
    was left out; without a run some polls come out of order and twice."""
    dice = random.Random(seed)  # noqa: S311 (a seeded test)
    polls = eventful(seed=seed, polls=60)
    arriving = list(polls)
    if not thin:
        arriving += dice.sample(polls, 3)
        dice.shuffle(arriving)
    end = bronze.START + timedelta(minutes=8)
    inner = dice.sample([bronze.START + timedelta(minutes=n) for n in range(1, 8)], seed % 4)
    edges = [bronze.START, *sorted(inner), end]
    lake, of = written(arriving, thin=thin), 1 + seed % 3
    assert_same(history(lake, edges, of), wanted(polls))


@pytest.mark.parametrize("seed", [1, *exhaustive(2, 3)])
def test_minutes_follow_from_what_stood_before_them(seed: int) -> None:
    """Where most partitions come to rest, so that their last rows are minutes old, and where
    everything happens."""
    minutes = [bronze.START + timedelta(minutes=n) for n in range(9)]
    for polls in (quiet(seed, polls=84), eventful(seed, polls=84)):
        lake = written(polls, thin=True)
        assert_same(history(lake, minutes, of=seed, follows=True), wanted(polls))
