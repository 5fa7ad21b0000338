"""Advice on Kafka Connect, a connector's tasks.max above all: pure.

A task is one thread. The tasks of a sink are the members of its group, so that its partitions
bound them; tasks.max defaults to 1. Some sources support a single task only, whatever is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from alerting.inputs.windows import GroupKey
from alerting.status.phrases import plural
from scaling.advice.config_snippets import connect_tasks
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Caveat,
    CaveatLevel,
    Confidence,
    Evidence,
    Recommendation,
    Subject,
)
from scaling.facts.group_facts import GroupFacts

SINGLE_TASK = ("debezium", "jdbc.JdbcSourceConnector")
"""Parts of class names of sources that read one log or one table: one task each."""

_RESTART = Caveat(
    level=CaveatLevel.MEDIUM,
    text="A new tasks.max restarts the connector's tasks, and its group rebalances.",
)
_SINGLE = Caveat(
    level=CaveatLevel.MEDIUM,
    text="Many sources can run one task only; tasks.max does not change that.",
)

_WORKERS_PROTOCOLS = ("default", "compatible", "sessioned")
"""In which workers share out connectors (Kafka's ConnectProtocolCompatibility)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectorFacts:
    """What is known of a connector; None is unknown."""

    cluster: str
    connector: str
    type: str | None  # ``source`` or ``sink``
    class_name: str | None = None
    tasks_expected: int | None = None  # tasks.max; None is unknown
    tasks: int | None = None
    partitions: int | None = None  # partitions that a sink reads; None is unknown
    group_advice: Recommendation | None = None


def connector_facts(
    connectors: pl.DataFrame,
    groups: Mapping[GroupKey, GroupFacts],
    advice: Mapping[GroupKey, Recommendation],
) -> list[ConnectorFacts]:
    """Gather what is known of each connector."""
    newest = connectors.sort("observed_at").unique(
        ["cluster", "connect", "connector"], keep="last", maintain_order=True
    )
    return [
        ConnectorFacts(
            cluster=row["cluster"],
            connector=row["connector"],
            type=row["type"],
            class_name=row["class_name"],
            tasks_expected=row["tasks_expected"],
            tasks=row["tasks"],
            partitions=_partitions(groups.get(GroupKey(row["cluster"], row["group"] or ""))),
            group_advice=advice.get(GroupKey(row["cluster"], row["group"] or "")),
        )
        for row in newest.iter_rows(named=True)
    ]


def connector_advice(facts: ConnectorFacts) -> Recommendation | None:
    """Return advice on tasks.max; None where it is as it should be."""
    maximum = facts.tasks_expected
    if maximum is None:
        return None
    if facts.type == "source":
        if maximum > 1 and _is_single(facts.class_name):
            return _advice(
                facts,
                1,
                AdviceSeverity.INFO,
                f"{facts.class_name} reads with one task, whatever tasks.max says: {maximum} have "
                "no effect.",
                (_SINGLE,),
            )
        return None
    if facts.partitions is None or facts.partitions < 1:
        return None
    if maximum > facts.partitions:
        return _advice(
            facts,
            facts.partitions,
            AdviceSeverity.INFO,
            f"{plural(maximum, 'task')} share {plural(facts.partitions, 'partition')}: "
            f"{maximum - facts.partitions} of them can never get any.",
            (_RESTART,),
        )
    return _of_group(facts, maximum, facts.partitions)


def _of_group(facts: ConnectorFacts, maximum: int, partitions: int) -> Recommendation | None:
    """Turn advice on the sink's group into advice on its tasks."""
    advice = facts.group_advice
    if advice is None or advice.kind not in (AdviceKind.ADD_CONSUMERS, AdviceKind.REMOVE_CONSUMERS):
        return None
    proposed = None if advice.proposed is None else min(advice.proposed, partitions)
    if proposed == maximum:
        return None
    return _advice(
        facts,
        proposed,
        advice.severity,
        f"Its group: {advice.reason}",
        (_RESTART, *advice.caveats),
        unknown_reason=advice.unknown_reason,
        limiting_factor=advice.limiting_factor,
    )


def _advice(
    facts: ConnectorFacts,
    proposed: int | None,
    severity: AdviceSeverity,
    reason: str,
    caveats: tuple[Caveat, ...],
    *,
    unknown_reason: str | None = None,
    limiting_factor: str | None = None,
) -> Recommendation:
    return Recommendation(
        kind=AdviceKind.TASKS,
        cluster=facts.cluster,
        subject=facts.connector,
        severity=severity,
        confidence=Confidence.MEDIUM,
        reason=reason,
        quantity="tasks",
        current=facts.tasks_expected,
        proposed=proposed,
        unknown_reason=unknown_reason,
        evidence=(
            Evidence(name="tasks.max", value=facts.tasks_expected),
            Evidence(name="tasks", value=facts.tasks),
            Evidence(name="partitions", value=facts.partitions),
            Evidence(name="class", value=facts.class_name),
        ),
        caveats=caveats,
        artefacts=() if proposed is None else (connect_tasks(facts.connector, proposed),),
        subject_kind=Subject.CONNECTOR,
        limiting_factor=limiting_factor,
    )


def _partitions(group: GroupFacts | None) -> int | None:
    return sum(group.subscribed.values()) if group is not None else None


def _is_single(class_name: str | None) -> bool:
    return class_name is not None and any(part in class_name for part in SINGLE_TASK)


def workers_advice(facts: GroupFacts) -> Recommendation | None:
    """Return advice on the group in which Connect's workers find each other; None for others."""
    if facts.kind != "connect" or facts.assignor not in _WORKERS_PROTOCOLS or facts.partitions:
        return None
    return Recommendation(
        kind=AdviceKind.KEEP,
        cluster=facts.cluster,
        subject=facts.group,
        severity=AdviceSeverity.INFO,
        confidence=Confidence.HIGH,
        reason="Its members are workers of Kafka Connect, which share connectors and read no "
        "partition: there is no lag to evaluate. Each sink has a group of its own.",
        quantity="workers",
        current=facts.members,
        proposed=facts.members,
        evidence=(Evidence(name="workers", value=facts.members),),
    )
