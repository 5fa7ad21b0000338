"""Which sections a poll has, in the order in which they are collected.

A new section is a module with ``collect`` and a line here.
"""

from __future__ import annotations

from collectors.kafka.poll.reads import PollView
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

SECTIONS: dict[str, Collector[PollView, ClusterSettings]] = {
    "groups": groups.collect,
    "group_offsets": group_offsets.collect,
    "commit_log": commit_log.collect,
    "partitions": partitions.collect,
    "topics": topics.collect,
    "brokers": brokers.collect,
    "log_directories": log_directories.collect,
    "quorum": quorum.collect,
    "transactions": transactions.collect,
    "cluster_settings": cluster_settings.collect,
    "cluster_events": cluster_events.collect,
    "dead_letters": dead_letters.collect,
}
