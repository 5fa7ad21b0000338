"""The transactional pipeline: reads, writes and commits offsets in one transaction each."""

from __future__ import annotations

import threading
import time

from confluent_kafka import Consumer, KafkaException, Producer

from demo.workload.clients import LOG, consumer_settings, producer_settings
from demo.workload.members import Allowance, GroupMember
from demo.workload.model import Group

_TRANSACTION_SECONDS = 1.0
_CALL_SECONDS = 8.0
_STILL_SECONDS = 45.0
"""A transaction whose calls all take as long as they may is done before that."""


class Pipeline(GroupMember):
    """One member of a group that forwards records exactly once."""

    def __init__(
        self, bootstrap_servers: str, group: Group, number: int, paused: threading.Event
    ) -> None:
        if not group.forwards_to:
            raise ValueError(f"{group.name} forwards nowhere")
        super().__init__(group, number)
        self.quiet.set()
        self._target = group.forwards_to
        self._bootstrap_servers = bootstrap_servers
        self._paused = paused
        self._session_number = 0
        self._moved_at = time.monotonic()

    def _run(self) -> None:
        """Have sessions, one after the other, until asked to end.

        A call on a transaction may never return when brokers come and go, whatever its timeout:
        a session that stands still is left behind, and the next one fences its producer.
        """
        try:
            while not self._ended.is_set():
                self._session_number += 1
                self._moved_at = time.monotonic()
                session = threading.Thread(
                    target=self._work, args=(self._session_number,), name=self._name, daemon=True
                )
                session.start()
                while session.is_alive() and not self._stands_still():
                    session.join(0.2)
                if session.is_alive():
                    LOG.warning("%s stands still and is left behind", self._name)
                elif not self._ended.is_set():
                    self._ended.wait(1)
        finally:
            self.quiet.set()

    def _stands_still(self) -> bool:
        return time.monotonic() - self._moved_at > _STILL_SECONDS

    def _work(self, number: int) -> None:
        try:
            self._session(number)
        except KafkaException as error:
            # A broker is gone, or the producer was fenced: begin anew from what is
            # committed. Nothing is lost or doubled, that is what transactions are for.
            LOG.info("%s starts again: %s", self._name, error)

    def _is_current(self, number: int) -> bool:
        """Say whether a session was not left behind; one that was touches nothing any more."""
        return number == self._session_number

    def _session(self, number: int) -> None:
        """Forward until asked to end, or until something fails."""
        producer = Producer(
            producer_settings(self._bootstrap_servers, self._name, transactional_id=self._name)
        )
        producer.init_transactions(_CALL_SECONDS)
        consumer = Consumer(
            consumer_settings(self._bootstrap_servers, self._name, self.group)
            | {"max.poll.interval.ms": int(_STILL_SECONDS * 1000)}
        )
        allowance = Allowance(self.group.capacity_per_second)
        holding = False
        try:
            consumer.subscribe([self.group.topic])
            while self._is_current(number) and not self._ended.wait(0 if not holding else 0.2):
                self._moved_at = time.monotonic()
                if self._may_transact():
                    if holding:
                        consumer.resume(consumer.assignment())
                        holding = False
                    self._transact(producer, consumer, allowance)
                    continue
                if not holding:
                    consumer.pause(consumer.assignment())
                    holding = True
                consumer.poll(0)
        finally:
            if self._is_current(number):
                self.quiet.set()
            consumer.close()

    def _may_transact(self) -> bool:
        """Say whether a transaction may begin; quiet exactly when none may.

        Not quiet first, and only then the look at the pause: whoever pauses and then finds it
        quiet knows that no transaction begins any more.
        """
        self.quiet.clear()
        if not self._paused.is_set():
            return True
        self.quiet.set()
        return False

    def _transact(self, producer: Producer, consumer: Consumer, allowance: Allowance) -> None:
        """Collect records for a second and forward them in one transaction."""
        until = time.monotonic() + _TRANSACTION_SECONDS
        begun = False
        while time.monotonic() < until and not self._ended.wait(0.2):
            count = allowance.refresh(time.monotonic())
            messages = consumer.consume(max(1, count), timeout=0)
            for message in messages:
                error = message.error()
                if error is not None:
                    raise KafkaException(error)
                if not begun:
                    producer.begin_transaction()
                    begun = True
                producer.produce(self._target, message.value(), key=message.key())
            allowance.use(len(messages))
            producer.poll(0)
        if not begun:
            return
        try:
            producer.send_offsets_to_transaction(
                consumer.position(consumer.assignment()),
                consumer.consumer_group_metadata(),
                _CALL_SECONDS,
            )
            producer.commit_transaction(_CALL_SECONDS)
            self.committed.set()
        except KafkaException:
            producer.abort_transaction(_CALL_SECONDS)
            raise
        # A commit is answered before the group's coordinator has the offsets: they are asked for,
        # which waits for them, so that quiet means that nothing changes any more.
        consumer.committed(consumer.assignment(), _CALL_SECONDS)
