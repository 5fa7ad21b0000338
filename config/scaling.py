"""Advice: what it is to hold."""

from __future__ import annotations

from pydantic import Field

from config.parts import Pattern, Section
from config.patterns import matches_whole


class ObjectiveSettings(Section):
    """The objective of some groups."""

    groups: Pattern = Field(description="a regular expression that matches the whole name")
    time_lag_seconds: float = Field(gt=0, le=30 * 86400)


class SparkQuerySettings(Section):
    """A Spark Structured Streaming query, of which Kafka knows nothing: it commits no offsets."""

    name: str = Field(min_length=1)
    cluster: str = Field(min_length=1, description="the Kafka cluster that it reads")
    topics: list[str] = Field(min_length=1)
    task_per_second: float = Field(
        gt=0, description="messages that one task processes a second, by the query's own progress"
    )
    cores: int | None = Field(default=None, ge=1, description="cores that it may use")
    min_partitions: int | None = Field(default=None, ge=1, description="minPartitions, as set")


class ScalingSettings(Section):
    """What advice is to hold."""

    time_lag_seconds: float = Field(
        default=300.0,
        gt=0,
        le=30 * 86400,
        description="time lag that a group is not to exceed, where no objective matches",
    )
    objectives: list[ObjectiveSettings] = Field(
        default=[], description="the first whose groups match counts"
    )
    spark_queries: list[SparkQuerySettings] = Field(
        default=[], description="queries to advise minPartitions for"
    )

    def objective_seconds(self, group: str) -> float:
        """Return the time lag that a group is not to exceed."""
        for one in self.objectives:
            if matches_whole(one.groups, group):
                return one.time_lag_seconds
        return self.time_lag_seconds
