"""Recommendations for everything, those for groups spread over Spark by group."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from alerting.windows import WINDOW_SECONDS, GroupKey
from config.scaling import ScalingSettings
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
from spark_metrics.derived.of_groups import groups_at_once
from spark_metrics.derived.tables import DerivedTables, fields, names_of
from spark_metrics.tasks import Share, spread

KEPT = timedelta(days=90)
"""Advice that was last given so long ago is forgotten."""
_WINDOW = timedelta(seconds=WINDOW_SECONDS)
_SETTINGS_AGE = timedelta(days=1)
"""Topics are written when they change, and hourly."""
_OF_DAYS = timedelta(days=2)
_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = timedelta(seconds=1)
_OF_PARTITIONS = [
    *("cluster", "topic", "partition", "observed_at"),
    *("log_start", "log_end", "size_bytes"),
]
"""What advice needs of partitions: ten minutes of all their columns are gigabytes."""
_STANDS = ("current", "proposed", "confirmed_at")
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
    since = now - _WINDOW
    topics = newest(lake.read(TOPICS, since=now - _SETTINGS_AGE), "topic")
    partitions = lake.read(PARTITIONS, since=since, columns=_OF_PARTITIONS)
    standing = _standing(lake)
    given = _on_groups(tables, now, settings, (topics, partitions), standing).persist()
    try:
        others = _on_others(lake, now, settings, (topics, partitions), standing, given)
        rows = given.where("reader is null").drop("reader")
        if others:
            found = recommendation_frame(others).drop("date").to_arrow()
            rows = rows.unionByName(tables.spark.createDataFrame(found))
        rows = rows.withColumn("date", F.to_date("valid_from")).persist()
        try:
            if rows.isEmpty():
                return
            before = tables.read(RECOMMENDATIONS, _EVER, now + _MOMENT).withColumn(
                "number", F.coalesce("number", F.lit(0))
            )
            left = before.join(
                rows.select(*RECOMMENDATIONS.key), [*RECOMMENDATIONS.key], "left_anti"
            )
            kept = left.where(F.col("confirmed_at") >= now - KEPT)
            tables.rewrite(RECOMMENDATIONS, kept.unionByName(rows), "cluster", "subject")
        finally:
            rows.unpersist()
    finally:
        given.unpersist()


def _standing(lake: Lake) -> pl.DataFrame:
    """Return what tells the advice of each cluster's newest round apart."""
    rows = lake.read(RECOMMENDATIONS, columns=[*RECOMMENDATIONS.key, *_STANDS])
    newest_round = pl.col("confirmed_at").max().over("cluster")
    return rows.filter(pl.col("confirmed_at") == newest_round)


def _on_groups(
    tables: DerivedTables,
    now: datetime,
    settings: ScalingSettings,
    known: tuple[pl.DataFrame, pl.DataFrame],
    standing: pl.DataFrame,
) -> DataFrame:
    """Return the advice on all groups, and the readers of all topics, worked out by the workers."""
    since, soon = now - _WINDOW, now + _MOMENT
    sources = {
        "offsets": tables.source(GROUP_OFFSETS, since, soon),
        "groups": tables.source(GROUPS, since, soon),
        "members": tables.source(GROUP_MEMBERS, since, soon),
        "capacity": tables.source(CAPACITY, now - _OF_DAYS, soon),
        "forecasts": tables.source(
            FORECASTS, now - _OF_DAYS, soon, named="name", wanted=pl.col("subject") == "group"
        ),
    }
    topics, partitions = known[0], of_newest_poll(known[1])
    on_groups = standing.filter(pl.col("subject_kind") == "group")
    topic = ["cluster", "topic"]

    def advise(share: Share) -> Iterator[pl.DataFrame]:
        for frames in groups_at_once(sources, share):
            read = frames["offsets"].select(topic).unique()
            facts = facts_of(
                GroupFrames(
                    **frames,
                    topics=topics.join(read, on=topic, how="semi"),
                    partitions=partitions.join(read, on=topic, how="semi"),
                ),
                now=now,
                objective=settings.objective_seconds,
            )
            names = [key.group for key in facts]
            last = on_groups.filter(pl.col("subject").is_in(names)).rows(named=True)
            rows = recommendation_rows(advise_groups(facts), at=now, standing=last)
            found = pl.concat([recommendation_frame(rows), _reader_rows(facts)], how="diagonal")
            yield found.select(names_of(_GIVEN))

    spark = tables.spark
    shares = sources["offsets"].shares(spark.sparkContext.defaultParallelism)
    return spread(spark, shares, advise, fields(_GIVEN))


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
    lake: Lake,
    now: datetime,
    settings: ScalingSettings,
    known: tuple[pl.DataFrame, pl.DataFrame],
    standing: pl.DataFrame,
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
    last = standing.filter(pl.col("subject_kind") != "group").rows(named=True)
    return recommendation_rows(found, at=now, standing=last)


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
