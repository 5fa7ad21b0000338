"""`once` and `check` of a cluster, and of a source beside it that nobody runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from demo.kafka.cluster import KafkaCluster
from tests.servers.exporter.serving import ROOT


def command(*arguments: str, config: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "collectors", *arguments, "--config", str(config)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, "COLUMNS": "100"},
    )


@pytest.fixture
def two_sources(kafka: KafkaCluster, orders: tuple[str, str], tmp_path: Path) -> Path:
    """A cluster that works, and beside it a Connect cluster that nobody runs."""
    config = tmp_path / "headroom.yaml"
    config.write_text(
        f"clusters: [{{name: shop, bootstrap_servers: '{kafka.bootstrap_servers}'}}]\n"
        "connect: [{name: main, url: 'http://127.0.0.1:1'}]\n"
        "collectors: {poll_interval_seconds: 4}\n"
        f"lake: {{uri: {tmp_path}/lake}}\n"
    )
    return config


def test_once_tells_of_every_source(orders: tuple[str, str], two_sources: Path) -> None:
    topic, group = orders
    done = command("once", "--json", config=two_sources)
    assert done.returncode == 3
    found = json.loads(done.stdout)
    assert set(found) == {"cluster", "sources"}
    (billing,) = [each for each in found["cluster"]["shop"]["groups"] if each["group"] == group]
    assert {part["partition"]: part["lag"] for part in billing["partitions"]} == {0: 2, 1: 3}
    assert {part["topic"] for part in billing["partitions"]} == {topic}
    (source,) = found["sources"].items()
    assert source[0] == "connect/main"
    assert source[1]["cluster"] == "shop"
    assert source[1]["tables"] == {}
    assert {each["status"] for each in source[1]["collections"]} == {"failed"}

    text = command("once", config=two_sources).stdout
    lines = text.splitlines()
    assert lines[0].startswith("shop: cluster id ")
    assert lines.index("shop, connect/main") > 0


def test_check_tells_of_every_source(two_sources: Path) -> None:
    done = command("check", "--json", config=two_sources)
    assert done.returncode == 1
    checks = json.loads(done.stdout)["checks"]
    assert {each["source"] for each in checks} == {"kafka", "connect/main"}
    works = {(each["source"], each["feature"]): each["works"] for each in checks}
    assert works["kafka", "connection"] is True
    assert False in [each["works"] for each in checks if each["source"] == "connect/main"]
    for each in checks:
        assert set(each) == {
            "cluster",
            "source",
            "feature",
            "works",
            "required",
            "detail",
            "grants",
        }

    text = command("check", config=two_sources).stdout
    assert max(len(line.rstrip()) for line in text.splitlines()) <= 100
    headings = [line for line in text.splitlines() if not line.startswith(" ")]
    assert headings == ["shop, kafka", "shop, connect/main"]
    words = ("  works ", "  fails ", "  not tried ")
    assert len([line for line in text.splitlines() if line.startswith(words)]) == len(checks)
