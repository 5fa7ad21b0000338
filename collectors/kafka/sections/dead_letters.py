"""Dead-letter topics: three depths, age, reasons, origins."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.cluster.changes import arrival_ratio, arrivals_by_topic
from collectors.kafka.dead_letters.detection import origin_by_name
from collectors.kafka.dead_letters.header_samples import Sample
from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.kafka.poll.dead_letter_topics import Sampled
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import DEAD_LETTERS

_SOURCE = "kafka"


def collect(
    reads: ClusterReads, settings: ClusterSettings, now: datetime
) -> dict[str, pl.DataFrame]:
    """Return the table ``dead_letters``.

    arrival_ratio = arrivals since the poll before / arrivals of the origins in the same time; null
    where either is unknown or nothing arrived at the origins. ``Depth`` says what the depths are.
    """
    found, depths, samples = reads.dead_letters.value, reads.depths.value, reads.samples.value
    reads.problems.extend(samples.problems)
    arrivals = arrivals_by_topic(reads.ends.value) if found else {}
    rows = []
    for topic, depth in depths.items():
        row: dict[str, Any] = {
            "source": _SOURCE,
            "name": topic,
            "found_by": found[topic],
            "redrive_group": depth.redrive_group,
            "unprocessed": depth.unprocessed,
            "retained": depth.retained,
            "log_end": depth.log_end,
            "unknown_reason": depth.unknown_reason,
        }
        outcome = _add_sample(reads, row, samples.by_topic.get(topic))
        origins = _origins(reads, topic, settings.dead_letters.origins.get(topic), outcome)
        row["origin"] = origins[0] if origins else None
        row["arrival_ratio"] = arrival_ratio(arrivals, topic, origins)
        rows.append(row)
    return {"dead_letters": frame(DEAD_LETTERS, rows)}


def _add_sample(reads: ClusterReads, row: dict[str, Any], sampled: Sampled | None) -> Sample | None:
    """Add what the sample says to a row, and return the sample where there is one."""
    topic = row["name"]
    outcome = sampled.outcome if sampled else None
    if outcome is None:
        return None
    if isinstance(outcome, str):
        row["unknown_reason"] = "; ".join(filter(None, [row["unknown_reason"], outcome]))
        reads.problems.append(f"{topic}: {outcome}")
        return None
    row["sampled_records"] = outcome.records
    row["reasons"] = _entries(outcome.reasons)
    row["origins"] = _entries(outcome.origins)
    row["newest_record"] = _entries(outcome.newest_record)
    row["oldest_record"] = _entries(outcome.oldest_record)
    if outcome.oldest is not None:
        oldest = "oldest_unprocessed_at" if row["redrive_group"] else "oldest_retained_at"
        row[oldest] = outcome.oldest.timestamp
        row["oldest_event_at"] = outcome.oldest.event_at
        row["oldest_arrived_at"] = outcome.oldest.arrived_at
    return outcome


def _entries(values: Mapping[str, int] | Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": name, "value": value} for name, value in values.items()]


def _origins(
    reads: ClusterReads, topic: str, declared: str | None, outcome: Sample | None
) -> list[str]:
    """Return the topics whose failures a dead-letter topic holds, the most frequent first.

    They are declared, or named by the records' headers, or the one topic that the sink reads which
    puts its dead letters here, or guessed from the name.
    """
    if declared is not None:
        return [declared]
    if outcome is not None and outcome.origins:
        return list(outcome.origins)
    of_sinks = _topics_of_sinks(reads, topic)
    if len(of_sinks) == 1:
        return of_sinks
    named = origin_by_name(topic, reads.topics.value.all.keys())
    return [] if named is None else [named]


def _topics_of_sinks(reads: ClusterReads, topic: str) -> list[str]:
    """Return what the sinks of Kafka Connect read that put their dead letters into a topic."""
    groups = {sink.group for sink in reads.sinks if sink.dead_letter_topic == topic}
    if not groups:
        return []
    try:
        committed = reads.groups.value.committed
    except CollectorError:
        return []
    return committed.filter(pl.col("group").is_in(groups))["topic"].unique().sort().to_list()
