"""Consumers: one thread a member, with a known capacity and a known way to go wrong."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from demo.workload.clients import LOG, consumer_settings
from demo.workload.headers import Headers, Origin, connect_headers, spring_headers
from demo.workload.model import Group
from demo.workload.streams import POISON

TICK_SECONDS = 0.2
_MOST_HELD = 500


class Allowance:
    """How many records a consumer of some capacity may process now."""

    def __init__(self, per_second: float) -> None:
        """Start empty.

        Args:
            per_second: The capacity. What is not used within a second is lost: a consumer that
                waited cannot work faster afterwards.
        """
        self._per_second = per_second
        self._left = 0.0
        self._at = time.monotonic()

    def refresh(self, now: float) -> int:
        """Return how many whole records may be processed at this time (monotonic seconds)."""
        self._left = min(self._per_second, self._left + self._per_second * (now - self._at))
        self._at = now
        return int(self._left)

    def use(self, count: int) -> None:
        """Take records off."""
        self._left -= count


class GroupMember:
    """A member of a group, in a thread of its own.

    Attributes:
        quiet: Set while it consumes, produces and commits nothing.
        committed: Set once it has committed.
    """

    def __init__(self, group: Group, number: int) -> None:
        self.group = group
        self.quiet = threading.Event()
        self.committed = threading.Event()
        self._name = f"{group.name}-{number}"
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)

    @property
    def alive(self) -> bool:
        """Whether it is still a member, or will be in a moment."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Join the group."""
        self._thread.start()

    def end(self) -> None:
        """Ask it to leave the group; :meth:`join` waits for it."""
        self._ended.set()

    def join(self, timeout_seconds: float) -> bool:
        """Wait until it has left; True when it has."""
        self._thread.join(timeout_seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        raise NotImplementedError


class Member(GroupMember):
    """One consumer of a group."""

    def __init__(
        self,
        bootstrap_servers: str,
        group: Group,
        number: int,
        partitions: int,
        producer: Producer,
        paused: threading.Event,
    ) -> None:
        super().__init__(group, number)
        self._bootstrap_servers = bootstrap_servers
        self._partitions = partitions
        self._producer = producer
        self._paused = paused
        self._allowance = Allowance(group.capacity_per_second)
        self._processed_to: dict[int, int] = {}
        self._dirty = False
        self._stuck: set[int] = set()
        self._held: deque[Message] = deque()
        self._processed = 0
        self._failed = 0
        self._holding = False

    def _run(self) -> None:
        settings = consumer_settings(self._bootstrap_servers, self._name, self.group)
        consumer = Consumer({**settings, "on_commit": self._on_commit})
        try:
            if self.group.leaves_after is not None and self._was_here(consumer):
                return
            consumer.subscribe(
                [self.group.topic],
                on_assign=self._on_assign,
                on_revoke=self._on_revoke,
                on_lost=self._on_lost,
            )
            committed_at = time.monotonic()
            while not self._ended.wait(TICK_SECONDS):
                self._follow_pause(consumer)
                self._work(consumer)
                now = time.monotonic()
                if now - committed_at >= self.group.commit_seconds and not self._holding:
                    self._commit(consumer, wait=False)
                    committed_at = now
                if self._has_done_its_share():
                    break
            self._commit(consumer, wait=True)
        finally:
            self.quiet.set()
            consumer.close()

    def _was_here(self, consumer: Consumer) -> bool:
        """Return whether the group has committed before; then it left for good."""
        asked = [TopicPartition(self.group.topic, number) for number in range(self._partitions)]
        while not self._ended.is_set():
            try:
                return any(each.offset >= 0 for each in consumer.committed(asked, timeout=10))
            except KafkaException as error:
                LOG.info("%s: %s", self._name, error)
                self._ended.wait(1)
        return True

    def _has_done_its_share(self) -> bool:
        return self.group.leaves_after is not None and self._processed >= self.group.leaves_after

    def _follow_pause(self, consumer: Consumer) -> None:
        if self._paused.is_set() and not self._holding:
            self._holding = True
            consumer.pause(consumer.assignment())
            self._commit(consumer, wait=True)
            self.quiet.set()
        elif not self._paused.is_set() and self._holding:
            self._holding = False
            self.quiet.clear()
            consumer.resume(
                [each for each in consumer.assignment() if each.partition not in self._stuck]
            )

    def _work(self, consumer: Consumer) -> None:
        count = self._allowance.refresh(time.monotonic())
        if self.group.leaves_after is not None:
            count = min(count, self.group.leaves_after - self._processed)
        full = self._holding or len(self._held) >= _MOST_HELD
        # Called even when nothing may be processed: it answers to the coordinator as well.
        for message in consumer.consume(1 if full else max(1, count), timeout=0):
            error = message.error()
            if error is None:
                self._held.append(message)
            else:
                LOG.info("%s: %s", self._name, error)
        if self._holding:
            return
        oldest = time.time() - self.group.delay_seconds
        while self._held and count > 0:
            if self.group.delay_seconds and self._held[0].timestamp()[1] / 1000 > oldest:
                break
            message = self._held.popleft()
            if message.partition() in self._stuck:
                continue  # fetched before its partition was stopped: it will come again
            self._process(consumer, message)
            self._allowance.use(1)
            count -= 1

    def _process(self, consumer: Consumer, message: Message) -> None:
        partition, offset = int(message.partition() or 0), int(message.offset() or 0)
        if self.group.stuck_on_poison and message.value() == POISON:
            self._stuck.add(partition)
            consumer.pause([TopicPartition(self.group.topic, partition)])
            LOG.info("%s: stuck on partition %d at offset %d", self._name, partition, offset)
            return
        dead = self.group.dead_letters
        if dead is not None and offset % dead.one_in == dead.one_in - 1:
            self._bury(message, partition, offset)
        elif self.group.forwards_to:
            headers: Headers = [*(message.headers() or []), ("redrive-attempts", b"1")]
            self._producer.produce(
                self.group.forwards_to, message.value(), key=message.key(), headers=headers
            )
        self._processed += 1
        self._processed_to[partition] = offset + 1
        self._dirty = True

    def _bury(self, message: Message, partition: int, offset: int) -> None:
        """Produce a dead letter as the framework in question does."""
        dead = self.group.dead_letters
        if dead is None:
            return
        self._failed += 1
        timestamp_ms = message.timestamp()[1]
        origin = Origin(
            topic=self.group.topic, partition=partition, offset=offset, timestamp_ms=timestamp_ms
        )
        if dead.style == "spring":
            self._producer.produce(
                dead.topic,
                message.value(),
                key=message.key(),
                partition=partition,
                headers=spring_headers(origin, self.group.name, self._failed),
            )
        else:
            connector = self.group.name.removeprefix("connect-")
            self._producer.produce(
                dead.topic,
                message.value(),
                key=message.key(),
                timestamp=timestamp_ms,
                headers=connect_headers(origin, connector, self._failed),
            )

    def _commit(self, consumer: Consumer, *, wait: bool) -> None:
        """Commit what is processed; when waiting, all of it, in case an earlier one got lost."""
        if not self._processed_to or not (wait or self._dirty):
            return
        offsets = [
            TopicPartition(self.group.topic, partition, offset)
            for partition, offset in self._processed_to.items()
        ]
        try:
            if self.group.read_committed and not self._held:
                # A position steps over the marks of transactions, a record's offset + 1 does not.
                offsets = [each for each in consumer.position(offsets) if each.offset >= 0]
            if wait:
                consumer.commit(offsets=offsets, asynchronous=False)
                self.committed.set()
            else:
                consumer.commit(offsets=offsets, asynchronous=True)
            self._dirty = False
        except KafkaException as error:  # tried again with the next commit
            LOG.info("%s: %s", self._name, error)

    def _on_commit(self, error: KafkaError | None, partitions: Sequence[TopicPartition]) -> None:
        if error is None and partitions:
            self.committed.set()
        elif error is not None:
            LOG.info("%s: %s", self._name, error)
            self._dirty = True

    def _on_assign(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        consumer.incremental_assign(list(partitions))
        if self._holding:
            consumer.pause(list(partitions))

    def _on_revoke(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        if not self._holding:
            self._commit(consumer, wait=True)
        self._forget(partitions)
        consumer.incremental_unassign(list(partitions))

    def _on_lost(self, consumer: Consumer, partitions: Sequence[TopicPartition]) -> None:
        self._forget(partitions)
        consumer.incremental_unassign(list(partitions))

    def _forget(self, partitions: Sequence[TopicPartition]) -> None:
        gone = {each.partition for each in partitions}
        self._stuck -= gone
        self._held = deque(each for each in self._held if each.partition() not in gone)
        for partition in gone:
            self._processed_to.pop(partition, None)
