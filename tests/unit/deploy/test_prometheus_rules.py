"""The example rules for Prometheus say what the alerting service's default rules say."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from alerting.checks.registry import CHECKS
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.rule_file import parse_duration

FILE = Path("deploy/prometheus/headroom-rules.yaml")
WRITTEN: dict[str, dict[str, Any]] = {
    rule["alert"]: rule for rule in yaml.safe_load(FILE.read_text())["groups"][0]["rules"]
}
NO_METRIC = {"OpenTransactionOld", "LagHigh"}
OF_THE_EXPORTER = {"HeadroomLosesRows"}


def test_every_default_rule_is_there() -> None:
    assert {rule.name for rule in DEFAULT_ALERT_RULES} - NO_METRIC == set(WRITTEN) - OF_THE_EXPORTER


def test_times_thresholds_and_severities_are_those_of_the_default_rules() -> None:
    for rule in DEFAULT_ALERT_RULES:
        if rule.name in NO_METRIC:
            continue
        written = WRITTEN[rule.name]
        assert written["labels"] == {"severity": rule.severity.value, **rule.labels}
        for key, seconds in (
            ("for", rule.for_seconds),
            ("keep_firing_for", rule.keep_firing_for_seconds),
        ):
            assert parse_duration(written.get(key, "0s")) == seconds
        sign, threshold = written["expr"].split()[-2:]
        assert sign == (">" if CHECKS[rule.check].bad == "above" else "<")
        if rule.threshold is not None:
            assert float(threshold) == rule.threshold, rule.name


def test_every_metric_is_one_that_the_exporter_has() -> None:
    documented = set(re.findall(r"`(headroom_[a-z_]+)`", Path("docs/metrics.md").read_text()))
    for rule in WRITTEN.values():
        assert set(re.findall(r"headroom_[a-z_]+", rule["expr"])) <= documented
