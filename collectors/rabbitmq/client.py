"""Asking RabbitMQ's management API: what a poll's sections share is read once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote

from collectors.errors import CollectorError, ProtocolError
from collectors.rabbitmq.answers import (
    BINDING_COLUMNS,
    EXCHANGE_COLUMNS,
    OVERVIEW_COLUMNS,
    QUEUE_COLUMNS,
    Overview,
    QueueAnswer,
    read_binding,
    read_exchange,
    read_overview,
    read_queue,
)
from collectors.rabbitmq.topology import (
    Kind,
    Queue,
    Routing,
    Targets,
    classify,
    find_targets,
    needs_routing,
)
from collectors.source.answer import Fields, Odd, objects
from collectors.source.http_client import HttpClient, NotFoundError, NotPermittedError
from config.integrations import RabbitMQSettings

ROUTING_SECONDS = 60.0
"""How long exchanges and bindings of a virtual host are believed, unless its queues change."""

# RabbitMQ's largest.
_PAGE = 500

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class VirtualHost:
    """A virtual host as it was read in one poll."""

    name: str
    queues: Mapping[str, QueueAnswer]
    targets: Mapping[str, Targets]
    kinds: Mapping[str, Kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """What one poll read."""

    overview: Overview
    virtual_hosts: tuple[VirtualHost, ...]
    problems: tuple[str, ...]
    odd: Odd


@dataclass(frozen=True, slots=True, kw_only=True)
class _CachedRouting:
    """Exchanges and bindings of a virtual host, and for which queues they were read, and when."""

    routing: Routing
    asked_for: frozenset[tuple[str, str | None, str | None]]
    at: float


class RabbitClient(HttpClient):
    """Asks one RabbitMQ."""

    def __init__(
        self, settings: RabbitMQSettings, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(settings)
        self._rabbit = settings
        self._clock = clock
        self._snapshot: Snapshot | CollectorError | None = None
        self._routing: dict[str, _CachedRouting] = {}

    def begin_poll(self, seconds: float) -> None:
        """Let the requests that follow share this many seconds, and read all anew."""
        super().begin_poll(seconds)
        self._snapshot = None
        self._odd = Odd()

    @property
    def snapshot(self) -> Snapshot:
        """Everything that this poll reads; asked once a poll."""
        if self._snapshot is None:
            try:
                self._snapshot = self._read()
            except CollectorError as error:
                self._snapshot = error
        if isinstance(self._snapshot, CollectorError):
            raise self._snapshot
        return self._snapshot

    def overview(self) -> Overview:
        """Return what the server says of itself."""
        return read_overview(self.get("/api/overview", {"columns": OVERVIEW_COLUMNS}), self._odd)

    def tags(self) -> tuple[str, ...]:
        """Return the user's tags, which are its rights in the management API."""
        answer = self.get("/api/whoami")
        tags = answer.get("tags") if isinstance(answer, dict) else None
        if isinstance(tags, str):  # before RabbitMQ 3.9
            tags = tags.split(",")
        return tuple(str(tag) for tag in tags) if isinstance(tags, list) else ()

    def virtual_hosts(self) -> tuple[str, ...]:
        """Return the names of the virtual hosts that the settings select."""
        answer = self.get("/api/vhosts", {"columns": "name"})
        names = {each.name("name") for each in self._objects(answer, "vhosts")}
        known = sorted(name for name in names if name is not None)
        chosen = tuple(name for name in known if self._rabbit.vhosts.selects(name))
        if not chosen:
            raise CollectorError(
                f"{self.settings.url}: none of the virtual hosts that this user may see "
                f"({', '.join(known) or 'there are none'}) is selected by vhosts"
            )
        return chosen

    def first_queues(self, virtual_host: str) -> None:
        """Try to read queues of a virtual host, as cheaply as can be."""
        path = f"/api/queues/{_part(virtual_host)}"
        self.get(path, {"page": 1, "page_size": 1, "columns": "name"})

    def routing(self, virtual_host: str) -> Routing:
        """Return exchanges and bindings of a virtual host."""
        part = _part(virtual_host)
        exchanges = self._pages(f"/api/exchanges/{part}", {"columns": EXCHANGE_COLUMNS})
        found = [read_exchange(each) for each in exchanges]
        answer = self.get(f"/api/bindings/{part}", {"columns": BINDING_COLUMNS})
        bindings = self._objects(answer, f"bindings of {virtual_host}")
        return Routing(
            [each for each in found if each is not None],
            [binding for each in bindings if (binding := read_binding(each)) is not None],
        )

    def not_permitted(self, virtual_host: str) -> str:
        """Say what to do about a virtual host that the user has no permission on."""
        user = self.settings.username or "USER"
        return (
            f"virtual host {virtual_host}: not permitted; rabbitmqctl set_permissions "
            f"-p {virtual_host} {user} '^$' '^$' '^$', or leave it out by vhosts.exclude"
        )

    def _read(self) -> Snapshot:
        overview = self.overview()
        found: list[VirtualHost] = []
        problems: list[str] = []
        failure: CollectorError | None = None
        names = self.virtual_hosts()
        for name in names:
            try:
                found.append(self._virtual_host(name, overview, problems))
            except NotPermittedError:
                problems.append(self.not_permitted(name))
            except NotFoundError:
                continue  # deleted since it was listed
            except CollectorError as error:
                failure = error
                problems.append(f"virtual host {name}: {error}")
        for gone in self._routing.keys() - set(names):
            del self._routing[gone]
        if failure is not None and not found:
            raise failure
        if problems and not found:
            raise NotPermittedError("; ".join(problems))
        return Snapshot(
            overview=overview, virtual_hosts=tuple(found), problems=tuple(problems), odd=self._odd
        )

    def _virtual_host(self, name: str, overview: Overview, problems: list[str]) -> VirtualHost:
        params: dict[str, str | int] = {"columns": QUEUE_COLUMNS}
        if not overview.has_statistics:
            params |= {"disable_stats": "true", "enable_queue_totals": "true"}
            problems.append(
                "RabbitMQ collects no statistics (disable_metrics_collector): only depths are "
                "known, and dead-letter exchanges that are set by policies are not"
            )
        answers: dict[str, QueueAnswer] = {}
        for item in self._pages(f"/api/queues/{_part(name)}", params):
            if (answer := read_queue(item, overview)) is not None:
                answers[answer.queue.name] = answer
        queues = {each.queue.name: each.queue for each in answers.values()}
        routing = self._routing_for(name, queues, problems)
        targets = find_targets(queues, routing)
        return VirtualHost(
            name=name, queues=answers, targets=targets, kinds=classify(queues, targets)
        )

    def _routing_for(
        self, name: str, queues: Mapping[str, Queue], problems: list[str]
    ) -> Routing | str | None:
        """Return exchanges and bindings where a queue's dead letters depend on them."""
        asked_for = frozenset(
            (each.name, each.dead_letter_exchange, each.dead_letter_routing_key)
            for each in queues.values()
            if needs_routing(each)
        )
        if not asked_for:
            self._routing.pop(name, None)
            return None
        last = self._routing.get(name)
        now = self._clock()
        if last is not None and last.asked_for == asked_for and now - last.at < ROUTING_SECONDS:
            return last.routing
        try:
            routing = self.routing(name)
        except CollectorError as error:
            problems.append(f"virtual host {name}: where its dead letters go is unknown: {error}")
            return f"exchanges and bindings could not be read: {error}"
        self._routing[name] = _CachedRouting(routing=routing, asked_for=asked_for, at=now)
        return routing

    def _pages(self, path: str, params: Mapping[str, str | int]) -> Iterator[Fields]:
        """Ask for a list page by page."""
        page, has_more = 1, True
        while has_more:
            try:
                answer = self.get(path, {**params, "page": page, "page_size": _PAGE})
            except CollectorError as error:
                if page > 1 and "page_out_of_range" in str(error):
                    return  # what was on it was deleted in between
                raise
            fields = Fields(answer, self._odd, path)
            if "page_count" not in fields:
                raise ProtocolError(f"{self.settings.url}{path} answered no page: is it RabbitMQ?")
            items = self._objects(dict(fields.items()).get("items"), path)
            yield from items
            pages = fields.whole("page_count")
            has_more = bool(items) and (len(items) == _PAGE if pages is None else page < pages)
            page += 1

    def _objects(self, answer: Any, place: str) -> list[Fields]:
        if not isinstance(answer, list):
            raise ProtocolError("RabbitMQ answered something else than a list of objects")
        return objects(answer, self._odd, place)


def _part(name: str) -> str:
    """Return a name as a part of a path: the default virtual host is ``%2F``."""
    return quote(name, safe="")
