"""Recommendations for everything, those for groups spread over Spark by group."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import polars as pl
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from alerting.windows import WINDOW_SECONDS, GroupKey
from config.scaling import ScalingSettings
from lake.carried import CARRIED_FOR, POLL, expanded
from lake.schema import Column
from lake.store import Lake
from lake.tables import (
    BROKERS,
    CAPACITY,
    CONNECTORS,
    DITTO_CONNECTIONS,
    FORECASTS,
    GROUP_MEMBERS,
    GROUP_OFFSETS,
    GROUPS,
    PARTITIONS,
    QUEUES,
    RECOMMENDATIONS,
    TOPICS,
)
from scaling.advise import advise_sources, advise_topics
from scaling.facts import GroupFacts, newest, of_newest_poll
from scaling.model import Recommendation
from scaling.rows import (
    GroupFrames,
    Row,
    advise_groups,
    facts_of,
    from_row,
    recommendation_frame,
    recommendation_rows,
)
from scaling.spark import query_facts
from scaling.topic_facts import Reader, topic_readers
from spark_metrics.derived.chunks import Frames, by_group
from spark_metrics.derived.tables import DerivedTables

KEPT = timedelta(days=90)
"""Advice that was last given so long ago is forgotten."""
_WINDOW = timedelta(seconds=WINDOW_SECONDS)
_SETTINGS_AGE = timedelta(days=1)
"""Topics are written when they change, and hourly."""
_OF_DAYS = timedelta(days=2)
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_GIVEN = replace(
    RECOMMENDATIONS, name="given", columns=(*RECOMMENDATIONS.columns, Column("reader", "string"))
)
"""What comes back from the workers: advice, and who reads a topic (subject), as JSON."""


def recommend(tables: DerivedTables, lake: Lake, now: datetime, settings: ScalingSettings) -> None:
    """Write what is advised on groups, topics, connectors and queues into ``recommendations``.

    Args:
        tables: The lake as Spark reads and writes it.
        lake: The same for what is small: settings of topics, partitions, connectors and queues.
        now: The present, UTC.
        settings: The objectives.

    Raises:
        LakeError: The lake cannot be read.
    """
    since, soon = now - _WINDOW, now + timedelta(seconds=1)
    groups = tables.read(GROUPS, since, soon)
    number = groups.select("cluster", "group").distinct().count()
    topics = newest(lake.read(TOPICS, since=now - _SETTINGS_AGE), "topic")
    partitions = lake.read(PARTITIONS, since=since)
    before = tables.read(RECOMMENDATIONS, _EVER, soon).withColumn(
        "number", F.coalesce("number", F.lit(0))
    )
    of_cluster = Window.partitionBy("cluster")
    newest_round = F.max("confirmed_at").over(of_cluster)
    standing = (
        before.withColumn("_newest", newest_round)
        .where("confirmed_at = _newest")
        .drop("_newest")
        .persist()
    )
    given = _on_groups(tables, lake, now, settings, (topics, partitions), standing, number)
    given = given.persist()
    try:
        others = _on_others(tables, lake, now, settings, (topics, partitions), standing, given)
        rows = given.where("reader is null").drop("reader")
        if others:
            found = recommendation_frame(others).drop("date").to_arrow()
            rows = rows.unionByName(tables.spark.createDataFrame(found))
        rows = rows.withColumn("date", F.to_date("valid_from")).persist()
        try:
            if rows.isEmpty():
                return
            left = before.join(
                rows.select(*RECOMMENDATIONS.key), [*RECOMMENDATIONS.key], "left_anti"
            )
            kept = left.where(F.col("confirmed_at") >= now - KEPT)
            tables.rewrite(RECOMMENDATIONS, kept.unionByName(rows), "cluster", "subject")
        finally:
            rows.unpersist()
    finally:
        given.unpersist()
        standing.unpersist()


def _on_groups(
    tables: DerivedTables,
    lake: Lake,
    now: datetime,
    settings: ScalingSettings,
    known: tuple[pl.DataFrame, pl.DataFrame],
    standing: DataFrame,
    number: int,
) -> DataFrame:
    """Return the advice on all groups, and the readers of all topics, worked out by the workers."""
    since, soon = now - _WINDOW, now + timedelta(seconds=1)
    parts = {
        "offsets": (
            tables.read(GROUP_OFFSETS, since - CARRIED_FOR, soon).where(F.col("group").isNotNull()),
            "group",
        ),
        "groups": (tables.read(GROUPS, since, soon), "group"),
        "members": (tables.read(GROUP_MEMBERS, since, soon), "group"),
        "capacity": (tables.read(CAPACITY, now - _OF_DAYS, soon), "group"),
        "forecasts": (
            tables.read(FORECASTS, now - _OF_DAYS, soon).where("subject = 'group'"),
            "name",
        ),
        "standing": (standing.where("subject_kind = 'group'"), "subject"),
    }
    topics, partitions = known[0], of_newest_poll(known[1])
    # Not those made meanwhile: what was read of the groups would be taken to stand in them, too.
    polls = lake.scan(GROUP_OFFSETS, since=since - CARRIED_FOR, until=soon)
    of_all_groups = polls.filter(pl.col("mark") == POLL).collect()

    def advise(frames: Frames) -> pl.DataFrame:
        last = frames.pop("standing").rows(named=True)
        written = pl.concat([frames["offsets"], of_all_groups], how="diagonal_relaxed")
        frames["offsets"] = expanded(GROUP_OFFSETS, written, since=since)
        whole = GroupFrames(**frames, topics=topics, partitions=partitions)
        facts = facts_of(whole, now=now, objective=settings.objective_seconds)
        rows = recommendation_rows(advise_groups(facts), at=now, standing=last)
        return pl.concat([recommendation_frame(rows), _reader_rows(facts)], how="diagonal")

    return by_group(parts, number, advise, _GIVEN)


def _reader_rows(facts: Mapping[GroupKey, GroupFacts]) -> pl.DataFrame:
    found = [
        (cluster, topic, json.dumps(asdict(one)))
        for (cluster, topic), readers in topic_readers(facts).items()
        for one in readers
    ]
    return pl.DataFrame(
        found,
        schema={"cluster": pl.String(), "subject": pl.String(), "reader": pl.String()},
        orient="row",
    )


def _on_others(
    tables: DerivedTables,
    lake: Lake,
    now: datetime,
    settings: ScalingSettings,
    known: tuple[pl.DataFrame, pl.DataFrame],
    standing: DataFrame,
    given: DataFrame,
) -> list[Row]:
    """Return the advice on topics, connectors, connections, queues, queries: few."""
    since = now - _WINDOW
    topics, partitions = known
    readers: dict[tuple[str, str], list[Reader]] = {}
    for row in given.where("reader is not null").collect():
        reader = Reader(**json.loads(row["reader"]))
        readers.setdefault((row["cluster"], row["subject"]), []).append(reader)
    found: list[Recommendation] = advise_topics(
        topics,
        partitions,
        lake.read(BROKERS, since=since),
        {topic: tuple(of_topic) for topic, of_topic in readers.items()},
    )
    connectors = lake.read(CONNECTORS, since=since)
    connections = lake.read(DITTO_CONNECTIONS, since=since)
    named = _named(connectors, connections)
    on_groups = given.where((F.col("subject_kind") == "group") & F.col("subject").isin(named))
    found += advise_sources(
        _facts_of_named(lake, now, settings, (topics, of_newest_poll(partitions)), named),
        [from_row(row.asDict()) for row in on_groups.collect()],
        connectors=connectors,
        connections=connections,
        queues=lake.read(QUEUES, since=since),
        streaming=query_facts(settings.spark_queries, partitions),
    )
    last = [row.asDict() for row in standing.where("subject_kind <> 'group'").collect()]
    return recommendation_rows(found, at=now, standing=[_in_utc(row) for row in last])


def _named(*frames: pl.DataFrame) -> list[str]:
    """Return the groups that connectors and connections name."""
    names: Iterable[pl.Series] = (frame["group"].drop_nulls() for frame in frames)
    return sorted({name for of_frame in names for name in of_frame})


def _facts_of_named(
    lake: Lake,
    now: datetime,
    settings: ScalingSettings,
    known: tuple[pl.DataFrame, pl.DataFrame],
    named: Sequence[str],
) -> dict[GroupKey, GroupFacts]:
    if not named:
        return {}
    since, theirs = now - _WINDOW, pl.col("group").is_in(named)
    frames = GroupFrames(
        offsets=lake.read(GROUP_OFFSETS, theirs, since=since),
        groups=lake.read(GROUPS, theirs, since=since),
        members=lake.read(GROUP_MEMBERS, theirs, since=since),
        topics=known[0],
        partitions=known[1],
    )
    return facts_of(frames, now=now, objective=settings.objective_seconds)


def _in_utc(row: Row) -> Row:
    """Give a row's time its zone: Spark hands it on as the time of this machine, without one."""
    return {**row, "valid_from": row["valid_from"].astimezone(UTC)}
