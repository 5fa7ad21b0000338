"""kafka-lag-exporter's configuration: https://github.com/seglo/kafka-lag-exporter."""

from __future__ import annotations

import re
from typing import Any

from runtime.errors import RuntimeSetupError
from runtime.imports.hocon import Variable, parse
from runtime.imports.imported import Imported, selection

_SAME = {
    "security.protocol",
    "sasl.mechanism",
    "sasl.kerberos.service.name",
    "ssl.endpoint.identification.algorithm",
}
"""Properties that Java's client and librdkafka call alike."""

_JAVA_ONLY = re.compile(
    r"(client|group)\.id|.*\.(deserializer|serializer)|auto\.offset\.reset|.*timeout\.ms"
    r"|.*backoff\.ms|retries|enable\.auto\.commit"
)
"""Properties without a meaning for who only looks."""

_JAAS = re.compile(r"\b(username|password)\s*=\s*(?:\"([^\"]*)\"|'([^']*)')")
_CLUSTER = {
    "name",
    "bootstrap-brokers",
    "consumer-properties",
    "admin-client-properties",
    "labels",
    *(f"{what}-{kind}list" for what in ("group", "topic") for kind in ("white", "black")),
}


def read(text: str) -> Imported:
    """Turn ``application.conf`` into our configuration.

    Raises:
        RuntimeSetupError: It cannot be understood, or names no cluster.
    """
    given = parse(text).get("kafka-lag-exporter", {})
    clusters = given.get("clusters") if isinstance(given, dict) else None
    if not isinstance(clusters, list):
        raise RuntimeSetupError(
            "there is no kafka-lag-exporter.clusters: is this application.conf? Clusters that it "
            "finds through Strimzi are not in the file"
        )
    found = Imported()
    for number, cluster in enumerate(clusters):
        _cluster(found, cluster, number)
    reporters = given.get("reporters", {})
    port = str(given.get("port") or reporters.get("prometheus", {}).get("port") or "8000")
    if port.isdigit():
        found.sections["collectors"] = {"exporter": {"port": int(port), "address": "0.0.0.0"}}  # noqa: S104
    if re.fullmatch(r"\d+( ?(s|seconds))?", str(given.get("poll-interval", ""))):
        seconds = int(str(given["poll-interval"]).split("s")[0])
        collectors = found.sections.setdefault("collectors", {})
        collectors["poll_interval_seconds"] = min(seconds, 240)
    for other in set(reporters) - {"prometheus"}:
        found.left_out.append(f"reporters.{other}: metrics are served to Prometheus alone")
    known = {"clusters", "port", "poll-interval", "reporters", "client-group-id", "lookup-table"}
    known |= {"lookup-table-size", "kafka-client-timeout", "kafka-retries"}
    found.leave_out("kafka-lag-exporter", given, known)
    return found


def _cluster(found: Imported, cluster: dict[str, Any], number: int) -> None:
    name = cluster.get("name", "")
    if isinstance(name, Variable) or not name:
        found.left_out.append(f"clusters[{number}].name: it is a variable ({name}) there")
        name = f"cluster-{number + 1}"
    servers = cluster.get("bootstrap-brokers", "")
    if isinstance(servers, Variable):
        found.left_out.append(f"clusters[{number}].bootstrap-brokers: it is ${{{servers}}} there")
        servers = "kafka:9092"
    item: dict[str, Any] = {"name": found.name(name), "bootstrap_servers": str(servers)}
    java = _flat(cluster.get("consumer-properties", {}))
    java |= _flat(cluster.get("admin-client-properties", {}))
    if properties := _properties(found, name, java):
        item["properties"] = properties
    for ours, theirs in (("groups", "group"), ("topics", "topic")):
        chosen = selection(
            [str(each) for each in cluster.get(f"{theirs}-whitelist", [])],
            [str(each) for each in cluster.get(f"{theirs}-blacklist", [])],
        )
        if chosen is not None:
            item[ours] = chosen
    if cluster.get("labels"):
        found.left_out.append(f"{name}.labels: add them in prometheus.yml")
    found.leave_out(name, cluster, _CLUSTER)
    found.clusters.append(item)


def _flat(section: Any, prefix: str = "") -> dict[str, str]:
    """Return an object with the dotted keys that it was written with."""
    if not isinstance(section, dict):
        return {}
    found: dict[str, str] = {}
    for key, value in section.items():
        inner = _flat(value, f"{prefix}{key}.")
        found |= inner or {f"{prefix}{key}": value}
    return found


def _properties(found: Imported, cluster: str, java: dict[str, str]) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    for key, value in java.items():
        if key in _SAME:
            properties[key] = str(value)
        elif key == "sasl.jaas.config":
            said = {each[1]: each[2] or each[3] for each in _JAAS.finditer(value)}
            if "username" in said:
                properties["sasl.username"] = said["username"]
            else:
                found.left_out.append(f"{cluster}: {key} names no user: set sasl.username")
            what = f"the password in sasl.jaas.config of {cluster}"
            properties["sasl.password"] = found.secret(cluster, "password", what=what)
        elif key.startswith("ssl.truststore") or key.startswith("ssl.keystore"):
            found.left_out.append(
                f"{cluster}: {key}: Java's stores are not read; set ssl.ca.location, "
                "ssl.certificate.location and ssl.key.location to PEM files"
            )
        elif not _JAVA_ONLY.fullmatch(key):
            found.left_out.append(f"{cluster}: {key}")
    return properties
