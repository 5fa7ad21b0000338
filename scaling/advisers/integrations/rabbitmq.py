"""Advice on a RabbitMQ queue: its consumers, their prefetch and its dead-lettering. Pure.

``consumer_capacity`` is the share of time in which the queue could deliver at once. Below 1 the
queue waits for its consumers: they are busy, or hold as many messages as their prefetch allows.
Busy consumers acknowledge at their capacity, rate / consumers; unacknowledged / capacity is the
time that prefetched messages wait.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Unpack

import polars as pl

from alerting.status.phrases import plural, rate, share
from scaling.advice.config_snippets import queue_policy
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Caveat,
    CaveatLevel,
    Confidence,
    Details,
    Evidence,
    Recommendation,
    Subject,
)

UTILISATION = 0.8
_BUSY = 0.95
_HOARDED_SECONDS = 30.0
_PREFETCH_SECONDS = 2.0
_MOST_PREFETCH = 300
_LOOP_RATIO = 0.1
_DELIVERY_LIMIT = 20

_ORDER = Caveat(
    level=CaveatLevel.MEDIUM,
    text="Several consumers of one queue handle its messages side by side: their order is lost.",
)
_EXCLUSIVE = Caveat(
    level=CaveatLevel.LOW,
    text="With x-single-active-consumer one consumer works at a time, however many there are.",
)
_CLIENT = Caveat(
    level=CaveatLevel.LOW,
    text="Prefetch is a setting of the consumer, not of the broker: basic.qos.",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueFacts:
    """What is known of a queue; None is unknown."""

    cluster: str
    vhost: str
    queue: str
    kind: str | None = None  # ``plain``, ``dead letter``, ``retry`` or ``stream``
    type: str | None = None  # ``classic``, ``quorum`` or ``stream``
    ready: int | None = None
    growth_per_second: float | None = None  # by how much ``ready`` grew, messages per second
    unacknowledged: int | None = None
    publish_per_second: float | None = None
    ack_per_second: float | None = None
    redeliver_per_second: float | None = None
    consumers: int | None = None
    consumer_capacity: float | None = None  # share of time in which it could deliver at once
    dead_letter_exchange: str | None = None
    delivery_limit: int | None = None  # deliveries after which a quorum queue gives up on a message


def queue_facts(queues: pl.DataFrame) -> list[QueueFacts]:
    """Gather what is known of each queue."""
    rows = (
        queues.sort("observed_at")
        .with_columns(at=pl.col("observed_at").dt.epoch("us") / 1e6)
        .group_by("cluster", "vhost", "queue", maintain_order=True)
        .agg(
            pl.all().exclude("cluster", "vhost", "queue", "at").last(),
            span=pl.col("at").last() - pl.col("at").first(),
            grown=pl.col("ready").last() - pl.col("ready").first(),
        )
    )
    return [
        QueueFacts(
            growth_per_second=(
                row["grown"] / row["span"] if row["span"] and row["grown"] is not None else None
            ),
            **{name: row[name] for name in _COLUMNS},
        )
        for row in rows.iter_rows(named=True)
    ]


_COLUMNS = tuple(
    name for name in QueueFacts.__dataclass_fields__ if name not in ("growth_per_second",)
)


def queue_advice(facts: QueueFacts) -> list[Recommendation]:
    """Return the advice on a queue; none where nothing needs a change or is known."""
    if facts.kind in ("dead letter", "retry", "stream"):
        return []
    checks = (_consumers, _prefetch, _loop)
    return [one for check in checks if (one := check(facts)) is not None]


def _consumers(facts: QueueFacts) -> Recommendation | None:
    each = _rate_each(facts)
    if facts.consumers == 0 and facts.ready:
        return _advice(
            facts,
            AdviceKind.QUEUE_CONSUMERS,
            AdviceSeverity.ACT_NOW,
            "Nobody consumes and messages wait.",
            quantity="queue consumers",
            current=0,
            unknown_reason="how many consumers ran before is not known",
        )
    if each is None or facts.publish_per_second is None or not facts.consumers:
        return None
    growing = (facts.growth_per_second or 0.0) > 0 and bool(facts.ready)
    busy = facts.consumer_capacity is not None and facts.consumer_capacity < _BUSY
    needed = max(1, ceil(facts.publish_per_second / (UTILISATION * each)))
    if not (growing and busy) or needed <= facts.consumers:
        return None
    return _advice(
        facts,
        AdviceKind.QUEUE_CONSUMERS,
        AdviceSeverity.WATCH,
        f"{rate(facts.publish_per_second)} are published. "
        f"{plural(facts.consumers, 'busy consumer')} acknowledge "
        f"{rate(facts.ack_per_second or 0.0)}, {rate(each)} each. With {share(UTILISATION)} of "
        f"that for each, {rate(UTILISATION * each)}, it takes {needed}.",
        quantity="queue consumers",
        current=facts.consumers,
        proposed=needed,
        caveats=(_ORDER, _EXCLUSIVE),
        consequence=f"The queue grows by {rate(facts.growth_per_second or 0.0)}.",
    )


def _prefetch(facts: QueueFacts) -> Recommendation | None:
    each = _rate_each(facts)
    if each is None or not facts.consumers or facts.unacknowledged is None:
        return None
    held = facts.unacknowledged / facts.consumers
    wanted = min(_MOST_PREFETCH, max(1, ceil(each * _PREFETCH_SECONDS)))
    if held / each > _HOARDED_SECONDS and held > 2 * wanted:
        return _advice(
            facts,
            AdviceKind.PREFETCH,
            AdviceSeverity.INFO,
            f"Each consumer holds {held:.0f} messages, the work of {held / each:.0f} s: others "
            "cannot take them, and all are delivered again if it fails. A prefetch of "
            f"{_PREFETCH_SECONDS:.0f} s of work is enough.",
            quantity="prefetch",
            current=ceil(held),
            proposed=wanted,
            caveats=(_CLIENT,),
        )
    waits = facts.consumer_capacity is not None and facts.consumer_capacity < _BUSY
    if waits and held <= 1 and bool(facts.ready) and wanted > 1:
        return _advice(
            facts,
            AdviceKind.PREFETCH,
            AdviceSeverity.INFO,
            f"Each consumer holds one message at most and does {rate(each)}, so that it waits for "
            "the network between messages: let it hold more.",
            quantity="prefetch",
            current=ceil(held),
            proposed=wanted,
            caveats=(_CLIENT,),
        )
    return None


def _loop(facts: QueueFacts) -> Recommendation | None:
    """Notice messages that fail and come again for ever."""
    again, done = facts.redeliver_per_second, facts.ack_per_second
    if not again or again <= _LOOP_RATIO * (done or 0.0):
        return None
    if facts.dead_letter_exchange is not None and facts.delivery_limit is not None:
        return None
    definition: dict[str, object] = {}
    if facts.type == "quorum" and facts.delivery_limit is None:
        definition["delivery-limit"] = _DELIVERY_LIMIT
    if facts.dead_letter_exchange is None:
        definition["dead-letter-exchange"] = ""
        definition["dead-letter-routing-key"] = f"{facts.queue}.dead"
    if not definition:
        return None
    return _advice(
        facts,
        AdviceKind.QUEUE_CONSUMERS,
        AdviceSeverity.WATCH,
        f"{rate(again)} fail and are delivered again, and nothing ever takes them out: more "
        "consumers only turn the loop faster. Let them go to a dead-letter queue.",
        artefacts=(queue_policy(facts.vhost, facts.queue, definition),),
        caveats=(
            Caveat(
                level=CaveatLevel.HIGH,
                text=f"The queue {facts.queue}.dead must exist first, else what fails is dropped; "
                "one policy applies to a queue at a time.",
            ),
        ),
        consequence="The same messages fail again and again, ahead of those that would not.",
    )


def _rate_each(facts: QueueFacts) -> float | None:
    """Return what a consumer gets done, messages per second; its capacity while it is busy."""
    if not facts.consumers or not facts.ack_per_second:
        return None
    return facts.ack_per_second / facts.consumers


def _advice(
    facts: QueueFacts,
    kind: AdviceKind,
    severity: AdviceSeverity,
    reason: str,
    **details: Unpack[Details],
) -> Recommendation:
    details["evidence"] = (
        Evidence(name="ready", value=facts.ready, unit="messages"),
        Evidence(name="unacknowledged", value=facts.unacknowledged, unit="messages"),
        Evidence(name="consumers", value=facts.consumers),
        Evidence(name="consumer capacity", value=facts.consumer_capacity, unit="ratio"),
        Evidence(name="published", value=facts.publish_per_second, unit="messages/s"),
        Evidence(name="acknowledged", value=facts.ack_per_second, unit="messages/s"),
        Evidence(name="redelivered", value=facts.redeliver_per_second, unit="messages/s"),
    )
    return Recommendation(
        kind=kind,
        cluster=facts.cluster,
        subject=facts.queue,
        severity=severity,
        confidence=Confidence.MEDIUM,
        reason=reason,
        subject_kind=Subject.QUEUE,
        **details,
    )
