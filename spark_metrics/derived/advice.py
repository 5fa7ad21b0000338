"""Recommendations for everything, those for groups spread over Spark by group."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import polars as pl
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from alerting.inputs.windows import GroupKey
from config.scaling import ScalingSettings
from config.storage import ADVICE_KEPT, ADVICE_STATE_KEPT
from lake.schemas.current import CHANGED_ADVICE, GROUP_PARTITION_STATUS
from lake.schemas.model import Column, Table
from lake.schemas.tables import (
    ADVICE_STATE,
    CONNECTORS,
    DITTO_CONNECTIONS,
    RECOMMENDATIONS,
)
from lake.storage.current_store import read_statuses
from lake.storage.store import Lake
from scaling.advice.advice_table import (
    GOES_ON_WITHIN,
    Row,
    from_row,
    recommendation_frame,
    recommendation_rows,
)
from scaling.advice.stored_advice import newer_than_round
from scaling.advisers.advise import advise_groups
from scaling.evaluate import evaluate_others
from scaling.facts.group_facts import GroupFacts, of_newest_poll
from scaling.facts.lake_reader import (
    GROUP_READS,
    WINDOW,
    GroupFrames,
    facts_of,
    read_groups,
    read_topics,
)
from scaling.facts.topic_facts import Reader, topic_readers
from spark_metrics.derived.tables import DerivedTables
from spark_metrics.rollups.passes import Frames
from spark_metrics.samples import by_group

_EVER = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = timedelta(seconds=1)
_STANDS = ("current", "proposed", "confirmed_at")
_GIVEN = replace(
    RECOMMENDATIONS,
    name="given",
    columns=(*RECOMMENDATIONS.columns, Column("reader", "string"), Column("state", "string")),
)
"""What comes back from the workers: advice; who reads a topic (subject), and what to remember of a
group (subject), as JSON."""


def recommend(tables: DerivedTables, lake: Lake, now: datetime, settings: ScalingSettings) -> None:
    """Write what is advised into ``recommendations``, and what to remember into ``advice_state``.

    Args:
        tables: The lake as Spark reads and writes it.
        lake: The same for what is small: settings of topics, partitions, connectors and queues.
        now: The present, UTC.
        settings: The objectives.

    Raises:
        LakeError: The lake cannot be read.
    """
    tables.tune(now)
    topics = read_topics(lake, now)
    standing = given_lately(lake)
    given = _on_groups(tables, lake, now, settings, topics, standing).persist()
    try:
        others = _on_others(lake, now, settings, topics, standing, given)
        rows = given.where("reader is null and state is null").drop("reader", "state")
        if others:
            found = recommendation_frame(others).to_arrow()
            rows = rows.unionByName(tables.spark.createDataFrame(found))
        rows = rows.withColumn("date", F.to_date("valid_from")).persist()
        try:
            if rows.isEmpty():
                return
            _merge(tables, RECOMMENDATIONS, rows, now + _MOMENT, now - ADVICE_KEPT)
        finally:
            rows.unpersist()
        states = given.where("state is not null").select(
            "cluster",
            F.col("subject").alias("group"),
            "state",
            F.lit(now).alias("evaluated_at"),
            F.lit(now.date()).alias("date"),
        )
        _merge(tables, ADVICE_STATE, states, now + _MOMENT, now - ADVICE_STATE_KEPT)
    finally:
        given.unpersist()


def _merge(
    tables: DerivedTables, table: Table, rows: DataFrame, until: datetime, kept_since: datetime
) -> None:
    """Put rows in the place of those with the same key; drop what is old."""
    before = tables.read(table, _EVER, until)
    if "number" in table.key:
        before = before.withColumn("number", F.coalesce("number", F.lit(0)))
    left = before.join(rows.select(*table.key), [*table.key], "left_anti")
    last = "confirmed_at" if table is RECOMMENDATIONS else table.time
    kept = left.where(F.col(last) >= kept_since)
    tables.rewrite(table, kept.unionByName(rows), *table.key[:3])


def given_lately(lake: Lake) -> pl.DataFrame:
    """Return what tells advice apart that each cluster was given of late.

    That is what its newest round gave, and the rounds of the hour before; and what groups were
    advised on since.

    Raises:
        LakeError: It cannot be read.
    """
    told_apart = [*RECOMMENDATIONS.key, *_STANDS]
    rows = lake.read(RECOMMENDATIONS, columns=told_apart)
    newest_round = pl.col("confirmed_at").max().over("cluster")
    found = [rows.filter(pl.col("confirmed_at") >= newest_round - GOES_ON_WITHIN)]
    for (cluster,), of_cluster in rows.group_by("cluster"):
        changed = lake.current.read(CHANGED_ADVICE, str(cluster))
        if changed is not None:
            newest = of_cluster["confirmed_at"].max()
            as_of = newest if isinstance(newest, datetime) else None
            found.append(newer_than_round(changed, as_of).select(rows.columns))
    return pl.concat(found)


def _on_groups(
    tables: DerivedTables,
    lake: Lake,
    now: datetime,
    settings: ScalingSettings,
    known: tuple[pl.DataFrame, pl.DataFrame],
    standing: pl.DataFrame,
) -> DataFrame:
    """Return what the workers find: advice on all groups, their states, readers of all topics."""
    sources = {
        name: tables.source(
            read.table, now - read.back, now + _MOMENT, columns=read.columns, named=read.named
        )
        for name, read in GROUP_READS.items()
    }
    topics, partitions = known[0], of_newest_poll(known[1])
    clusters = topics["cluster"].unique()
    statuses = read_statuses(lake.current, clusters, now)
    of_partitions = read_statuses(lake.current, clusters, now, table=GROUP_PARTITION_STATUS)
    on_groups = standing.filter(pl.col("subject_kind") == "group")
    group, topic = ["cluster", "group"], ["cluster", "topic"]

    def advise(written: Frames) -> pl.DataFrame:
        rows = {name: source.whole(written[name]) for name, source in sources.items()}
        for name, read in GROUP_READS.items():
            if read.wanted is not None:
                rows[name] = rows[name].filter(read.wanted)
        of_read = rows["offsets"].select(topic).unique()
        frames = GroupFrames(
            **rows,
            topics=topics.join(of_read, on=topic, how="semi"),
            partitions=partitions.join(of_read, on=topic, how="semi"),
            statuses=statuses.join(rows["groups"], on=group, how="semi"),
            partition_statuses=of_partitions.join(rows["groups"], on=group, how="semi"),
        )
        facts = facts_of(frames, now=now, objective=settings.objective_seconds)
        found = advise_groups(facts, frames.state_texts())
        names = [key.group for key in facts]
        last = on_groups.filter(pl.col("subject").is_in(names)).rows(named=True)
        advice = recommendation_rows(found.advice, at=now, standing=last)
        parts = [recommendation_frame(advice), _reader_rows(facts), _state_rows(found.states)]
        return pl.concat(parts, how="diagonal")

    written = {
        name: (source.written(tables.spark, lake), GROUP_READS[name].named)
        for name, source in sources.items()
    }
    return by_group(written, tables.tasks(now - WINDOW, now + _MOMENT), advise, _GIVEN)


def _reader_rows(facts: Mapping[GroupKey, GroupFacts]) -> pl.DataFrame:
    found = [
        (cluster, topic, json.dumps(asdict(one)))
        for (cluster, topic), readers in topic_readers(facts).items()
        for one in readers
    ]
    return _text_rows("reader", found)


def _state_rows(states: Mapping[GroupKey, str]) -> pl.DataFrame:
    return _text_rows("state", [(*key, text) for key, text in states.items()])


def _text_rows(name: str, rows: list[tuple[str, str, str]]) -> pl.DataFrame:
    schema = {"cluster": pl.String(), "subject": pl.String(), name: pl.String()}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _on_others(
    lake: Lake,
    now: datetime,
    settings: ScalingSettings,
    topics: tuple[pl.DataFrame, pl.DataFrame],
    standing: pl.DataFrame,
    given: DataFrame,
) -> list[Row]:
    """Return the advice on topics, connectors, connections, queues, queries: few."""
    readers: dict[tuple[str, str], list[Reader]] = {}
    for row in given.where("reader is not null").collect():
        reader = Reader(**json.loads(row["reader"]))
        readers.setdefault((row["cluster"], row["subject"]), []).append(reader)
    named = _named(lake, now)
    on_groups = given.where((F.col("subject_kind") == "group") & F.col("subject").isin(named))
    facts: dict[GroupKey, GroupFacts] = {}
    if named:
        frames = read_groups(lake, now, topics, names=named)
        facts = facts_of(frames, now=now, objective=settings.objective_seconds)
    found = evaluate_others(
        lake,
        now,
        settings,
        topics,
        {topic: tuple(of_topic) for topic, of_topic in readers.items()},
        facts,
        [from_row(row.asDict()) for row in on_groups.collect()],
    )
    last = standing.filter(pl.col("subject_kind") != "group").rows(named=True)
    return recommendation_rows(found, at=now, standing=last)


def _named(lake: Lake, now: datetime) -> list[str]:
    """Return the groups that connectors and connections name."""
    names: Iterable[pl.Series] = (
        lake.read(table, since=now - WINDOW, columns=["group"])["group"].drop_nulls()
        for table in (CONNECTORS, DITTO_CONNECTIONS)
    )
    return sorted({name for of_table in names for name in of_table})
