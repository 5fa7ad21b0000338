"""The default rules. A file of one's own changes them by name; docs/alerts.md explains each."""

from __future__ import annotations

from alerting.rules.model import AlertSeverity, Rule

_CRITICAL, _WARNING, _INFO = AlertSeverity.CRITICAL, AlertSeverity.WARNING, AlertSeverity.INFO
_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0


def _rule(
    name: str,
    check: str,
    severity: AlertSeverity,
    threshold: float | None = 0.0,
    *,
    lasts: float = 0.0,
    keep: float = _MINUTE,
) -> Rule:
    return Rule(
        name=name,
        check=check,
        severity=severity,
        threshold=threshold,
        for_seconds=lasts,
        keep_firing_for_seconds=keep,
    )


DEFAULT_ALERT_RULES: tuple[Rule, ...] = (
    # Groups. The status waits by itself until it is sure; "for" adds the minute that a deploy
    # takes, and the time until others take over from a consumer that crashed. That nothing is known
    # is said by the rules on collection. An objective is one's own: lag and time lag have none.
    _rule("GroupLosingData", "losing_data", _CRITICAL),
    _rule("GroupStopped", "stopped", _CRITICAL, lasts=_MINUTE),
    _rule("GroupStalled", "stalled", _CRITICAL, lasts=30.0),
    _rule("GroupMissesObjective", "objective_missed", _CRITICAL, keep=10 * _MINUTE),
    _rule("GroupFallingBehind", "falling_behind", _WARNING, keep=10 * _MINUTE),
    _rule("GroupRewound", "rewound", _WARNING),
    _rule("GroupUnknown", "unknown", _INFO, lasts=5 * _MINUTE),
    _rule("TimeLagHigh", "time_lag", _CRITICAL, None, lasts=_MINUTE, keep=2 * _MINUTE),
    _rule("LagHigh", "lag", _WARNING, None, lasts=_MINUTE, keep=2 * _MINUTE),
    _rule("DataLossNear", "data_loss_deadline", _CRITICAL, 4 * _HOUR, lasts=_MINUTE),
    _rule("DataLossComing", "data_loss_deadline", _WARNING, 2 * _DAY, lasts=10 * _MINUTE),
    _rule("IdleConsumers", "idle_consumers", _INFO, lasts=10 * _MINUTE),
    # Brokers and replication.
    _rule("BrokerMissing", "broker_missing", _CRITICAL),
    _rule("NoController", "no_controller", _CRITICAL, lasts=30.0),
    _rule("PartitionsOffline", "partitions_offline", _CRITICAL),
    _rule("UnderMinIsr", "under_min_isr", _CRITICAL, lasts=_MINUTE),
    _rule("UnderReplicated", "under_replicated", _WARNING, lasts=5 * _MINUTE),
    _rule("LeaderImbalance", "leader_imbalance", _WARNING, 0.25, lasts=30 * _MINUTE),
    _rule("DiskSpaceLow", "disk_free", _WARNING, 0.15, lasts=5 * _MINUTE, keep=10 * _MINUTE),
    _rule("DiskAlmostFull", "disk_free", _CRITICAL, 0.05, lasts=_MINUTE, keep=5 * _MINUTE),
    _rule("CertificateExpiresSoon", "certificate_expiry", _WARNING, 14 * _DAY),
    _rule("CertificateExpires", "certificate_expiry", _CRITICAL, 3 * _DAY),
    _rule("LogDirectoryOffline", "log_directory_offline", _CRITICAL),
    _rule("OpenTransactionOld", "open_transaction", _WARNING, 15 * _MINUTE),
    # Dead letters.
    _rule("DeadLettersArriving", "dead_letter_ratio", _WARNING, 0.001, keep=2 * _MINUTE),
    _rule("DeadLetterOld", "dead_letter_age", _WARNING, 4 * _HOUR, lasts=_MINUTE),
    _rule("DeadLetterNewReason", "dead_letter_new_reason", _WARNING, keep=5 * _MINUTE),
    _rule("RedriveStopped", "redrive_stopped", _WARNING, lasts=_MINUTE),
    _rule("DeadLetterRetentionShort", "dead_letter_retention", _INFO, 3 * _DAY),
    # Connect and RabbitMQ. A queue that nobody consumes is as bad as a group that stopped, and its
    # rule waits as long: a deploy looks the same.
    _rule("ConnectorFailed", "connector_failed", _CRITICAL),
    _rule("ConnectorTasksFailed", "tasks_failed", _CRITICAL),
    _rule("QueueBacklog", "queue_backlog", _WARNING, 10_000, lasts=5 * _MINUTE),
    _rule("QueueWithoutConsumers", "queue_no_consumers", _CRITICAL, lasts=_MINUTE),
    # Definitions are made one by one: a queue may be there before its dead-letter exchange.
    _rule("QueueDeadLettersLost", "queue_target_missing", _CRITICAL, lasts=30.0),
    # The monitor itself.
    _rule("CollectionFailed", "collection_failed", _WARNING, lasts=_MINUTE),
    _rule("DataStale", "data_stale", _WARNING, 4.0, lasts=30.0),
    _rule("NothingCollected", "nothing_collected", _CRITICAL, 4.0),
)
"""All of them; names are unique."""
