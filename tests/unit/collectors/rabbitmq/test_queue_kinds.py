"""Which queues hold dead letters, and where those come from."""

from __future__ import annotations

import pytest

from collectors.rabbitmq.topology import Queue, Routing, classify, find_targets, origins
from tests.unit.collectors.rabbitmq.routing import exchange, queue, to_queue


def kinds_of(*queues: Queue) -> dict[str, str]:
    """Kinds of queues that dead-letter by the default exchange."""
    by_name = {each.name: each for each in queues}
    return dict(classify(by_name, find_targets(by_name, None)))


IDLE = {"consumed": False}


@pytest.mark.parametrize(
    ("queues", "expected"),
    [
        pytest.param(
            [queue("work", "", "dead"), queue("dead", **IDLE)],
            {"work": "plain", "dead": "dead letter"},
            id="work and its dead letters",
        ),
        pytest.param(
            [queue("work", "", "dead"), queue("dead")],
            {"work": "plain", "dead": "dead letter"},
            id="dead letters that somebody consumes",
        ),
        pytest.param(
            [queue("work", "", "wait"), queue("wait", "", "work", message_ttl=5000, **IDLE)],
            {"work": "plain", "wait": "retry"},
            id="retry: waits and comes back",
        ),
        pytest.param(
            [
                queue("work", "", "wait1", consumed=False),
                queue("wait1", "", "wait2", message_ttl=5000, **IDLE),
                queue("wait2", "", "work", policy={"message-ttl": 9000}, **IDLE),
            ],
            {"work": "plain", "wait1": "retry", "wait2": "retry"},
            id="retry in two steps, before anybody consumes",
        ),
        pytest.param(
            [
                queue("work", "", "wait", message_ttl=60000),
                queue("wait", "", "work", message_ttl=5000, **IDLE),
            ],
            {"work": "plain", "wait": "retry"},
            id="retry of work that expires itself",
        ),
        pytest.param(
            [queue("delay", "", "work", message_ttl=5000, **IDLE), queue("work")],
            {"delay": "retry", "work": "plain"},
            id="delay: filled by publishers, feeds a consumed queue",
        ),
        pytest.param(
            [queue("delay", "", "work", **IDLE), queue("work")],
            {"delay": "retry", "work": "plain"},
            id="delay by each message's own expiration",
        ),
        pytest.param(
            [queue("full", "", "dead", max_length=5, **IDLE), queue("dead")],
            {"full": "plain", "dead": "dead letter"},
            id="not a delay: it can overflow",
        ),
        pytest.param(
            [queue("work", "", "dead", message_ttl=5000), queue("dead", **IDLE)],
            {"work": "plain", "dead": "dead letter"},
            id="work that expires into dead letters",
        ),
        pytest.param(
            [queue("work", "", "dead", message_ttl=5000, consumed=None), queue("dead")],
            {"work": "plain", "dead": "dead letter"},
            id="not called a delay where consumption is unknown",
        ),
        pytest.param(
            [
                queue("work", "", "dead"),
                queue("dead", "", "archive", message_ttl=600000, **IDLE),
                queue("archive"),
            ],
            {"work": "plain", "dead": "dead letter", "archive": "dead letter"},
            id="dead letters that expire into an archive",
        ),
        pytest.param(
            [queue("work", "", "work")],
            {"work": "plain"},
            id="a queue that dead-letters into itself",
        ),
        pytest.param(
            [queue("work", "", "dead"), queue("dead", "", "work", **IDLE)],
            {"work": "dead letter", "dead": "dead letter"},
            id="two that dead-letter into each other without expiring: neither is left out",
        ),
    ],
)
def test_kinds(queues: list[Queue], expected: dict[str, str]) -> None:
    assert kinds_of(*queues) == expected


def test_origins_leave_out_retry_queues() -> None:
    queues = {
        each.name: each
        for each in (
            queue("a", "", "dead"),
            queue("b", "", "dead"),
            queue("work", "", "wait"),
            queue("wait", "", "work", message_ttl=1, **IDLE),
            queue("dead", "", "dead"),
        )
    }
    targets = find_targets(queues, None)
    assert origins(targets, classify(queues, targets)) == {"dead": ("a", "b")}


def test_a_large_virtual_host_is_understood_quickly() -> None:
    """Given 20,000 queues on one exchange, then finding targets stays linear."""
    names = [f"work.{number}" for number in range(10_000)]
    queues = {name: queue(name, "dlx", f"dead.{name}") for name in names}
    queues |= {f"dead.{name}": queue(f"dead.{name}", **IDLE) for name in names}
    bindings = [to_queue("dlx", f"dead.{name}", f"dead.{name}") for name in names]
    targets = find_targets(queues, Routing([exchange("dlx")], bindings))
    assert all(found.queues == (f"dead.{name}",) for name, found in targets.items())
    assert set(classify(queues, targets).values()) == {"plain", "dead letter"}
