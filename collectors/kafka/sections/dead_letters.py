"""Dead-letter topics: three depths, age, reasons, origins."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.cluster.changes import arrival_ratio, arrivals_by_topic
from collectors.kafka.dead_letters.detection import origin_by_name
from collectors.kafka.dead_letters.header_samples import OffsetRange, Sample, sample
from collectors.kafka.poll.reads import PollView
from collectors.kafka.poll.state import Sampled
from collectors.kafka.protocol.broker_requests import Deadline
from collectors.source.rows import frame
from config.settings import ClusterSettings
from lake.schemas.tables import DEAD_LETTERS

_SOURCE = "kafka"
NO_REDRIVE_GROUP = "no redrive group is declared: what is unprocessed is not known"


def collect(client: PollView, settings: ClusterSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the table ``dead_letters``.

    retained = sum of log end - log start; unprocessed = sum of log end - max(committed, log start)
    of the declared redrive group, and null without one. A sum is null as soon as one partition of
    it is unknown. arrival_ratio = arrivals since the poll before / arrivals of the origins in the
    same time; null where either is unknown or nothing arrived at the origins.
    """
    found = client.dead_letters
    rows = []
    spans = {}
    if found:
        offsets = client.offsets
        for topic, found_by in sorted(found.items()):
            row, spans[topic] = _depths(client, topic, offsets.filter(pl.col("topic") == topic))
            rows.append({"source": _SOURCE, "name": topic, "found_by": found_by, **row})
    samples = _samples(client, spans, {row["name"] for row in rows if row["retained"] is None})
    arrivals = arrivals_by_topic(client.ends) if found else {}
    for row in rows:
        outcome = _add_sample(client, row, samples.get(row["name"]))
        origins = _origins(client, row["name"], outcome)
        row["origin"] = origins[0] if origins else None
        row["arrival_ratio"] = arrival_ratio(arrivals, row["name"], origins)
    client.memory.samples = samples
    return {"dead_letters": frame(DEAD_LETTERS, rows)}


def _depths(
    client: PollView, topic: str, ends: pl.DataFrame
) -> tuple[dict[str, Any], list[OffsetRange]]:
    """Return a topic's depths, and what of each partition its sample is to be taken from."""
    group = client.settings.dead_letters.redrive_groups.get(topic)
    reasons: list[str] = sorted(set(ends["offsets_unknown"].drop_nulls()))
    known = ends.drop_nulls(["log_start", "log_end"])
    whole = not reasons
    unprocessed = None
    first = dict(known.select("partition", "log_start").iter_rows())
    if group is None:
        reasons.append(NO_REDRIVE_GROUP)
    else:
        try:
            committed = _committed(client, group, topic)
        except CollectorError as error:
            reasons.append(f"redrive group {group}: {error}")
        else:
            first = {
                partition: max(start, committed.get(partition, start))
                for partition, start in first.items()
            }
            if whole:
                unprocessed = sum(
                    max(0, end - first[partition])
                    for partition, end in known.select("partition", "log_end").iter_rows()
                )
    spans = [
        OffsetRange(partition=partition, first=first[partition], end=end)
        for partition, end in known.select("partition", "log_end").iter_rows()
    ]
    return {
        "redrive_group": group,
        "unprocessed": unprocessed,
        "retained": int((known["log_end"] - known["log_start"]).sum()) if whole else None,
        "log_end": int(known["log_end"].sum()) if whole else None,
        "unknown_reason": "; ".join(reasons) or None,
    }, spans


def _committed(client: PollView, group: str, topic: str) -> dict[int, int]:
    """Return where the redrive group stands, by partition; what it never committed is missing."""
    groups = client.groups
    if group in groups.offsets_unknown:
        raise CollectorError(groups.offsets_unknown[group])
    if group not in groups.refs and groups.problems:
        raise CollectorError("not every broker could be asked for its groups")
    rows = groups.committed.filter((pl.col("group") == group) & (pl.col("topic") == topic))
    refused = rows["committed_unknown"].drop_nulls()
    if refused.len():
        raise CollectorError(refused[0])
    return dict(rows.select("partition", "committed").iter_rows())


def _samples(
    client: PollView, spans: Mapping[str, list[OffsetRange]], incomplete: Collection[str]
) -> dict[str, Sampled]:
    """Sample the topics that moved, the longest unread ones first, while there is time."""
    if not client.settings.dead_letters.sample_records:
        return {}
    known = client.memory.samples
    kept: dict[str, Sampled] = {}
    due = []
    for topic, wanted in spans.items():
        last = known.get(topic)
        # Where a partition is unknown just now, the sample would be of something else.
        if last is not None and (last.spans == tuple(wanted) or topic in incomplete):
            kept[topic] = last
        elif wanted:
            due.append((last.at if last else datetime.min.replace(tzinfo=client.now.tzinfo), topic))
    limit = Deadline(
        min(client.deadline.left_seconds, client.deadline.request_seconds),
        client.deadline.request_seconds,
    )
    for _, topic in sorted(due):
        last = known.get(topic)
        outcome: Sample | str | None = None
        if limit.left_seconds > 0:
            try:
                outcome = sample(
                    client.wire,
                    topic,
                    spans[topic],
                    client.leaders(topic),
                    client.settings.dead_letters.sample_records,
                    limit,
                )
            except CollectorError as error:
                outcome = str(error)
        if isinstance(outcome, Sample) and not outcome.complete and not outcome.records:
            outcome = None
        if outcome is not None:
            # One that failed or was cut short is taken again at the next poll.
            whole = isinstance(outcome, Sample) and outcome.complete
            kept[topic] = Sampled(
                at=client.now, spans=tuple(spans[topic]) if whole else (), outcome=outcome
            )
        elif last is not None:
            kept[topic] = last
            client.problems.append(f"{topic}: no time to read its headers; the last sample is kept")
        else:
            client.problems.append(f"{topic}: its headers could not be read in time")
    return kept


def _add_sample(client: PollView, row: dict[str, Any], sampled: Sampled | None) -> Sample | None:
    """Add what the sample says to a row, and return the sample where there is one."""
    topic = row["name"]
    outcome = sampled.outcome if sampled else None
    if outcome is None:
        return None
    if isinstance(outcome, str):
        row["unknown_reason"] = "; ".join(filter(None, [row["unknown_reason"], outcome]))
        client.problems.append(f"{topic}: {outcome}")
        return None
    row["sampled_records"] = outcome.records
    row["reasons"] = _entries(outcome.reasons)
    row["origins"] = _entries(outcome.origins)
    if outcome.oldest is not None:
        oldest = "oldest_unprocessed_at" if row["redrive_group"] else "oldest_retained_at"
        row[oldest] = outcome.oldest.timestamp
        row["oldest_event_at"] = outcome.oldest.event_at
        row["oldest_arrived_at"] = outcome.oldest.arrived_at
    return outcome


def _entries(counts: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"key": name, "value": count} for name, count in counts.items()]


def _origins(client: PollView, topic: str, outcome: Sample | None) -> list[str]:
    """Return the topics whose failures a dead-letter topic holds, the most frequent first.

    They are declared, or named by the records' headers, or the one topic that the sink reads which
    puts its dead letters here, or guessed from the name.
    """
    declared = client.settings.dead_letters.origins.get(topic)
    if declared is not None:
        return [declared]
    if outcome is not None and outcome.origins:
        return list(outcome.origins)
    of_sinks = _topics_of_sinks(client, topic)
    if len(of_sinks) == 1:
        return of_sinks
    named = origin_by_name(topic, client.all_topics)
    return [] if named is None else [named]


def _topics_of_sinks(client: PollView, topic: str) -> list[str]:
    """Return what the sinks of Kafka Connect read that put their dead letters into a topic."""
    groups = {sink.group for sink in client.sinks if sink.dead_letter_topic == topic}
    if not groups:
        return []
    try:
        committed = client.groups.committed
    except CollectorError:
        return []
    return committed.filter(pl.col("group").is_in(groups))["topic"].unique().sort().to_list()
