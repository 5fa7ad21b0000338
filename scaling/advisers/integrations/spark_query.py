"""Advice on minPartitions of a Spark Structured Streaming query: pure.

A query reads with one task a partition unless minPartitions asks for more: Spark then splits large
offset ranges, so that the topic's partitions do not bound it. It is a hint, and order within a
partition is lost across the parts.

A query commits no offsets to Kafka. The configuration names the queries and the capacity of their
tasks; the arrivals come from the lake.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import polars as pl

from alerting.status.phrases import plural, rate, share
from config.scaling import SparkQuerySettings
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Artefact,
    Caveat,
    CaveatLevel,
    Confidence,
    Evidence,
    Recommendation,
    Subject,
)
from scaling.facts.topic_facts import arrival_rates

UTILISATION = 0.7

_ORDER = Caveat(
    level=CaveatLevel.HIGH,
    text="The parts of a split partition are processed side by side: do it only where order within "
    "a batch does not matter.",
)
_CORES = Caveat(
    level=CaveatLevel.MEDIUM,
    text="More parts than cores wait for each other: the cores are the limit then.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryFacts:
    """What is known of a query; None is unknown."""

    cluster: str
    query: str
    partitions: int
    arrival_per_second: float | None
    task_per_second: float | None  # what one task can process, messages per second; None is unknown
    cores: int | None = None
    min_partitions: int | None = None  # minPartitions, as set; None: not set


def query_facts(
    queries: Sequence[SparkQuerySettings], partitions: pl.DataFrame
) -> list[QueryFacts]:
    """Gather what is known of each query; the arrival is unknown where its topics are missing."""
    if not queries:
        return []
    arrivals, _ = arrival_rates(partitions)
    found = []
    for query in queries:
        of_topics = [arrivals.get((query.cluster, topic)) for topic in query.topics]
        rates = [rate for rates in of_topics if rates is not None for rate in rates.values()]
        known = [rate for rate in rates if rate is not None]
        is_known = None not in of_topics and len(known) == len(rates)
        found.append(
            QueryFacts(
                cluster=query.cluster,
                query=query.name,
                partitions=len(rates),
                arrival_per_second=sum(known) if is_known else None,
                task_per_second=query.task_per_second,
                cores=query.cores,
                min_partitions=query.min_partitions,
            )
        )
    return found


def min_partitions_advice(facts: QueryFacts) -> Recommendation | None:
    """Return advice on minPartitions; None where the present tasks are enough or nothing is known.

    A multiple of the cores, so that every wave of tasks is full.
    """
    if facts.arrival_per_second is None or not facts.task_per_second or facts.partitions < 1:
        return None
    tasks = max(facts.partitions, facts.min_partitions or 0)
    needed = ceil(facts.arrival_per_second / (UTILISATION * facts.task_per_second))
    if needed <= tasks:
        return None
    proposed = ceil(needed / facts.cores) * facts.cores if facts.cores else needed
    bound = facts.cores is not None and needed > facts.cores
    return Recommendation(
        kind=AdviceKind.MIN_PARTITIONS,
        cluster=facts.cluster,
        subject=facts.query,
        severity=AdviceSeverity.WATCH,
        confidence=Confidence.MEDIUM,
        reason=f"{rate(facts.arrival_per_second)} arrive. A task may get "
        f"{rate(UTILISATION * facts.task_per_second)}, {share(UTILISATION)} of the "
        f"{rate(facts.task_per_second)} that it processes: that takes {plural(needed, 'task')}, "
        f"and {plural(facts.partitions, 'partition')} give {tasks}. Spark can split partitions: "
        "the topic needs no more of them."
        + (f" Its {facts.cores} cores are the limit: give it more." if bound else ""),
        quantity="minPartitions",
        current=facts.min_partitions,
        proposed=proposed,
        evidence=(
            Evidence(name="partitions", value=facts.partitions),
            Evidence(name="arrival", value=facts.arrival_per_second, unit="messages/s"),
            Evidence(name="capacity of one task", value=facts.task_per_second, unit="messages/s"),
            Evidence(name="cores", value=facts.cores),
        ),
        caveats=(_ORDER, _CORES),
        artefacts=(
            Artefact(
                name="Spark option",
                language="python",
                text=f'.option("minPartitions", "{proposed}")',
            ),
        ),
        subject_kind=Subject.QUERY,
    )
