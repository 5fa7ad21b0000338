"""Requests to many brokers at once, each with a deadline of its own.

A broker that did not answer is *suspect*: it is left alone for the rest of the poll, and until it
answers again each poll asks it once with a short patience. So a frozen broker delays one poll by
one time-out, and the polls after it by very little.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from collectors.errors import CollectorError, NoAnswerError, UnreachableError, UnsupportedError
from collectors.kafka.protocol.connection import Connection, as_it_is
from collectors.kafka.protocol.properties import Security

SUSPECT_PATIENCE_SECONDS = 0.4
"""How long a broker that did not answer the last time is waited for."""

_GRACE_SECONDS = 0.25  # a worker whose own deadline has passed gets this long to say so
_HEDGE_SECONDS = 0.5  # without an answer for so long, the next broker is asked as well
_WORKERS = 64


@dataclass(frozen=True, slots=True)
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
        request_seconds: The longest wait for one request.
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


class _Peer:
    """A connection with the lock that its users share."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.lock = threading.Lock()

    def exchange(
        self, requests: Sequence[Any], deadline: float, read: Callable[[Any], Any] = as_it_is
    ) -> list[Any]:
        if not self.lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise NoAnswerError(f"{self.connection.name}: still busy with an earlier request")
        try:
            return self.connection.exchange(requests, deadline, read)
        finally:
            self.lock.release()


class Wire:
    """The connections to one cluster. One thread asks; others work for it."""

    def __init__(self, bootstrap_servers: str, security: Security, client_id: str) -> None:
        self._security = security
        self._client_id = client_id
        self._bootstrap = [
            _Peer(Connection("bootstrap server", host, port, security, client_id))
            for host, port in map(_address, bootstrap_servers.split(","))
        ]
        self._peers: dict[int, _Peer] = {}
        self._preferred: int | None = None
        self._suspects: dict[int, str] = {}
        self._failed_now: set[int] = set()
        self._workers = ThreadPoolExecutor(_WORKERS, thread_name_prefix="kafka")

    @property
    def suspects(self) -> Mapping[int, str]:
        """Brokers whose last request failed, with the reason."""
        return self._suspects

    def begin_poll(self) -> None:
        """Give every broker a new chance; within a poll none is asked again after it failed."""
        self._failed_now.clear()

    def meet(self, brokers: Sequence[Broker]) -> None:
        """Take over where the brokers are now, as the cluster says."""
        known = {}
        for broker in brokers:
            peer = self._peers.get(broker.broker_id)
            place = (broker.host, broker.port)
            if peer is None or (peer.connection.host, peer.connection.port) != place:
                name = f"broker {broker.broker_id}"
                peer = _Peer(Connection(name, *place, self._security, self._client_id))
            known[broker.broker_id] = peer
        for broker_id, peer in self._peers.items():
            if known.get(broker_id) is not peer:
                peer.connection.close()
        self._peers = known
        for gone in self._suspects.keys() - known.keys():
            del self._suspects[gone]
            self._failed_now.discard(gone)

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
        futures: dict[int, tuple[Future[list[Any]], float]] = {}
        results: dict[int, list[Any] | CollectorError] = {}
        for broker_id, asked in requests.items():
            peer = self._peers.get(broker_id)
            if peer is None:
                results[broker_id] = UnreachableError(f"broker {broker_id}: is not in the cluster")
                continue
            if broker_id in self._failed_now:
                results[broker_id] = NoAnswerError(self._suspects[broker_id])
                continue
            until = deadline.at_most(
                SUSPECT_PATIENCE_SECONDS if broker_id in self._suspects else None
            )
            futures[broker_id] = (self._workers.submit(peer.exchange, asked, until, read), until)
        for broker_id, (future, until) in futures.items():
            results[broker_id] = self._outcome(broker_id, future, until)
        return results

    def any(
        self, make_request: Callable[[], Any], deadline: Deadline, seconds: float | None = None
    ) -> Any:
        """Ask one broker, whichever; where it is slow, ask the next one as well.

        Args:
            make_request: Makes the request; called once a broker that is asked.
            deadline: The poll's.
            seconds: How long to wait, where that is less than for other requests. No broker is
                then blamed for silence: it may wait for another one itself.

        Raises:
            CollectorError: No broker answered; the reason that says most.
        """
        waiting: dict[Future[list[Any]], int | None] = {}
        candidates = self._candidates()
        errors: list[CollectorError] = []
        until = deadline.at_most(seconds)
        while time.monotonic() < until and (candidates or waiting):
            if candidates:
                broker_id, peer = candidates.pop(0)
                waiting[self._workers.submit(peer.exchange, [make_request()], until)] = broker_id
            patience = _HEDGE_SECONDS if candidates else until + _GRACE_SECONDS - time.monotonic()
            done, _ = wait(waiting, timeout=patience, return_when=FIRST_COMPLETED)
            for future in done:
                broker_id = waiting.pop(future)
                try:
                    (answer,) = future.result()
                except CollectorError as error:
                    errors.append(error)
                    if seconds is None:
                        self._failed(broker_id, error)
                    continue
                self._preferred = broker_id
                self._answered(broker_id)
                if broker_id is None:  # from here on the brokers are known by themselves
                    for server in self._bootstrap:
                        server.connection.close()
                return answer
        # A refusal says more than silence, silence more than a refused connection.
        raise max(errors, key=_tells_most, default=NoAnswerError("no broker answered in time"))

    def close(self) -> None:
        """Close all connections."""
        for peer in [*self._peers.values(), *self._bootstrap]:
            peer.connection.close()
        self._workers.shutdown(wait=False, cancel_futures=True)

    def _candidates(self) -> list[tuple[int | None, _Peer]]:
        """Return whom to ask: those that answer, then the bootstrap servers, then the suspects."""
        good = [item for item in self._peers.items() if item[0] not in self._suspects]
        good.sort(key=lambda item: item[0] != self._preferred)
        bad = [item for item in self._peers.items() if item[0] in self._suspects]
        return [*good, *((None, peer) for peer in self._bootstrap), *bad]

    def _outcome(
        self, broker_id: int, future: Future[list[Any]], until: float
    ) -> list[Any] | CollectorError:
        try:
            answers = future.result(max(0.0, until - time.monotonic()) + _GRACE_SECONDS)
        except CollectorError as error:
            self._failed(broker_id, error)
            return error
        except TimeoutError:  # the worker hangs where no deadline reaches: a name look-up
            future.cancel()
            lost = NoAnswerError(f"broker {broker_id}: did not answer in time")
            self._failed(broker_id, lost)
            return lost
        self._answered(broker_id)
        return answers

    def _failed(self, broker_id: int | None, error: CollectorError) -> None:
        if broker_id is not None and not isinstance(error, UnsupportedError):
            self._suspects[broker_id] = str(error)
            self._failed_now.add(broker_id)

    def _answered(self, broker_id: int | None) -> None:
        if broker_id is not None:
            self._suspects.pop(broker_id, None)
            self._failed_now.discard(broker_id)


def _tells_most(error: CollectorError) -> int:
    if isinstance(error, UnreachableError):
        return 0
    return 1 if isinstance(error, NoAnswerError) else 2


def _address(server: str) -> tuple[str, int]:
    host, _, port = server.strip().rpartition(":")
    return host.rpartition("://")[2].strip("[]"), int(port)
