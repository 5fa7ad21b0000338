"""KMinion's configuration: https://github.com/redpanda-data/kminion."""

from __future__ import annotations

from typing import Any

import yaml

from runtime.errors import RuntimeSetupError
from runtime.imports.imported import Imported, selection, unanchored

_TLS = {
    "caFilepath": "ssl.ca.location",
    "certFilepath": "ssl.certificate.location",
    "keyFilepath": "ssl.key.location",
}


def read(text: str) -> Imported:
    """Turn KMinion's YAML into our configuration.

    Raises:
        RuntimeSetupError: It is no YAML, or names no brokers.
    """
    try:
        given = yaml.safe_load(text)
    except yaml.YAMLError:
        raise RuntimeSetupError("this is no YAML") from None
    kafka = _section(given, "kafka")
    brokers = kafka.get("brokers") or []
    if not brokers:
        raise RuntimeSetupError("there is no kafka.brokers: is this KMinion's configuration?")
    found = Imported()
    item: dict[str, Any] = {"name": "production"}
    item["bootstrap_servers"] = brokers if isinstance(brokers, str) else ",".join(brokers)
    if properties := _properties(found, kafka):
        item["properties"] = properties
    minion = _section(given, "minion")
    groups, topics = _section(minion, "consumerGroups"), _section(minion, "topics")
    for ours, chosen in (
        (
            "groups",
            selection(_patterns(groups, "allowedGroups"), _patterns(groups, "ignoredGroups")),
        ),
        (
            "topics",
            selection(_patterns(topics, "allowedTopics"), _patterns(topics, "ignoredTopics")),
        ),
    ):
        if chosen is not None:
            item[ours] = chosen
    if _section(minion, "logDirs").get("enabled") is False:
        item["switched_off"] = ["log_directories"]
    if _section(minion, "endToEnd").get("enabled"):
        found.left_out.append(
            "minion.endToEnd: Headroom produces nothing, so it does not measure it"
        )
    exporter = _section(given, "exporter")
    found.sections["collectors"] = {
        "exporter": {
            "port": int(exporter.get("port", 8080)),
            "address": exporter.get("host") or "0.0.0.0",  # noqa: S104 (as KMinion does)
            "names": ["headroom", "kminion"],
        }
    }
    if exporter.get("namespace", "kminion") != "kminion":
        found.left_out.append("exporter.namespace: names begin with kminion_")
    found.leave_out(
        "kafka", kafka, {"brokers", "clientId", "rackId", "tls", "sasl", "retryInitConnection"}
    )
    found.leave_out(
        "consumerGroups",
        groups,
        {"enabled", "scrapeMode", "granularity", "allowedGroups", "ignoredGroups"},
    )
    found.leave_out(
        "topics", topics, {"enabled", "granularity", "allowedTopics", "ignoredTopics", "infoMetric"}
    )
    found.leave_out("minion", minion, {"consumerGroups", "topics", "logDirs", "endToEnd"})
    found.leave_out("exporter", exporter, {"port", "host", "namespace"})
    found.leave_out("kminion", given, {"kafka", "minion", "exporter", "logger"})
    found.clusters.append(item)
    return found


def _section(given: Any, key: str) -> dict[str, Any]:
    found = given.get(key) if isinstance(given, dict) else None
    return found if isinstance(found, dict) else {}


def _patterns(section: dict[str, Any], key: str) -> list[str]:
    """Return patterns: one between slashes matches a part of a name, any other all of it."""
    return [
        unanchored(each[1:-1]) if len(each) > 1 and each[0] == each[-1] == "/" else each
        for each in map(str, section.get(key) or [])
    ]


def _properties(found: Imported, kafka: dict[str, Any]) -> dict[str, Any]:
    tls, sasl = _section(kafka, "tls"), _section(kafka, "sasl")
    has_tls, has_sasl = tls.get("enabled") is True, sasl.get("enabled") is True
    properties: dict[str, Any] = {}
    if has_tls or has_sasl:
        transport = "SSL" if has_tls else "PLAINTEXT"
        properties["security.protocol"] = f"SASL_{transport}" if has_sasl else transport
    if has_tls:
        properties |= {ours: tls[key] for key, ours in _TLS.items() if tls.get(key)}
        if tls.get("passphrase"):
            what = "the passphrase of our key"
            properties["ssl.key.password"] = found.secret("kafka", "key", "password", what=what)
        if tls.get("insecureSkipTlsVerify"):
            found.left_out.append("kafka.tls.insecureSkipTlsVerify: certificates are checked here")
        found.leave_out("kafka.tls", tls, {"enabled", "passphrase", "insecureSkipTlsVerify", *_TLS})
    if has_sasl:
        mechanism = str(sasl.get("mechanism", "PLAIN"))
        properties["sasl.mechanism"] = mechanism
        if mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
            properties["sasl.username"] = sasl.get("username", "")
            what = f"the password of {sasl.get('username', '')}"
            properties["sasl.password"] = found.secret("kafka", "password", what=what)
        else:
            found.left_out.append(
                f"kafka.sasl: {mechanism} has settings of its own here: sources.md"
            )
    return properties
