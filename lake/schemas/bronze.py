"""The tables that collectors append to: one row a poll and what was seen.

Rates are messages per second, lag is messages, times are UTC. A null is a value that could not be
obtained, never zero; ``unknown_reason`` says why where a row can tell.
"""

from __future__ import annotations

import polars as pl

from lake.schemas.model import DATE, Table, Type, columns, required

# A poll's rows share observed_at, the moment at which the poll began, and poll_id.
_SAMPLE = required(cluster="string", observed_at="timestamp", poll_id="string")


# Of tables whose rows are left out while nothing changes; see lake.change_encoding.expand.
_CHANGE_ONLY = columns(
    stream="string",  # the polls that belong together; null: the poll is complete by itself
    row_kind="string",  # null: a sample; heartbeat: a poll was read; tombstone: a series is no more
)


def samples(
    name: str,
    key: tuple[str, ...],
    /,
    collected_by: tuple[str, ...] = ("kafka",),
    change_only: bool = False,
    volatile: tuple[str, ...] = (),
    **types: Type,
) -> Table:
    """Define a table of samples by the columns that it has beside those of every one.

    Args:
        name: The table's.
        key: The columns that tell a poll's rows apart.
        collected_by: As of ``Table``.
        change_only: As of ``Table``.
        volatile: As of ``Table``.
        types: Column: its type.
    """
    encoding = _CHANGE_ONLY if change_only else ()
    return Table(
        name=name,
        layer="bronze",
        columns=(*_SAMPLE, *columns(**types), *encoding, DATE),
        time="observed_at",
        key=("cluster", "poll_id", *key),
        collected_by=collected_by,
        change_only=change_only,
        volatile=volatile,
    )


BROKERS = samples(
    "brokers",
    ("broker_id",),
    broker_id="int",
    host="string",
    port="int",
    rack="string",
    is_controller="boolean",
    is_alive="boolean",
    leaders="int",
    replicas="int",
    under_replicated="int",  # replicas that it should hold and that are not in sync
    log_bytes="long",
    disk_total_bytes="long",
    disk_free_bytes="long",
    registration="string",  # active; fenced: down or not ready; none: taken out of the cluster
    certificate_expires_at="timestamp",  # of the one that it showed to the collector
    version="string",  # the newest release of Kafka whose protocol it speaks
    throttled_seconds="double",  # how long it made the collector wait since the last poll
    unknown_reason="string",
)

PARTITIONS = samples(
    "partitions",
    ("topic", "partition"),
    change_only=True,
    topic="string",
    partition="int",
    topic_id="string",  # another one: the topic was deleted and created anew
    leader="int",  # null: no leader
    preferred_leader="int",
    replicas="list<int>",
    in_sync_replicas="list<int>",
    adding_replicas="list<int>",  # of a reassignment in progress; empty: none
    removing_replicas="list<int>",
    min_in_sync_replicas="int",
    log_start="long",
    log_end="long",
    last_stable="long",
    size_bytes="long",
    # Replicas out of sync that hold all that was committed. Read where there is no leader.
    eligible_leader_replicas="list<int>",
    follower_lag="long",  # records that the slowest replica that is not in sync is behind
    local_log_start="long",  # the first offset on the leader's disks; null: not tiered, or unknown
    remote_log_end="long",  # behind the last record in remote storage; null likewise
    unknown_reason="string",
)

TOPICS = samples(
    "topics",
    ("topic",),
    topic="string",
    kind="string",  # application, internal, changelog, repartition, dead letter, retry, …
    tenant="string",  # of Eclipse Hono's topics
    partitions="int",
    replication_factor="int",
    min_in_sync_replicas="int",
    retention_seconds="double",  # null: for ever, or unknown (then unknown_reason says so)
    retention_bytes="long",
    cleanup_policy="string",
    timestamp_type="string",
    segment_seconds="double",
    segment_bytes="long",
    configs="map<string,string>",  # those that differ from the default
    unknown_reason="string",
)

IS_INTERNAL_TOPIC = (
    pl.col("kind")
    .fill_null("")
    .is_in(["internal", "changelog", "repartition", "connect", "debezium", "ksqldb"])
)
"""Whether a row of a topic is of one that Kafka or a framework keeps for itself."""

GROUPS = samples(
    "groups",
    ("group",),
    group="string",
    state="string",  # stable, empty, preparing_rebalance, …, unknown
    type="string",  # classic, consumer (KIP-848), share, streams
    protocol="string",  # the assignor
    coordinator="int",
    members="int",
    idle_members="int",  # without a partition
    static_members="int",  # with a group.instance.id
    epoch="int",  # KIP-848, share and Streams groups
    state_since="timestamp",  # as far as the state was watched
    kind="string",  # plain, connect, streams, ksqldb, mirror, ditto, …
    unknown_reason="string",
)

GROUP_MEMBERS = samples(
    "group_members",
    ("group", "member_id"),
    collected_by=(),  # the section ``groups`` writes it
    group="string",
    member_id="string",
    client_id="string",
    host="string",
    instance_id="string",  # static membership
    rack="string",
    epoch="int",
    assigned_partitions="int",  # 0: an idle consumer
)

GROUP_OFFSETS = samples(
    "group_offsets",
    ("group", "topic", "partition"),
    change_only=True,
    # A consumer without messages still commits the same offset every few seconds.
    volatile=("committed_at", "commits_per_second"),
    group="string",
    topic="string",
    partition="int",
    committed="long",
    log_start="long",
    log_end="long",
    lag="long",
    lost_messages="long",
    time_lag_seconds="double",
    time_lag_source="string",  # timeline, record (the broker's timestamp); null: none or unknown
    last_stable="long",
    open_since="timestamp",  # since when last_stable stands still below log_end
    is_subscribed="boolean",  # false: left over, and no part of the group's totals
    unknown_reason="string",
    member_id="string",
    client_id="string",
    host="string",
    committed_at="timestamp",
    commits_per_second="double",
    commit_source="string",  # log (__consumer_offsets), estimate (from offset changes)
)

IN_TOTALS = pl.col("is_subscribed").fill_null(True)
"""Rows of ``group_offsets`` that belong to their group's totals: not those left over."""

REBALANCES = samples(
    "rebalances",
    ("group", "log_partition", "log_offset"),
    collected_by=(),  # the section ``commit_log`` writes it
    group="string",
    rebalanced_at="timestamp",  # by the clock of the broker that coordinates the group
    generation="int",  # the epoch of KIP-848, share and Streams groups
    generation_before="int",
    members="int",
    members_before="int",
    joined="int",
    left="int",
    reason="string",  # what differs between the two generations
    protocol="string",  # the assignor; null: the broker's
    session_timeout_seconds="double",
    rebalance_timeout_seconds="double",
    log_partition="int",  # where in __consumer_offsets it stands
    log_offset="long",
)

DEAD_LETTERS = samples(
    "dead_letters",
    ("source", "name"),
    collected_by=("kafka", "rabbitmq"),
    source="string",  # kafka, rabbitmq
    name="string",
    origin="string",
    found_by="string",  # configuration, topic config, connect config, name; arguments, policy
    redrive_group="string",
    unprocessed="long",
    retained="long",
    log_end="long",  # sum over partitions; arrivals are its differences
    arrival_ratio="double",  # arrivals since the last poll, of the origins' arrivals
    oldest_unprocessed_at="timestamp",  # record timestamp: the event's where the writer copies it
    oldest_retained_at="timestamp",  # reported instead where no redrive group is declared
    oldest_event_at="timestamp",  # when what failed in that record was made; null: unknown
    oldest_arrived_at="timestamp",  # when that record arrived here; null: unknown
    reasons="map<string,long>",  # exception class: records of the sample
    origins="map<string,long>",  # topic or queue that records come from: records of the sample
    sampled_records="int",
    newest_record="map<string,string>",  # of the sample: where it lies, what its headers say
    oldest_record="map<string,string>",  # the same; what is not known is left out
    unknown_reason="string",
)

LOG_DIRECTORIES = samples(
    "log_directories",
    ("broker_id", "path"),
    broker_id="int",
    path="string",
    is_offline="boolean",
    is_cordoned="boolean",  # from Kafka 4.3
    log_bytes="long",
    total_bytes="long",
    free_bytes="long",
    replicas="int",
    unknown_reason="string",
)

QUORUM = samples(
    "quorum",
    ("node_id",),
    node_id="int",
    role="string",  # leader, voter, observer
    log_end="long",
    lag="long",  # records of the metadata log behind the leader
    last_fetch_at="timestamp",
    last_caught_up_at="timestamp",
)

NAMED_TOPICS = 100
"""Most topics that an event of a broker names in ``topics``."""

CLUSTER_EVENTS = samples(
    "cluster_events",
    ("kind", "subject"),
    kind="string",  # controller changed, broker missing, leaders moved, deploy, …
    subject="string",  # of which broker, topic, partition; the text of a deploy mark
    before="string",
    after="string",
    detail="string",
    group="string",  # that a deploy mark is about; null: no group in particular
    topic="string",  # that it is about; null: none, or several
    topics="list<string>",  # some of them, where a broker's partitions moved
)

TRANSACTIONS = samples(
    "transactions",
    ("transactional_id",),
    transactional_id="string",
    producer_id="long",
    coordinator="int",
    state="string",  # Ongoing, PrepareCommit, PrepareAbort
    started_at="timestamp",
    timeout_seconds="double",
    topics="list<string>",
)

CLUSTER_SETTINGS = samples(
    "cluster_settings",
    ("kind", "subject"),
    # feature, broker version, broker configuration, group configuration, client quota, acl,
    # scram user
    kind="string",
    subject="string",  # null: there is none of this kind, or it is unknown
    settings="map<string,string>",
    unknown_reason="string",
)

COLLECTIONS = samples(
    "collections",
    ("source", "section"),
    collected_by=(),
    source="string",  # kafka, connect/NAME, …; null in old rows: kafka
    section="string",
    started_at="timestamp",
    duration_seconds="double",
    interval_seconds="double",  # the cadence that was asked for; null for a single poll
    status="string",  # ok, partial, failed, skipped
    error="string",
    rows="long",
    collector="string",  # host and process id of the one that polled: who holds the lease
)

WAITING_COLLECTORS = samples(
    "waiting_collectors",
    ("collector",),
    collected_by=(),  # each collector that waits for the lease of a cluster writes it
    collector="string",  # host and process id of the one that waits
    waits_for="string",  # of the one that polls; null: unknown
)
