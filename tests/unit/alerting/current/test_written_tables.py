"""The tables of the present as the alerting service writes them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from alerting.__main__ import app
from alerting.rules.lifecycle import State
from alerting.service import SERVICE, AlertingService
from config.alerting import AlertingSettings
from config.settings import ClusterSettings, LakeSettings, Settings
from lake.schemas.current import CURRENT_TABLES, GROUP_STATUS, OPEN_ALERTS
from lake.storage.current_store import CurrentStore
from lake.storage.store import Lake
from tests.unit.alerting.inputs.test_recent_rows import BEGIN, POLL, POLLS, Collector


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with a group that stands still."""
    folder = tmp_path_factory.mktemp("filled")
    collector = Collector(Lake(LakeSettings(uri=str(folder))), 12)
    for number in range(POLLS):
        collector.poll(number)
    return folder


@pytest.fixture
def service(filled: Path, tmp_path: Path) -> Iterator[AlertingService]:
    """A service on a copy of that lake."""
    shutil.copytree(filled, tmp_path / "lake")
    made = AlertingService(
        Settings(
            clusters=(ClusterSettings(name="c", bootstrap_servers="127.0.0.1:1"),),
            lake=LakeSettings(uri=str(tmp_path / "lake")),
            alerting=AlertingSettings(state=str(tmp_path / "alerts.db")),
        ),
        clock=(BEGIN + POLL * (POLLS - 1) + timedelta(seconds=3)).timestamp,
    )
    yield made
    made.close()


def test_the_service_writes_every_table(service: AlertingService, tmp_path: Path) -> None:
    service.evaluate()
    store = CurrentStore(LakeSettings(uri=str(tmp_path / "lake")))
    for table in CURRENT_TABLES:
        assert store.read(table, "c") is not None
    reported = store.read(OPEN_ALERTS, "c")
    assert reported is not None
    assert set(reported["fingerprint"]) == {
        one.fingerprint
        for one in service.store.alerts("c").values()
        if one.state is not State.RESOLVED
    }
    assert "GroupStalled" in set(reported["rule"])
    noted = service.store.noted(SERVICE)
    assert noted is not None
    assert noted["failures"] == {}


def test_the_status_command_prints_what_was_written(
    service: AlertingService, tmp_path: Path
) -> None:
    config = tmp_path / "headroom.yaml"
    config.write_text(
        "clusters:\n  - {name: c, bootstrap_servers: 127.0.0.1:1}\n"
        "  - {name: d, bootstrap_servers: 127.0.0.1:1}\n"
        "lake: {uri: lake}\nalerting: {state: alerts.db}\n"
    )
    service.evaluate()
    printed = CliRunner().invoke(app, ["status", "--config", str(config)])
    assert "cluster c: 1 of 3 groups not OK" in printed.output
    assert "  orders-readers: STALLED since 2026-01-05" in printed.output
    assert "cluster d: 1 of" not in printed.output
    found = json.loads(
        CliRunner().invoke(app, ["status", "--json", "--config", str(config)]).output
    )
    assert [one["group"] for one in found["clusters"][0]["not_ok"]] == ["orders-readers"]


def test_a_broken_file_is_replaced(
    service: AlertingService, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = CurrentStore(LakeSettings(uri=str(tmp_path / "lake")))
    path = Path(store.uri(GROUP_STATUS, "c"))
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1 and no more")
    service.evaluate()
    groups = store.read(GROUP_STATUS, "c")
    assert groups is not None
    assert groups.height == 3
    assert [one for one in caplog.messages if "since when a status holds" in one]


def test_what_cannot_be_written_is_said_and_stops_no_alert(
    service: AlertingService, tmp_path: Path
) -> None:
    (tmp_path / "lake" / "current").write_text("a file where the folder should be")
    service.evaluate()
    noted = service.store.noted(SERVICE)
    assert noted is not None
    assert "group_status" in str(noted["failures"])
    assert "GroupStalled" in {one.rule for one in service.store.alerts("c").values()}
