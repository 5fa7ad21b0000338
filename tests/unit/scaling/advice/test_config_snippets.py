"""Each artefact is read back by the tool or parser that it is meant for."""

from __future__ import annotations

import json
import re
import shlex

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scaling.advice import config_snippets
from scaling.keda.scalers import KedaTrigger

NASTY = [
    "orders",
    "a b;rm -rf /",
    "it's",
    "${HOME}",
    "x: [y]\n- z",
    '"quoted"',
    "ünïcode 😀",
    "%{if}",
]


@pytest.mark.parametrize("name", NASTY)
def test_shell_lines_hold_the_name_as_one_word(name: str) -> None:
    words = shlex.split(config_snippets.add_partitions(name, 24).text)
    assert words[words.index("--topic") + 1] == name
    assert words[-2:] == ["--partitions", "24"]
    words = shlex.split(config_snippets.topic_setting(name, "min.insync.replicas", 2).text)
    assert words[words.index("--entity-name") + 1] == name
    assert words[-1] == "min.insync.replicas=2"


@pytest.mark.parametrize("name", NASTY)
def test_the_line_that_starts_consumers_names_a_deployment_as_kubernetes_takes_it(
    name: str,
) -> None:
    words = shlex.split(config_snippets.replicas(name, 3).text, comments=True)
    assert words[:2] == ["kubectl", "scale"] and words[3:] == ["--replicas=3"]
    kind, _, deployment = words[2].partition("/")
    assert kind == "deployment" and re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", deployment)


@pytest.mark.parametrize("name", NASTY)
def test_connect_request_patches_the_connector_alone(name: str) -> None:
    words = shlex.split(config_snippets.connect_tasks(name, 6).text)
    assert words[words.index("--request") + 1] == "PATCH"
    assert json.loads(words[words.index("--data") + 1]) == {"tasks.max": "6"}
    assert re.fullmatch(r"\$CONNECT_URL/connectors/[^/ ?#]+/config", words[-1])


@pytest.mark.parametrize("name", NASTY)
def test_scaled_object_is_one_that_keda_takes(name: str) -> None:
    made = config_snippets.scaled_object(
        name, [name, "other"], threshold=500, minimum=2, maximum=12
    )
    found = yaml.safe_load(made.text)
    assert found["apiVersion"] == "keda.sh/v1alpha1" and found["kind"] == "ScaledObject"
    spec = found["spec"]
    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (2, 12)
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", spec["scaleTargetRef"]["name"])
    triggers = [
        KedaTrigger.from_metadata(
            one["metadata"], one["type"], environment={"BOOTSTRAP_SERVERS": "a:9092"}
        )
        for one in spec["triggers"]
    ]
    assert [one.topics for one in triggers] == [(name.strip(),), ("other",)]
    assert all(one.consumer_group == name.strip() for one in triggers)
    assert all(one.lag_threshold == 500 for one in triggers)


@pytest.mark.parametrize("name", NASTY)
def test_pod_autoscaler_has_what_autoscaling_v2_requires(name: str) -> None:
    made = config_snippets.pod_autoscaler(name, minimum=0, maximum=12, threshold=500)
    found = yaml.safe_load(made.text)
    spec = found["spec"]
    assert found["apiVersion"] == "autoscaling/v2"
    assert 1 <= spec["minReplicas"] <= spec["maxReplicas"]
    [metric] = spec["metrics"]
    assert metric["external"]["metric"]["selector"]["matchLabels"]["consumergroup"] == name
    assert metric["external"]["target"] == {"type": "AverageValue", "averageValue": "500"}
    assert ("Kubernetes allows" in made.text) is (name != "orders")


@pytest.mark.parametrize("name", NASTY)
def test_topic_resources_hold_name_partitions_and_settings(name: str) -> None:
    settings = {"retention.ms": "1000", "x": name}
    strimzi = yaml.safe_load(config_snippets.kafka_topic(name, 24, 3, settings).text)
    assert strimzi["kind"] == "KafkaTopic"
    assert strimzi["spec"] == {
        "topicName": name,
        "partitions": 24,
        "replicas": 3,
        "config": settings,
    }
    hcl = config_snippets.terraform_topic(name, 24, 3, settings).text
    quoted = re.search(r"^  name +=  ?(\".*\")$", hcl, re.MULTILINE)
    assert quoted is not None
    unescaped = quoted[1].replace("$${", "${").replace("%%{", "%{")
    assert json.loads(unescaped) == name
    assert not re.search(r"\\u[dD][89a-fA-F]", hcl), "HCL knows no surrogate pairs"
    assert not re.search(r"(?<!\$)\$\{|(?<!%)%\{", hcl)
    assert hcl.count("{") == hcl.count("}") or "{" in name


def test_ditto_and_rabbitmq_documents() -> None:
    ditto = json.loads(config_snippets.ditto_counts("c-1", 2, 3).text)
    assert ditto["clientCount"] == 2 and ditto["sources"] == [{"consumerCount": 3}]
    policy = json.loads(config_snippets.queue_policy("/", "a.b", {"delivery-limit": 20}).text)
    assert re.match(policy["pattern"], "a.b") and not re.match(policy["pattern"], "axb")
    assert policy["definition"] == {"delivery-limit": 20} and policy["apply-to"] == "queues"


def test_lag_threshold_is_a_sixth_of_the_objective() -> None:
    assert config_snippets.lag_threshold(120.0, 60.0) == 1200
    assert config_snippets.lag_threshold(0.01, 60.0) == 1


@given(st.text(min_size=1, max_size=200))
def test_kubernetes_names_are_dns_labels(name: str) -> None:
    made = config_snippets.kubernetes_name(name)
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", made)


def test_different_names_stay_different() -> None:
    assert config_snippets.kubernetes_name("Orders") != config_snippets.kubernetes_name("orders")
    assert config_snippets.kubernetes_name("a.b") != config_snippets.kubernetes_name("a-b")
    assert config_snippets.kubernetes_name("orders") == "orders"
