"""Ditto's connectivity API as its OpenAPI description has it, over made-up connections."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import Any
from urllib.parse import unquote

from tests.unit.collectors.ditto.answering import Reply, Request

USER, PASSWORD = "devops", "f\u00fcr-devops"
IN_THE_URI = "s3cr3t-in-the-uri"


def counted(minute: int) -> dict[str, Any]:
    """Return one metric: successes and failures in windows that move."""
    windows = {"PT1M": minute, "PT1H": minute * 60, "PT24H": minute * 1440}
    none = dict.fromkeys(windows, 0)
    return {
        "success": {**windows, "lastMessageAt": "2026-11-20T10:00:00Z"},
        "failure": {**none, "lastMessageAt": None},
    }


class FakeDitto:
    """Answers as Ditto does.

    Attributes:
        connections: Id: the connection, its status, its metrics.
    """

    def __init__(self) -> None:
        self.connections: dict[str, dict[str, Any]] = {}

    def add(
        self,
        connection_id: str,
        *,
        type_: str = "kafka",
        desired: str = "open",
        live: str = "open",
        **changes: Any,
    ) -> dict[str, Any]:
        """Add a connection and return what is reported of it, to be changed."""
        configured = {
            "id": connection_id,
            "name": f"{connection_id}-name",
            "connectionType": type_,
            "connectionStatus": desired,
            "uri": f"tcp://user:{IN_THE_URI}@kafka:9092",
            "credentials": {"type": "plain", "password": IN_THE_URI},
            "specificConfig": {"bootstrapServers": "kafka:9092", "saslMechanism": "plain"},
            "clientCount": 2,
            "sources": [
                {"addresses": ["telemetry", "events"], "consumerCount": 3, "qos": 1},
                {"addresses": ["events"], "qos": 0},
            ],
            "targets": [{"address": "commands", "topics": ["_/_/things/twin/events"]}],
            **changes,
        }
        client = {"type": "client", "client": "connectivity-0", "status": live}
        status = {
            "connectionId": connection_id,
            "connectionStatus": desired,
            "liveStatus": live,
            "recoveryStatus": "succeeded",
            "connectedSince": "2026-11-20T08:57:24.710Z",
            "clientStatus": [client, {**client, "client": "connectivity-1"}],
            "sourceStatus": [
                {"type": "source", "client": "connectivity-0", "address": a, "status": live}
                for a in ("telemetry", "events")
            ],
            "targetStatus": [
                {
                    "type": "target",
                    "client": "connectivity-0",
                    "address": "commands",
                    "status": live,
                }
            ],
            "sshTunnelStatus": [],
        }
        metrics = {
            "connectionId": connection_id,
            "containsFailures": False,
            "connectionMetrics": {
                "inbound": {
                    name: counted(number)
                    for name, number in (
                        ("consumed", 120),
                        ("mapped", 110),
                        ("enforced", 110),
                        ("acknowledged", 110),
                        ("throttled", 0),
                        ("dropped", 10),
                    )
                },
                "outbound": {
                    name: counted(number)
                    for name, number in (
                        ("dispatched", 30),
                        ("filtered", 25),
                        ("mapped", 25),
                        ("published", 24),
                        ("dropped", 1),
                    )
                },
            },
            "sourceMetrics": {"addressMetrics": {}},
            "targetMetrics": {"addressMetrics": {}},
        }
        reported = {"connection": configured, "status": status, "metrics": metrics}
        self.connections[connection_id] = reported
        return reported

    def answer(self, request: Request) -> Reply:
        """Answer a request."""
        token = b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        if request.headers.get("authorization") != f"Basic {token}":
            return _json({"status": 401, "error": "gateway:authentication.failed"}, 401)
        parts = request.path.split("/")
        if request.path == "/api/2/connections":
            return _json([self._chosen(each, request) for each in self.connections.values()])
        reported = self.connections.get(unquote(parts[4])) if len(parts) == 6 else None
        if reported is None or parts[5] not in ("status", "metrics"):
            return _json({"status": 404, "error": "connectivity:connection.notfound"}, 404)
        return _json(reported[parts[5]])

    def _chosen(self, reported: dict[str, Any], request: Request) -> dict[str, Any]:
        """Return the fields that were asked for; Ditto leaves out what is not there."""
        wanted = request.query.get("fields")
        if wanted is None:
            return dict(reported["connection"])
        chosen: dict[str, Any] = {}
        for field in wanted.split(","):
            name, _, inner = field.partition("/")
            value = reported["connection"].get(name)
            if inner and isinstance(value, dict):
                value = {inner: value[inner]} if inner in value else None
            if value is not None:
                chosen[name] = value
        return chosen


def _json(value: Any, status: int = 200) -> Reply:
    return Reply(json.dumps(value).encode(), status)
