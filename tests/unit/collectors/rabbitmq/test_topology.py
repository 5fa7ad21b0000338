"""Where dead letters go."""

from __future__ import annotations

import pytest

from collectors.rabbitmq.topology import (
    Binding,
    Exchange,
    Queue,
    Routing,
    Targets,
    find_targets,
    needs_routing,
    topic_matches,
)
from tests.unit.collectors.rabbitmq.routing import exchange, queue, to_exchange, to_queue


def targets_of(name: str, queues: list[Queue], routing: Routing | str | None) -> Targets:
    return find_targets({each.name: each for each in queues}, routing)[name]


@pytest.mark.parametrize(
    ("pattern", "key", "matches"),
    [
        pytest.param("orders.*", "orders.new", True, id="star is a word"),
        pytest.param("orders.*", "orders", False, id="star is not nothing"),
        pytest.param("orders.*", "orders.new.eu", False, id="star is one word"),
        pytest.param("*.*", "a.b", True, id="two stars"),
        pytest.param("#", "", True, id="hash is nothing"),
        pytest.param("#", "a.b.c", True, id="hash is everything"),
        pytest.param("orders.#", "orders", True, id="hash at the end is nothing"),
        pytest.param("orders.#", "orders.new.eu", True, id="hash at the end is many"),
        pytest.param("#.eu", "orders.new.eu", True, id="hash at the start"),
        pytest.param("#.eu", "orders.new.us", False, id="hash at the start, another end"),
        pytest.param("a.#.b.#.c", "a.x.b.y.z.c", True, id="two hashes"),
        pytest.param("a.#.b.#.c", "a.x.y.c", False, id="two hashes, middle missing"),
        pytest.param("#.*", "", False, id="hash and star need a word"),
        pytest.param("#.*", "a", True, id="hash and star, one word"),
        pytest.param("orders", "orders", True, id="literal"),
        pytest.param("orders", "order", False, id="another literal"),
        pytest.param("order*", "orders", False, id="a star inside a word is a letter"),
        pytest.param("", "", True, id="nothing matches nothing"),
        pytest.param("", "a", False, id="nothing does not match a word"),
        pytest.param("a.*.b", "a..b", True, id="an empty word is a word"),
    ],
)
def test_topic_patterns(pattern: str, key: str, matches: bool) -> None:
    assert topic_matches(pattern, key) is matches


DEAD = queue("dead")


@pytest.mark.parametrize(
    ("source", "exchanges", "bindings", "expected"),
    [
        pytest.param(
            queue("work", "", "dead"),
            [],
            [],
            Targets(queues=("dead",), is_missing=False),
            id="default exchange: the key is the queue",
        ),
        pytest.param(
            queue("work", "", "nobody"),
            [],
            [],
            Targets(queues=(), is_missing=True),
            id="default exchange: no such queue",
        ),
        pytest.param(
            queue("work", "dlx", "gone"),
            [exchange("dlx")],
            [to_queue("dlx", "dead", "gone")],
            Targets(queues=("dead",), is_missing=False),
            id="direct: key of the binding",
        ),
        pytest.param(
            queue("work", "dlx", "other"),
            [exchange("dlx")],
            [to_queue("dlx", "dead", "gone")],
            Targets(queues=(), is_missing=True),
            id="direct: no binding with the key",
        ),
        pytest.param(
            queue("work", "dlx"),
            [exchange("dlx")],
            [to_queue("dlx", "dead", "work")],
            Targets(queues=("dead",), is_missing=False),
            id="own key: the queue's name, by the default exchange",
        ),
        pytest.param(
            queue("work", "dlx"),
            [exchange("dlx"), exchange("shop")],
            [
                to_queue("shop", "work", "order"),
                to_queue("dlx", "dead", "order"),
                to_queue("dlx", "other", "payment"),
            ],
            Targets(queues=("dead",), is_missing=False),
            id="own key: that of the binding into the queue",
        ),
        pytest.param(
            queue("work", "dlx"),
            [exchange("dlx"), exchange("shop", "topic")],
            [
                to_queue("shop", "work", "order.#"),
                to_queue("dlx", "dead", "order.new"),
                to_queue("dlx", "other", "payment"),
            ],
            Targets(queues=("dead", "other"), is_missing=False),
            id="own key: any, behind a pattern",
        ),
        pytest.param(
            queue("work", "dlx", "any"),
            [exchange("dlx", "fanout")],
            [to_queue("dlx", "dead"), to_queue("dlx", "other", "x")],
            Targets(queues=("dead", "other"), is_missing=False),
            id="fanout: every binding",
        ),
        pytest.param(
            queue("work", "dlx", "orders.eu"),
            [exchange("dlx", "topic")],
            [to_queue("dlx", "dead", "orders.*"), to_queue("dlx", "other", "payments.#")],
            Targets(queues=("dead",), is_missing=False),
            id="topic: patterns",
        ),
        pytest.param(
            queue("work", "dlx", "k"),
            [exchange("dlx", "fanout"), exchange("second"), exchange("third", "topic")],
            [
                to_exchange("dlx", "second"),
                to_exchange("second", "third", "k"),
                to_queue("third", "dead", "#"),
                to_queue("second", "other", "another key"),
            ],
            Targets(queues=("dead",), is_missing=False),
            id="through exchanges that are bound to exchanges",
        ),
        pytest.param(
            queue("work", "dlx", "k"),
            [exchange("dlx", "fanout"), exchange("second", "fanout")],
            [to_exchange("dlx", "second"), to_exchange("second", "dlx")],
            Targets(queues=(), is_missing=True),
            id="exchanges in a circle, no queue",
        ),
        pytest.param(
            queue("work", "dlx", "k"),
            [exchange("dlx", alternate_exchange="lost"), exchange("lost", "fanout")],
            [to_queue("dlx", "other", "another"), to_queue("lost", "dead")],
            Targets(queues=("dead",), is_missing=False),
            id="what nothing takes goes to the alternate exchange",
        ),
        pytest.param(
            queue("work", "dlx", "k"),
            [exchange("dlx", alternate_exchange="lost"), exchange("lost", "fanout")],
            [to_queue("dlx", "other", "k"), to_queue("lost", "dead")],
            Targets(queues=("other",), is_missing=False),
            id="what something takes does not go to the alternate exchange",
        ),
        pytest.param(
            queue("work", "missing", "k"),
            [],
            [],
            Targets(queues=(), is_missing=True),
            id="no such exchange",
        ),
        pytest.param(
            queue("work", "dlx"),
            [exchange("dlx")],
            [],
            Targets(queues=(), is_missing=True),
            id="no binding at all",
        ),
        pytest.param(
            queue("work", "dlx", "k"),
            [exchange("dlx")],
            [to_queue("dlx", "deleted", "k")],
            Targets(queues=(), is_missing=True),
            id="the bound queue has gone",
        ),
        pytest.param(
            queue("work", "dlx"),
            [exchange("dlx", "headers")],
            [to_queue("dlx", "dead")],
            Targets(
                queues=("dead",),
                is_missing=None,
                reason="the exchange dlx of type headers does not route by the key",
            ),
            id="headers: perhaps",
        ),
        pytest.param(
            queue("work", "dlx"),
            [exchange("dlx", "headers")],
            [],
            Targets(queues=(), is_missing=True),
            id="headers: no binding is none",
        ),
        pytest.param(
            queue("work", "dlx", "k"),
            [exchange("dlx", "fanout"), exchange("match", "headers")],
            [to_exchange("dlx", "match"), to_queue("match", "other"), to_queue("dlx", "dead")],
            Targets(queues=("dead", "other"), is_missing=False),
            id="headers beside a sure way",
        ),
        pytest.param(
            queue("work", "dlx", "k"),
            [exchange("dlx", "x-delayed-message", x_delayed_type="topic")],
            [to_queue("dlx", "dead", "*")],
            Targets(queues=("dead",), is_missing=False),
            id="a delayed exchange routes as the type it names",
        ),
        pytest.param(
            queue("work", "dlx", "k"),
            [exchange("dlx", "x-consistent-hash")],
            [to_queue("dlx", "dead", "1")],
            Targets(queues=("dead",), is_missing=False),
            id="a hash exchange takes every key",
        ),
        pytest.param(
            queue("work", "dlx", "k"),
            [exchange("dlx", policy="alternates")],
            [],
            Targets(
                queues=(),
                is_missing=None,
                reason="the policy alternates may give the exchange dlx an alternate",
            ),
            id="a policy of the exchange may name an alternate",
        ),
        pytest.param(
            queue("work", policy={"dead-letter-exchange": "dlx", "dead-letter-routing-key": "k"}),
            [exchange("dlx")],
            [to_queue("dlx", "dead", "k")],
            Targets(queues=("dead",), is_missing=False),
            id="exchange and key from the policy",
        ),
        pytest.param(
            queue(
                "work", "dlx", policy={"dead-letter-exchange": "no", "dead-letter-routing-key": "k"}
            ),
            [exchange("dlx")],
            [to_queue("dlx", "dead", "k")],
            Targets(queues=("dead",), is_missing=False),
            id="the argument wins, the policy gives the key",
        ),
    ],
)
def test_targets(
    source: Queue, exchanges: list[Exchange], bindings: list[Binding], expected: Targets
) -> None:
    queues = [source, DEAD, queue("other")]
    assert targets_of("work", queues, Routing(exchanges, bindings)) == expected


def test_without_a_dead_letter_exchange_there_are_no_targets() -> None:
    assert find_targets({"work": queue("work")}, Routing([], [])) == {}


def test_what_could_not_be_read_leaves_the_targets_unknown() -> None:
    queues = [queue("work", "dlx", "k"), queue("named", "", "dead"), queue("own", ""), DEAD]
    reason = "exchanges could not be read"
    assert targets_of("work", queues, reason) == Targets(queues=(), is_missing=None, reason=reason)
    assert targets_of("own", queues, reason) == Targets(queues=(), is_missing=None, reason=reason)
    assert targets_of("named", queues, reason) == Targets(queues=("dead",), is_missing=False)


@pytest.mark.parametrize(
    ("asked", "needed"),
    [
        pytest.param(queue("q"), False, id="no dead-letter exchange"),
        pytest.param(queue("q", "", "dead"), False, id="default exchange with a key"),
        pytest.param(queue("q", ""), True, id="default exchange, own key"),
        pytest.param(queue("q", "dlx", "k"), True, id="an exchange"),
    ],
)
def test_bindings_are_asked_for_only_where_they_decide(asked: Queue, needed: bool) -> None:
    assert needs_routing(asked) is needed
