"""Whether each feature can work on a Connect cluster."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from collectors.connect.answers import MIRROR_SOURCE, Connector
from collectors.connect.client import ConnectClient
from collectors.errors import CollectorError
from collectors.source.model import Check
from config.integrations import ConnectSettings


def run_checks(client: ConnectClient, settings: ConnectSettings) -> Sequence[Check]:
    """Try each feature once with the requests that the polls use."""
    try:
        root = client.get("/")
    except CollectorError as error:
        return [Check(feature="connection", works=False, required=True, detail=str(error))]
    version: Any = root.get("version") if isinstance(root, Mapping) else None
    checks = [
        Check(
            feature="connection",
            works=True,
            required=True,
            detail=f"Kafka Connect {version or 'of unknown version'}",
        )
    ]
    try:
        connectors = client.connectors()
    except CollectorError as error:
        return [*checks, Check(feature="connectors", works=False, required=True, detail=str(error))]
    unknown = [each for each in connectors if each.unknown_reason is not None]
    noun = "connector is" if len(connectors) == 1 else "connectors are"
    detail = f"{len(connectors)} {noun} watched"
    if unknown:
        detail += "; " + "; ".join(f"{each.name}: {each.unknown_reason}" for each in unknown)
    return [
        *checks,
        Check(feature="connectors", works=not unknown, required=True, detail=detail),
        _mirrors(client, connectors),
    ]


def _mirrors(client: ConnectClient, connectors: Sequence[Connector]) -> Check:
    feature = "MirrorMaker 2 offsets"
    mirrors = [each for each in connectors if each.class_name == MIRROR_SOURCE]
    if not mirrors:
        return Check(
            feature=feature,
            works=None,
            required=False,
            detail="no MirrorSourceConnector is watched",
        )
    wrong = []
    positions = 0
    for each in mirrors:
        try:
            found = client.positions(each)
        except CollectorError as error:
            wrong.append(f"{each.name}: {error}")
            continue
        positions += len(found)
        for alias in sorted({each.alias for each in found}):
            try:
                client.source_cluster(alias)
            except CollectorError as error:
                wrong.append(f"{each.name}: {error}")
    return Check(
        feature=feature,
        works=not wrong,
        required=False,
        detail="; ".join([f"{positions} partitions", *wrong]),
    )
