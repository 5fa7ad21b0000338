"""What workers compute of samples, without Spark, against the plain recomputation."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from lake.change_encoding.compact import Thinning
from lake.schemas.grain import Grain
from lake.schemas.model import Table
from lake.schemas.tables import CLUSTER_HISTORY, GROUP_HISTORY
from lake.storage.store import conform
from spark_metrics.errors import HistoryError
from spark_metrics.history import (
    CLUSTER_PARTS,
    HISTORIES,
    NEEDS,
    SOURCES,
    Needs,
    Samples,
    cluster_parts,
    minutes,
)
from spark_metrics.longer import Day, Kept
from spark_metrics.minutes import Piece, Step
from spark_metrics.rollups import clusters
from spark_metrics.rollups.windows import coarser, finished
from spark_metrics.tasks import Files, Share, shares, slices
from tests.selection import exhaustive
from tests.spark import bronze, oracle
from tests.spark.comparing import Found, assert_same
from tests.spark.pasts import eventful

REACH = timedelta(seconds=60)
# A seed, whether rows that did not change are left out, whether a task is cut into steps.
CASES = list(product(range(1, 7), [False, True], [False, True]))
ALWAYS = [(1, False, True), (2, True, False), (6, True, True)]


def written(polls: list[bronze.Rows], folder: Path, *, thin: bool) -> dict[str, Files]:
    """Write polls as Parquet files, one a poll and table."""
    found = {}
    for table in SOURCES:
        thinning = Thinning(table) if table.carried and thin else None
        paths = []
        for number, poll in enumerate(polls):
            rows = bronze.frame(table, poll[table.name])
            if rows.is_empty():
                continue
            if thinning is not None:
                rows = thinning.thinned("demo", rows)
            path = folder / f"{table.name}-{number}.parquet"
            conform(table, rows).write_parquet(path)
            paths.append(str(path))
        found[table.name] = Files(table, tuple(paths))
    return found


def history(
    files: dict[str, Files], cuts: list[list[datetime]], share_count: int
) -> dict[str, Found]:
    """Compute all history: a piece for each list of minutes, cut into steps there; in shares."""

    def samples_of(needs: Needs) -> Iterator[tuple[Step, Samples]]:
        split = needs.split_by
        parts = [Share(split, n, share_count) for n in range(share_count)] if split else [Share()]
        sources = tuple(files[name] for name in needs.columns)
        for edges in cuts:
            steps = tuple(Step(start, end, sources) for start, end in pairwise(edges))
            for share in parts:
                yield from Piece(steps, REACH, share).samples(needs)

    histories = {}
    for table in HISTORIES:
        if table == CLUSTER_HISTORY:
            polls = clusters.together(
                [
                    cluster_parts(samples, step.start, step.end)
                    for needs in CLUSTER_PARTS
                    for step, samples in samples_of(needs)
                ]
            )
            rows = finished(clusters.cluster_minutes(polls), table, Grain.MINUTE)
        else:
            rows = pl.concat(
                finished(minutes(table, samples, step.start, step.end), table, Grain.MINUTE)
                for step, samples in samples_of(NEEDS[table.name])
            )
        hours = coarser(rows, table, Grain.HOUR)
        histories[table.name] = keyed(
            pl.concat([rows, hours, coarser(hours, table, Grain.DAY)]), table
        )
    return histories


def keyed(rows: pl.DataFrame, table: Table) -> Found:
    names = ["grain_seconds", *(name for name in table.key if name != "grain_seconds")]
    found: Found = {}
    for row in rows.drop("date", "part", "generated").iter_rows(named=True):
        key = tuple(row[name] for name in names)
        assert key not in found, f"{table.name} has a row twice: {key}"
        found[key] = {name: value for name, value in row.items() if name not in names}
    return found


def wanted(polls: list[bronze.Rows]) -> dict[str, Any]:
    return oracle.history(
        {table.name: [row for poll in polls for row in poll[table.name]] for table in SOURCES}
    )


@pytest.mark.parametrize(
    ("seed", "thin", "steps"),
    [*ALWAYS, *exhaustive(*(case for case in CASES if case not in ALWAYS))],
)
def test_any_cut_gives_what_plain_python_computes(
    tmp_path: Path, seed: int, thin: bool, steps: bool
) -> None:
    """Whatever happens in it, however it is cut in time, into tasks or into steps of one, and split
    into series, whether what did not change was left out; without a run some polls come out of
    order and twice."""
    dice = random.Random(seed)  # noqa: S311 (a seeded test)
    polls = eventful(seed=seed, polls=60)
    arriving = list(polls)
    if not thin:
        arriving += dice.sample(polls, 3)
        dice.shuffle(arriving)
    files = written(arriving, tmp_path, thin=thin)
    end = bronze.START + timedelta(minutes=8)
    inner = dice.sample([bronze.START + timedelta(minutes=n) for n in range(1, 8)], seed % 4)
    edges = [bronze.START, *sorted(inner), end]
    cuts = [edges] if steps else [list(pair) for pair in pairwise(edges)]
    found = history(files, cuts, share_count=1 + seed % 3)
    assert_same(found, wanted(polls))


def test_a_day_is_rolled_up_by_share_and_minutes_are_put_together(tmp_path: Path) -> None:
    files = written(eventful(seed=9, polls=60), tmp_path, thin=False)
    needs, table = NEEDS[GROUP_HISTORY.name], GROUP_HISTORY
    end = bronze.START + timedelta(minutes=8)
    sources = tuple(files[name] for name in needs.columns)
    piece = Piece((Step(bronze.START, end, sources),), timedelta(0), Share())
    ((_, samples),) = piece.samples(needs)
    rows = finished(minutes(table, samples, bronze.START, end), table, Grain.MINUTE)
    rows = rows.filter(pl.col("date") == rows["date"].max())
    path = tmp_path / "minutes.parquet"
    rows.drop("date", "part", "grain_seconds").write_parquet(path)
    here, nothing = Files(table, (str(path),)), Files(table, ())
    midnight = rows["window_start"].min()
    assert isinstance(midnight, datetime)
    days = [
        Day(nothing, {midnight: here}, frozenset([midnight]), Share("group", number, 3))
        for number in range(3)
    ]
    made = pl.concat(rows for day in days for rows in day.rows(table))
    order = ["grain_seconds", "window_start", "group"]
    hours = coarser(rows, table, Grain.HOUR)
    whole = pl.concat([rows, hours, coarser(hours, table, Grain.DAY)])
    assert made.sort(order).equals(whole.sort(order))
    (stays,) = Kept(here, midnight, midnight + timedelta(minutes=1)).rows(table)
    later = rows.filter(pl.col("window_start") > midnight)
    assert stays.sort(order).equals(later.sort(order))


def test_work_is_cut_into_whole_minutes_and_shares() -> None:
    start, end = bronze.START, bronze.START + timedelta(minutes=10)
    assert slices(start, end, 1) == [(start, end)]
    cut = slices(start, end, 4)
    assert [two - one for one, two in cut] == [timedelta(minutes=3)] * 3 + [timedelta(minutes=1)]
    assert len(slices(start, end, 40)) == 10
    assert [one.of for one in shares(2_500_000, "group")] == [3, 3, 3]
    assert shares(2_500_000, None) == [Share()]


def test_files_of_an_older_and_a_newer_version_are_read(tmp_path: Path) -> None:
    """An older one lacks columns, a newer one has some that nobody knows here."""
    polls = eventful(seed=3, polls=12)
    files = written(polls, tmp_path, thin=False)
    older = pl.read_parquet(files["group_offsets"].paths[0])
    assert older["is_subscribed"].null_count() < older.height
    older.drop("run", "mark", "lost_messages").write_parquet(files["group_offsets"].paths[0])
    newer = pl.read_parquet(files["group_offsets"].paths[1])
    newer.with_columns(pl.lit(1).alias("of_the_future")).write_parquet(
        files["group_offsets"].paths[1]
    )
    for row in polls[0]["group_offsets"]:
        row.pop("lost_messages", None)
    end = bronze.START + timedelta(minutes=3)
    assert_same(history(files, [[bronze.START, end]], share_count=1), wanted(polls))


@pytest.mark.parametrize(
    "size", [pytest.param(0, id="empty"), pytest.param(900, id="half-written")]
)
def test_a_broken_file_is_named_by_its_table(tmp_path: Path, size: int) -> None:
    files = written(eventful(seed=3, polls=3), tmp_path, thin=False)
    path = Path(files["group_offsets"].paths[1])
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(HistoryError, match=r"^group_offsets: a file cannot be read: "):
        files["group_offsets"].collect(["group", "lag"], pl.lit(True))
