"""How many partitions a topic needs: pure.

P >= peak x growth / (utilisation x capacity) for the slowest group that reads it, and
P >= bytes in / what one partition takes (Rao's rule, Confluent), as a multiple of the present
number: keys then move only from p to p + jP, and topics that are joined stay in step. A topic that
has too few partitions is distinguished from one in which a partition is hot (more partitions help
where it is more than one key) and from one with a hot key (nothing but the key helps).
"""

from __future__ import annotations

from math import ceil
from typing import Unpack

from alerting.current.skew import Skew, skew
from alerting.status.group_status import complete_sum
from alerting.status.phrases import plural, rate, share
from scaling.advice.caveats import of_topic_partitions
from scaling.advice.config_snippets import add_partitions, kafka_topic, terraform_topic
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Confidence,
    Details,
    Evidence,
    Recommendation,
    Subject,
)
from scaling.advisers.group_evidence import KEYS_UNREAD
from scaling.facts.topic_facts import Reader, TopicFacts

UTILISATION = 0.7
"""The share of its capacity that a consumer with one partition may be loaded with."""

GROWTH = 1.5
"""Room that is left for growth where none was measured: partitions cannot be taken back."""

BYTES_PER_PARTITION = 10e6
"""What one partition takes, bytes per second: a rule of thumb, as no measurement says more."""

BROKER_REPLICAS = 4000
"""Replicas a broker, the ceiling that Kafka's managed offers and its own documents name."""

_MORE_TRIES = 4


def partition_advice(facts: TopicFacts) -> Recommendation | None:
    """Return advice on a topic's partitions; None where they are enough or nothing is known."""
    arrival = complete_sum(facts.rates.values())
    reader = _slowest(facts)
    if facts.partitions < 1 or arrival is None:
        return None
    uneven = skew(facts.rates, span_seconds=facts.span_seconds)
    if reader is not None:
        capacity = reader.capacity_per_second or 0.0
        most = UTILISATION * capacity
        key = facts.busiest_key_per_second
        if key is not None and key > most:
            return _hot_key(facts, reader, key)
        needed = ceil(arrival * _growth(reader) / most)
        busiest = max((one or 0.0 for one in facts.rates.values()), default=0.0)
        if needed <= facts.partitions and busiest > capacity and uneven.hot:
            return _hot_partition(facts, reader, uneven, busiest)
    else:
        needed = 1
    by_bytes = ceil((facts.bytes_per_second or 0.0) * GROWTH / BYTES_PER_PARTITION)
    if max(needed, by_bytes) <= facts.partitions:
        return None
    return _more(facts, arrival, reader, max(needed, by_bytes), by_bytes > needed)


def proposed_partitions(present: int, needed: int, brokers: int | None) -> int:
    """Return the multiple of the present partitions to go to.

    The smallest that is enough; one of the next few where leaders are then spread evenly over the
    brokers and it is no more than half as much again.
    """
    least = max(1, ceil(needed / present))
    if brokers:
        for times in range(least, least + _MORE_TRIES):
            if times * present % brokers == 0 and times <= 1.5 * least:
                return times * present
    return least * present


def _more(
    facts: TopicFacts, arrival: float, reader: Reader | None, needed: int, bytes_bind: bool
) -> Recommendation:
    proposed = proposed_partitions(facts.partitions, needed, facts.brokers)
    ceiling = _ceiling(facts, proposed)
    if bytes_bind or reader is None:
        why = (
            f"{(facts.bytes_per_second or 0.0) / 1e6:.3g} MB/s are written. With room for growth "
            f"(x{GROWTH:.2g}) that takes {plural(needed, 'partition')} of "
            f"{BYTES_PER_PARTITION / 1e6:.0f} MB/s"
        )
    else:
        growth, capacity = _growth(reader), reader.capacity_per_second or 0.0
        why = (
            f"{rate(arrival)} arrive, {rate(growth * arrival)} with peaks and growth "
            f"(x{growth:.2g}). One consumer of {reader.group} may get "
            f"{rate(UTILISATION * capacity)}, {share(UTILISATION)} of the {rate(capacity)} that it "
            f"processes at least: that takes {plural(needed, 'partition')}"
        )
    if ceiling is not None:
        return _advice(
            facts,
            AdviceKind.BROKER_CEILING,
            AdviceSeverity.WATCH,
            f"{why}, but {ceiling}. Add brokers first: until then more partitions will not help.",
            arrival,
            reader,
        )
    copies = facts.replication_factor or 1
    changes = (
        add_partitions(facts.topic, proposed),
        kafka_topic(facts.topic, proposed, copies, facts.settings),
        terraform_topic(facts.topic, proposed, copies, facts.settings),
    )
    late = reader is not None and arrival > facts.partitions * (reader.capacity_per_second or 0.0)
    return _advice(
        facts,
        AdviceKind.ADD_PARTITIONS,
        AdviceSeverity.WATCH if late else AdviceSeverity.INFO,
        f"{why}. {proposed} is a multiple of the present {facts.partitions}.",
        arrival,
        reader,
        proposed=proposed,
        caveats=of_topic_partitions(facts, proposed),
        artefacts=changes if facts.replication_factor is not None else changes[:1],
        confidence=Confidence.MEDIUM,
        consequence=f"{facts.topic} cannot be read as fast as it is written: groups fall behind, "
        "whatever the number of their consumers."
        if late
        else "With these peaks and growth, groups fall behind whatever the number of their "
        "consumers.",
    )


def _hot_key(facts: TopicFacts, reader: Reader, key: float) -> Recommendation:
    capacity = reader.capacity_per_second or 0.0
    return _advice(
        facts,
        AdviceKind.HOT_KEY,
        AdviceSeverity.WATCH,
        f"One key gets {rate(key)}, more than the {rate(UTILISATION * capacity)} that a consumer "
        f"of {reader.group} may get: {share(UTILISATION)} of the {rate(capacity)} that it "
        "processes at least. Neither more partitions nor more consumers help: split the key, "
        "batch, or make the handler faster.",
        complete_sum(facts.rates.values()),
        reader,
    )


def _hot_partition(
    facts: TopicFacts, reader: Reader, uneven: Skew, busiest: float
) -> Recommendation:
    known = facts.busiest_key_per_second is not None
    return _advice(
        facts,
        AdviceKind.HOT_PARTITION,
        AdviceSeverity.WATCH,
        f"{plural(facts.partitions, 'partition')} are enough for what arrives, but "
        f"{facts.topic}-{uneven.busiest} alone gets {rate(busiest)}, more than the "
        f"{rate(reader.capacity_per_second or 0.0)} that a consumer of {reader.group} processes at "
        "least. "
        + (
            f"{2 * facts.partitions} partitions would halve it: no single key makes it hot."
            if known
            else "If one key makes it hot, neither partitions nor consumers help; if several do, "
            f"{2 * facts.partitions} partitions would split it."
        ),
        complete_sum(facts.rates.values()),
        reader,
        proposed=2 * facts.partitions if known else None,
        unknown_reason=None if known else KEYS_UNREAD,
        caveats=of_topic_partitions(facts, 2 * facts.partitions),
    )


def _advice(
    facts: TopicFacts,
    kind: AdviceKind,
    severity: AdviceSeverity,
    reason: str,
    arrival: float | None,
    reader: Reader | None,
    *,
    confidence: Confidence = Confidence.MEDIUM,
    **details: Unpack[Details],
) -> Recommendation:
    uneven = skew(facts.rates, span_seconds=facts.span_seconds)
    details["quantity"] = "partitions"
    details["current"] = facts.partitions
    details["evidence"] = (
        Evidence(name="partitions", value=facts.partitions),
        Evidence(name="arrival", value=arrival, unit="messages/s"),
        Evidence(name="slowest group by capacity", value=None if reader is None else reader.group),
        Evidence(
            name="capacity of one consumer, lower end",
            value=None if reader is None else reader.capacity_per_second,
            unit="messages/s",
        ),
        Evidence(
            name="growth allowed for", value=None if reader is None else round(_growth(reader), 2)
        ),
        Evidence(name="share of the busiest partition", value=uneven.busiest_ratio, unit="ratio"),
        Evidence(name="written", value=facts.bytes_per_second, unit="bytes/s"),
        Evidence(name="brokers", value=facts.brokers),
        Evidence(name="replicas on the fullest broker", value=facts.broker_replicas),
    )
    return Recommendation(
        kind=kind,
        cluster=facts.cluster,
        subject=facts.topic,
        severity=severity,
        confidence=confidence,
        reason=reason,
        subject_kind=Subject.TOPIC,
        **details,
    )


def _slowest(facts: TopicFacts) -> Reader | None:
    """Return the reader whose consumers are known to be the slowest."""
    known = [one for one in facts.readers if one.capacity_per_second]
    return min(known, key=lambda one: one.capacity_per_second or 0.0) if known else None


def _growth(reader: Reader) -> float:
    """Return what to multiply the present arrival by: the expected peak, and room beyond it."""
    return max(GROWTH, reader.growth_ratio or 0.0)


def _ceiling(facts: TopicFacts, proposed: int) -> str | None:
    if facts.brokers is None or facts.broker_replicas is None or facts.replication_factor is None:
        return None
    more = (proposed - facts.partitions) * facts.replication_factor
    then = facts.broker_replicas + ceil(more / max(1, facts.brokers))
    if then <= BROKER_REPLICAS:
        return None
    return f"a broker would hold about {then} replicas, above the ceiling of {BROKER_REPLICAS}"
