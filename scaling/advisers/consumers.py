"""Advice on the number of consumers: the decision table, first row that applies.

Reported apart: lost data. Then: nothing known, nobody consumes, a partition or the group is
blocked, a hot partition, the bound of the partitions, more consumers, keep.
"""

from __future__ import annotations

from typing import Unpack

from alerting.status.group_status import Status, complete_sum
from alerting.status.phrases import plural, share
from scaling.advice.caveats import QUOTAS, SPARES, of_more_partitions, of_other_members
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Confidence,
    Details,
    Evidence,
    Recommendation,
)
from scaling.advisers.falling_behind import falling_behind
from scaling.advisers.group_evidence import (
    KEYS_UNREAD,
    advances,
    behind,
    flow,
    hot_partitions,
    is_stuck,
    partition_names,
    skew_evidence,
    useful_counts,
)
from scaling.advisers.integrations.connect import workers_advice
from scaling.advisers.size_facts import why_not_sized
from scaling.advisers.slowed_consumer import slowed_consumer
from scaling.facts.group_facts import GroupFacts
from simulation.assignors import Assignor, most_members, worst_partitions

_SLOWED = (
    "One consumer was seen to process more than the busiest gets now, so more may not be needed: "
    "see first what slows the handlers. "
)
_MAY_COME_BACK = (
    "whether its members come back by themselves, as after a restart; if not, its consumers are to "
    "be started again"
)
UNCOUNTED = (
    "the group has no members and commits all the same: its consumers assign their partitions "
    "themselves and cannot be counted"
)


def main_advice(facts: GroupFacts) -> Recommendation:
    """Return the one piece of advice on the group's consumers."""
    return (
        workers_advice(facts)
        or _nothing_known(facts)
        or _nobody(facts)
        or _blocked(facts)
        or _hot(facts)
        or _bound(facts)
        or _more(facts)
        or _keep(facts)
    )


def idle_advice(facts: GroupFacts) -> Recommendation | None:
    """Return advice on consumers that can never hold a partition; None where there are none."""
    partitions, assignor = facts.subscribed, Assignor.of(facts.assignor)
    if facts.members is None or not partitions or facts.type == "share":
        return None
    most = most_members(partitions, assignor)
    spare = facts.members - most
    if spare <= 0 or (assignor is None and len(partitions) > 1 and not facts.idle_members):
        return None
    return _advice(
        facts,
        AdviceKind.REMOVE_IDLE_CONSUMERS,
        AdviceSeverity.INFO,
        Confidence.HIGH,
        f"{facts.members} consumers share {plural(sum(partitions.values()), 'partition')}: a "
        f"partition goes to one consumer, so {spare} can never get any.",
        proposed=most,
        evidence=(
            Evidence(name="consumers", value=facts.members),
            Evidence(name="partitions", value=sum(partitions.values())),
            Evidence(name="idle now", value=facts.idle_members),
        ),
        caveats=(*of_other_members(facts), SPARES),
    )


def _nothing_known(facts: GroupFacts) -> Recommendation | None:
    if facts.status.status is not Status.UNKNOWN and facts.members is not None:
        return None
    why = (
        facts.status.reason.rstrip(".")
        if facts.status.status is Status.UNKNOWN
        else "the group's members could not be read"
    )
    return _nothing(facts, why)


def _nothing(facts: GroupFacts, why: str) -> Recommendation:
    return _advice(
        facts,
        AdviceKind.UNKNOWN,
        AdviceSeverity.UNKNOWN,
        Confidence.LOW,
        "Nothing can be advised.",
        unknown_reason=why,
        evidence=flow(facts),
    )


def _nobody(facts: GroupFacts) -> Recommendation | None:
    lag = facts.status.numbers.lag
    if facts.members != 0 or lag == 0 or any(advances(part.status) for part in facts.partitions):
        return None
    if facts.status.status not in (Status.STOPPED, Status.LOSING_DATA, Status.REWOUND):
        return None
    unread = " How much waits could not be read." if lag is None else ""
    kind, before = AdviceKind.START_CONSUMERS, facts.members_before
    unknown = None if before else "how many consumers ran before is not known"
    step = "Start its consumers again; how many it needs shows once they run."
    if before:
        step = f"Start {plural(before, 'consumer')}, as many as ran before."
    if facts.kind == "connect":
        kind = AdviceKind.RESTART_CONNECTOR
        before, unknown = None, "its connector says how many tasks it has"
        step = (
            "See on the page of Kafka Connect why its connector does not run, and restart it; how "
            "many tasks it needs shows once they run."
        )
    return _advice(
        facts,
        kind,
        AdviceSeverity.ACT_NOW,
        Confidence.HIGH,
        f"{step}{unread}",  # that nobody consumes is the status of the group
        current=0,
        proposed=before,
        unknown_reason=unknown,
        evidence=flow(facts),
        caveats=of_other_members(facts),
    )


def _blocked(facts: GroupFacts) -> Recommendation | None:
    """Distinguish a poison partition from a group that stands still as a whole."""
    waiting = [
        part for part in facts.partitions if part.status.subscribed and part.status.numbers.lag != 0
    ]
    stalled = [part for part in waiting if is_stuck(part.status)]
    if not stalled:
        return None
    worst = max(stalled, key=lambda part: part.status.numbers.without_commit_seconds or 0.0)
    waited = worst.status.numbers.without_commit_seconds or 0.0
    advancing = [part for part in facts.partitions if advances(part.status)]
    where = partition_names([part.status for part in stalled])
    lag = complete_sum([part.status.numbers.lag for part in stalled])
    evidence = (
        Evidence(name="blocked partitions", value=where),
        Evidence(name="partitions that advance", value=len(advancing)),
        Evidence(name="no commit for", value=round(waited), unit="s"),
        Evidence(name="waiting there", value=lag, unit="messages"),
    )
    if not advancing:
        return _advice(
            facts,
            AdviceKind.BLOCKED_GROUP,
            AdviceSeverity.ACT_NOW,
            Confidence.MEDIUM,
            "The group stands still: no partition advances. More consumers will not help: look at "
            "what the handlers wait for.",
            evidence=evidence,
            caveats=(QUOTAS,),
        )
    same_member = worst.member_id is not None and any(
        part.member_id == worst.member_id for part in advancing
    )
    others = "other partitions of the same member" if same_member else "the group's others"
    return _advice(
        facts,
        AdviceKind.BLOCKED_PARTITION,
        AdviceSeverity.ACT_NOW,
        Confidence.HIGH if same_member else Confidence.MEDIUM,
        f"The group stands still on {where} while {others} advance: the handler is stuck on "
        f"{'a message' if len(stalled) == 1 else 'messages'} there. More consumers will not help: "
        "look at the message at the committed offset, fix or skip it.",
        evidence=evidence,
    )


def _hot(facts: GroupFacts) -> Recommendation | None:
    """Advise where the group is late on hot partitions and nowhere else."""
    late = behind(facts)
    if not late:
        return None
    topics = hot_partitions(facts)
    hot = {(topic, number) for topic, one in topics.items() for number in one.hot}
    if not hot or not all((p.status.topic, p.status.partition) in hot for p in late):
        return None
    worst = max(late, key=lambda part: part.status.numbers.arrival_per_second or 0.0)
    one = topics[worst.status.topic]
    shared = [
        part
        for part in facts.partitions
        if part.member_id is not None
        and part.member_id == worst.member_id
        and part is not worst
        and (part.status.numbers.arrival_per_second or 0.0) > 0
    ]
    where = partition_names([part.status for part in late])
    relief = (
        f" Its consumer holds {plural(len(shared), 'other partition')} too: more consumers can "
        "take those over, but not this one."
        if shared
        else " One consumer holds it alone: more consumers will not help."
        if worst.member_id is not None
        else " More consumers help only as far as its consumer holds other partitions too."
    )
    return _advice(
        facts,
        AdviceKind.HOT_PARTITION,
        AdviceSeverity.WATCH,
        Confidence.HIGH if worst.member_id is not None else Confidence.MEDIUM,
        f"The group is late on {where} alone, which gets {share(one.busiest_ratio or 0.0)} of the "
        f"topic's messages; an even share is {share(one.even_ratio or 0.0)}.{relief} Look at the "
        "keys: split the busiest one, or make its handling faster.",
        unknown_reason=KEYS_UNREAD,
        evidence=(*skew_evidence(one, where), *flow(facts)),
        caveats=of_more_partitions(facts),
    )


def _bound(facts: GroupFacts) -> Recommendation | None:
    partitions = facts.subscribed
    if not behind(facts) or not partitions or not facts.members or facts.type == "share":
        return None
    most = most_members(partitions, Assignor.of(facts.assignor))
    if facts.members < most:
        return None
    flows = falling_behind(facts)
    return _advice(
        facts,
        AdviceKind.PARTITION_BOUND,
        AdviceSeverity.WATCH,
        Confidence.HIGH,
        f"{flows.what}. Every partition has its own consumer already, so more consumers will "
        "not help: make the handler faster, or give the topic more partitions.",
        quantity="partitions",
        current=sum(partitions.values()),
        unknown_reason=why_not_sized(facts),
        evidence=(
            Evidence(name="most useful consumers", value=most),
            *flows.evidence,
            *flow(facts),
        ),
        caveats=(*of_more_partitions(facts), QUOTAS),
    )


def _more(facts: GroupFacts) -> Recommendation | None:
    """Say that more consumers seem needed; how many is not known without a capacity."""
    if not behind(facts):
        return None
    members, flows, slowed = facts.members or 0, falling_behind(facts), slowed_consumer(facts)
    larger = [n for n in useful_counts(facts) if n > members]
    steps = ", ".join(str(n) for n in larger[:4]) + (" …" if len(larger) > 4 else "")
    return _advice(
        facts,
        AdviceKind.ADD_CONSUMERS,
        AdviceSeverity.WATCH,
        Confidence.LOW,
        f"{flows.what}. {_SLOWED if slowed else ''}How many more consumers that takes is not "
        f"known yet; the numbers that make a difference are {steps}.",
        current=facts.members or None,
        unknown_reason=why_not_sized(facts) if facts.members else UNCOUNTED,
        evidence=(
            Evidence(name="next useful number of consumers", value=larger[0] if larger else None),
            *(slowed.evidence if slowed else ()),
            *flows.evidence,
            *flow(facts),
        ),
        caveats=(*of_other_members(facts), QUOTAS),
    )


def _keep(facts: GroupFacts) -> Recommendation:
    if facts.status.status is Status.NO_MEMBERS:
        return _nothing(facts, _MAY_COME_BACK)
    if facts.status.status in (Status.STOPPED, Status.STALLED):
        return _nothing(facts, facts.status.reason.rstrip("."))
    members = facts.members or 0
    better = ""
    smaller = [n for n in useful_counts(facts) if n <= members]
    if smaller and smaller[-1] < members and facts.type != "share":
        better = (
            f" With even partitions, {smaller[-1]} consumers would carry as much as {members}: the "
            f"busiest holds {_worst(facts, members)} partitions either way."
        )
    status = facts.status
    if status.status is Status.CATCHING_UP:
        text = "The group is catching up"
    elif status.status is Status.REWOUND:
        text = "The group's offsets were set back, and it reads old messages again"
    elif status.numbers.lag == 0:
        text = "Nothing waits"
    elif facts.members == 0:
        text = "Nobody reads now: it may be a job between two runs"
    else:
        text = "The group keeps up"
    return _advice(
        facts,
        AdviceKind.KEEP,
        AdviceSeverity.INFO,
        Confidence.MEDIUM,
        f"{text}: no reason to change its consumers.{better}",
        proposed=facts.members,
        evidence=flow(facts),
    )


def _advice(
    facts: GroupFacts,
    kind: AdviceKind,
    severity: AdviceSeverity,
    confidence: Confidence,
    reason: str,
    **details: Unpack[Details],
) -> Recommendation:
    """Return advice on the group's consumers, or on the quantity that the details name."""
    details.setdefault("quantity", "consumers")
    details.setdefault("current", facts.members)
    return Recommendation(
        kind=kind,
        cluster=facts.cluster,
        subject=facts.group,
        severity=severity,
        confidence=confidence,
        reason=reason,
        **details,
    )


def _worst(facts: GroupFacts, members: int) -> int:
    return worst_partitions(facts.subscribed, Assignor.of(facts.assignor), members)
