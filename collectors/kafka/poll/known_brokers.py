"""Brokers that were ever seen: a dead one vanishes from the cluster's metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from collectors.errors import CollectorError, SwitchedOffError, UnsupportedError
from collectors.kafka.cluster.broker_reads import Quorum
from collectors.kafka.cluster.metadata import Metadata, read_metadata
from collectors.kafka.poll.outcome import Outcome
from collectors.kafka.protocol.broker_requests import Broker
from collectors.kafka.protocol.poll_context import PollContext


class KnownBrokers:
    """Every broker where it was seen last, until it is taken out of the cluster."""

    def __init__(self, brokers: Iterable[Broker] = ()) -> None:
        """Begin with those that were known before a restart."""
        self._brokers = {broker.broker_id: broker for broker in brokers}

    @property
    def by_id(self) -> Mapping[int, Broker]:
        """Broker id: where it was seen last."""
        return dict(self._brokers)

    def read(self, context: PollContext) -> Metadata:
        """Read the cluster's layout, and take over which brokers there are."""
        found = read_metadata(context.wire, context.deadline)
        self._brokers |= {broker.broker_id: broker for broker in found.brokers}
        return found

    def forget_removed(
        self, metadata: Metadata, registrations: Outcome[Mapping[int, bool]]
    ) -> None:
        """Forget brokers that were taken out of the cluster: those that are not registered.

        Where brokers do not tell who is, one that holds no replica is taken for such a one. Its
        replicas may be of topics that nobody here may describe.
        """
        error = registrations.error
        if error is not None and not isinstance(error, UnsupportedError | SwitchedOffError):
            return
        alive = {broker.broker_id for broker in metadata.brokers}
        replicas = metadata.partitions.select("replicas").explode("replicas").to_series()
        kept = alive | set(replicas.unique()) | (registrations.found or {}).keys()
        for gone in self._brokers.keys() - kept:
            del self._brokers[gone]


def controller_of(quorum: Outcome[Quorum], metadata: Outcome[Metadata]) -> int | None:
    """Return the node id of the controller; None where none is known.

    With KRaft a broker names itself or any other one as the controller in its metadata; the leader
    of the quorum is the one. Clusters with ZooKeeper tell the truth.
    """
    try:
        return quorum.value.leader
    except UnsupportedError:
        return metadata.value.controller
    except CollectorError:
        return None
