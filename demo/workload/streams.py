"""Producers: one thread feeds all topics at the rates that the catalogue declares."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from confluent_kafka import KafkaException, Producer

from demo.workload.clients import LOG, producer_settings
from demo.workload.model import Catalogue, Stream

POISON = b'{"template":"broken"}'
BROKEN = b"no JSON"
_TICK_SECONDS = 0.5
_LONGEST_CATCH_UP_SECONDS = 2.0
_SEED_BATCH_BYTES = 8192


@dataclass(slots=True, kw_only=True)
class Source:
    """Makes the records of one stream: keys, values, and how many are due."""

    stream: Stream
    chance: random.Random = field(init=False)
    made: int = 0
    due: float = 0.0

    def __post_init__(self) -> None:
        self.chance = random.Random(self.stream.topic)  # noqa: S311  repeatable, not secret

    def records_due(self, seconds: float, passed_seconds: float) -> int:
        """Return how many whole records are due since the last call."""
        self.due += self.stream.rate.at(seconds) * min(passed_seconds, _LONGEST_CATCH_UP_SECONDS)
        count = int(self.due)
        self.due -= count
        return count

    def record(self) -> tuple[bytes, bytes]:
        """Return key and value of the next record."""
        self.made += 1
        hot = self.stream.hot_key_share and self.chance.random() < self.stream.hot_key_share
        number = 0 if hot else self.chance.randrange(self.stream.keys)
        key = f"{self.stream.key_prefix}{number}".encode()
        if self.stream.broken_one_in and self.made % self.stream.broken_one_in == 0:
            return key, BROKEN
        head = b'{"number":%d,"text":"' % self.made
        return key, head + b"x" * max(0, self.stream.payload_bytes - len(head) - 2) + b'"}'

    def seed(self, now_ms: int) -> Iterator[tuple[bytes, bytes, int]]:
        """Yield key, value and timestamp in milliseconds of the records before the start."""
        count = self.stream.seed_messages
        span_ms = self.stream.seed_age_seconds * 1000
        for number in range(count):
            yield *self.record(), now_ms - int(span_ms * (1 - number / count))


class Streams:
    """Feeds all topics of a catalogue from one thread with one producer."""

    def __init__(self, bootstrap_servers: str, catalogue: Catalogue) -> None:
        self._settings = producer_settings(bootstrap_servers, "web-shop")
        self.producer = Producer(self._settings)
        self._sources = [Source(stream=stream) for stream in catalogue.streams]
        self._ended = threading.Event()
        self._running = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._thread = threading.Thread(target=self._run, name="streams", daemon=True)

    def seed(self, topics: set[str], timeout_seconds: float = 30.0) -> None:
        """Produce the seed of some topics and wait until the brokers have it."""
        failures: list[KafkaException] = []

        def delivered(error: object, _: object) -> None:
            if error is not None:
                failures.append(KafkaException(error))

        # All at once, yet in small batches: a batch is fetched and deleted as a whole.
        producer = Producer({**self._settings, "batch.size": _SEED_BATCH_BYTES})
        now_ms = int(time.time() * 1000)
        for source in self._sources:
            stream = source.stream
            if stream.topic not in topics:
                continue
            for number, (key, value, at_ms) in enumerate(source.seed(now_ms)):
                if stream.poison_partition is not None and number == stream.seed_messages // 4:
                    producer.produce(
                        stream.topic,
                        POISON,
                        key=b"poison",
                        partition=stream.poison_partition,
                        timestamp=at_ms,
                        on_delivery=delivered,
                    )
                producer.produce(
                    stream.topic, value, key=key, timestamp=at_ms, on_delivery=delivered
                )
            producer.poll(0)
        left = producer.flush(timeout_seconds)
        if failures:
            raise failures[0]
        if left:
            raise TimeoutError(f"{left} seed records were not taken in {timeout_seconds:.0f} s")

    def start(self) -> None:
        """Start producing."""
        self._running.set()
        self._thread.start()

    def pause(self, timeout_seconds: float = 20.0) -> bool:
        """Stop producing and wait until every record is acknowledged; True when all are."""
        self._running.clear()
        idle = self._idle.wait(timeout_seconds) if self._thread.is_alive() else True
        return bool(self.producer.flush(timeout_seconds) == 0 and idle)

    def resume(self) -> None:
        """Go on producing."""
        self._running.set()

    def close(self) -> None:
        """Stop for good."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(5)
        self.producer.flush(3)

    def _run(self) -> None:
        started = last = time.monotonic()
        while not self._ended.wait(_TICK_SECONDS):
            now = time.monotonic()
            if self._running.is_set():
                self._idle.clear()
                for source in self._sources:
                    self._produce(source, source.records_due(now - started, now - last))
            else:
                self._idle.set()
            last = now
            self.producer.poll(0)

    def _produce(self, source: Source, count: int) -> None:
        for _ in range(count):
            key, value = source.record()
            try:
                self.producer.produce(source.stream.topic, value, key=key)
            except BufferError:
                # The brokers take nothing at the moment; what arrives now is turned away.
                LOG.warning("the producer's queue is full: records of this moment are left out")
                return
