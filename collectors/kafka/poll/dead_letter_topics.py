"""Dead-letter topics: which there are, how deep they are, and samples of their records."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.cluster.metadata import TopicConfig
from collectors.kafka.dead_letters.detection import MARKING_CONFIG, find_dead_letters
from collectors.kafka.dead_letters.header_samples import OffsetRange, Sample, sample
from collectors.kafka.groups.model import Groups
from collectors.kafka.poll.outcome import Outcome
from collectors.kafka.poll.watched_topics import Topics
from collectors.kafka.protocol.broker_requests import Deadline
from collectors.kafka.protocol.poll_context import PollContext
from collectors.source.shared_facts import Sink
from config.settings import DeadLetterSettings

NO_REDRIVE_GROUP = "no redrive group is declared: what is unprocessed is not known"


@dataclass(frozen=True, slots=True, kw_only=True)
class Depth:
    """How many records a dead-letter topic holds.

    Attributes:
        retained: Sum of log end - log start; None as soon as one partition is unknown.
        unprocessed: Sum of log end - max(committed, log start) of the declared redrive group; None
            without one, and as soon as one partition is unknown.
        log_end: Sum of the log ends; None as soon as one partition is unknown.
        ranges: What of each partition its sample is to be taken from.
    """

    redrive_group: str | None
    retained: int | None
    unprocessed: int | None
    log_end: int | None
    unknown_reason: str | None
    ranges: tuple[OffsetRange, ...]


def dead_letter_topics(
    settings: DeadLetterSettings,
    topics: Topics,
    configs: Outcome[Mapping[str, TopicConfig | str]],
    sinks: Sequence[Sink],
) -> Mapping[str, str]:
    """Return the watched dead-letter topics, with how each was found."""
    try:
        known = configs.value
    except CollectorError:
        known = {}
    marked = {
        topic
        for topic, config in known.items()
        if not isinstance(config, str) and config.get(MARKING_CONFIG, (None, False))[0] == "true"
    }
    internal = set(topics.partitions.filter("internal")["topic"].unique())
    of_sinks = {sink.dead_letter_topic for sink in sinks if sink.dead_letter_topic is not None}
    return find_dead_letters(topics.watched, settings, marked, of_sinks, internal)


def dead_letter_depths(
    settings: DeadLetterSettings,
    found: Collection[str],
    offsets: Outcome[pl.DataFrame],
    groups: Outcome[Groups],
) -> Mapping[str, Depth]:
    """Return the depths of dead-letter topics, by topic."""
    if not found:
        return {}
    rows = offsets.value.filter(pl.col("topic").is_in(list(found)))
    return {
        topic: _depth(
            settings.redrive_groups.get(topic), topic, rows.filter(pl.col("topic") == topic), groups
        )
        for topic in sorted(found)
    }


def _depth(group: str | None, topic: str, ends: pl.DataFrame, groups: Outcome[Groups]) -> Depth:
    reasons: list[str] = sorted(set(ends["offsets_unknown"].drop_nulls()))
    known = ends.drop_nulls(["log_start", "log_end"])
    whole = not reasons
    unprocessed = None
    first = dict(known.select("partition", "log_start").iter_rows())
    if group is None:
        reasons.append(NO_REDRIVE_GROUP)
    else:
        try:
            committed = _committed(groups.value, group, topic)
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
    return Depth(
        redrive_group=group,
        unprocessed=unprocessed,
        retained=int((known["log_end"] - known["log_start"]).sum()) if whole else None,
        log_end=int(known["log_end"].sum()) if whole else None,
        unknown_reason="; ".join(reasons) or None,
        ranges=tuple(
            OffsetRange(partition=partition, first=first[partition], end=end)
            for partition, end in known.select("partition", "log_end").iter_rows()
        ),
    )


def _committed(groups: Groups, group: str, topic: str) -> dict[int, int]:
    """Return where the redrive group stands, by partition; what it never committed is missing."""
    if group in groups.offsets_unknown:
        raise CollectorError(groups.offsets_unknown[group])
    if group not in groups.refs and groups.problems:
        raise CollectorError("not every broker could be asked for its groups")
    rows = groups.committed.filter((pl.col("group") == group) & (pl.col("topic") == topic))
    refused = rows["committed_unknown"].drop_nulls()
    if refused.len():
        raise CollectorError(refused[0])
    return dict(rows.select("partition", "committed").iter_rows())


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampled:
    """A dead-letter topic's sample, kept until the topic moves.

    Attributes:
        at: When it was taken.
        ranges: What it was taken from; empty for one that failed or was cut short.
        outcome: The sample, or why there is none.
    """

    at: datetime
    ranges: tuple[OffsetRange, ...]
    outcome: Sample | str


@dataclass(frozen=True, slots=True, kw_only=True)
class Samples:
    """Samples by topic, and what there was no time for."""

    by_topic: Mapping[str, Sampled]
    problems: Sequence[str]


class DeadLetterSamples:
    """The newest sample of each dead-letter topic."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[str, Sampled] = {}

    def read(
        self,
        context: PollContext,
        depths: Mapping[str, Depth],
        leaders: Callable[[str], Mapping[int, int]],
        records: int,
    ) -> Samples:
        """Sample the topics that moved, the longest unread ones first, while there is time.

        Args:
            context: How the brokers are asked.
            depths: The dead-letter topics.
            leaders: Returns who leads the partitions of a topic.
            records: How many of a topic are read; none: nothing is sampled.
        """
        if not records:
            self._known = {}
            return Samples(by_topic={}, problems=())
        kept: dict[str, Sampled] = {}
        due = []
        for topic, depth in depths.items():
            last = self._known.get(topic)
            # Where a partition is unknown just now, the sample would be of something else.
            if last is not None and (last.ranges == depth.ranges or depth.retained is None):
                kept[topic] = last
            elif depth.ranges:
                due.append((last.at if last else datetime.min.replace(tzinfo=UTC), topic))
        deadline = context.deadline
        limit = Deadline(
            min(deadline.left_seconds, deadline.request_seconds), deadline.request_seconds
        )
        problems = []
        for _, topic in sorted(due):
            last, ranges = self._known.get(topic), depths[topic].ranges
            outcome: Sample | str | None = None
            if limit.left_seconds > 0:
                try:
                    outcome = sample(context.wire, topic, ranges, leaders(topic), records, limit)
                except CollectorError as error:
                    outcome = str(error)
            if isinstance(outcome, Sample) and not outcome.complete and not outcome.records:
                outcome = None
            if outcome is not None:
                # One that failed or was cut short is taken again at the next poll.
                whole = isinstance(outcome, Sample) and outcome.complete
                kept[topic] = Sampled(
                    at=context.now, ranges=ranges if whole else (), outcome=outcome
                )
            elif last is not None:
                kept[topic] = last
                problems.append(f"{topic}: no time to read its headers; the last sample is kept")
            else:
                problems.append(f"{topic}: its headers could not be read in time")
        self._known = kept
        return Samples(by_topic=dict(kept), problems=problems)
