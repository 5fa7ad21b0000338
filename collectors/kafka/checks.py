"""Whether each feature can work on a cluster, and which right is missing where it cannot."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from collectors.errors import CollectorError
from collectors.kafka.answers import NOT_PERMITTED, reason
from collectors.kafka.sampler import Span, sample
from collectors.kafka.view import View
from collectors.source import Check


def run_checks(view: View) -> Sequence[Check]:
    """Try each feature once with the reads that the polls use."""
    try:
        metadata = view.metadata
    except CollectorError as error:
        return [Check("connection", False, True, str(error))]
    checks = [
        Check(
            "connection",
            True,
            True,
            f"cluster {metadata.cluster_id}, {len(metadata.brokers)} brokers",
        )
    ]
    silent = [*view.wire.suspects.values()]
    topics = len(view.watched_topics)
    checks.append(
        Check(
            "topics",
            topics > 0,
            True,
            f"{topics} of {len(view.all_topics)} visible topics are watched"
            if topics
            else "none is visible: needs DESCRIBE on the topics, or the selection fits none",
        )
    )
    checks += [
        _groups(view),
        _offsets(view),
        _configs(view),
        _disks(view),
        _dead_letters(view),
    ]
    if silent:
        checks.insert(1, Check("every broker answers", False, False, "; ".join(silent)))
    return checks


def _groups(view: View) -> Check:
    feature = "groups and committed offsets"
    try:
        found = view.groups
    except CollectorError as error:
        return Check(feature, False, True, str(error))
    detail = f"{found.groups.height} groups, {found.committed.height} committed offsets"
    if not found.groups.height:
        detail += "; if there are groups, DESCRIBE on the groups is missing"
    wrong = [*found.problems, *sorted(set(found.offsets_unknown.values()))]
    return Check(feature, not wrong, True, "; ".join([detail, *wrong]))


def _offsets(view: View) -> Check:
    feature = "log start and end offsets"
    try:
        offsets = view.offsets
    except CollectorError as error:
        return Check(feature, False, True, str(error))
    refused = offsets.filter(
        pl.col("offsets_unknown").is_in([reason(code) for code in NOT_PERMITTED])
    )
    unknown = offsets["offsets_unknown"].drop_nulls()
    detail = f"{offsets.height - unknown.len()} of {offsets.height} partitions"
    if unknown.len():
        detail += f": {', '.join(sorted(set(unknown)))}"
    # A partition without a leader is the cluster's trouble, not a missing right.
    return Check(feature, refused.is_empty(), True, detail)


def _configs(view: View) -> Check:
    feature = "topic configuration (retention, min.insync.replicas)"
    try:
        configs = view.configs
    except CollectorError as error:
        return Check(feature, False, False, str(error))
    wrong = sorted({config for config in configs.values() if isinstance(config, str)})
    return Check(feature, not wrong, False, "; ".join(wrong) or f"{len(configs)} topics")


def _disks(view: View) -> Check:
    feature = "sizes and disk space"
    try:
        disks, _ = view.log_directories
    except CollectorError as error:
        return Check(feature, False, False, str(error))
    wrong = sorted({disk for disk in disks.values() if isinstance(disk, str)})
    return Check(feature, not wrong, False, "; ".join(wrong) or f"{len(disks)} brokers")


def _dead_letters(view: View) -> Check:
    feature = "headers of dead letters"
    try:
        topics, offsets = view.dead_letters, view.offsets
    except CollectorError as error:
        return Check(feature, False, False, str(error))
    if not topics:
        return Check(feature, None, False, "no dead-letter topic was found")
    filled = offsets.filter(
        pl.col("topic").is_in(list(topics)) & (pl.col("log_end") > pl.col("log_start"))
    ).sort("topic")
    if filled.is_empty():
        return Check(feature, None, False, f"{len(topics)} dead-letter topics, all empty")
    topic = filled["topic"][0]
    spans = [
        Span(*row)
        for row in filled.filter(pl.col("topic") == topic)
        .select("partition", "log_start", "log_end")
        .iter_rows()
    ]
    try:
        taken = sample(view.wire, topic, spans, view.leaders(topic), 1, view.deadline)
    except CollectorError as error:
        return Check(feature, False, False, str(error))
    detail = f"{len(topics)} dead-letter topics; read {taken.records} records of {topic}"
    return Check(feature, taken.records > 0, False, detail)
