"""Requests to many brokers at once, each with a deadline of its own.

A broker that did not answer in time is left alone for the rest of the poll. As long as its answer
is under way, or it cannot be connected to, later polls do not wait for it at all: its client
(``broker_client``) goes on beside the polls. So a broker that hangs delays one poll by one
time-out, and the polls after it by nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from collectors.errors import (
    OF_ONE_REQUEST,
    CollectorError,
    NoAnswerError,
    UnreachableError,
)
from collectors.kafka.protocol.broker_client import BrokerClient
from collectors.kafka.protocol.properties import ConnectionSettings
from collectors.kafka.protocol.transport.connection import as_it_is
from collectors.kafka.protocol.transport.connector import Connector
from collectors.kafka.protocol.transport.throttling import Address, Throttling

_FORWARDED_SECONDS = 1.0
"""Patience with what a broker passes on to the controller: where there is none, it waits."""

_SHORTEST_SILENCE_SECONDS, _LONGEST_SILENCE_SECONDS = 0.5, 2.0
"""If no byte has come by then, the next broker is asked as well."""

_GLANCE_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """A broker as the cluster's metadata name it."""

    broker_id: int
    host: str
    port: int
    rack: str | None = None


class Deadline:
    """When a poll must have ended, and how long a single request of it may take.

    Attributes:
        ends: Monotonic time, in seconds.
    """

    def __init__(self, seconds: float, request_seconds: float) -> None:
        self.ends = time.monotonic() + seconds
        self.request_seconds = request_seconds

    def at_most(self, seconds: float | None = None) -> float:
        """Return when a request that starts now must have been answered (monotonic seconds)."""
        seconds = self.request_seconds if seconds is None else min(seconds, self.request_seconds)
        return min(self.ends, time.monotonic() + seconds)

    @property
    def left_seconds(self) -> float:
        """What is left of the poll's time; negative when it is over."""
        return self.ends - time.monotonic()


class Wire:
    """The connections to one cluster, for one thread."""

    def __init__(
        self,
        bootstrap_servers: str,
        settings: ConnectionSettings,
        client_id: str,
        throttling: Throttling | None = None,
    ) -> None:
        self._connector = Connector(settings, client_id, throttling)
        self._bootstrap = [_address(server) for server in bootstrap_servers.split(",")]
        self._brokers: dict[int, Address] = {}
        self._clients: dict[Address, BrokerClient] = {}
        self._forwarding: dict[Address, BrokerClient] = {}
        self._preferred: Address | None = None
        self._failed_now: dict[int, CollectorError] = {}

    @property
    def failures(self) -> Mapping[int, str]:
        """Brokers that could not be asked in this poll or cannot be asked now, with the reason."""
        found = {broker: str(error) for broker, error in self._failed_now.items()}
        for broker, address in self._brokers.items():
            client = self._clients.get(address)
            failure = client.failure if client else None
            if failure is not None:
                found.setdefault(broker, str(failure))
        return found

    def take_throttled_seconds(self) -> Mapping[int, float]:
        """Return how long each broker that is asked made the cluster's connections wait.

        It is counted since this was last called, on all that share one ``Throttling``.
        """
        taken = self._connector.throttling.take()
        return {
            broker: taken.get(address, 0.0)
            for broker, address in self._brokers.items()
            if address in self._clients
        }

    @property
    def certificates(self) -> Mapping[int, datetime]:
        """When the certificates expire that brokers have shown on the connections that are open."""
        found = {}
        for broker, address in self._brokers.items():
            client = self._clients.get(address)
            expires_at = client.certificate_expires_at if client else None
            if expires_at is not None:
                found[broker] = expires_at
        return found

    def begin_poll(self) -> None:
        """Give every broker a new chance; within a poll none is asked again after it failed."""
        self._failed_now.clear()

    def meet(self, brokers: Sequence[Broker]) -> None:
        """Take over where the brokers are now, as the cluster says."""
        if not brokers:
            return
        self._brokers = {broker.broker_id: (broker.host, broker.port) for broker in brokers}
        for gone in self._failed_now.keys() - self._brokers.keys():
            del self._failed_now[gone]
        places = set(self._brokers.values())
        for clients in (self._clients, self._forwarding):
            for address in clients.keys() - places:  # the bootstrap servers' among them
                clients.pop(address).close()
        for broker in brokers:
            client = self._clients.get((broker.host, broker.port))
            if client is not None:
                client.name = f"broker {broker.broker_id}"

    def each(
        self,
        requests: Mapping[int, Sequence[Any]],
        deadline: Deadline,
        read: Callable[[Any], Any] = as_it_is,
    ) -> dict[int, list[Any] | CollectorError]:
        """Ask brokers, all at the same time.

        Returns:
            Broker: its answers, or what was made of them, in the order of its requests; or why
            there are none.
        """
        asked: dict[int, tuple[BrokerClient, Future[list[Any]]]] = {}
        results: dict[int, list[Any] | CollectorError] = {}
        for broker, batch in requests.items():
            address = self._brokers.get(broker)
            if address is None:
                results[broker] = UnreachableError(f"broker {broker}: is not in the cluster")
            elif broker in self._failed_now:
                results[broker] = self._failed_now[broker]
            else:
                client = self._client(address, f"broker {broker}")
                asked[broker] = client, client.ask(batch, read)
        until = deadline.at_most()
        for broker, (client, answers) in asked.items():
            try:
                results[broker] = answers.result(max(0.0, until - time.monotonic()))
            except CollectorError as error:
                results[broker] = error.again()
                error.__traceback__ = None  # its broker may keep it
            except TimeoutError:
                results[broker] = client.give_up(answers)
            self._note(broker, results[broker])
        return results

    def any(self, make_request: Callable[[], Any], deadline: Deadline) -> Any:
        """Ask one broker, whichever; where it fails or is silent, the next one as well.

        Args:
            make_request: Makes the request; called once a broker that is asked.
            deadline: The poll's.

        Raises:
            CollectorError: No broker answered; the reason that says most.
        """
        until = deadline.at_most()
        candidates = self._candidates()
        silence = min(
            max(deadline.request_seconds / len(candidates), _SHORTEST_SILENCE_SECONDS),
            _LONGEST_SILENCE_SECONDS,
        )
        waiting: dict[Future[list[Any]], BrokerClient] = {}
        errors: list[CollectorError] = []
        newest: BrokerClient | None = None
        try:
            while (candidates or waiting) and time.monotonic() < until:
                # An answer that is coming in is waited for: a second one would not come sooner.
                if candidates and (
                    newest not in waiting.values()
                    or (newest is not None and newest.silent_seconds > silence)
                ):
                    newest = candidates.pop(0)
                    waiting[newest.ask([make_request()], insist=True)] = newest
                glance = _GLANCE_SECONDS if candidates else until - time.monotonic()
                done, _ = wait(waiting, timeout=max(0.0, glance), return_when=FIRST_COMPLETED)
                for answers in done:
                    client = waiting.pop(answers)
                    try:
                        (answer,) = answers.result()
                    except CollectorError as error:
                        errors.append(error.again())
                        error.__traceback__ = None
                        continue
                    self._preferred = client.address
                    return answer
            errors += [client.give_up(answers) for answers, client in waiting.items()]
        finally:
            for answers in waiting:  # nobody is to decode what comes too late
                answers.cancel()
        # A refusal says more than silence, silence more than a refused connection.
        found = max(errors, key=_tells_most, default=NoAnswerError("no broker answered in time"))
        raise found.again()

    def forwarded(self, make_request: Callable[[], Any], deadline: Deadline) -> Any:
        """Ask one broker for what it has to ask the controller for.

        Where there is no controller, the broker waits for one, and answers nothing else over that
        connection. So it is one of its own, and no broker is blamed for silence.

        Raises:
            CollectorError: No answer in time, or none that is understood.
        """
        addresses = [client.address for client in self._candidates() if client.failure is None]
        if not addresses:
            raise NoAnswerError("no broker answered in time")
        address = addresses[0]
        client = self._forwarding.get(address)
        if client is None:
            client = BrokerClient(self._connector, "broker", *address)
            self._forwarding[address] = client
        # The set-up of the connection takes the time that it takes.
        until = deadline.at_most(_FORWARDED_SECONDS if client.is_open else None)
        answers = client.ask([make_request()], insist=True)
        try:
            (answer,) = answers.result(max(0.0, until - time.monotonic()))
        except TimeoutError:
            raise client.give_up(answers) from None
        return answer

    def close(self) -> None:
        """Close all connections."""
        for clients in (self._clients, self._forwarding):
            for client in clients.values():
                client.close()

    def _client(self, address: Address, name: str, *, is_bootstrap: bool = False) -> BrokerClient:
        client = self._clients.get(address)
        if client is None:
            client = BrokerClient(self._connector, name, *address, is_bootstrap=is_bootstrap)
            self._clients[address] = client
        return client

    def _candidates(self) -> list[BrokerClient]:
        """Return whom to ask: brokers that answer, then the bootstrap servers, then the others."""
        brokers = [
            self._client(address, f"broker {broker}") for broker, address in self._brokers.items()
        ]
        good = [client for client in brokers if client.failure is None]
        good.sort(key=lambda client: (client.address != self._preferred, not client.is_open))
        return list(dict.fromkeys([*good, *self._bootstrap_clients(good), *brokers]))

    def _bootstrap_clients(self, good: Sequence[BrokerClient]) -> Iterator[BrokerClient]:
        if not good:  # from then on the brokers are known by themselves
            for address in self._bootstrap:
                yield self._client(address, "bootstrap server", is_bootstrap=True)

    def _note(self, broker: int, result: list[Any] | CollectorError) -> None:
        if isinstance(result, CollectorError) and not isinstance(result, OF_ONE_REQUEST):
            self._failed_now[broker] = result


def _tells_most(error: CollectorError) -> int:
    if isinstance(error, UnreachableError):
        return 0
    return 1 if isinstance(error, NoAnswerError) else 2


def _address(server: str) -> Address:
    host, _, port = server.strip().rpartition(":")
    return host.rpartition("://")[2].strip("[]"), int(port)
