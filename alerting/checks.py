"""The checks: what rules can look at, each with its unit and the labels that name a thing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Check:
    """Something that is observed at each poll.

    Attributes:
        name: How rules name it.
        unit: Of its values.
        meaning: What the value is.
        labels: What names a thing beside ``cluster``.
        bad: Whether a value above or below the threshold is an alert.
        watches_monitor: Whether it says something on the monitor itself, which is known even
            where nothing is known of the cluster.
    """

    name: str
    unit: str
    meaning: str
    labels: tuple[str, ...] = ()
    bad: Literal["above", "below"] = "above"
    watches_monitor: bool = False


_GROUP = ("group",)
_STATUS = "messages that wait (at least 1) while the group's status is"

CHECKS: dict[str, Check] = {
    check.name: check
    for check in (
        Check("losing_data", "messages", "lost messages while the group loses data", _GROUP),
        Check("stopped", "messages", f"{_STATUS} STOPPED", _GROUP),
        Check("stalled", "messages", f"{_STATUS} STALLED", _GROUP),
        Check("falling_behind", "messages", f"{_STATUS} FALLING_BEHIND", _GROUP),
        Check("rewound", "messages", f"{_STATUS} REWOUND", _GROUP),
        Check("unknown", "1", "1 while the group's status cannot be told", _GROUP),
        Check(
            "time_lag", "seconds", "age of the oldest message that the group has not read", _GROUP
        ),
        Check("lag", "messages", "messages that the group has not read", _GROUP),
        Check(
            "data_loss_deadline",
            "seconds",
            "time until retention reaches an unread message",
            _GROUP,
            bad="below",
        ),
        Check("idle_consumers", "consumers", "members that hold no partition", _GROUP),
        Check("broker_missing", "1", "1 while a broker that was there is gone", ("broker",)),
        Check("no_controller", "1", "1 while no controller is active"),
        Check("partitions_offline", "partitions", "partitions without a leader", ("topic",)),
        Check(
            "under_min_isr",
            "partitions",
            "partitions with fewer in-sync replicas than min.insync.replicas",
            ("topic",),
        ),
        Check(
            "under_replicated",
            "partitions",
            "partitions with fewer in-sync replicas than replicas",
            ("topic",),
        ),
        Check("leader_imbalance", "ratio", "partitions not led by their first replica, of all"),
        Check(
            "disk_free", "ratio", "free space of a broker's disks, of all", ("broker",), bad="below"
        ),
        Check("log_directory_offline", "1", "1 while it failed", ("broker", "path")),
        Check(
            "open_transaction",
            "seconds",
            "age of the oldest open transaction, behind which committed readers wait",
            ("topic",),
        ),
        Check(
            "dead_letter_ratio",
            "ratio",
            "messages that fail, of those that arrive in the main topic",
            ("source", "name"),
        ),
        Check(
            "dead_letter_age",
            "seconds",
            "age of the oldest dead letter that its redrive group has not read",
            ("source", "name"),
        ),
        Check(
            "dead_letter_new_reason",
            "classes",
            "exception classes not seen in the day before",
            ("source", "name"),
        ),
        Check(
            "redrive_stopped",
            "messages",
            "dead letters that wait while their redrive group does not work",
            ("source", "name"),
        ),
        Check(
            "dead_letter_retention",
            "seconds",
            "how long a dead-letter topic keeps a message",
            ("source", "name"),
            bad="below",
        ),
        Check("connector_failed", "1", "1 while a connector has failed", ("connect", "connector")),
        Check("tasks_failed", "tasks", "failed tasks of a connector", ("connect", "connector")),
        Check("queue_backlog", "messages", "messages ready in a queue", ("vhost", "queue")),
        Check(
            "queue_no_consumers",
            "messages",
            "messages that wait in a queue without a consumer",
            ("vhost", "queue"),
        ),
        Check(
            "queue_target_missing",
            "1",
            "1 while a queue's dead letters go nowhere and are lost",
            ("vhost", "queue"),
        ),
        Check(
            "collection_failed",
            "1",
            "1 while a section of the collection fails",
            ("source", "section"),
            watches_monitor=True,
        ),
        Check(
            "data_stale",
            "intervals",
            "age of a section's newest success, in its polling intervals",
            ("source", "section"),
            watches_monitor=True,
        ),
        Check(
            "nothing_collected",
            "intervals",
            "age of the newest success of any section, in polling intervals",
            watches_monitor=True,
        ),
    )
}
"""All checks by name."""
