"""Advice on the consumers of an Eclipse Ditto connection: pure.

A connection has clientCount clients, at most one a connectivity instance, and each client starts
consumerCount consumers for each of its sources: clientCount <= instances, and
clientCount x consumerCount <= partitions.
"""

from __future__ import annotations

from math import ceil

from alerting.status.phrases import plural
from scaling.advice.config_snippets import ditto_counts
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

_INSTANCES = Caveat(
    level=CaveatLevel.MEDIUM,
    text="A client needs a connectivity instance of its own: how many there are cannot be read.",
)
_REOPENS = Caveat(
    level=CaveatLevel.MEDIUM,
    text="A changed connection is opened anew: with qos 1 it goes on from its last commit, so that "
    "some messages come twice.",
)


def counts(consumers: int, partitions: int, instances: int) -> tuple[int, int]:
    """Return clientCount and consumerCount for a number of consumers.

    The smallest product that is no less than ``consumers`` and no more than ``partitions``; of
    equal ones that with most clients, since they lie on different instances. Where no product is
    large enough, the largest there is.

    Raises:
        ValueError: One of them is below 1.
    """
    if min(consumers, partitions, instances) < 1:
        raise ValueError("consumers, partitions and instances are 1 at least")
    pairs = [
        (clients, each)
        for clients in range(1, min(instances, partitions) + 1)
        for each in range(1, partitions // clients + 1)
    ]
    enough = [pair for pair in pairs if pair[0] * pair[1] >= consumers]
    if not enough:
        return max(pairs, key=lambda pair: (pair[0] * pair[1], pair[0]))
    return min(enough, key=lambda pair: (pair[0] * pair[1], -pair[0]))


def connection_advice(
    facts: GroupFacts,
    advice: Recommendation | None,
    *,
    connection: str,
    clients: int | None,
    consumers: int | None,
) -> Recommendation | None:
    """Return advice on a connection's counts; None where they are as they should be."""
    partitions = sum(facts.subscribed.values())
    if not clients or not consumers or not partitions:
        return None
    each = ceil(consumers / clients)
    if consumers > partitions:
        wanted, severity = partitions, AdviceSeverity.INFO
        reason = (
            f"{plural(clients, 'client')} with {each} consumers each share "
            f"{plural(partitions, 'partition')}: {consumers - partitions} can never get any."
        )
        limiting_factor = None
    elif (
        advice is not None
        and advice.kind in (AdviceKind.ADD_CONSUMERS, AdviceKind.REMOVE_CONSUMERS)
        and advice.proposed is not None
    ):
        wanted, severity, reason = advice.proposed, advice.severity, advice.reason
        limiting_factor = advice.limiting_factor
    else:
        return None
    new_clients, new_each = counts(wanted, partitions, clients)
    if new_clients * new_each == consumers:
        return None
    return Recommendation(
        kind=AdviceKind.CLIENTS,
        cluster=facts.cluster,
        subject=connection,
        severity=severity,
        confidence=Confidence.MEDIUM,
        reason=f"{reason} clientCount {new_clients} and consumerCount {new_each} make "
        f"{new_clients * new_each}.",
        quantity="connection consumers",
        current=consumers,
        proposed=new_clients * new_each,
        evidence=(
            Evidence(name="clientCount", value=clients),
            Evidence(name="consumerCount", value=each),
            Evidence(name="partitions", value=partitions),
            Evidence(name="proposed clientCount", value=new_clients),
            Evidence(name="proposed consumerCount", value=new_each),
        ),
        caveats=(_INSTANCES, _REOPENS),
        artefacts=(ditto_counts(connection, new_clients, new_each),),
        subject_kind=Subject.CONNECTION,
        limiting_factor=limiting_factor,
    )
