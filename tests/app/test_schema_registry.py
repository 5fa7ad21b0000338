"""Subjects of a Schema Registry on the pages of topics."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from streamlit.testing.v1 import AppTest

from config.load import load
from lake.schemas.model import Table
from lake.schemas.tables import SCHEMA_REGISTRIES, SCHEMA_SUBJECTS
from lake.storage.store import Lake
from tests.app.conftest import NOW
from tests.app.test_pages import calm, texts
from tests.app.world import CLUSTER

Open = Callable[..., AppTest]

OWN = {"compatibility": "FULL", "compatibility_is_own": True, "is_deleted": False}


def add(folder: Path, table: Table, minutes: int, *rows: dict[str, Any]) -> None:
    at = NOW - timedelta(minutes=minutes)
    sample = {"cluster": CLUSTER, "observed_at": at, "poll_id": f"{minutes}"}
    found = [{**sample, "schema_registry": "schemas", **row} for row in rows]
    schema = {name: table.polars_schema[name] for row in found for name in row}
    frame = pl.DataFrame(found, schema=schema)
    Lake(load(folder / "headroom.yaml").lake).append(table, frame)


@pytest.fixture
def config(filled: Path, tmp_path: Path) -> Path:
    """A copy of the filled folder with a registry beside the cluster."""
    folder = tmp_path / "registry"
    shutil.copytree(filled, folder)
    path = folder / "headroom.yaml"
    url = "http://registry:8081"
    own = f"schema_registry: [{{name: schemas, url: '{url}', cluster: {CLUSTER}}}]\n"
    path.write_text(path.read_text(encoding="utf-8") + own, encoding="utf-8")
    return folder


def test_subjects_are_shown_with_their_topic(open_page: Open, config: Path) -> None:
    add(config, SCHEMA_SUBJECTS, 20, {"subject": "gone-value", **OWN})
    add(
        config,
        SCHEMA_SUBJECTS,
        10,
        {"subject": "orders-value", "topic": "orders", "version": 4, "schema_id": 17, **OWN},
        {"subject": "com.example.Order", "unknown_reason": "not read yet", "is_deleted": False},
    )
    add(config, SCHEMA_REGISTRIES, 1, {"subjects": 2, "compatibility": "BACKWARD"})
    test = open_page(config, "topics")
    calm(test)
    tables = [each.value for each in test.dataframe]
    (listed,) = [each for each in tables if "subject" in each]
    assert listed["subject"].to_list() == ["com.example.Order", "orders-value"]
    (registries,) = [each for each in tables if "subjects" in each]
    assert registries["compatibility"].to_list() == ["BACKWARD"]


def test_a_registry_that_was_not_read_says_so(open_page: Open, config: Path) -> None:
    test = open_page(config, "topics")
    calm(test)
    assert "It was not read in the last minutes" in texts(test)


def test_a_topic_names_its_subjects(open_page: Open, config: Path) -> None:
    own = {"subject": "orders-value", "topic": "orders", "version": 4, **OWN}
    other = {"subject": "payments-value", "topic": "payments", "version": 1, **OWN}
    add(config, SCHEMA_SUBJECTS, 10, own, other)
    test = open_page(config, "topic", topic="orders")
    calm(test)
    (listed,) = [each.value for each in test.dataframe if "set_on" in each.value]
    assert listed["subject"].to_list() == ["orders-value"]
    assert listed["set_on"].to_list() == ["subject"]
