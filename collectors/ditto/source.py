"""An Eclipse Ditto as a source."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any
from urllib.parse import quote

import polars as pl

from collectors.ditto.answers import (
    FIELDS,
    Connection,
    connection,
    metrics_row,
    status_row,
)
from collectors.errors import CollectorError, ProtocolError
from collectors.source.answer import Fields, Odd, objects
from collectors.source.http_client import HttpClient, NotFoundError
from collectors.source.http_source import HttpSource
from collectors.source.model import Check
from collectors.source.redaction import redact
from collectors.source.rows import frame
from collectors.source.shared_facts import SharedFacts
from config.integrations import DittoSettings
from config.settings import Settings
from lake.schemas.tables import DITTO_CONNECTIONS

_CONNECTIONS = "/api/2/connections"


class DittoClient(HttpClient):
    """Asks one Ditto, and tells others which consumer groups are its own. For one thread."""

    def __init__(self, settings: DittoSettings, cluster: str, shared: SharedFacts) -> None:
        super().__init__(settings)
        self._cluster = cluster
        self._shared = shared

    def connections(self) -> list[Connection]:
        """Return all connections, in one answer: Ditto knows no pages."""
        listed = self.get(_CONNECTIONS, {"fields": FIELDS})
        if not isinstance(listed, list):
            raise self._not_understood()
        odd = Odd()
        found = [connection(value) for value in objects(listed, odd, "connections")]
        known = [each for each in found if each is not None]
        self.problems += odd.problems
        if listed and not known:
            raise self._not_understood()
        self._shared.set_ditto_groups(
            self._cluster, self.settings.name, (each.group for each in known if each.group)
        )
        return known

    def status(self, connection_id: str) -> Any:
        """Return a connection's status as Ditto has it."""
        return self.get(f"{_CONNECTIONS}/{quote(connection_id, safe='')}/status")

    def metrics(self, connection_id: str) -> Any:
        """Return a connection's metrics as Ditto has them."""
        return self.get(f"{_CONNECTIONS}/{quote(connection_id, safe='')}/metrics")

    def _not_understood(self) -> ProtocolError:
        return ProtocolError(
            f"{self.settings.url}{_CONNECTIONS} answered something that is no list of connections"
        )


def collect(client: DittoClient, settings: DittoSettings, now: datetime) -> dict[str, pl.DataFrame]:
    """Return the table ``ditto_connections``: what each is to do, does, and did in a minute.

    The statuses are read before the metrics, so that those are known if the time does not suffice
    for both.
    """
    chosen = [
        each
        for each in client.connections()
        if settings.connections.selects(each.name or each.connection)
    ]
    rows = {each.connection: {"ditto": settings.name, **asdict(each)} for each in chosen}
    for what, ask, fill in (
        ("status", client.status, status_row),
        ("metrics", client.metrics, metrics_row),
    ):
        _complete(client, rows, what, ask, fill)
    return {"ditto_connections": frame(DITTO_CONNECTIONS, list(rows.values()))}


def check(client: DittoClient, settings: DittoSettings) -> Sequence[Check]:
    """Try each feature once."""
    feature = f"Ditto {settings.name}"
    try:
        found = client.connections()
    except CollectorError as error:
        return [Check(feature=feature, works=False, required=True, detail=str(error))]
    checks = [Check(feature=feature, works=True, required=True, detail=f"{len(found)} connections")]
    for what, ask in (("status", client.status), ("metrics", client.metrics)):
        works: bool | None = None
        detail = "there is no connection to ask for it"
        if found:
            try:
                ask(found[0].connection)
                works, detail = True, f"of {found[0].name or found[0].connection}"
            except CollectorError as error:
                works, detail = False, str(error)
        checks.append(
            Check(
                feature=f"{feature}: {what} of connections",
                works=works,
                required=False,
                detail=detail,
            )
        )
    return checks


def _complete(
    client: DittoClient,
    rows: dict[str, dict[str, Any]],
    what: str,
    ask: Callable[[str], Any],
    fill: Callable[[Fields], dict[str, Any]],
) -> None:
    """Ask for something of each connection; one that was deleted meanwhile has no row."""
    unknown: dict[str, str] = {}
    odd = Odd()
    for connection_id in list(rows):
        try:
            answer = Fields(ask(connection_id), odd, f"{what} of {connection_id}")
            rows[connection_id].update(fill(answer))
        except NotFoundError:
            del rows[connection_id]
        except CollectorError as error:
            reason = redact(f"{what}: {error}")
            unknown[connection_id] = reason
            before = rows[connection_id].get("unknown_reason")
            rows[connection_id]["unknown_reason"] = f"{before}; {reason}" if before else reason
    client.problems += odd.problems
    if unknown:
        reasons = "; ".join(dict.fromkeys(unknown.values()))
        client.problems.append(f"the {what} of {len(unknown)} connections is unknown: {reasons}")


def ditto_source(
    settings: DittoSettings, cluster: str, interval_seconds: float, shared: SharedFacts
) -> HttpSource[DittoClient, DittoSettings]:
    """Make the source of one Ditto."""
    client = DittoClient(settings, cluster, shared)
    collectors = {"ditto_connections": collect}
    return HttpSource("ditto", settings, cluster, interval_seconds, client, collectors, check)


def ditto_sources(
    settings: Settings, shared: SharedFacts
) -> Iterator[HttpSource[DittoClient, DittoSettings]]:
    """Make a source of each Ditto in the settings."""
    for each in settings.ditto:
        yield ditto_source(
            each, settings.cluster_of(each), settings.poll_interval_seconds(each), shared
        )
