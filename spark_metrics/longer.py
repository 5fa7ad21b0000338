"""What workers do with the rows of a history table: keep them, or roll them up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from lake.schemas.grain import PARTITIONED_BY, Grain
from lake.schemas.model import Table
from spark_metrics.rollups.windows import coarser, placed
from spark_metrics.tasks import Files, Share


@dataclass(frozen=True, slots=True)
class Kept:
    """Minutes that stay as they are while others of their hour are replaced.

    Attributes:
        files: Those of the hour.
        start: The first minute that is replaced.
        end: The end of the last one.
    """

    files: Files
    start: datetime
    end: datetime

    def rows(self, table: Table) -> Iterator[pl.DataFrame]:
        """Yield the rows outside, with every column."""
        time = pl.col("window_start")
        outside = (time < self.start) | (time >= self.end)
        yield placed(_read(self.files, outside), table, Grain.MINUTE)


@dataclass(frozen=True, slots=True)
class Day:
    """Some hours of a day to be computed anew, and the day with them.

    Attributes:
        hours: The files with the hours that the table has.
        minutes: The files of the minutes, by the hours to be computed.
        together: Hours whose minutes are to be put together as well.
        share: Which series.
    """

    hours: Files
    minutes: Mapping[datetime, Files]
    together: frozenset[datetime]
    share: Share

    def rows(self, table: Table) -> Iterator[pl.DataFrame]:
        """Yield all hours of the day, the day, and the minutes to be put together."""
        others = ~pl.col("window_start").is_in(list(self.minutes))
        known = _read(self.hours, others & self.share.contains())
        found = [placed(known, table, Grain.HOUR)]
        for hour, files in self.minutes.items():
            rows = _read(files, self.share.contains())
            found.append(coarser(rows, table, Grain.HOUR))
            if hour in self.together:
                yield placed(rows, table, Grain.MINUTE)
        hours = pl.concat(found)
        yield hours
        yield coarser(hours, table, Grain.DAY)


def _read(files: Files, wanted: pl.Expr) -> pl.DataFrame:
    names = files.table.polars_schema.names()
    return files.collect([name for name in names if name not in PARTITIONED_BY], wanted)
