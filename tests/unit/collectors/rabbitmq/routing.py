"""Queues, exchanges and bindings as the tests of dead letters name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from collectors.rabbitmq.topology import Binding, Exchange, Queue


def queue(
    name: str,
    exchange: str | None = None,
    key: str | None = None,
    *,
    policy: Mapping[str, Any] | None = None,
    consumed: bool | None = True,
    **arguments: Any,
) -> Queue:
    """A queue; ``message_ttl=1`` becomes the argument ``x-message-ttl``."""
    found = {f"x-{each.replace('_', '-')}": value for each, value in arguments.items()}
    if exchange is not None:
        found["x-dead-letter-exchange"] = exchange
    if key is not None:
        found["x-dead-letter-routing-key"] = key
    return Queue(name=name, arguments=found, policy=policy or {}, is_consumed=consumed)


def exchange(
    name: str, kind: str = "direct", policy: str | None = None, **arguments: Any
) -> Exchange:
    return Exchange(
        name=name,
        type=kind,
        arguments={each.replace("_", "-"): value for each, value in arguments.items()},
        policy=policy,
    )


def to_queue(source: str, destination: str, key: str = "") -> Binding:
    return Binding(source=source, destination=destination, to_exchange=False, routing_key=key)


def to_exchange(source: str, destination: str, key: str = "") -> Binding:
    return Binding(source=source, destination=destination, to_exchange=True, routing_key=key)
