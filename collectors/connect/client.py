"""Asking a Kafka Connect cluster, over any of its workers."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import quote

import polars as pl

from collectors.connect.answers import (
    NO_STATUS,
    Connector,
    Position,
    read_connectors,
    read_names,
    read_positions,
)
from collectors.connect.comparison import Compared
from collectors.errors import CollectorError, NoAnswerError
from collectors.source.answer import Odd
from collectors.source.http_client import HttpClient, NotFoundError
from collectors.source.shared_facts import SharedFacts
from config.integrations import ConnectSettings

_REBALANCE = (409,)


class ConnectClient(HttpClient):
    """Asks one Connect cluster. For one thread."""

    def __init__(
        self,
        settings: ConnectSettings,
        cluster: str,
        clusters: Collection[str],
        shared: SharedFacts,
    ) -> None:
        super().__init__(settings)
        self.cluster = cluster
        self.shared = shared
        self.compared: dict[tuple[str, str], Compared] = {}
        self._connect = settings
        self._clusters = frozenset(clusters)
        self._listing: list[Connector] | CollectorError | None = None

    def begin_poll(self, seconds: float) -> None:
        """Let the requests that follow share this many seconds, and forget the last poll."""
        super().begin_poll(seconds)
        self._listing = None

    def connectors(self) -> list[Connector]:
        """Return the watched connectors; asked once a poll."""
        if self._listing is None:
            try:
                self._listing = self._read_listing()
            except CollectorError as error:
                self._listing = error
        if isinstance(self._listing, CollectorError):
            raise self._listing
        return self._listing

    def positions(self, connector: Connector) -> list[Position]:
        """Return how far a MirrorSourceConnector has copied; nothing where it is gone by now."""
        path = f"/connectors/{quote(connector.name, safe='')}"
        try:
            answer = self.get(f"{path}/offsets", retry=_REBALANCE)
        except NotFoundError:
            try:
                self.get(f"{path}/status", retry=_REBALANCE)
            except NotFoundError:
                return []
            raise CollectorError("telling offsets needs Kafka Connect 3.5 or newer") from None
        odd = Odd()
        found = read_positions(answer, connector.source_alias, odd)
        self.problems += odd.problems
        return found

    def source_cluster(self, alias: str) -> str:
        """Return the name of a mirror's source cluster, as it is under ``clusters``.

        Raises:
            CollectorError: That cluster is not watched.
        """
        mapped = self._connect.mirrors.get(alias)
        cluster = mapped or alias
        if cluster in self._clusters:
            return cluster
        if mapped:
            raise CollectorError(f"mirrors names {mapped}, which is not among clusters")
        raise CollectorError(
            f"the source cluster {alias} is not among clusters; where it has another name there, "
            f"say so under connect, {self._connect.name}: mirrors: {{{alias}: NAME}}"
        )

    def source_ends(self, alias: str) -> pl.DataFrame:
        """Return where the logs of a mirror's source cluster end."""
        cluster = self.source_cluster(alias)
        ends = self.shared.ends(cluster)
        if ends is None:
            raise CollectorError(f"the source cluster {cluster} has not been read yet")
        return ends

    def _read_listing(self) -> list[Connector]:
        try:
            found = self._list()
            if not found and self._has_started():
                found = self._list()
        except NotFoundError:
            raise CollectorError(
                f"{self.settings.url}/connectors does not exist (404): the worker is still "
                "starting, or url is not the REST address of Kafka Connect"
            ) from None
        except NoAnswerError as error:
            raise NoAnswerError(
                f"{error}; a worker answers late while it starts or its group rebalances: if this "
                "stays, look into its log"
            ) from None
        return [each for each in found if self._connect.connectors.selects(each.name)]

    def _list(self) -> list[Connector]:
        """Read all connectors, those without a status too, which the expanded list leaves out.

        The plain list is read last, so that a connector that is only in it still exists.
        """
        odd = Odd()
        answer = self.get("/connectors?expand=status&expand=info", retry=_REBALANCE)
        found = read_connectors(answer, odd)
        names = {each.name for each in found}
        for name in read_names(self.get("/connectors", retry=_REBALANCE), odd):
            if name not in names:
                found.append(Connector(name=name, unknown_reason=NO_STATUS))
        self.problems += odd.problems
        return found

    def _has_started(self) -> bool:
        """Return whether the worker has read its configuration; before, it lists no connectors."""
        try:
            self.get("/health")
        except NotFoundError:
            return False  # before 4.0: its empty list is all that can be had
        return True
