"""Which sections a poll has, in the order in which they are collected.

A new section is a module with ``collect`` and a line here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from collectors.kafka.poll.cluster_reads import ClusterReads
from collectors.kafka.sections import (
    brokers,
    cluster_events,
    cluster_settings,
    commit_log,
    dead_letters,
    group_offsets,
    groups,
    log_directories,
    partitions,
    quorum,
    topics,
    transactions,
)
from collectors.source.section import Collector
from config.settings import ClusterSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section of a poll.

    Attributes:
        collect: Computes its rows.
        reads: The reads whose time counts as the section's: each belongs to one.
    """

    collect: Collector[ClusterReads, ClusterSettings]
    reads: Sequence[str] = ()


SECTIONS: Mapping[str, Section] = {
    "groups": Section(collect=groups.collect, reads=("metadata", "topics", "groups")),
    "group_offsets": Section(collect=group_offsets.collect, reads=("offsets", "group_lags")),
    "commit_log": Section(collect=commit_log.collect, reads=("commit_log",)),
    "partitions": Section(
        collect=partitions.collect,
        reads=("ends", "reassignments", "follower_lag", "eligible_leaders", "configs", "tiered"),
    ),
    "topics": Section(collect=topics.collect, reads=("topic_facts", "topics_due")),
    "brokers": Section(collect=brokers.collect, reads=("registrations",)),
    "log_directories": Section(collect=log_directories.collect, reads=("disks",)),
    "quorum": Section(collect=quorum.collect, reads=("quorum",)),
    "transactions": Section(collect=transactions.collect, reads=("transactions",)),
    "cluster_settings": Section(collect=cluster_settings.collect, reads=("settings",)),
    "cluster_events": Section(collect=cluster_events.collect, reads=("changes",)),
    "dead_letters": Section(
        collect=dead_letters.collect, reads=("dead_letters", "depths", "samples")
    ),
}
