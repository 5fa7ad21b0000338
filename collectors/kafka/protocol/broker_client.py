"""One broker of a cluster as its readers see it: asked over a connection that is kept open.

A thread of its own opens the connection, asks and waits, with its own patience. A poll waits for an
answer as long as it has time and then goes on without it. So a poll's deadline never ends the
set-up of a connection, nor an answer that is under way; what a poll no longer waited for is dropped
when it comes, and tells that the broker is back.
"""

from __future__ import annotations

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from collectors.errors import (
    OF_ONE_REQUEST,
    CollectorError,
    NoAnswerError,
    SecurityError,
    ThrottledError,
    UnreachableError,
)
from collectors.kafka.protocol.threads import started
from collectors.kafka.protocol.transport.connection import Connection, as_it_is
from collectors.kafka.protocol.transport.connector import Connector

PATIENCE_SECONDS = 30.0
"""A connection that is silent this long is closed and opened anew."""

_REFUSED_BACK_OFF_SECONDS = 30.0  # between two logins once one was refused
_JITTER = 0.2

_CONNECTING = "it is being looked up and connected to"
_LOGGING_IN = "it is connected to, but encryption or login is not done"


@dataclass(eq=False, slots=True, kw_only=True)
class _Batch:
    """Requests that are asked together.

    Attributes:
        answers: Cancelled when nobody waits for them any more.
        is_overdue: Whether somebody waited for them as long as a request may take.
    """

    requests: Sequence[Any]
    read: Callable[[Any], Any]
    answers: Future[list[Any]] = field(default_factory=Future)
    asked_at: float = field(default_factory=time.monotonic)
    is_overdue: bool = False


class BrokerClient:
    """Asks one broker, one batch of requests at a time; for any number of threads.

    A connection that failed is opened again in the background, with growing pauses in between.

    Attributes:
        name: ``broker 3``, or what else the address is.
        address: Host and port.
    """

    def __init__(
        self, connector: Connector, name: str, host: str, port: int, *, is_bootstrap: bool = False
    ) -> None:
        self.name = name
        self._connector = connector
        self.address = (host, port)
        self._is_bootstrap = is_bootstrap
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._batches: deque[_Batch] = deque()  # the first one is being asked
        self._connection: Connection | None = None
        self._opening: Connection | None = None
        self._failure: CollectorError | None = None
        self._failed_at = 0.0
        self._retry_at = 0.0
        self._back_off = 0.0
        self._closed = False

    @property
    def label(self) -> str:
        """The broker with its address, for messages."""
        return f"{self.name} ({self.address[0]}:{self.address[1]})"

    @property
    def failure(self) -> CollectorError | None:
        """Why the broker is not worth waiting for; None where it is."""
        with self._changed:
            return self._unusable()

    @property
    def is_open(self) -> bool:
        """Whether there is a connection."""
        return self._connection is not None

    @property
    def silent_seconds(self) -> float:
        """How long nothing has been heard since it was asked."""
        batches, connection = list(self._batches), self._connection or self._opening
        heard = max(
            batches[-1].asked_at if batches else 0.0,
            connection.heard_at if connection else 0.0,
        )
        return time.monotonic() - heard

    @property
    def certificate_expires_at(self) -> datetime | None:
        """When the certificate expires that the broker showed on this connection."""
        connection = self._connection
        return connection.certificate_expires_at if connection else None

    def ask(
        self,
        requests: Sequence[Any],
        read: Callable[[Any], Any] = as_it_is,
        *,
        insist: bool = False,
    ) -> Future[list[Any]]:
        """Send requests and return where their answers will be.

        Args:
            requests: kafka-python's.
            read: What to make of each answer; see ``Connection.exchange``.
            insist: Try to connect now where that has failed, and do not wait for the next try.

        Returns:
            A future that is done at once where the broker is not worth waiting for. Whoever waits
            no longer calls ``give_up`` or, where others answered earlier, cancels it.
        """
        batch = _Batch(requests=requests, read=read)
        with self._changed:
            failure = self._unusable()
            if failure is None or (insist and failure is self._failure):
                if self._thread is None:
                    self._thread = started(self._serve, name=f"kafka-{self.name}")
                self._batches.append(batch)
                self._changed.notify()
                return batch.answers
        assert failure is not None  # noqa: S101 (else it was returned above)
        batch.answers.set_exception(failure)
        return batch.answers

    def give_up(self, answers: Future[list[Any]]) -> CollectorError:
        """Stop waiting for answers that took too long, and return what to say of it."""
        answers.cancel()
        with self._changed:
            for batch in self._batches:
                batch.is_overdue |= batch.answers is answers
            return self._silence("did not answer in time")

    def close(self) -> None:
        """Close the connection; whoever waits for an answer gets none."""
        with self._changed:
            self._closed = True
            batches = list(self._batches)
            self._changed.notify()
        for connection in (self._connection, self._opening):
            if connection is not None:
                connection.close()
        for batch in batches:
            with suppress(InvalidStateError):
                batch.answers.set_exception(UnreachableError(f"{self.label}: closed"))

    def _unusable(self) -> CollectorError | None:
        if self._closed:
            return UnreachableError(f"{self.label}: closed")
        for batch in self._batches:
            if batch.is_overdue:
                seconds = time.monotonic() - batch.asked_at
                return self._silence(f"did not answer in time: {seconds:.0f} s until now")
        return self._failure

    def _silence(self, words: str) -> CollectorError:
        connection = self._connection
        throttled = connection.throttled_until - time.monotonic() if connection else 0.0
        if throttled > 0:
            return ThrottledError(
                f"{self.label}: throttles this client for another {throttled:.1f} s, since its "
                "quota is used up"
            )
        if self._failure is not None:  # while it is being opened again
            return self._failure
        if connection is None:
            where = _CONNECTING if self._opening is None else _LOGGING_IN
            words = self._connector.delay or f"{words}; {where}"
        return NoAnswerError(f"{self.label}: {words}")

    def _serve(self) -> None:
        """Work until the end: answer batches, and between them keep the connection open."""
        while True:
            with self._changed:
                while not self._closed and not self._batches:
                    due = self._due_at()
                    if due is not None and due <= time.monotonic():
                        break
                    self._changed.wait(None if due is None else due - time.monotonic())
                if self._closed:
                    break
                batch = self._batches[0] if self._batches else None
            if batch is None:
                self._reopen()
            else:
                self._work(batch)
        for connection in (self._connection, self._opening):
            if connection is not None:
                connection.close()

    def _due_at(self) -> float | None:
        """Return when a connection is to be opened without being asked to."""
        if self._connection is None:
            return self._retry_at if self._failure is not None else None
        renew_at = self._connection.renew_at
        return None if renew_at is None else max(renew_at, self._retry_at)

    def _reopen(self) -> None:
        """Open a connection in the place of one that failed or whose session ends."""
        try:
            opened = self._open()
        except CollectorError as error:
            self._failed(error)
            return
        old, self._connection = self._connection, opened
        if old is not None:
            old.close()

    def _work(self, batch: _Batch) -> None:
        answers, failure = None, None
        if batch.answers.cancelled():
            pass  # before it was asked
        elif self._connection is None and self._failed_at > batch.asked_at:
            failure = self._failure  # of the try that was under way when it was asked
        else:
            try:
                answers = self._exchange(batch)
            except CollectorError as error:
                failure = error
                if not isinstance(error, OF_ONE_REQUEST):
                    if self._connection is not None:
                        self._connection.close()
                        self._connection = None
                    self._failed(error)
        with self._changed:
            self._batches.popleft()
        with suppress(InvalidStateError):  # nobody waits any more
            if failure is not None:
                batch.answers.set_exception(failure)
            else:
                batch.answers.set_result(answers or [])

    def _exchange(self, batch: _Batch) -> list[Any]:
        if self._connection is not None:
            try:
                return self._ask(self._connection, batch)
            except UnreachableError:
                # A connection that was idle may have been closed by a broker that is well.
                self._connection = None
                if self._closed:
                    raise
        self._connection = self._open()
        return self._ask(self._connection, batch)

    def _ask(self, connection: Connection, batch: _Batch) -> list[Any]:
        connection.label = self.label  # it may have been a bootstrap server's
        answers = connection.exchange(
            batch.requests,
            PATIENCE_SECONDS,
            batch.read,
            lambda: not batch.answers.cancelled(),
        )
        if connection.renew_at is None or time.monotonic() < connection.renew_at:
            self._back_off = 0.0  # else they say nothing of the next login, which may be refused
        return answers

    def _open(self) -> Connection:
        try:
            opened = self._connector.open(
                self.label,
                *self.address,
                is_bootstrap=self._is_bootstrap,
                on_progress=self._watch,
            )
        finally:
            self._opening = None
        self._failure = None
        return opened

    def _watch(self, connection: Connection) -> None:
        self._opening = connection
        if self._closed:
            connection.close()

    def _failed(self, error: CollectorError) -> None:
        """Remember a failure, and when to try again: after a pause that doubles each time."""
        options = self._connector.options
        most = options.last_back_off_seconds
        if isinstance(error, SecurityError):
            most = max(most, _REFUSED_BACK_OFF_SECONDS)
        self._back_off = min(most, max(options.first_back_off_seconds, self._back_off * 2))
        pause = self._back_off * (1 + random.uniform(-_JITTER, _JITTER))  # noqa: S311 (no secret)
        with self._changed:
            if self._connection is None:
                self._failure = error
            self._failed_at = time.monotonic()
            self._retry_at = self._failed_at + pause
