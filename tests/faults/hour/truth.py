"""Which alerts are true while something is broken, and what is wrong with those that were sent."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from tests.faults.hour.schedule import Fault, Kind

HEALTHY = (
    "order-fulfilment",
    "connect-warehouse_sink",
    "stock-projection",
    "fraud-scoring",
    "ledger-writer",
    "ledger-audit",
)
"""Groups of the demo that keep up. Every other one is in trouble by design: see demo/README."""

_DEAD_LETTERS = {"DeadLettersArriving", "DeadLetterNewReason", "DeadLetterRetentionShort"}
_MONITOR = {"CollectionFailed", "DataStale", "NothingCollected"}
_BROKERS = {
    *("BrokerMissing", "NoController", "PartitionsOffline", "UnderMinIsr", "UnderReplicated"),
    "LeaderImbalance",
}
_GROUPS = {
    *("GroupStopped", "GroupStalled", "GroupFallingBehind", "GroupRewound", "GroupUnknown"),
    "GroupMissesObjective",
    *("GroupLosingData", "DataLossNear", "DataLossComing", "RedriveStopped"),
}

_MAY: Mapping[Kind, set[str]] = {
    # Consumers wait for another leader or coordinator: that a group does not read then is true.
    Kind.BROKER_KILLED: _BROKERS | _GROUPS | _MONITOR,
    Kind.BROKER_FROZEN: _BROKERS | _GROUPS | _MONITOR,
    Kind.BROKER_CUT_OFF: _MONITOR | {"GroupUnknown", "BrokerMissing", "NoController"},
    Kind.ALL_CUT_OFF: _MONITOR | {"GroupUnknown"},
    Kind.BOTH_COLLECTORS_KILLED: {"DataStale", "NothingCollected"},
    Kind.COLLECTORS_FROZEN: {"DataStale", "NothingCollected"},
    Kind.DISK_FULL: {"DataStale", "NothingCollected"},
}
"""Rules that may fire because of a fault; those of groups for each group. Others: none."""

SETTLED_SECONDS = 90.0
"""How long after a fault's end what it causes may begin: groups share out, replicas return."""

_TOLD_AFTER_SECONDS = 30.0
"""A fault is seen so long after its start at the latest, and its own alert begins at most so long
after its end (samples are a few seconds old)."""

_KEEPS_SECONDS = 60.0
"""How long what an alert tells of is to be over before it resolves; twice as long each time that it
comes back, an hour at most: see docs/alerts.md, "The life of an alert"."""

_LONGEST_HABIT_SECONDS = 300.0
_HABIT_TIMES = 3.0
"""An absence that a group made good alerts again after so many times its length, and no later than
this: see docs/alerts.md, "What repeats"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What became of the alerts; every list names alerts or faults in words."""

    incidents: int
    told_once: int
    not_told: list[str]
    told_twice: list[str]
    not_resolved: list[str]
    false: list[str]
    repeated_keys: int  # the same message again: receivers drop it by its key


def judge(
    messages: Iterable[Mapping[str, Any]],
    faults: Sequence[Fault],
    began: float,
    lasted: float,
) -> Verdict:
    """Compare what was received with what is true.

    Args:
        messages: Bodies of the webhook, in the order of their arrival.
        faults: What was broken.
        began: The start of the run, in Unix seconds.
        lasted: How long the run took, seconds.
    """
    distinct: dict[str, Mapping[str, Any]] = {}
    repeated = 0
    for message in messages:
        repeated += message["key"] in distinct
        distinct.setdefault(message["key"], message)
    alerts: dict[str, Mapping[str, Any]] = {}
    resolved: dict[str, int] = defaultdict(int)
    ended: dict[str, float] = {}
    for message in distinct.values():
        for alert in message["firing"]:
            alerts.setdefault(alert["id"], alert)
        for alert in message["resolved"]:
            alerts.setdefault(alert["id"], alert)
            resolved[alert["id"]] += 1
            ended[alert["id"]] = alert["resolved_at"] - began
    told_once, not_told = 0, []
    twice = [
        f"resolved {count} times: {name(alerts[id_])}"
        for id_, count in resolved.items()
        if count > 1
    ]
    wanted = [
        (fault, rule, labels)
        for fault in faults
        if (own := _own(fault)) and not _is_usual(fault, faults)
        for rule, labels in [own]
    ]
    for fault, rule, labels in wanted:
        found = [
            alert
            for alert in alerts.values()
            if alert["rule"] == rule
            and labels.items() <= alert["labels"].items()
            and alert["started_at"] - began <= fault.ends + _TOLD_AFTER_SECONDS
            # One that an earlier fault began, and that goes on, tells of this one, too: not one
            # that resolves before this one can be seen.
            and ended.get(alert["id"], inf) >= min(fault.ends, fault.at + _TOLD_AFTER_SECONDS)
        ]
        what = f"{rule} {labels} of {fault.kind} at {fault.at:.0f} s"
        if not found:
            not_told.append(what)
        elif len(found) > 1:
            twice.append(f"{len(found)} alerts: {what}")
        else:
            told_once += resolved[found[0]["id"]] == 1
    false, unresolved = [], []
    times: dict[str, int] = defaultdict(int)
    for alert in alerts.values():
        times[alert["fingerprint"]] += 1
        if is_by_design(alert["rule"], alert["labels"]):
            continue
        if not any(_explains(fault, alert, alert["started_at"] - began) for fault in faults):
            false.append(f"{name(alert)} at {alert['started_at'] - began:.0f} s: {alert['what']}")
        elif not resolved[alert["id"]] and lasted >= _resolved_by(
            alert, times[alert["fingerprint"]] - 1, faults
        ):
            unresolved.append(name(alert))
    return Verdict(
        incidents=len(wanted),
        told_once=told_once,
        not_told=not_told,
        told_twice=twice,
        not_resolved=unresolved,
        false=false,
        repeated_keys=repeated,
    )


def name(alert: Mapping[str, Any]) -> str:
    """Return an alert's rule and labels."""
    labels = {key: value for key, value in alert["labels"].items() if key != "cluster"}
    return f"{alert['rule']} {labels}"


def is_by_design(rule: str, labels: Mapping[str, str]) -> bool:
    """Return whether the demo, undisturbed, gives reason for an alert."""
    if rule in _DEAD_LETTERS or rule == "IdleConsumers":
        return True
    return "group" in labels and labels["group"] not in HEALTHY


def _own(fault: Fault) -> tuple[str, dict[str, str]] | None:
    """Return the alert that has to tell of a fault."""
    match fault.kind:
        case Kind.BROKER_KILLED | Kind.BROKER_FROZEN:
            return "BrokerMissing", {"broker": fault.target or ""}
        case Kind.GROUP_STOPPED:
            return "GroupStopped", {"group": fault.target or ""}
        case Kind.ALL_CUT_OFF:
            return "NothingCollected", {}
    return None


def _is_usual(fault: Fault, faults: Sequence[Fault]) -> bool:
    """Return whether a group was away before, and came back from it, for about as long."""
    before = (
        one.ends - one.at
        for one in faults
        if one.kind is fault.kind and one.target == fault.target and one.ends < fault.at
    )
    patience = min(_LONGEST_HABIT_SECONDS, _HABIT_TIMES * max(before, default=0.0))
    return fault.kind is Kind.GROUP_STOPPED and fault.ends - fault.at < patience


def _resolved_by(alert: Mapping[str, Any], flaps: int, faults: Sequence[Fault]) -> float:
    """Return when an alert is to be resolved at the latest, after the last fault that explains it.

    Args:
        alert: One that goes on at the end of the run.
        flaps: How often it had fired before.
        faults: What was broken.
    """
    last = max(fault.ends for fault in faults if _causes(fault, alert))
    return last + SETTLED_SECONDS + min(3600.0, _KEEPS_SECONDS * 2.0**flaps)


def _explains(fault: Fault, alert: Mapping[str, Any], started: float) -> bool:
    is_then = fault.at - 5 <= started <= fault.ends + SETTLED_SECONDS
    return is_then and _causes(fault, alert)


def _causes(fault: Fault, alert: Mapping[str, Any]) -> bool:
    if fault.kind is Kind.GROUP_STOPPED:
        return alert["rule"] in _GROUPS and alert["labels"].get("group") == fault.target
    return alert["rule"] in _MAY.get(fault.kind, set())
