"""The rules as a Prometheus rule file, over the names of our own exporter (docs/metrics.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from alerting.checks import CHECKS
from alerting.rules import Override, Rule

_GROUP = "cluster, group"

EXPRESSIONS: Mapping[str, tuple[str, str]] = {
    # check: (expression of its value, labels by which it is told apart)
    "losing_data": (
        f"sum by ({_GROUP}) (increase(headroom_group_lost_messages{{%s}}[10m]))",
        _GROUP,
    ),
    "stopped": (
        f"sum by ({_GROUP}) (headroom_group_lag{{%s}})"
        f" and on ({_GROUP}) headroom_group_members == 0",
        _GROUP,
    ),
    "stalled": (
        "(headroom_group_lag{%s} and increase(headroom_group_committed_offset{%s}[5m]) == 0)"
        f" and on ({_GROUP}) headroom_group_members > 0",
        "cluster, group, topic",
    ),
    "falling_behind": (
        f"sum by ({_GROUP}) (deriv(headroom_group_lag{{%s}}[10m]) > 0)"
        f" and on ({_GROUP}) max by ({_GROUP}) (headroom_group_time_lag_seconds) > 60",
        _GROUP,
    ),
    "rewound": (f"sum by ({_GROUP}) (resets(headroom_group_committed_offset{{%s}}[10m]))", _GROUP),
    "unknown": (f"sum by ({_GROUP}) (headroom_group_unknown_lag_partitions{{%s}})", _GROUP),
    "time_lag": (f"max by ({_GROUP}) (headroom_group_time_lag_seconds{{%s}})", _GROUP),
    "lag": (f"sum by ({_GROUP}) (headroom_group_lag{{%s}})", _GROUP),
    "data_loss_deadline": (
        "headroom_topic_retention_seconds - on (cluster, topic) group_right ()"
        " headroom_group_time_lag_seconds{%s}",
        "cluster, group, topic",
    ),
    "idle_consumers": ("headroom_group_idle_members{%s}", _GROUP),
    "broker_missing": ("1 - headroom_broker_alive{%s}", "cluster, broker"),
    "no_controller": (
        "(1 - max by (cluster) (headroom_broker_controller{%s}))",
        "cluster",
    ),
    "partitions_offline": ("headroom_topic_offline_partitions{%s}", "cluster, topic"),
    "under_min_isr": ("headroom_topic_under_min_isr_partitions{%s}", "cluster, topic"),
    "under_replicated": ("headroom_topic_under_replicated_partitions{%s}", "cluster, topic"),
    "leader_imbalance": (
        "headroom_not_preferred_leader_partitions{%s} / (headroom_partitions > 0)",
        "cluster",
    ),
    "disk_free": (
        "headroom_broker_disk_free_bytes{%s} / (headroom_broker_disk_total_bytes > 0)",
        "cluster, broker",
    ),
    "log_directory_offline": ("headroom_log_directory_offline{%s}", "cluster, broker, path"),
    "dead_letter_ratio": (
        "rate(headroom_dead_letters_log_end_offset{%s}[5m])"
        " / on (cluster, origin) group_left () (label_replace(rate("
        'headroom_topic_log_end_offset[5m]), "origin", "$1", "topic", "(.+)") > 0)',
        "cluster, source, name",
    ),
    "dead_letter_age": (
        "time() - headroom_dead_letters_oldest_unprocessed_timestamp_seconds{%s}",
        "cluster, source, name",
    ),
    "dead_letter_new_reason": (
        "count by (cluster, source, name) (headroom_dead_letters_sampled_reasons{%s}"
        " unless headroom_dead_letters_sampled_reasons offset 1h)",
        "cluster, source, name",
    ),
    "redrive_stopped": (
        "(headroom_dead_letters_unprocessed{%s} > 0)"
        " and delta(headroom_dead_letters_unprocessed[10m]) >= 0",
        "cluster, source, name",
    ),
    "dead_letter_retention": (
        "max by (cluster, source, name) (headroom_dead_letters_retained{%s}) * 0"
        ' + on (cluster, name) group_left () label_replace(headroom_topic_retention_seconds, "name"'
        ', "$1", "topic", "(.+)")',
        "cluster, source, name",
    ),
    "connector_failed": (
        'headroom_connector_info{state="FAILED"%s}',
        "cluster, connect, connector",
    ),
    "tasks_failed": ("headroom_connector_tasks_failed{%s}", "cluster, connect, connector"),
    "queue_backlog": ('headroom_queue_ready{kind="plain"%s}', "cluster, vhost, queue"),
    "queue_no_consumers": (
        'headroom_queue_ready{kind="plain"%s} and headroom_queue_consumers == 0',
        "cluster, vhost, queue",
    ),
    "queue_target_missing": (
        "headroom_queue_dead_letter_target_missing{%s}",
        "cluster, vhost, queue",
    ),
    "collection_failed": (
        'headroom_collection_status{status="failed"%s}',
        "cluster, source, section",
    ),
    "data_stale": (
        "headroom_collection_age_seconds{%s} / 15",
        "cluster, source, section",
    ),
    "nothing_collected": (
        "min by (cluster) (headroom_collection_age_seconds{%s}) / 15",
        "cluster",
    ),
}
"""Where Prometheus can tell it; open transactions lack, whose age no metric says."""


def prometheus_rules(rules: Sequence[Rule]) -> str:
    """Return a rule file.

    An override becomes a rule of its own for what it matches, which the others leave out. The
    status of a group is taken from simpler signs than Headroom's own, so that these rules cry
    wolf more often.

    Args:
        rules: The rules; those that are off, have no threshold, or that Prometheus cannot tell
            are left out.
    """
    written = [one for rule in rules for one in _variants(rule)]
    content = {"groups": [{"name": "headroom", "rules": written}]}
    left_out = sorted({rule.name for rule in rules if rule.check not in EXPRESSIONS})
    comment = (
        f"# Not in here, for Prometheus cannot tell: {', '.join(left_out)}\n" if left_out else ""
    )
    return (
        "# Written by: python -m alerting export-prometheus\n"
        + comment
        + yaml.safe_dump(content, sort_keys=False, width=1000)
    )


def _variants(rule: Rule) -> list[dict[str, Any]]:
    if rule.check not in EXPRESSIONS:
        return []
    variants: list[tuple[Rule | None, list[str]]] = []
    before: list[Override] = []
    for override in rule.overrides:
        applied = _applied(rule, override)
        variants.append((applied, _matchers(rule.match) + _matchers(override.match) + _not(before)))
        before.append(override)
    own = rule if rule.enabled else None
    variants.append((own, _matchers(rule.match) + _not(before)))
    return [
        _written(one, matchers)
        for one, matchers in variants
        if one is not None and one.threshold is not None
    ]


def _applied(rule: Rule, override: Override) -> Rule | None:
    """Return the rule as an override makes it, whatever it matches."""
    alone = Override(
        {},
        override.enabled,
        override.threshold,
        override.for_seconds,
        override.keep_firing_for_seconds,
        override.severity,
        override.labels,
        override.runbook,
    )
    return Rule(
        rule.name,
        rule.check,
        rule.severity,
        rule.threshold,
        rule.for_seconds,
        rule.keep_firing_for_seconds,
        rule.labels,
        rule.runbook,
        {},
        (alone,),
        rule.enabled,
    ).applied_to({})


def _matchers(match: Mapping[str, str]) -> list[str]:
    return [f"{label}=~{json.dumps(pattern)}" for label, pattern in match.items()]


def _not(overrides: Sequence[Override]) -> list[str]:
    """Leave out what earlier overrides match; exact for those that match one label."""
    return [
        f"{label}!~{json.dumps(pattern)}"
        for override in overrides
        if len(override.match) == 1
        for label, pattern in override.match.items()
    ]


def _written(rule: Rule, matchers: Sequence[str]) -> dict[str, Any]:
    expression, told_by = EXPRESSIONS[rule.check]
    known = {label.strip() for label in told_by.split(",")}
    chosen = ", ".join(one for one in matchers if one.split("!")[0].split("=")[0] in known)
    places = expression.count("%s")
    own = expression.replace("%s", "\0")
    filled = ", " + chosen if chosen else ""
    for _ in range(places):
        at = own.index("\0")
        follows = own[:at].endswith('"')
        own = own[:at] + (filled if follows else chosen) + own[at + 1 :]
    own = own.replace("{}", "")
    sign = ">" if CHECKS[rule.check].bad == "above" else "<"
    where = " ".join(f"{{{{ $labels.{label.strip()} }}}}" for label in told_by.split(","))
    annotations = {
        "summary": f"{rule.name}: {where}",
        "description": f"{CHECKS[rule.check].meaning}: {{{{ $value }}}} {CHECKS[rule.check].unit}",
    }
    if rule.runbook:
        annotations["runbook_url"] = rule.runbook
    written: dict[str, Any] = {
        "alert": rule.name,
        "expr": f"({own}) {sign} {rule.threshold:g}",
        "for": _duration(rule.for_seconds),
        "keep_firing_for": _duration(rule.keep_firing_for_seconds),
        "labels": {"severity": rule.severity.value, **rule.labels},
        "annotations": annotations,
    }
    return {key: value for key, value in written.items() if value not in ("0s", {})}


def _duration(seconds: float) -> str:
    return f"{round(seconds)}s"
