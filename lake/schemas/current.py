"""The tables of the present: what the newest evaluation of each cluster found.

The alerting service evaluates a cluster at each poll and replaces its rows
(``lake.storage.current_store``). Pages, commands and advice read them, so that everybody says the
same. ``evaluated_at`` is the moment of the evaluation, ``observed_at`` that of the newest samples
behind a row. Rates are messages per second, lag is messages, times are UTC. A null is a value that
could not be obtained, never zero.
"""

from __future__ import annotations

from dataclasses import replace

from lake.schemas.gold import RECOMMENDATIONS
from lake.schemas.model import Column, Table, Type, columns, required

# Since when the status holds. Where ``since_at_least`` is true it held already in the first sample
# that is known: it began then or earlier.
_STATUS = (
    Column("status", "string", required=True),  # alerting's Status: OK, STALLED, ...
    *columns(reason="string", since="timestamp", since_at_least="boolean", is_lasting="boolean"),
    # While the status is unknown: the one before, and since when that was so.
    *columns(known_status="string", known_since="timestamp", known_since_at_least="boolean"),
)

_FLOW = columns(
    lag="long",
    time_lag_seconds="double",
    arrival_per_second="double",
    consumption_per_second="double",
    growth_per_second="double",
    drain_seconds="double",  # lag ÷ (consumption - arrival); null while it grows
    lost_messages="long",  # deleted by retention before the group committed them
    last_lost_at="timestamp",  # when a poll last saw that; null: none did, or it is not known
    stalled_seconds="double",  # without a commit while messages wait
    commit_gap_seconds="double",  # longest pause that ended in a commit while messages waited
    samples="int",
)


def _current(name: str, key: tuple[Column, ...], *shared: Column, **types: Type) -> Table:
    return Table(
        name=name,
        layer="current",
        columns=(
            *required(cluster="string"),
            *key,
            *shared,
            *columns(**types),
            *required(evaluated_at="timestamp"),
        ),
        time="evaluated_at",
        key=("cluster", *(column.name for column in key)),
    )


GROUP_STATUS = _current(
    "group_status",
    required(group="string"),
    *_STATUS,
    *_FLOW,
    partitions="int",  # subscribed ones; the others are in no sum
    unknown_partitions="int",  # subscribed ones whose lag is unknown: lag lacks them
    # The newest lag that was known in full, and when: that of now where it is.
    known_lag="long",
    known_lag_at="timestamp",
    topics="list<string>",  # subscribed ones
    members="int",
    idle_members="int",  # members without a partition
    kind="string",
    type="string",
    state="string",
    coordinator="int",
    # The partition whose oldest unread message retention reaches first, where it is late
    # or has used half of its retention; null of a group that loses data now.
    data_loss_at="timestamp",
    data_loss_topic="string",
    data_loss_partition="int",
    loses_now="boolean",  # whether the newest polls saw messages deleted unread
    observed_at="timestamp",
)

GROUP_PARTITION_STATUS = _current(
    "group_partition_status",
    required(group="string", topic="string", partition="int"),
    *_STATUS,
    *_FLOW,
    is_subscribed="boolean",
    decides="boolean",  # false: an unknown value of it says nothing about the group
    observed_at="timestamp",
)
"""Only of groups that are not OK: every partition of a group that is OK keeps up."""

READERS = _current(
    "readers",
    required(topic="string", group="string"),
    lag="long",  # on this topic
    unknown_partitions="int",
    time_lag_seconds="double",
    partitions="int",
    # What retention does to what the group has not read there: lost (it deletes already), coming
    # (``data_loss_at``), none, unknown.
    loss="string",
    data_loss_at="timestamp",
)
"""Which groups read which topics, how late they are there, and when that loses data."""

TOPIC_STATUS = _current(
    "topic_status",
    required(topic="string"),
    kind="string",
    partitions="int",
    replication_factor="int",
    min_in_sync_replicas="int",
    replication="string",  # offline, under min ISR, under-replicated, unknown, in sync
    arrival_per_second="double",  # null where a partition's rate is unknown
    busiest_ratio="double",  # the busiest partition's share of the topic's messages
    even_ratio="double",  # the share of each if all were alike
    hot_partitions="list<int>",  # null where that is unknown
    size_bytes="long",  # over all replicas; null where a partition's is unknown
    retained="long",  # messages: log end - log start
    retention_seconds="double",  # null: no limit, or unknown (unknown_reason)
    retention_bytes="long",
    cleanup_policy="string",
    groups="int",  # that read it
    slowest_group="string",
    slowest_time_lag_seconds="double",
    unknown_reason="string",
    observed_at="timestamp",
)

BROKER_STATUS = _current(
    "broker_status",
    required(broker_id="int"),
    host="string",
    port="int",
    rack="string",
    is_alive="boolean",
    is_controller="boolean",
    missing_since="timestamp",  # null: it is there, or was missing before the first sample
    leaders="long",  # partitions that it leads; null where partitions are unknown
    replicas="long",
    # Partitions that prefer it as their leader, and those of them that it leads; null where the
    # preferred leader of a partition is unknown.
    preferred="long",
    preferred_led="long",
    log_bytes="long",
    disk_total_bytes="long",
    disk_free_bytes="long",
    throttled_seconds="double",  # of the newest poll; see the table brokers
    version="string",
    registration="string",
    certificate_expires_at="timestamp",
    # If this broker failed too: partitions without a leader (all that it leads where controllers
    # lose their majority with it), and those that would refuse acks=all. Null where it is down, or
    # in-sync replicas or min.insync.replicas are unknown.
    offline_if_lost="long",
    refused_if_lost="long",
    ends_quorum_if_lost="boolean",  # the controllers have no majority without it; null: unknown
    unknown_reason="string",
    observed_at="timestamp",
)

PARTITIONS_AT_RISK = _current(
    "partitions_at_risk",
    required(topic="string", partition="int"),
    replication="string",  # offline, under min ISR, under-replicated, unknown
    leader="int",
    preferred_leader="int",
    replicas="list<int>",
    in_sync_replicas="list<int>",
    eligible_leader_replicas="list<int>",
    min_in_sync_replicas="int",
    follower_lag="long",
    unknown_reason="string",
    observed_at="timestamp",
)
"""Partitions that are not in sync, the worst first."""

CLUSTER_STATUS = _current(
    "cluster_status",
    required(),
    brokers="int",  # missing ones included; null is unknown
    missing_brokers="list<int>",
    partitions="long",
    preferred_led="long",  # partitions led by their preferred replica
    under_replicated="long",
    under_min_isr="long",
    offline="long",
    topics="int",
    arrival_per_second="double",  # over all topics but internal ones
    internal_arrival_per_second="double",  # over those
    groups="int",
    late_groups="int",  # losing data, stopped, stalled, rewound or falling behind
    lag="long",  # over the groups where it is known
    incomplete_groups="int",  # groups with a partition whose lag is unknown
    time_lag_seconds="double",  # of the slowest group
    slowest_group="string",
    idle_members="int",
    idle_groups="int",
    dead_letter_topics="int",
    dead_letters_per_second="double",
    newest_poll_at="timestamp",
    unreadable="map<string,string>",  # tables that could not be read, with the reason
)

OPEN_ALERTS = _current(
    "open_alerts",
    required(fingerprint="string"),
    rule="string",
    check="string",
    severity="string",  # critical, warning, info
    state="string",  # pending, firing; resolved: a cause that is over, its symptoms go on
    labels="map<string,string>",
    what="string",
    detail="string",
    cause="string",
    step="string",
    page="string",
    value="double",
    status="string",  # of the group, where it is one
    since="timestamp",  # when the trouble began, as far as is known
    since_at_least="boolean",  # it began then or before
    first_since="timestamp",  # when what came back began the first time; null: it did not
    first_since_at_least="boolean",
    started_at="timestamp",  # first sight
    fired_at="timestamp",
    last_true_at="timestamp",
    recovering_since="timestamp",  # first seen untrue, of what waits to be resolved
    deadline_at="timestamp",  # when messages will be deleted, where that is known
    last_lost_at="timestamp",  # of a group that lost some: those of its row of group_status
    loses_now="boolean",
    inhibited_by="string",  # fingerprint of its cause; null: it stands for itself
    runbook="string",
    flaps="long",  # how often it came back, each time within an hour
)
"""Alerts that are pending or firing, each with its cause, as lists show them."""

RECENT_CHANGES = _current(
    "recent_changes",
    required(
        changed_at="timestamp",
        kind="string",  # members
        name="string",  # the group
    ),
    before="long",  # how many there were
    after="long",
)
"""Groups whose number of members changed in the last hour, the newest first.

What changed in the cluster is in ``cluster_events``.
"""

CLUSTER_COURSE = _current(
    "cluster_course",
    required(observed_at="timestamp"),
    lag="long",
    time_lag_seconds="double",
    under_replicated="long",
    under_min_isr="long",
    offline="long",
    brokers_alive="int",
    brokers_known="int",
    topics="int",
    groups="int",
    arrival_per_second="double",  # from the poll before to this one, internal topics too
    consumption_per_second="double",
)
"""What ``cluster_status`` said in the last minutes, a row an evaluation, in order of time.

Beside it stand rates as history by the minute has them: those of ``cluster_status`` are of ten
minutes. While a group that messages waited for cannot be read in full, lag, time lag and
consumption are null.
"""

GROUP_COURSE = _current(
    "group_course",
    required(observed_at="timestamp", group="string"),
    lag="long",
    time_lag_seconds="double",
    members="int",
)
"""The same of the groups that are late or have the most waiting messages.

A group that cannot be read in full has no row.
"""

CHANGED_ADVICE = replace(
    RECOMMENDATIONS,
    name="changed_advice",
    layer="current",
    columns=tuple(one for one in RECOMMENDATIONS.columns if one.name != "date"),
)
"""Advice on groups that do something else than in the newest round of advice.

The history service replaces it between its rounds; it stands in the place of what the round said
of these groups. Rows that were confirmed before the newest round are over.
"""

CURRENT_TABLES: tuple[Table, ...] = (
    GROUP_STATUS,
    GROUP_PARTITION_STATUS,
    READERS,
    TOPIC_STATUS,
    BROKER_STATUS,
    PARTITIONS_AT_RISK,
    CLUSTER_STATUS,
    OPEN_ALERTS,
    RECENT_CHANGES,
    CLUSTER_COURSE,
    GROUP_COURSE,
)
"""Those that an evaluation writes."""
