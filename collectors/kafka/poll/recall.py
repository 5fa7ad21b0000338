"""What is known at the start of a process: what the lake tells of the polls before it."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from collectors.kafka.cluster.changes import ClusterView
from collectors.kafka.cluster.metadata import TopicConfig
from collectors.kafka.cluster.settings_reads import Found
from collectors.kafka.groups.model import GroupRef
from collectors.kafka.poll.cluster_changes import ClusterChanges
from collectors.kafka.poll.cluster_settings import SettingsReads
from collectors.kafka.poll.group_states import GroupStates
from collectors.kafka.poll.known_brokers import KnownBrokers
from collectors.kafka.poll.memory import Memory
from collectors.kafka.protocol.broker_requests import Broker

VALUE_LENGTH = 256
"""Characters of a setting's value that a row of ``topics`` keeps."""


def recalled(tables: Mapping[str, pl.DataFrame]) -> Memory:
    """Return what the last polls before a restart knew.

    Args:
        tables: Table name: the rows of it that were read; any of them may be missing.
    """
    memory = Memory()
    seen = ClusterView()
    settings: Mapping[str, Found] = {}
    configs: Mapping[str, TopicConfig] = {}
    if "brokers" in tables:
        places = tables["brokers"].drop_nulls(["host", "port"])
        at = places.select("broker_id", "host", "port", "rack").iter_rows(named=True)
        memory.brokers = KnownBrokers(Broker(**row) for row in at)
        seen = _seen(tables["brokers"])
    if "cluster_settings" in tables:
        settings = _settings(tables["cluster_settings"])
        memory.settings = SettingsReads(settings)
    if "topics" in tables:
        configs = _topic_configs(tables["topics"])
    memory.changes = ClusterChanges(seen, configs, settings)
    if "groups" in tables:
        states = tables["groups"].select("group", "state", "state_since").iter_rows()
        memory.group_states = GroupStates({group: (state, since) for group, state, since in states})
        memory.group_refs = {
            group: GroupRef(group=group, type=type_ or "classic", protocol_type="")
            for group, type_ in tables["groups"].select("group", "type").iter_rows()
        }
    # Read only if it is needed, since there is much of it: where a coordinator is lost.
    memory.group_partitions = lambda: tables.get("group_offsets")
    return memory


def _seen(brokers: pl.DataFrame) -> ClusterView:
    """Return what the last poll before a restart saw of brokers and controller."""
    controller = brokers.filter("is_controller")["broker_id"]
    return ClusterView(
        controller=int(controller[0]) if controller.len() else None,
        brokers={
            broker: f"{host}:{port}"
            for broker, host, port in brokers.select("broker_id", "host", "port").iter_rows()
        },
        alive=frozenset(brokers.filter("is_alive")["broker_id"]),
    )


def _settings(rows: pl.DataFrame) -> dict[str, Found]:
    """Return what administrators had set at the last poll before a restart."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for kind, subject, entries in rows.select("kind", "subject", "settings").iter_rows():
        known = found.setdefault(kind, {})
        if subject is not None:
            known[subject] = {entry["key"]: entry["value"] for entry in entries or ()}
    unknown = rows.filter(pl.col("unknown_reason").is_not_null())["kind"]
    return {kind: subjects for kind, subjects in found.items() if subjects or kind not in unknown}


def _topic_configs(rows: pl.DataFrame) -> dict[str, TopicConfig]:
    """Return what was set on topics before a restart; nothing of one with a value that was cut."""
    known = rows.drop_nulls("configs").select("topic", "configs").iter_rows()
    return {
        topic: {entry["key"]: (entry["value"], True) for entry in entries}
        for topic, entries in known
        if all(len(entry["value"]) < VALUE_LENGTH for entry in entries)
    }
