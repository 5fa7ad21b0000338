"""Burrow's configuration: https://github.com/linkedin/Burrow/wiki/Configuration."""

from __future__ import annotations

import tomllib
from typing import Any

from runtime.errors import RuntimeSetupError
from runtime.imports.imported import Imported, selection, unanchored

_OWN_STATE = {"general", "logging", "zookeeper", "storage", "evaluator", "httpserver"}
"""How Burrow itself runs: nothing of ours depends on it."""

_REFRESH = {"topic-refresh", "offset-refresh", "groups-reaper-refresh"}


def read(text: str) -> Imported:
    """Turn ``burrow.toml`` into our configuration.

    Raises:
        RuntimeSetupError: It is no TOML, or names no cluster.
    """
    try:
        given = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise RuntimeSetupError(f"this is no TOML: {error}") from None
    found = Imported()
    for name, cluster in _sections(given, "cluster"):
        _cluster(found, given, name, cluster)
    if not found.clusters:
        raise RuntimeSetupError("there is no section [cluster.NAME]: is this burrow.toml?")
    for name, notifier in _sections(given, "notifier"):
        _notifier(found, name, notifier)
    known = {"cluster", "consumer", "client-profile", "tls", "sasl", "notifier"}
    found.leave_out("burrow", given, known | _OWN_STATE)
    return found


def _sections(given: dict[str, Any], kind: str) -> list[tuple[str, dict[str, Any]]]:
    sections = given.get(kind, {})
    return [(name, one) for name, one in sections.items() if isinstance(one, dict)]


def _cluster(found: Imported, given: dict[str, Any], name: str, cluster: dict[str, Any]) -> None:
    where = f"cluster.{name}"
    item: dict[str, Any] = {
        "name": found.name(name),
        "bootstrap_servers": ",".join(cluster.get("servers", [])),
    }
    profile = _named(given, "client-profile", cluster.get("client-profile"))
    if properties := _properties(found, given, name, profile):
        item["properties"] = properties
    include: list[str] = []
    exclude: list[str] = []
    for consumer_name, consumer in _sections(given, "consumer"):
        if consumer.get("cluster") != name:
            continue
        consumed = f"consumer.{consumer_name}"
        if consumer.get("class-name") == "kafka_zk":
            found.left_out.append(f"{consumed}: offsets in ZooKeeper are not read")
            continue
        for key in ("group-allowlist", "group-whitelist"):
            include += [unanchored(consumer[key])] if consumer.get(key) else []
        for key in ("group-denylist", "group-blacklist"):
            exclude += [unanchored(consumer[key])] if consumer.get(key) else []
        known = {"class-name", "cluster", "servers", "client-profile", "start-latest"}
        known |= {f"group-{word}list" for word in ("allow", "deny", "white", "black")}
        found.leave_out(consumed, consumer, known | {"backfill-earliest", "offsets-topic"})
    if (groups := selection(include, exclude)) is not None:
        item["groups"] = groups
    found.leave_out(where, cluster, {"class-name", "servers", "client-profile"} | _REFRESH)
    found.clusters.append(item)


def _named(given: dict[str, Any], kind: str, name: str | None) -> dict[str, Any]:
    return dict(given.get(kind, {}).get(name, {})) if name else {}


def _properties(
    found: Imported, given: dict[str, Any], cluster: str, profile: dict[str, Any]
) -> dict[str, Any]:
    tls, sasl = _named(given, "tls", profile.get("tls")), _named(given, "sasl", profile.get("sasl"))
    properties: dict[str, Any] = {}
    if tls or sasl:
        transport = "SSL" if tls else "PLAINTEXT"
        properties["security.protocol"] = f"SASL_{transport}" if sasl else transport
    for ours, theirs in (
        ("ssl.ca.location", "cafile"),
        ("ssl.certificate.location", "certfile"),
        ("ssl.key.location", "keyfile"),
    ):
        if tls.get(theirs):
            properties[ours] = tls[theirs]
    if tls.get("noverify"):
        found.left_out.append(f"tls.{profile['tls']}.noverify: certificates are checked here")
    if sasl:
        properties["sasl.mechanism"] = sasl.get("mechanism", "PLAIN")
        properties["sasl.username"] = sasl.get("username", "")
        what = f"the password of {sasl.get('username', '')} on {cluster}"
        properties["sasl.password"] = found.secret(cluster, "password", what=what)
    found.leave_out("client-profile", profile, {"client-id", "kafka-version", "tls", "sasl"})
    found.leave_out("tls", tls, {"certfile", "keyfile", "cafile", "noverify"})
    found.leave_out("sasl", sasl, {"username", "password", "mechanism", "handshake-first"})
    return properties


def _notifier(found: Imported, name: str, notifier: dict[str, Any]) -> None:
    where, kind = f"notifier.{name}", notifier.get("class-name")
    known = {"class-name", "url-open"}
    if kind == "http" and notifier.get("url-open"):
        target = {"name": found.name(name), "kind": "webhook"}
        # The URL of a chat holds its token.
        address = found.secret(name, "url", what=f"url-open of {where}")
        found.targets.append({**target, "address": address})
        found.left_out.append(f"{where}: our webhook sends JSON of its own, not its templates")
    elif kind == "email":
        server, port = notifier.get("server", ""), notifier.get("port", 25)
        what = (
            f"mailtos://USER:PASSWORD@{server}:{port}?from={notifier.get('from', '')}"
            f"&to={notifier.get('to', '')} (Apprise's address)"
        )
        address = found.secret(name, "address", what=what)
        found.targets.append({"name": found.name(name), "kind": "apprise", "address": address})
        known |= {"server", "port", "from", "to", "username", "password", "auth-type"}
    else:
        found.left_out.append(f"{where}: there is no target of kind {kind!r}")
        return
    found.leave_out(where, notifier, known)
