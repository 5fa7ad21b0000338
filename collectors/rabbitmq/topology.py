"""Where RabbitMQ sends dead letters, inside one virtual host: pure rules.

A dead letter is published once more, to the queue's dead-letter exchange. From there it goes where
any message with its routing key would go; one that no queue is bound for is dropped silently.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

FoundBy = Literal["arguments", "policy"]

_EVERY_BINDING = frozenset(
    {"fanout", "x-consistent-hash", "x-modulus-hash", "x-random", "x-recent-history"}
)
"""Exchange types that any binding may take a message from, whatever its routing key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queue:
    """What of a queue matters here.

    Attributes:
        is_consumed: Whether anybody consumes from it, or did since its statistics began; None
            where that is not known.
    """

    name: str
    arguments: Mapping[str, Any]
    policy: Mapping[str, Any]
    is_consumed: bool | None

    def setting(self, key: str) -> Any:
        """Return a setting by its name in a policy; an argument wins."""
        return self.arguments.get(f"x-{key}", self.policy.get(key))

    @property
    def dead_letter_exchange(self) -> str | None:
        """The exchange; "" is the default exchange, None where dead letters are dropped."""
        value = self.setting("dead-letter-exchange")
        return value if isinstance(value, str) else None

    @property
    def dead_letter_routing_key(self) -> str | None:
        """The routing key of its dead letters; None where they keep their own."""
        value = self.setting("dead-letter-routing-key")
        return value if isinstance(value, str) else None

    @property
    def found_by(self) -> FoundBy:
        """What names the dead-letter exchange."""
        return "arguments" if "x-dead-letter-exchange" in self.arguments else "policy"

    @property
    def expires(self) -> bool:
        """Whether its messages die after a time."""
        return "x-message-ttl" in self.arguments or "message-ttl" in self.policy

    @property
    def overflows(self) -> bool:
        """Whether its messages die when it is full."""
        keys = ("max-length", "max-length-bytes")
        return any(self.setting(key) is not None for key in keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """An exchange.

    Attributes:
        policy: The policy that applies to it; what is in it may not be read without the tag
            ``policymaker``.
    """

    name: str
    type: str
    arguments: Mapping[str, Any]
    policy: str | None = None

    @property
    def routes_as(self) -> str:
        """The type by whose rules it routes."""
        delayed = self.arguments.get("x-delayed-type")
        is_delayed = self.type == "x-delayed-message" and isinstance(delayed, str)
        return str(delayed) if is_delayed else self.type


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A binding of an exchange to a queue, or to another exchange."""

    source: str
    destination: str
    to_exchange: bool
    routing_key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """Where a queue's dead letters go.

    Attributes:
        queues: The queues that receive them, or may; sorted.
        is_missing: Whether no queue can receive any of them: they are dropped. None where that
            is not known.
    """

    queues: tuple[str, ...]
    is_missing: bool | None
    reason: str | None = None


@dataclass(slots=True, kw_only=True)
class _Reached:
    """Queues that a message may come to, and why others may be among them."""

    surely: set[str]
    perhaps: set[str]
    doubts: set[str]

    def take(self, other: _Reached) -> None:
        self.surely |= other.surely
        self.perhaps |= other.perhaps
        self.doubts |= other.doubts


class Routing:
    """The exchanges and bindings of a virtual host."""

    def __init__(self, exchanges: Iterable[Exchange], bindings: Iterable[Binding]) -> None:
        self._exchanges = {each.name: each for each in exchanges if each.name}
        self._from: dict[str, list[Binding]] = defaultdict(list)
        self._direct: dict[tuple[str, str], list[Binding]] = defaultdict(list)
        self._into: dict[str, list[Binding]] = defaultdict(list)
        for binding in bindings:
            if binding.source not in self._exchanges:
                continue
            self._from[binding.source].append(binding)
            self._direct[binding.source, binding.routing_key].append(binding)
            if not binding.to_exchange:
                self._into[binding.destination].append(binding)
        self._known: dict[tuple[str, str | None], _Reached] = {}

    def has(self, exchange: str) -> bool:
        """Return whether there is such an exchange."""
        return exchange in self._exchanges

    def own_keys(self, queue: str) -> frozenset[str] | None:
        """Return the routing keys that messages in a queue may carry; None: any.

        They are those of the bindings that lead into it, and its name, by which the default
        exchange routes.
        """
        keys = {queue}
        for binding in self._into.get(queue, ()):
            kind = self._exchanges[binding.source].routes_as
            if kind != "direct" and (kind != "topic" or _is_pattern(binding.routing_key)):
                return None
            keys.add(binding.routing_key)
        return frozenset(keys)

    def reached(self, exchange: str, key: str | None) -> _Reached:
        """Return the queues that a message may reach; ``key`` None: with any routing key."""
        found = self._known.get((exchange, key))
        if found is None:
            found = self._known[exchange, key] = self._walk(exchange, key)
        return found

    def _walk(self, start: str, key: str | None) -> _Reached:
        reached = _Reached(surely=set(), perhaps=set(), doubts=set())
        seen: set[tuple[str, bool]] = set()
        todo = [(start, True)]
        while todo:
            name, sure = todo.pop()
            exchange = self._exchanges.get(name)
            if exchange is None or (name, sure) in seen:
                continue
            seen.add((name, sure))
            taken, doubt = self._taken(exchange, key)
            if doubt:
                reached.doubts.add(doubt)
                sure = False
            for binding in taken:
                if binding.to_exchange:
                    todo.append((binding.destination, sure))
                else:
                    (reached.surely if sure else reached.perhaps).add(binding.destination)
            if not taken or doubt or key is None:  # what nothing takes goes to the alternate
                alternate = exchange.arguments.get("alternate-exchange")
                if isinstance(alternate, str):
                    todo.append((alternate, sure))
                elif exchange.policy is not None and not taken:
                    reached.doubts.add(
                        f"the policy {exchange.policy} may give the exchange {name} an alternate"
                    )
        return reached

    def _taken(self, exchange: Exchange, key: str | None) -> tuple[list[Binding], str | None]:
        """Return the bindings that take a message, and why that is in doubt."""
        kind, bindings = exchange.routes_as, self._from.get(exchange.name, [])
        if kind in _EVERY_BINDING:
            return bindings, None
        if kind not in ("direct", "topic"):
            doubt = f"the exchange {exchange.name} of type {kind} does not route by the key"
            return bindings, doubt if bindings else None
        if key is None:
            return bindings, None
        if kind == "direct":
            return self._direct.get((exchange.name, key), []), None
        return [each for each in bindings if topic_matches(each.routing_key, key)], None


def topic_matches(pattern: str, key: str) -> bool:
    """Return whether a topic binding takes a key: ``*`` is one word, ``#`` any number of them."""
    words = key.split(".") if key else []
    # The lengths of the key's beginnings that the pattern's words so far can stand for.
    ends = {0}
    for part in pattern.split(".") if pattern else []:
        if part == "#":
            ends = set(range(min(ends), len(words) + 1))
        else:
            ends = {
                end + 1 for end in ends if end < len(words) and (part == "*" or part == words[end])
            }
        if not ends:
            return False
    return len(words) in ends


def _is_pattern(routing_key: str) -> bool:
    return any(word in ("*", "#") for word in routing_key.split("."))


def needs_routing(queue: Queue) -> bool:
    """Return whether exchanges and bindings must be known to find a queue's targets."""
    exchange = queue.dead_letter_exchange
    return exchange is not None and (exchange != "" or queue.dead_letter_routing_key is None)


def find_targets(queues: Mapping[str, Queue], routing: Routing | str | None) -> dict[str, Targets]:
    """Find where every queue's dead letters go.

    Args:
        queues: All queues of a virtual host, by name.
        routing: Its exchanges and bindings; a reason where they are unknown, None where they were
            not needed.

    Returns:
        The targets of each queue that has a dead-letter exchange.
    """
    return {
        name: _targets(queue, queues, routing)
        for name, queue in queues.items()
        if queue.dead_letter_exchange is not None
    }


def _targets(queue: Queue, queues: Mapping[str, Queue], routing: Routing | str | None) -> Targets:
    exchange, key = queue.dead_letter_exchange or "", queue.dead_letter_routing_key
    keys: frozenset[str] | None
    if key is not None:
        keys = frozenset({key})
    elif isinstance(routing, Routing):
        keys = routing.own_keys(queue.name)
    else:
        return Targets(queues=(), is_missing=None, reason=routing)
    if exchange == "":
        return _by_name(keys, queues)
    if not isinstance(routing, Routing):
        return Targets(queues=(), is_missing=None, reason=routing)
    if not routing.has(exchange):
        return Targets(queues=(), is_missing=True)
    reached = _Reached(surely=set(), perhaps=set(), doubts=set())
    for each in [None] if keys is None else sorted(keys):
        reached.take(routing.reached(exchange, each))
    # A binding read a moment ago may be of a queue that has gone since.
    surely, all_of_them = reached.surely & queues.keys(), reached.surely | reached.perhaps
    found = tuple(sorted(all_of_them & queues.keys()))
    if surely:
        return Targets(queues=found, is_missing=False)
    if reached.doubts:
        return Targets(queues=found, is_missing=None, reason="; ".join(sorted(reached.doubts)))
    return Targets(queues=found, is_missing=True)


def _by_name(keys: frozenset[str] | None, queues: Mapping[str, Queue]) -> Targets:
    """Return what the default exchange does: the routing key is the queue's name."""
    if keys is None:
        return Targets(
            queues=(),
            is_missing=None,
            reason="its messages carry keys of their own to the default exchange",
        )
    found = tuple(sorted(keys & queues.keys()))
    return Targets(queues=found, is_missing=not found)


Kind = Literal["plain", "dead letter", "retry"]


def classify(queues: Mapping[str, Queue], targets: Mapping[str, Targets]) -> dict[str, Kind]:
    """Distinguish dead-letter queues from those where messages only wait to be tried again.

    A *retry* queue has a dead-letter exchange, nobody consumes from it, and either its messages
    expire and come back to it sooner or later (it is part of a cycle), or it is nobody's target,
    cannot overflow and feeds a working queue: what was put there can only expire, which is how a
    delay is made. A working queue is consumed, or has a dead-letter exchange of its own. A
    *dead-letter* queue is the target of a queue that is none of those.
    """
    edges = {
        name: [each for each in found.queues if each != name] for name, found in targets.items()
    }
    fed = {each for found in edges.values() for each in found}
    retry = {
        name
        for name, found in edges.items()
        if not queues[name].is_consumed
        and (
            (queues[name].expires and _comes_back(name, edges))
            or (
                queues[name].is_consumed is False
                and name not in fed
                and not queues[name].overflows
                and any(queues[each].is_consumed or each in targets for each in found)
            )
        )
    }
    dead = {each for name, found in edges.items() if name not in retry for each in found}
    return {
        name: "retry" if name in retry else "dead letter" if name in dead else "plain"
        for name in queues
    }


def _comes_back(start: str, edges: Mapping[str, list[str]]) -> bool:
    """Return whether dead letters of a queue lead back to it."""
    seen: set[str] = set()
    todo = list(edges[start])
    while todo:
        name = todo.pop()
        if name == start:
            return True
        if name not in seen:
            seen.add(name)
            todo += edges.get(name, ())
    return False


def origins(
    targets: Mapping[str, Targets], kinds: Mapping[str, Kind]
) -> dict[str, tuple[str, ...]]:
    """Return which queues dead-letter into each dead-letter queue, retry queues left out."""
    found: dict[str, list[str]] = defaultdict(list)
    for name, target in targets.items():
        for each in target.queues:
            if each != name and kinds[name] != "retry" and kinds[each] == "dead letter":
                found[each].append(name)
    return {name: tuple(sorted(names)) for name, names in found.items()}
