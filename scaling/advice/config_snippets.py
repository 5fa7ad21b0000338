"""The change behind a piece of advice as text to apply: pure, and never applied here.

Names come from the watched systems and are quoted for the language that they are put into. What
this program does not know is an environment variable (brokers, Connect's address) or is said in a
comment (the Deployment is taken to be called like the group).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from hashlib import sha256
from math import floor
from typing import Any
from urllib.parse import quote

import yaml

from scaling.advice.model import Artefact

OBJECTIVE_DIVISOR = 6
"""A lag threshold of capacity x objective / 6 keeps the worst member within the objective: the
total hides it, and the reaction takes a poll, an evaluation and a start."""

_BROKERS = '"$BOOTSTRAP_SERVERS"'
_NAME_LENGTH = 63
_LABEL = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_POLLING_SECONDS = 30
_STABILISATION_SECONDS = 1200


def add_partitions(topic: str, partitions: int) -> Artefact:
    """Return the line that gives a topic more partitions."""
    return Artefact(
        name="kafka-topics",
        language="bash",
        text=f"kafka-topics.sh --bootstrap-server {_BROKERS} --alter --topic {shlex.quote(topic)} "
        f"--partitions {partitions}",
    )


def topic_setting(topic: str, key: str, value: int) -> Artefact:
    """Return the line that changes one setting of a topic."""
    return Artefact(
        name="kafka-configs",
        language="bash",
        text=f"kafka-configs.sh --bootstrap-server {_BROKERS} --alter --entity-type topics "
        f"--entity-name {shlex.quote(topic)} --add-config {key}={value}",
    )


def lag_threshold(capacity_per_second: float, objective_seconds: float) -> int:
    """Return KEDA's lagThreshold for an objective: floor(capacity x objective / 6), 1 at least.

    In a steady state the time lag under KEDA is lagThreshold / capacity, so that the threshold is
    a setting of latency.

    Args:
        capacity_per_second: What one consumer can process, the lower end of its interval.
        objective_seconds: The time lag that is not to be exceeded.
    """
    return max(1, floor(capacity_per_second * objective_seconds / OBJECTIVE_DIVISOR))


def scaled_object(
    group: str, topics: Sequence[str], *, threshold: int, minimum: int, maximum: int
) -> Artefact:
    """Return KEDA's ScaledObject: one trigger a topic, with a threshold in messages per replica."""
    name = kubernetes_name(group)
    triggers = [
        {
            "type": "kafka",
            "metadata": {
                "bootstrapServersFromEnv": "BOOTSTRAP_SERVERS",
                "consumerGroup": group,
                "topic": topic,
                "lagThreshold": str(threshold),
                "offsetResetPolicy": "latest",
            },
        }
        for topic in topics
    ]
    return _yaml(
        "KEDA ScaledObject",
        {
            "apiVersion": "keda.sh/v1alpha1",
            "kind": "ScaledObject",
            "metadata": {"name": name},
            "spec": {
                "scaleTargetRef": {"name": name},
                "pollingInterval": _POLLING_SECONDS,
                "minReplicaCount": minimum,
                "maxReplicaCount": maximum,
                "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _behaviour()}},
                "triggers": triggers,
            },
        },
        f"The Deployment is taken to be called {name}, and its container to have BOOTSTRAP_SERVERS "
        "in its environment.",
    )


def replicas(group: str, consumers: int) -> Artefact:
    """Return the line that runs a number of consumers of a group."""
    name = kubernetes_name(group)
    return Artefact(
        name="kubectl scale",
        language="bash",
        text=f"# The Deployment is taken to be called {name}.\n"
        f"kubectl scale deployment/{name} --replicas={consumers}",
    )


def pod_autoscaler(group: str, *, minimum: int, maximum: int, threshold: int) -> Artefact:
    """Return a plain HorizontalPodAutoscaler on the group's lag."""
    name = kubernetes_name(group)
    comment = (
        f"The Deployment is taken to be called {name}; a metrics adapter must offer the metric"
    )
    if not _LABEL.fullmatch(group):
        comment += ", under a label that Kubernetes allows: it refuses this group's name as one"
    return _yaml(
        "HorizontalPodAutoscaler",
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": name},
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
                "minReplicas": max(1, minimum),
                "maxReplicas": maximum,
                "metrics": [
                    {
                        "type": "External",
                        "external": {
                            "metric": {
                                "name": "kafka_consumergroup_lag_sum",
                                "selector": {"matchLabels": {"consumergroup": group}},
                            },
                            "target": {"type": "AverageValue", "averageValue": str(threshold)},
                        },
                    }
                ],
                "behavior": _behaviour(),
            },
        },
        f"{comment}.",
    )


def connect_tasks(connector: str, tasks: int) -> Artefact:
    """Return the request that changes a connector's tasks.max (Kafka Connect 3.9 and newer)."""
    body = json.dumps({"tasks.max": str(tasks)})
    path = shlex.quote(f"/connectors/{quote(connector, safe='')}/config")
    return Artefact(
        name="Connect PATCH",
        language="bash",
        text="curl --fail --request PATCH --header 'Content-Type: application/json' "
        f"--data {shlex.quote(body)} "
        f'"$CONNECT_URL"{path}',
    )


def ditto_counts(connection: str, clients: int, consumers: int) -> Artefact:
    """Return the fields of an Eclipse Ditto connection to change."""
    return _json(
        "Ditto connection",
        {"id": connection, "clientCount": clients, "sources": [{"consumerCount": consumers}]},
    )


def queue_policy(vhost: str, queue: str, definition: Mapping[str, Any]) -> Artefact:
    """Return a RabbitMQ policy for one queue, as its HTTP interface takes it."""
    return _json(
        "RabbitMQ policy",
        {
            "vhost": vhost,
            "name": f"headroom-{queue}",
            "pattern": f"^{re.escape(queue)}$",
            "apply-to": "queues",
            "priority": 10,
            "definition": dict(definition),
        },
    )


def kafka_topic(
    topic: str, partitions: int, replication: int, settings: Mapping[str, str]
) -> Artefact:
    """Return Strimzi's KafkaTopic."""
    spec: dict[str, Any] = {
        "topicName": topic,
        "partitions": partitions,
        "replicas": replication,
    }
    if settings:
        spec["config"] = dict(settings)
    return _yaml(
        "Strimzi KafkaTopic",
        {
            "apiVersion": "kafka.strimzi.io/v1beta2",
            "kind": "KafkaTopic",
            "metadata": {"name": kubernetes_name(topic)},
            "spec": spec,
        },
        "Add the label strimzi.io/cluster with the name of your Kafka resource.",
    )


def terraform_topic(
    topic: str, partitions: int, replication: int, settings: Mapping[str, str]
) -> Artefact:
    """Return a Terraform resource of the provider Mongey/kafka."""
    name = re.sub(r"[^A-Za-z0-9_]", "_", topic)
    lines = [
        f'resource "kafka_topic" "t_{name}" {{',
        f"  name               = {_hcl(topic)}",
        f"  partitions         = {partitions}",
        f"  replication_factor = {replication}",
    ]
    if settings:
        lines.append("  config = {")
        lines += [f"    {_hcl(key)} = {_hcl(value)}" for key, value in settings.items()]
        lines.append("  }")
    return Artefact(name="Terraform kafka_topic", language="hcl", text="\n".join([*lines, "}"]))


def kubernetes_name(name: str) -> str:
    """Return a name that Kubernetes takes (RFC 1123), unique where it had to be changed."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    if plain == name and len(plain) <= _NAME_LENGTH:
        return plain
    mark = sha256(name.encode()).hexdigest()[:8]
    return f"{plain[: _NAME_LENGTH - 9].strip('-') or 'name'}-{mark}"


def _behaviour() -> dict[str, Any]:
    """Return HPA's behaviour with a window down that spares rebalances."""
    return {
        "scaleUp": {"stabilizationWindowSeconds": 0},
        "scaleDown": {
            "stabilizationWindowSeconds": _STABILISATION_SECONDS,
            "policies": [
                {"type": "Pods", "value": 1, "periodSeconds": _STABILISATION_SECONDS},
            ],
        },
    }


class _Dumper(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes the same text from C, several times as fast, where PyYAML was built with it."""

    def ignore_aliases(self, data: object) -> bool:
        """Write everything out: artefacts repeat nothing, and looking for it takes time."""
        return True


def _yaml(name: str, content: Mapping[str, Any], comment: str) -> Artefact:
    body = yaml.dump(content, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
    return Artefact(name=name, language="yaml", text=f"# {comment}\n{body}".rstrip())


def _json(name: str, content: Mapping[str, Any]) -> Artefact:
    return Artefact(name=name, language="json", text=json.dumps(content, indent=2))


def _hcl(text: str) -> str:
    """Quote a string for HCL, in which ${ and %{ begin a template."""
    return json.dumps(text, ensure_ascii=False).replace("${", "$${").replace("%{", "%%{")
