"""Whether each feature can work on a cluster, and which right is missing where it cannot."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from collectors.errors import CollectorError, UnsupportedError
from collectors.kafka.commit_log.follower import NEEDS
from collectors.kafka.commit_log.follower import TOPIC as COMMIT_LOG
from collectors.kafka.dead_letters.header_samples import Span, sample
from collectors.kafka.poll.reads import PollView
from collectors.kafka.protocol.error_codes import NOT_PERMITTED, reason
from collectors.kafka.protocol.records import fetch
from collectors.source.model import Check


def run_checks(view: PollView) -> Sequence[Check]:
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
        _share_groups(view),
        _commit_log(view),
        _disks(view),
        _quorum(view),
        _reassignments(view),
        _dead_letters(view),
    ]
    if silent:
        checks.insert(1, Check("every broker answers", False, False, "; ".join(silent)))
    return checks


def _groups(view: PollView) -> Check:
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


def _offsets(view: PollView) -> Check:
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


def _configs(view: PollView) -> Check:
    feature = "topic configuration (retention, min.insync.replicas)"
    try:
        configs = view.configs
    except CollectorError as error:
        return Check(feature, False, False, str(error))
    wrong = sorted({config for config in configs.values() if isinstance(config, str)})
    return Check(feature, not wrong, False, "; ".join(wrong) or f"{len(configs)} topics")


def _disks(view: PollView) -> Check:
    feature = "log directories: sizes, disk space, offline disks"
    try:
        disks, _ = view.log_directories
    except CollectorError as error:
        return Check(feature, False, False, str(error))
    wrong = sorted({disk for disk in disks.values() if isinstance(disk, str)})
    return Check(feature, not wrong, False, "; ".join(wrong) or f"{len(disks)} brokers")


def _quorum(view: PollView) -> Check:
    feature = "controller and quorum"
    try:
        found = view.quorum
    except UnsupportedError:
        return Check(feature, None, False, "the cluster works with ZooKeeper and has no quorum")
    except CollectorError as error:
        return Check(feature, False, False, str(error))
    leader = "no leader" if found.leader is None else f"leader {found.leader}"
    return Check(feature, found.leader is not None, False, f"{leader}, {len(found.nodes)} nodes")


def _reassignments(view: PollView) -> Check:
    feature = "reassignments in progress"
    try:
        moving = view.reassignments
    except CollectorError as error:
        return Check(feature, False, False, str(error))
    return Check(feature, True, False, f"{moving.height} partitions are being moved")


def _share_groups(view: PollView) -> Check:
    feature = "lag of share groups"
    try:
        found = view.groups
    except CollectorError as error:
        return Check(feature, False, False, str(error))
    shares = found.groups.filter(pl.col("type") == "share")["group"].to_list()
    if not shares:
        return Check(feature, None, False, "there is no share group")
    wrong = [found.offsets_unknown[group] for group in shares if group in found.offsets_unknown]
    detail = "; ".join([f"{len(shares)} share groups", *sorted(set(wrong))])
    return Check(feature, not wrong, False, detail)


def _commit_log(view: PollView) -> Check:
    feature = f"times and rates of commits ({COMMIT_LOG})"
    if not view.settings.commit_log:
        return Check(feature, None, False, "switched off: commit_log")
    internal = view.metadata.partitions.filter(pl.col("topic") == COMMIT_LOG)
    if internal.is_empty():
        detail = f"{COMMIT_LOG} is not visible: it needs DESCRIBE and READ, or no group exists yet"
        return Check(feature, None, False, detail)
    led = internal.drop_nulls("leader")
    if led.is_empty():
        return Check(feature, False, False, f"no partition of {COMMIT_LOG} has a leader")
    partition, leader = led.select("partition", "leader").row(0)
    request = fetch(COMMIT_LOG, {partition: 0})
    answers = view.wire.each({leader: [request]}, view.deadline)[leader]
    if isinstance(answers, CollectorError):
        return Check(feature, False, False, str(answers))
    code = answers[0].responses[0].partitions[0].error_code
    if code in NOT_PERMITTED:
        return Check(feature, False, False, NEEDS)
    # A log that does not begin at 0 any more may be read as well.
    return Check(feature, True, False, f"{led.height} partitions can be read")


def _dead_letters(view: PollView) -> Check:
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
    wrong, records = [], 0
    for topic in filled["topic"].unique(maintain_order=True):
        rows = filled.filter(pl.col("topic") == topic)
        spans = [Span(*row) for row in rows.select("partition", "log_start", "log_end").iter_rows()]
        try:
            records += sample(
                view.wire, topic, spans, view.leaders(topic), 1, view.deadline
            ).records
        except CollectorError as error:
            wrong.append(str(error))
    detail = f"{len(topics)} dead-letter topics; read {records} records"
    return Check(feature, not wrong, False, "; ".join([detail, *wrong]))
