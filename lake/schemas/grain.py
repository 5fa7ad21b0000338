"""The lengths of history's windows: the one place that says which there are."""

from __future__ import annotations

from enum import IntEnum

from config.storage import RetentionSettings

PARTITIONED_BY = ("date", "grain_seconds", "hour")
"""The columns that history tables are partitioned by."""


class Grain(IntEnum):
    """The length of a window of history, in seconds; each is made of the one before it.

    Attributes:
        partition_hours: How many hours of rows lie in one partition of a table. ``hour`` is the
            first hour of the day in it: of minutes each hour has a partition, of longer windows
            each day.
    """

    partition_hours: int

    MINUTE = 60, 1
    HOUR = 3600, 24
    DAY = 86400, 24

    def __new__(cls, seconds: int, partition_hours: int) -> Grain:
        """Return a grain that equals its seconds."""
        grain = int.__new__(cls, seconds)
        grain._value_ = seconds
        grain.partition_hours = partition_hours
        return grain

    @property
    def seconds(self) -> int:
        """The length of a window."""
        return self.value

    def kept_days(self, retention: RetentionSettings) -> int | None:
        """Return for how many days rows are kept; None: for ever."""
        return {
            Grain.MINUTE: retention.minute_days,
            Grain.HOUR: retention.hour_days,
            Grain.DAY: retention.day_days,
        }[self]
