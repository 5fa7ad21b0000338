"""Recommendations for every group, spread over Spark by group."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
from pyspark.sql import Window
from pyspark.sql import functions as F

from alerting.windows import WINDOW_SECONDS
from lake.carried import CARRIED_FOR, POLL, expanded
from lake.store import Lake
from lake.tables import (
    CAPACITY,
    FORECASTS,
    GROUP_MEMBERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
    RECOMMENDATIONS,
    TOPICS,
)
from scaling.facts import newest, of_newest_poll
from scaling.rows import GroupFrames, advise_groups, recommendation_frame, recommendation_rows
from spark_metrics.derived.chunks import Frames, by_group
from spark_metrics.derived.tables import DerivedTables

KEPT = timedelta(days=90)
"""Advice that was last given so long ago is forgotten."""
_WINDOW = timedelta(seconds=WINDOW_SECONDS)
_SETTINGS_AGE = timedelta(days=1)
"""Topics are written when they change, and hourly."""
_OF_DAYS = timedelta(days=2)
_EVER = datetime(1970, 1, 1, tzinfo=UTC)


def recommend(tables: DerivedTables, lake: Lake, now: datetime) -> None:
    """Write what is advised on every group of the newest polls into ``recommendations``.

    Args:
        tables: The lake as Spark reads and writes it.
        lake: The same for what is small: settings of topics, one poll of partitions.
        now: The present, UTC.

    Raises:
        LakeError: The lake cannot be read.
    """
    since = now - _WINDOW
    soon = now + timedelta(seconds=1)
    groups = tables.read(GROUPS, since, soon)
    number = groups.select("cluster", "group").distinct().count()
    if not number:
        return
    before = tables.read(RECOMMENDATIONS, _EVER, soon)
    of_cluster = Window.partitionBy("cluster")
    newest_round = F.max("confirmed_at").over(of_cluster)
    standing = before.withColumn("_newest", newest_round).where("confirmed_at = _newest")
    parts = {
        "offsets": (
            tables.read(GROUP_OFFSETS, since - CARRIED_FOR, soon).where(F.col("group").isNotNull()),
            "group",
        ),
        "groups": (groups, "group"),
        "members": (tables.read(GROUP_MEMBERS, since, soon), "group"),
        "capacity": (tables.read(CAPACITY, now - _OF_DAYS, soon), "group"),
        "forecasts": (
            tables.read(FORECASTS, now - _OF_DAYS, soon).where("subject = 'group'"),
            "name",
        ),
        "standing": (standing.drop("_newest").where("subject_kind = 'group'"), "subject"),
    }
    topics = newest(lake.read(TOPICS, since=now - _SETTINGS_AGE), "topic")
    partitions = of_newest_poll(lake.read(PARTITIONS, since=since))
    polls = lake.scan(GROUP_OFFSETS, since=since - CARRIED_FOR).filter(pl.col("mark") == POLL)
    of_all_groups = polls.collect()

    def advise(frames: Frames) -> pl.DataFrame:
        last = frames.pop("standing").rows(named=True)
        written = pl.concat([frames["offsets"], of_all_groups], how="diagonal_relaxed")
        frames["offsets"] = expanded(GROUP_OFFSETS, written, since=since)
        known = GroupFrames(**frames, topics=topics, partitions=partitions)
        found = advise_groups(known, now=now)
        return recommendation_frame(recommendation_rows(found, at=now, standing=last))

    given = (
        by_group(parts, number, advise, RECOMMENDATIONS)
        .withColumn("date", F.to_date("valid_from"))
        .persist()
    )
    try:
        others = before.join(
            given.select(*RECOMMENDATIONS.key), [*RECOMMENDATIONS.key], "left_anti"
        )
        kept = others.where(F.col("confirmed_at") >= now - KEPT)
        tables.rewrite(RECOMMENDATIONS, kept.unionByName(given), "cluster", "subject")
    finally:
        given.unpersist()
