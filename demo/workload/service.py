"""The whole workload: creates topics, seeds them, runs streams and groups, pauses and stops."""

from __future__ import annotations

import threading
import time
from typing import Self

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaAdminClient
from kafka.errors import KafkaError as KafkaPythonError

from demo.errors import DemoError
from demo.workload.catalogue import CATALOGUE
from demo.workload.clients import common
from demo.workload.members import Member
from demo.workload.model import Catalogue, Group
from demo.workload.pipeline import Pipeline
from demo.workload.streams import Streams


class Workload:
    """Runs a catalogue against a cluster. Use as a context manager or call :meth:`close`."""

    def __init__(self, bootstrap_servers: str, catalogue: Catalogue = CATALOGUE) -> None:
        self.catalogue = catalogue
        self._bootstrap_servers = bootstrap_servers
        self._admin = AdminClient(common(bootstrap_servers, "web-shop-admin"))
        self._paused = threading.Event()
        self._streams = Streams(bootstrap_servers, catalogue)
        self._members: dict[str, list[Member | Pipeline]] = {}
        self._stopped: set[str] = set()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def start(self) -> Self:
        """Create and seed the topics that are missing, then start producers and consumers."""
        new = self.create_topics()
        self._streams.seed(new)
        self.wait_for_coordinators()
        for group in self.catalogue.groups:
            self._launch(group)
        self._streams.start()
        return self

    def create_topics(self, timeout_seconds: float = 30.0) -> set[str]:
        """Create the topics that do not exist yet: replication 3, two in sync at least.

        A cluster of fewer brokers gets as many replicas as it has brokers.
        """
        brokers = len(self._admin.list_topics(timeout=timeout_seconds).brokers)
        replicas = min(3, brokers)
        in_sync = str(min(2, replicas))
        wanted = [
            NewTopic(
                topic.name,
                topic.partitions,
                replicas,
                config={**topic.configuration(), "min.insync.replicas": in_sync},
            )
            for topic in self.catalogue.topics
        ]
        new = set()
        for name, future in self._admin.create_topics(wanted).items():
            try:
                future.result(timeout_seconds)
                new.add(name)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
        deadline = time.monotonic() + timeout_seconds
        while not self._led(new):
            if time.monotonic() > deadline:
                raise DemoError(f"new topics had no leaders after {timeout_seconds:.0f} s")
            time.sleep(0.1)
        return new

    def wait_for_coordinators(self, timeout_seconds: float = 60.0) -> None:
        """Wait until every group has a coordinator that answers.

        A consumer that joins earlier can be answered "not coordinator" at the wrong moment and then
        never start to fetch (librdkafka issue 5586), which no group of the catalogue should.
        Asked through kafka-python: librdkafka's admin calls for groups crash the process at such
        moments (its issue 5040).
        """
        names = [group.name for group in self.catalogue.groups]
        deadline = time.monotonic() + timeout_seconds
        reason = ""
        while time.monotonic() < deadline:
            try:
                admin = KafkaAdminClient(
                    bootstrap_servers=self._bootstrap_servers.split(","), request_timeout_ms=10_000
                )
                try:
                    admin.list_group_offsets(names)
                finally:
                    admin.close()
                return
            except KafkaPythonError as error:
                reason = str(error)
                time.sleep(0.3)
        raise DemoError(f"no group coordinators after {timeout_seconds:.0f} s: {reason}")

    def pause(self, timeout_seconds: float = 60.0) -> None:
        """Make the cluster quiet: nothing is produced, consumed or committed any more.

        Members stay in their groups. A transaction that fails, as when brokers come and go, takes
        half a minute to do so.
        """
        flushed = self._streams.pause(timeout_seconds)
        self._paused.set()
        deadline = time.monotonic() + timeout_seconds
        restless = [
            member.group.name
            for members in self._members.values()
            for member in members
            if not member.quiet.wait(max(0.0, deadline - time.monotonic()))
        ]
        # Dead letters of the last records that were still being processed.
        flushed = self._streams.pause(timeout_seconds) and flushed
        if restless or not flushed:
            what = ", ".join(sorted(set(restless))) or "the producer"
            raise DemoError(f"no rest after {timeout_seconds:.0f} s: {what}")

    def resume(self) -> None:
        """Go on after a pause."""
        self._paused.clear()
        self._streams.resume()

    def stop_group(self, name: str, timeout_seconds: float = 15.0) -> None:
        """Let all consumers of a group leave it."""
        if name not in self._members:
            known = ", ".join(sorted(self._members))
            raise DemoError(f"there is no group {name}: the groups are {known}")
        self._stopped.add(name)
        self._end(self._members[name], timeout_seconds)

    def start_group(self, name: str) -> None:
        """Let the consumers of a stopped group come back; a running one is left alone."""
        if name in self._stopped:
            self._stopped.discard(name)
            self._launch(self.catalogue.group(name))

    @property
    def stopped_groups(self) -> set[str]:
        """Groups that :meth:`stop_group` stopped."""
        return set(self._stopped)

    def members(self) -> dict[str, int]:
        """Return how many consumers of each group run."""
        return {
            name: sum(member.alive for member in members) for name, members in self._members.items()
        }

    def committed_groups(self) -> set[str]:
        """Return the groups whose consumers have committed since they were started.

        The consumers say so themselves: librdkafka's admin call for committed offsets crashes
        the process when a coordinator moves (librdkafka issue 5040).
        """
        return {
            name
            for name, members in self._members.items()
            if any(member.committed.is_set() for member in members)
        }

    def close(self, timeout_seconds: float = 8.0) -> None:
        """Stop everything; groups and topics stay."""
        self._streams.close()
        everyone = [member for members in self._members.values() for member in members]
        for member in everyone:
            member.end()
        deadline = time.monotonic() + timeout_seconds
        for member in everyone:
            member.join(max(0.0, deadline - time.monotonic()))

    def _launch(self, group: Group) -> None:
        members: list[Member | Pipeline] = []
        for number in range(1, group.members + 1):
            if group.transactional:
                members.append(Pipeline(self._bootstrap_servers, group, number, self._paused))
            else:
                members.append(
                    Member(
                        self._bootstrap_servers,
                        group,
                        number,
                        self.catalogue.topic(group.topic).partitions,
                        self._streams.producer,
                        self._paused,
                    )
                )
        self._members[group.name] = members
        for member in members:
            member.start()

    def _led(self, topics: set[str]) -> bool:
        found = self._admin.list_topics(timeout=10).topics
        return all(
            name in found
            and len(found[name].partitions) == self.catalogue.topic(name).partitions
            and all(each.leader >= 0 for each in found[name].partitions.values())
            for name in topics
        )

    def _end(self, members: list[Member | Pipeline], timeout_seconds: float) -> None:
        for member in members:
            member.end()
        deadline = time.monotonic() + timeout_seconds
        for member in members:
            if not member.join(max(0.0, deadline - time.monotonic())):
                raise DemoError(f"a consumer of {member.group.name} would not leave in time")
