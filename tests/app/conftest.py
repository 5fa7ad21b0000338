"""Lakes that the pages are drawn from: filled, without history, empty, broken."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
import yaml
from streamlit.testing.v1 import AppTest

from alerting.evaluate.evaluation import ClusterEvaluator
from alerting.inputs.lake_rows import clusters_of
from alerting.notify.notifications import NotificationIntervals
from alerting.notify.store import AlertStore
from alerting.rules.rule_file import load_rules
from alerting.service import SERVICE, evaluate_once
from app.ui.advice import current_advice
from config.load import load
from lake.schemas.model import Table
from lake.storage.store import Lake
from tests.app import generated

MAIN = Path(__file__).resolve().parents[2] / "app" / "main.py"

NOW = datetime.now(UTC).replace(microsecond=0)
"""The moment at which the pages of these tests are drawn, however long the tests take."""

Open = Callable[..., AppTest]


def filled_folder(folder: Path, *, gold: bool = True) -> Path:
    path = generated.settings_yaml(folder)
    settings = load(path)
    generated.fill(settings, now=NOW, gold=gold)
    generated.evaluate(settings, NOW)
    return folder


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with samples and history."""
    return filled_folder(tmp_path_factory.mktemp("filled"))


@pytest.fixture(scope="session")
def without_history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with samples, as in the first minute of a new installation."""
    return filled_folder(tmp_path_factory.mktemp("young"), gold=False)


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a configuration and no lake."""
    folder = tmp_path_factory.mktemp("empty")
    generated.settings_yaml(folder)
    return folder


@pytest.fixture
def broken(filled: Path, tmp_path: Path) -> Callable[[Table], Path]:
    """Return a copy of the filled folder in which a table's files are cut short.

    What was evaluated before is there; where samples are broken, what is evaluated after that.
    """

    def cut(table: Table) -> Path:
        folder = tmp_path / f"without-{table.name}"
        shutil.copytree(filled, folder)
        files = list((folder / "lake" / table.layer / table.name).rglob("*.parquet"))
        assert files
        for file in files:
            file.write_bytes(file.read_bytes()[:100])
        if table.layer == "bronze":
            generated.evaluate(load(folder / "headroom.yaml"), NOW)
        return folder

    return cut


@pytest.fixture
def open_page(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Return a function that draws a page on the lake of a folder."""

    def draw(folder: Path, page: str | None = None, **parameters: str) -> AppTest:
        monkeypatch.setattr("app.data.context.utc_now", lambda: NOW)
        monkeypatch.setenv("HEADROOM_CONFIG", str(folder / "headroom.yaml"))
        test = AppTest.from_file(str(MAIN), default_timeout=180)
        for name, value in parameters.items():
            test.query_params[name] = value
        if page is not None and page != "overview":
            test.run()
            test.switch_page(f"views/{page}/page.py")
            for name, value in parameters.items():
                test.query_params[name] = value
        test.run()
        # Where no job has advised, the first drawing begins an evaluation and does not wait for it.
        current_advice.evaluations().wait()
        return test.run() if page in ("scaling", "group", "topic") else test

    return draw


@pytest.fixture
def tab_titles(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The titles that pages give the browser's tab, in their order."""
    given: list[str] = []
    real = st.set_page_config

    def keep(**settings: Any) -> None:
        given.extend([settings["page_title"]] if settings.get("page_title") else [])
        real(**settings)

    monkeypatch.setattr(st, "set_page_config", keep)
    return given


def store_of(folder: Path) -> AlertStore:
    return AlertStore(Path(load(folder / "headroom.yaml").alerting.state))


@pytest.fixture(scope="session")
def alarmed_once(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filled folder whose alerts were evaluated, with a target that got nothing yet."""
    folder = tmp_path_factory.mktemp("alarmed") / "filled"
    shutil.copytree(filled, folder)
    alarm(folder, NOW)
    return folder


def alarm(folder: Path, now: datetime) -> None:
    """Let a target be notified of what a folder's samples say, and the service have run."""
    path = folder / "headroom.yaml"
    content = yaml.safe_load(path.read_text())
    targets = [{"name": "hook", "kind": "webhook", "url": "http://localhost:9/hook"}]
    content["alerting"] = {"targets": targets}
    path.write_text(yaml.safe_dump(content))
    settings = load(path)
    store = store_of(folder)
    evaluator = ClusterEvaluator(Lake(load(folder / "headroom.yaml").lake), watched_since=0.0)
    for cluster in clusters_of(settings):
        found = evaluator.evaluate(cluster, now.timestamp())
        evaluate_once(
            found, load_rules(None), store, NotificationIntervals(), settings.alerting.targets
        )
    store.note(
        SERVICE,
        {"evaluated_at": now.timestamp() - 2, "interval_seconds": 5.0, "rules": 34, "failures": {}},
    )
    store.close()


@pytest.fixture
def alarmed(alarmed_once: Path, tmp_path: Path) -> Path:
    """A copy of it for one test to write to."""
    return Path(shutil.copytree(alarmed_once, tmp_path / "alarmed"))
