"""The checks: what rules can look at.

A new check is a function in a module beside this one and an entry here.
"""

from __future__ import annotations

from alerting.checks import cluster, groups, integrations, monitor
from alerting.checks.model import Check
from lake.schemas.tables import (
    BROKERS,
    COLLECTIONS,
    CONNECTOR_TASKS,
    CONNECTORS,
    DEAD_LETTERS,
    GROUP_OFFSETS,
    GROUPS,
    LOG_DIRECTORIES,
    PARTITIONS,
    QUEUES,
    TOPICS,
)

_STATUS = "messages that wait (at least 1) while the group's status is"
_STATUS_MEANINGS = {
    "losing_data": "lost messages while the group loses data",
    "stopped": f"{_STATUS} STOPPED",
    "stalled": f"{_STATUS} STALLED",
    "falling_behind": f"{_STATUS} FALLING_BEHIND",
    "rewound": f"{_STATUS} REWOUND",
    "unknown": "1 while the group's status is not known",
}

CHECKS: dict[str, Check] = {
    check.name: check
    for check in (
        *(
            Check(
                name=name,
                unit="1" if name == "unknown" else "messages",
                meaning=meaning,
                labels=("group",),
                sources=(GROUPS, GROUP_OFFSETS),
                evaluate=groups.FROM_STATUS[name],
            )
            for name, meaning in _STATUS_MEANINGS.items()
        ),
        Check(
            name="time_lag",
            unit="seconds",
            meaning="age of the oldest message that the group has not read",
            labels=("group",),
            sources=(GROUPS, GROUP_OFFSETS),
            evaluate=groups.time_lag,
        ),
        Check(
            name="lag",
            unit="messages",
            meaning="messages that the group has not read",
            labels=("group",),
            sources=(GROUPS, GROUP_OFFSETS),
            evaluate=groups.lag,
        ),
        Check(
            name="data_loss_deadline",
            unit="seconds",
            meaning="time until retention reaches an unread message",
            labels=("group",),
            bad="below",
            sources=(GROUPS, GROUP_OFFSETS, TOPICS, PARTITIONS),
            evaluate=groups.data_loss_deadline_near,
        ),
        Check(
            name="idle_consumers",
            unit="consumers",
            meaning="members that hold no partition",
            labels=("group",),
            sources=(GROUPS, GROUP_OFFSETS),
            evaluate=groups.idle_consumers,
        ),
        Check(
            name="broker_missing",
            unit="1",
            meaning="1 while a broker that was there is gone",
            labels=("broker",),
            sources=(BROKERS,),
            evaluate=cluster.broker_missing,
        ),
        Check(
            name="no_controller",
            unit="1",
            meaning="1 while no controller is active",
            sources=(BROKERS,),
            evaluate=cluster.no_controller,
        ),
        Check(
            name="partitions_offline",
            unit="partitions",
            meaning="partitions without a leader",
            labels=("topic",),
            sources=(PARTITIONS,),
            evaluate=cluster.partitions_offline,
        ),
        Check(
            name="under_min_isr",
            unit="partitions",
            meaning="partitions with fewer in-sync replicas than min.insync.replicas",
            labels=("topic",),
            sources=(PARTITIONS,),
            evaluate=cluster.under_min_isr,
        ),
        Check(
            name="under_replicated",
            unit="partitions",
            meaning="partitions with fewer in-sync replicas than replicas",
            labels=("topic",),
            sources=(PARTITIONS,),
            evaluate=cluster.under_replicated,
        ),
        Check(
            name="leader_imbalance",
            unit="ratio",
            meaning="partitions not led by their first replica, of all",
            sources=(PARTITIONS,),
            evaluate=cluster.leader_imbalance,
        ),
        Check(
            name="disk_free",
            unit="ratio",
            meaning="free space of a broker's disks, of all",
            labels=("broker",),
            bad="below",
            sources=(BROKERS,),
            evaluate=cluster.disk_free,
        ),
        Check(
            name="log_directory_offline",
            unit="1",
            meaning="1 while it failed",
            labels=("broker", "path"),
            sources=(LOG_DIRECTORIES, BROKERS),
            evaluate=cluster.log_directory_offline,
        ),
        Check(
            name="open_transaction",
            unit="seconds",
            meaning="age of the oldest open transaction, behind which committed readers wait",
            labels=("topic",),
            sources=(GROUP_OFFSETS,),
            evaluate=cluster.open_transaction,
        ),
        Check(
            name="dead_letter_ratio",
            unit="ratio",
            meaning="messages that fail, of those that arrive in the main topic",
            labels=("source", "name"),
            sources=(DEAD_LETTERS,),
            evaluate=integrations.dead_letter_ratio,
        ),
        Check(
            name="dead_letter_age",
            unit="seconds",
            meaning="age of the oldest dead letter that its redrive group has not read",
            labels=("source", "name"),
            sources=(DEAD_LETTERS,),
            evaluate=integrations.dead_letter_age,
        ),
        Check(
            name="dead_letter_new_reason",
            unit="classes",
            meaning="exception classes not seen in the day before",
            labels=("source", "name"),
            sources=(DEAD_LETTERS,),
            evaluate=integrations.dead_letter_new_reason,
        ),
        Check(
            name="redrive_stopped",
            unit="messages",
            meaning="dead letters that wait while their redrive group does not work",
            labels=("source", "name"),
            sources=(DEAD_LETTERS, GROUPS, GROUP_OFFSETS),
            evaluate=integrations.redrive_stopped,
        ),
        Check(
            name="dead_letter_retention",
            unit="seconds",
            meaning="how long a dead-letter topic keeps a message",
            labels=("source", "name"),
            bad="below",
            sources=(DEAD_LETTERS, TOPICS),
            evaluate=integrations.dead_letter_retention,
        ),
        Check(
            name="connector_failed",
            unit="1",
            meaning="1 while a connector has failed",
            labels=("connect", "connector"),
            sources=(CONNECTORS, CONNECTOR_TASKS),
            evaluate=integrations.connector_failed,
        ),
        Check(
            name="tasks_failed",
            unit="tasks",
            meaning="failed tasks of a connector",
            labels=("connect", "connector"),
            sources=(CONNECTORS, CONNECTOR_TASKS),
            evaluate=integrations.tasks_failed,
        ),
        Check(
            name="queue_backlog",
            unit="messages",
            meaning="messages ready in a queue",
            labels=("vhost", "queue"),
            sources=(QUEUES,),
            evaluate=integrations.queue_backlog,
        ),
        Check(
            name="queue_no_consumers",
            unit="messages",
            meaning="messages that wait in a queue without a consumer",
            labels=("vhost", "queue"),
            sources=(QUEUES,),
            evaluate=integrations.queue_no_consumers,
        ),
        Check(
            name="queue_target_missing",
            unit="1",
            meaning="1 while a queue's dead letters go nowhere and are lost",
            labels=("vhost", "queue"),
            sources=(QUEUES,),
            evaluate=integrations.queue_target_missing,
        ),
        Check(
            name="collection_failed",
            unit="1",
            meaning="1 while a section of the collection fails",
            labels=("source", "section"),
            sources=(COLLECTIONS,),
            evaluate=monitor.collection_failed,
        ),
        Check(
            name="data_stale",
            unit="intervals",
            meaning="age of a section's newest success, in its polling intervals",
            labels=("source", "section"),
            sources=(COLLECTIONS,),
            evaluate=monitor.data_stale,
        ),
        Check(
            name="nothing_collected",
            unit="intervals",
            meaning="age of the newest success of any section, in polling intervals",
            sources=(COLLECTIONS,),
            evaluate=monitor.nothing_collected,
        ),
    )
}
"""All checks by name."""
