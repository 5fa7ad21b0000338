"""Whether each feature can work on a cluster, and which right is missing where it cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import polars as pl

from collectors.errors import CollectorError, SwitchedOffError, UnsupportedError
from collectors.kafka.cluster.setting_changes import (
    ACL,
    BROKER_CONFIG,
    CLIENT_QUOTA,
    FEATURE,
    GROUP_CONFIG,
    SCRAM_USER,
)
from collectors.kafka.commit_log.follower import NEEDS
from collectors.kafka.commit_log.follower import TOPIC as COMMIT_LOG
from collectors.kafka.dead_letters.header_samples import OffsetRange, sample
from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.kafka.poll.cluster_settings import SETTINGS
from collectors.kafka.poll.topic_configs import CONFIG_WAITS
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.error_codes import NOT_PERMITTED, reason
from collectors.kafka.protocol.records import fetch
from collectors.kafka.rights import (
    COMMIT_RECORDS,
    CONFIGS_OF_CLUSTER,
    CONFIGS_OF_GROUPS,
    CONFIGS_OF_TOPICS,
    DESCRIBE_CLUSTER,
    DESCRIBE_GROUPS,
    DESCRIBE_TOPICS,
    DESCRIBE_TRANSACTIONS,
    Right,
    kafka_acls,
    names_a_right,
    read_of,
)
from collectors.source.model import Check
from config.settings import ClusterSettings

_Found = tuple[bool | None, str]
"""Whether a feature works (None: it could not be tried), and what was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cluster:
    """What features are tried on: a poll of it, and the way to ask more."""

    reads: ClusterReads
    settings: ClusterSettings
    wire: Wire
    deadline: Deadline


def run_checks(
    reads: ClusterReads, settings: ClusterSettings, wire: Wire, deadline: Deadline
) -> Sequence[Check]:
    """Return whether each feature works, by a poll and by what only a check asks for.

    Args:
        reads: A poll that took the time to read everything.
        settings: The cluster's.
        wire: The connections.
        deadline: For what is asked for beside.
    """
    cluster = _Cluster(reads=reads, settings=settings, wire=wire, deadline=deadline)
    try:
        metadata = reads.metadata.value
    except CollectorError as error:
        return [Check(feature="connection", works=False, required=True, detail=str(error))]
    checks = [
        Check(
            feature="connection",
            works=True,
            required=True,
            detail=f"cluster {metadata.cluster_id}, {len(metadata.brokers)} brokers",
        )
    ]
    silent = [*reads.failures.values()]
    topics = reads.topics.value
    checks.append(
        Check(
            feature="topics",
            works=len(topics.watched) > 0,
            required=True,
            detail=f"{len(topics.watched)} of {len(topics.all)} visible topics are watched"
            if topics.watched
            else "none is visible: needs DESCRIBE on the topics, or the selection fits none",
            grants=() if topics.watched else (kafka_acls(settings, DESCRIBE_TOPICS),),
        )
    )
    for feature, required, try_it, rights in _FEATURES:
        works: bool | None
        try:
            works, detail = try_it(cluster)
        except SwitchedOffError as error:
            works, detail = None, str(error)
        except CollectorError as error:
            works, detail = False, str(error)
        if try_it is _dead_letters:
            rights = tuple(read_of(topic) for topic in sorted(reads.dead_letters.value))
        checks.append(
            Check(
                feature=feature,
                works=works,
                required=required,
                detail=detail,
                grants=tuple(kafka_acls(settings, right) for right in rights)
                if names_a_right(detail)
                else (),
            )
        )
    if silent:
        checks.insert(
            1,
            Check(
                feature="every broker answers",
                works=False,
                required=False,
                detail="; ".join(silent),
            ),
        )
    return checks


def _groups(cluster: _Cluster) -> _Found:
    found = cluster.reads.groups.value
    detail = f"{found.groups.height} groups, {found.committed.height} committed offsets"
    if not found.groups.height:
        detail += "; if there are groups, DESCRIBE on the groups is missing"
    wrong = [*found.problems, *sorted(set(found.offsets_unknown.values()))]
    return not wrong, "; ".join([detail, *wrong])


def _offsets(cluster: _Cluster) -> _Found:
    offsets = cluster.reads.offsets.value
    refused = offsets.filter(
        pl.col("offsets_unknown").is_in([reason(code) for code in NOT_PERMITTED])
    )
    unknown = offsets["offsets_unknown"].drop_nulls()
    detail = f"{offsets.height - unknown.len()} of {offsets.height} partitions"
    if unknown.len():
        detail += f": {', '.join(sorted(set(unknown)))}"
    # A partition without a leader is the cluster's trouble, not a missing right.
    return refused.is_empty(), detail


def _configs(cluster: _Cluster) -> _Found:
    configs = cluster.reads.configs.value
    unknown = [config for config in configs.values() if isinstance(config, str)]
    wrong = sorted(set(unknown) - {CONFIG_WAITS})
    detail = f"{len(configs) - len(unknown)} of {len(configs)} topics"
    if CONFIG_WAITS in unknown:  # nothing is wrong: they are many, or far away
        detail += ", the others in later polls"
    return not wrong, "; ".join([detail, *wrong])


def _disks(cluster: _Cluster) -> _Found:
    disks = cluster.reads.disks.value.by_broker
    wrong = sorted({disk for disk in disks.values() if isinstance(disk, str)})
    return not wrong, "; ".join(wrong) or f"{len(disks)} brokers"


def _quorum(cluster: _Cluster) -> _Found:
    try:
        found = cluster.reads.quorum.value
    except UnsupportedError:
        return None, "the brokers do not offer DescribeQuorum: ZooKeeper, or a service without it"
    leader = "no leader" if found.leader is None else f"leader {found.leader}"
    return found.leader is not None, f"{leader}, {len(found.nodes)} nodes"


def _reassignments(cluster: _Cluster) -> _Found:
    moving = cluster.reads.reassignments.value
    return True, f"{moving.height} partitions are being moved"


def _tiered_storage(cluster: _Cluster) -> _Found:
    found = cluster.reads.tiered.value
    if found.is_empty():
        return None, "no topic that is known has remote.storage.enable"
    wrong = sorted(set(found["tiered_unknown"].drop_nulls()))
    return not wrong, "; ".join([f"{found['topic'].n_unique()} topics", *wrong])


def _registrations(cluster: _Cluster) -> _Found:
    try:
        found = cluster.reads.registrations.value
    except UnsupportedError:
        return None, "the brokers do not tell: it needs Kafka 4.0 with KRaft"
    return True, f"{len(found)} brokers, {sum(found.values())} of them fenced"


def _certificates(cluster: _Cluster) -> _Found:
    if "certificates" in cluster.settings.switched_off:
        return None, "switched off: certificates"
    found = cluster.reads.certificates
    if not found:
        return None, "there is no certificate: connections are not encrypted"
    return True, f"{len(found)} brokers, the first expires {min(found.values()):%Y-%m-%d}"


def _transactions(cluster: _Cluster) -> _Found:
    try:
        found = cluster.reads.transactions.value
    except UnsupportedError:
        return None, "the brokers do not offer it: it needs Kafka 3.8"
    detail = (
        f"{len(found.transactions)} are open for more than a minute, of those that may be described"
    )
    return not found.problems, "; ".join([detail, *found.problems])


def _settings_of(kind: str) -> Callable[[_Cluster], _Found]:
    """Return how a kind of what administrators have set is tried."""

    def try_it(cluster: _Cluster) -> _Found:
        if SETTINGS[kind] in cluster.settings.switched_off:
            return None, f"switched off: {SETTINGS[kind]}"
        found = cluster.reads.settings.value.found.get(kind)
        unknown = cluster.reads.settings.value.unknown.get(kind)
        if unknown is not None:
            return False, unknown
        if found is None:
            return None, "the brokers do not offer it"
        return True, f"{len(found)} found"

    return try_it


def _share_groups(cluster: _Cluster) -> _Found:
    found = cluster.reads.groups.value
    shares = found.groups.filter(pl.col("type") == "share")["group"].to_list()
    if not shares:
        return None, "there is no share group"
    wrong = [found.offsets_unknown[group] for group in shares if group in found.offsets_unknown]
    detail = "; ".join([f"{len(shares)} share groups", *sorted(set(wrong))])
    return not wrong, detail


def _commit_log(cluster: _Cluster) -> _Found:
    if not cluster.settings.commit_log:
        return None, "switched off: commit_log"
    internal = cluster.reads.metadata.value.partitions.filter(pl.col("topic") == COMMIT_LOG)
    if internal.is_empty():
        detail = f"{COMMIT_LOG} is not visible: it needs DESCRIBE and READ, or no group exists yet"
        return None, detail
    led = internal.drop_nulls("leader")
    if led.is_empty():
        return False, f"no partition of {COMMIT_LOG} has a leader"
    partition, leader = led.select("partition", "leader").row(0)
    request = fetch(COMMIT_LOG, {partition: 0})
    answers = cluster.wire.each({leader: [request]}, cluster.deadline)[leader]
    if isinstance(answers, CollectorError):
        return False, str(answers)
    code = answers[0].responses[0].partitions[0].error_code
    if code in NOT_PERMITTED:
        return False, NEEDS
    # A log that does not begin at 0 any more may be read as well.
    return True, f"{led.height} partitions can be read"


def _dead_letters(cluster: _Cluster) -> _Found:
    topics, offsets = cluster.reads.dead_letters.value, cluster.reads.offsets.value
    if not topics:
        return None, "no dead-letter topic was found"
    filled = offsets.filter(
        pl.col("topic").is_in(list(topics)) & (pl.col("log_end") > pl.col("log_start"))
    ).sort("topic")
    if filled.is_empty():
        return None, f"{len(topics)} dead-letter topics, all empty"
    wrong, records = [], 0
    for topic in filled["topic"].unique(maintain_order=True):
        rows = filled.filter(pl.col("topic") == topic)
        spans = [
            OffsetRange(partition=partition, first=first, end=end)
            for partition, first, end in rows.select(
                "partition", "log_start", "log_end"
            ).iter_rows()
        ]
        try:
            records += sample(
                cluster.wire,
                topic,
                spans,
                cluster.reads.topics.value.leaders(topic),
                1,
                cluster.deadline,
            ).records
        except CollectorError as error:
            wrong.append(str(error))
    detail = f"{len(topics)} dead-letter topics; read {records} records"
    return not wrong, "; ".join([detail, *wrong])


_Feature = tuple[str, bool, Callable[[_Cluster], _Found], tuple[Right, ...]]

_FEATURES: tuple[_Feature, ...] = (
    ("groups and committed offsets", True, _groups, (DESCRIBE_GROUPS,)),
    ("log start and end offsets", True, _offsets, (DESCRIBE_TOPICS,)),
    (
        "topic configuration (retention, min.insync.replicas)",
        False,
        _configs,
        (CONFIGS_OF_TOPICS,),
    ),
    ("lag of share groups", False, _share_groups, (DESCRIBE_GROUPS,)),
    (f"times and rates of commits ({COMMIT_LOG})", False, _commit_log, (COMMIT_RECORDS,)),
    (
        "log directories: sizes, disk space, offline disks",
        False,
        _disks,
        (DESCRIBE_CLUSTER,),
    ),
    ("controller and quorum", False, _quorum, (DESCRIBE_CLUSTER,)),
    ("reassignments in progress", False, _reassignments, (DESCRIBE_CLUSTER,)),
    ("tiered storage", False, _tiered_storage, (CONFIGS_OF_TOPICS,)),
    ("registered and fenced brokers", False, _registrations, ()),
    ("certificates of the brokers", False, _certificates, ()),
    ("versions and features", False, _settings_of(FEATURE), ()),
    ("configuration of brokers", False, _settings_of(BROKER_CONFIG), (CONFIGS_OF_CLUSTER,)),
    (
        "configuration of groups",
        False,
        _settings_of(GROUP_CONFIG),
        (CONFIGS_OF_CLUSTER, CONFIGS_OF_GROUPS),
    ),
    ("client quotas", False, _settings_of(CLIENT_QUOTA), (CONFIGS_OF_CLUSTER,)),
    ("ACLs", False, _settings_of(ACL), (DESCRIBE_CLUSTER,)),
    ("SCRAM users", False, _settings_of(SCRAM_USER), (DESCRIBE_CLUSTER,)),
    ("open transactions", False, _transactions, (DESCRIBE_TRANSACTIONS,)),
    ("headers of dead letters", False, _dead_letters, ()),
)
"""Name, whether Headroom is of no use without it, how it is tried, which rights it needs."""
