"""One poll of a cluster: everything that is read, in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import polars as pl

from collectors.errors import SwitchedOffError
from collectors.kafka.cluster.broker_reads import read_quorum, read_reassignments
from collectors.kafka.cluster.changes import compare_ends, ends_to_keep
from collectors.kafka.cluster.eligible_leaders import read_eligible_leaders
from collectors.kafka.cluster.offsets import read_offsets
from collectors.kafka.commit_log.commit_times import LogReport
from collectors.kafka.groups.model import Groups
from collectors.kafka.groups.read import read_groups
from collectors.kafka.groups.subscriptions import with_subscriptions
from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.kafka.poll.cluster_settings import TOGETHER_SECONDS
from collectors.kafka.poll.dead_letter_topics import dead_letter_depths, dead_letter_topics
from collectors.kafka.poll.group_lags import GROUP_PARTITION, group_lags
from collectors.kafka.poll.known_brokers import controller_of
from collectors.kafka.poll.memory import Memory
from collectors.kafka.poll.outcome import Outcome, attempt
from collectors.kafka.poll.topic_facts import topic_facts
from collectors.kafka.poll.watched_topics import watched_topics
from collectors.kafka.protocol.poll_context import PollContext
from collectors.source.shared_facts import SharedFacts
from config.settings import ClusterSettings, Feature

T = TypeVar("T")

_ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which topics and groups are watched."""

    topic: Callable[[str], bool]
    group: Callable[[str], bool]


def read_cluster(
    context: PollContext,
    settings: ClusterSettings,
    selection: Selection,
    memory: Memory,
    shared: SharedFacts,
    settings_seconds: float = TOGETHER_SECONDS,
) -> ClusterReads:
    """Read a cluster once.

    Each read goes to all brokers that it concerns at the same time. One that fails costs what is
    computed from it, and one that the settings switch off costs no request.

    Args:
        context: How the brokers are asked.
        settings: The cluster's.
        selection: What of it is watched.
        memory: What earlier polls have seen; this is the only function that changes it.
        shared: What other sources have told of the cluster; the log ends are told to them.
        settings_seconds: How long may be spent on what administrators have set.
    """
    wire, deadline = context.wire, context.deadline

    def unless_off(feature: Feature, read: Callable[[], T]) -> Outcome[T]:
        if feature in settings.switched_off:
            return Outcome(error=SwitchedOffError(f"switched off: {feature}"))
        return attempt(read)

    # Where everything is.
    metadata = attempt(lambda: memory.brokers.read(context))
    topics = attempt(lambda: watched_topics(metadata.value, selection.topic))
    sinks = shared.sinks(settings.name)

    def brokers() -> list[int]:
        return [broker.broker_id for broker in metadata.value.brokers]

    # Committed offsets before the ends: a race then overstates lag and never makes it negative.
    def groups_now() -> Groups:
        known = memory.group_refs
        found = read_groups(wire, brokers(), known, selection.group, deadline)
        memory.group_refs = found.refs
        return found

    groups = attempt(groups_now)
    state_since = attempt(lambda: memory.group_states.record(groups.value.groups, context.now))
    offsets_at = context.clock()
    offsets = attempt(lambda: read_offsets(wire, topics.value.partitions, deadline))
    if offsets.error is None:
        shared.set_end_offsets(settings.name, offsets.value.select("topic", "partition", "log_end"))

    # How late each group is, in records and in seconds.
    def lags() -> pl.DataFrame:
        redriving = settings.dead_letters.redrive_groups.values()
        kept = {sink.group for sink in sinks} | set(redriving)
        before = memory.group_partitions() if groups.value.offsets_unknown else None
        rows = group_lags(groups.value, offsets, topics.value, before, kept)
        places = rows.select(GROUP_PARTITION)
        memory.group_partitions = lambda: places
        subscribed, names = groups.value.subscriptions, topics.value.all.keys()
        rows = with_subscriptions(rows, subscribed, names, memory.topic_patterns)
        memory.time_lags.record(rows, offsets_at, topics.value.all)
        partitions = topics.value.partitions
        rows = memory.time_lags.add(context, settings.time_lag, rows, partitions)
        return memory.commit_times.add(rows, metadata.value, context.now)

    lagging = attempt(lags)

    def log_report() -> LogReport | None:
        _ = metadata.value  # what is told once only is not taken while no broker answers
        return memory.commit_times.report(selection.group)

    commit_log = attempt(log_report)

    # The logs themselves.
    def compared_ends() -> pl.DataFrame:
        partitions = topics.value.partitions.select("topic", "partition", "topic_id", "leader")
        offsets_now = offsets.value.select("topic", "partition", "log_end")
        ends = partitions.join(offsets_now, on=["topic", "partition"], how="left")
        found = compare_ends(ends, memory.ends)
        memory.ends = ends_to_keep(found)
        return found

    ends = attempt(compared_ends)
    disks = unless_off("log_directories", lambda: memory.disks.read(context, brokers()))
    quorum = unless_off("quorum", lambda: read_quorum(wire, deadline))
    controller = attempt(lambda: controller_of(quorum, metadata))
    reassignments = unless_off("reassignments", lambda: read_reassignments(wire, deadline))
    follower_lag = unless_off(
        "follower_lag",
        lambda: memory.follower_lag.read(
            context, topics.value.partitions, offsets.value, brokers()
        ),
    )

    eligible = unless_off(
        "eligible_leaders",
        lambda: read_eligible_leaders(wire, topics.value.partitions, deadline),
    )

    # What changes rarely; each of these is read when it is due.
    configs = unless_off(
        "topic_configs",
        lambda: memory.topic_configs.read(context, topics.value.watched, brokers()),
    )
    tiered = unless_off(
        "tiered_storage",
        lambda: memory.tiered.read(context, topics.value.partitions, configs.value),
    )
    registrations = unless_off(
        "registrations", lambda: memory.registrations.read(context, brokers())
    )
    if metadata.found is not None:
        memory.brokers.forget_removed(metadata.found, registrations)
    found = attempt(
        lambda: memory.settings.read(
            context,
            brokers(),
            memory.brokers.by_id,
            settings.switched_off,
            settings_seconds,
        )
    )
    settings_due = attempt(lambda: memory.settings_written.due({_ALL: found.value}, context.tick))
    transactions = unless_off("transactions", lambda: memory.transactions.read(context, brokers()))
    changes = attempt(
        lambda: memory.changes.compare(
            metadata=metadata.value,
            topics=topics.value,
            controller=controller.value,
            quorum=quorum,
            registrations=registrations,
            ends=ends,
            configs=configs,
            settings=found.value.found,
            known_brokers=memory.brokers.by_id,
        )
    )

    # Dead letters, whose records are read with what time is left.
    dead_letters = attempt(
        lambda: dead_letter_topics(settings.dead_letters, topics.value, configs, sinks)
    )
    facts = attempt(lambda: topic_facts(topics.value, dead_letters.value, configs))
    topics_due = attempt(lambda: memory.topics_written.due(facts.value, context.tick))
    depths = attempt(
        lambda: dead_letter_depths(settings.dead_letters, dead_letters.value, offsets, groups)
    )
    samples = attempt(
        lambda: memory.samples.read(
            context, depths.value, topics.value.leaders, settings.dead_letters.sample_records
        )
    )
    shows_certificates = "certificates" not in settings.switched_off
    return ClusterReads(
        metadata=metadata,
        topics=topics,
        groups=groups,
        state_since=state_since,
        group_lags=lagging,
        commit_log=commit_log,
        offsets=offsets,
        ends=ends,
        disks=disks,
        quorum=quorum,
        controller=controller,
        reassignments=reassignments,
        follower_lag=follower_lag,
        eligible_leaders=eligible,
        configs=configs,
        tiered=tiered,
        topic_facts=facts,
        topics_due=topics_due,
        registrations=registrations,
        settings=found,
        settings_due=settings_due,
        transactions=transactions,
        changes=changes,
        dead_letters=dead_letters,
        depths=depths,
        samples=samples,
        known_brokers=memory.brokers.by_id,
        failures=wire.failures,
        throttled_seconds=wire.take_throttled_seconds(),
        certificates=wire.certificates if shows_certificates else {},
        sinks=sinks,
        ditto_groups=shared.ditto_groups(settings.name),
    )
