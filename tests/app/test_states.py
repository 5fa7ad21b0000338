"""Every page in each state that is not the good one: what is going on, what to do, no traceback."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from streamlit.testing.v1 import AppTest

from app.ui import routes
from tests.app import conftest
from tests.app.test_pages import texts

Open = Callable[..., AppTest]

PAGES = sorted(page.parent.name for page in conftest.MAIN.parent.glob("views/*/page.py"))
NAMED = {routes.GROUP: {"group": "payments"}, routes.TOPIC: {"topic": "sessions"}}
UNKNOWN = {name: "nosuch" for name in ("group", "topic", "name", "alert", "connector", "rule")}


def calm(test: AppTest) -> None:
    assert [one.message for one in test.exception] == []
    assert test.title and test.title[0].value, "the page has no headline"


def said(test: AppTest) -> str:
    warnings = "\n".join(one.value for one in test.warning)
    return f"{texts(test)}\n{warnings}".replace("\\", "")


@pytest.mark.parametrize("page", PAGES)
def test_an_old_poll_is_not_taken_for_the_present(
    open_page: Open, filled: Path, tmp_path: Path, page: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A lake of its own: what is evaluated of the other one is of its own moment.
    folder = Path(shutil.copytree(filled, tmp_path / "old"))
    monkeypatch.setattr(conftest, "NOW", conftest.NOW + timedelta(hours=3))
    test = open_page(folder, page, **NAMED.get(page, {}))
    calm(test)
    assert "Nothing was collected for 3 h" in said(test)
    assert "collectors check" in said(test)
    title = test.title[0].value
    assert title not in ("No dead-letter topic is known", "No change is advised")


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("broken", ["parquet", "arrow and parquet", "log", "no folder"])
def test_a_lake_that_cannot_be_read_is_named(
    open_page: Open, filled: Path, tmp_path: Path, page: str, broken: str
) -> None:
    folder = tmp_path / "broken"
    shutil.copytree(filled, folder)
    lake = folder / "lake"
    if broken == "no folder":
        shutil.rmtree(lake)
        lake.write_text("a file where the lake should be")
    ends = {"log": ["_delta_log/*.json"], "parquet": ["*.parquet"]}
    for end in ends.get(broken, ["*.parquet", "*.arrow"]):
        for file in lake.rglob(end) if lake.is_dir() else ():
            file.write_bytes(file.read_bytes()[:40])
    test = open_page(folder, page, **NAMED.get(page, {}))
    calm(test)
    errors = "\n".join(one.value for one in test.error)
    assert "cannot be read" in errors
    if broken == "no folder":
        assert "is a file; lake.uri has to name a folder" in errors


@pytest.mark.parametrize("page", PAGES)
def test_a_name_that_is_not_there_is_said_or_left_aside(
    open_page: Open, filled: Path, page: str
) -> None:
    test = open_page(filled, page, **UNKNOWN)
    calm(test)
    if page in NAMED:
        assert "is not known" in test.title[0].value and "nosuch" in said(test)
    if page == routes.DEAD_LETTERS:
        assert "no dead-letter topic nosuch" in said(test)


def test_a_cluster_that_was_removed_is_said_until_another_one_is_chosen(
    open_page: Open, filled: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "two"
    shutil.copytree(filled, folder)
    path = folder / "headroom.yaml"
    content = yaml.safe_load(path.read_text())
    content["clusters"].append({**content["clusters"][0], "name": "other"})
    path.write_text(yaml.safe_dump(content))
    test = open_page(folder, cluster="gone-*cluster*")
    calm(test)
    assert "The cluster gone-*cluster* is not known here" in said(test)
    assert test.selectbox(key="cluster").value == "demo"
    test.run()
    assert "is not known here" in said(test), "a refresh keeps it"
    test.selectbox(key="cluster").set_value("other").run()
    calm(test)
    assert "is not known here" not in said(test)
    assert test.title[0].value == "Waiting for the first poll"


def test_the_only_cluster_stands_in_for_an_unknown_one_while_the_address_names_that(
    open_page: Open, filled: Path
) -> None:
    test = open_page(filled, cluster="gone")
    assert "The cluster gone is not known here" in said(test)
    assert put_into_the_address(test)["cluster"] == "gone"
    del test.query_params["cluster"]  # as the menu does
    test.run()
    calm(test)
    assert "is not known here" not in said(test)
    assert put_into_the_address(test)["cluster"] == "demo"


def put_into_the_address(test: AppTest) -> dict[str, str]:
    """What the page has the browser put into its address."""
    (zoom,) = (one for one in test.get("bidi_component") if one.proto.id.endswith("-zoom"))
    found: dict[str, str] = json.loads(zoom.proto.json)["address"]
    return found


@pytest.mark.parametrize("page", ["groups", "topics"])
def test_filters_without_a_match_say_so(open_page: Open, filled: Path, page: str) -> None:
    test = open_page(filled, page, **{f"{page}-search": "nothing is called so"})
    calm(test)
    assert "matches" in said(test)
