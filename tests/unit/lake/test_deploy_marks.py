"""Deploy marks: what is accepted, what is cut, what is refused with one line."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from config.settings import LakeSettings
from lake.deploy_marks import DeployMark, deploy_mark, from_json, write
from lake.schemas.tables import CLUSTER_EVENTS
from lake.storage.store import Lake

NOW = datetime(2026, 11, 24, 12, 0, tzinfo=UTC)


def made(text: str = "orders 1.4.2", **given: str) -> DeployMark:
    return deploy_mark(text, clusters=["shop"], now=NOW, **given)  # type: ignore[arg-type]


def test_a_mark_is_a_row_among_what_changed(tmp_path: Path) -> None:
    lake = Lake(LakeSettings(uri=str(tmp_path)))
    write(lake, made(group="billing", author="ana"))
    write(lake, made("b", at="2026-11-24T12:30+01:00"))
    rows = lake.read(CLUSTER_EVENTS, cluster="shop").sort("observed_at")
    columns = ["observed_at", "kind", "subject", "detail", "group", "topic"]
    assert rows.select(columns).rows() == [
        (NOW - timedelta(minutes=30), "deploy", "b", None, None, None),
        (NOW, "deploy", "orders 1.4.2", "by ana", "billing", None),
    ]
    assert rows["poll_id"].n_unique() == 2


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param(" a\n\tb\x00\x1b[31mc ", "a b [31mc", id="on one line, printable"),
        pytest.param("x" * 5000, "x" * 199 + "…", id="cut"),
        pytest.param("a\ud800b", "a b", id="half of a surrogate pair"),
        pytest.param("<b>&amp;`x`", "<b>&amp;`x`", id="what is escaped where it is shown"),
    ],
)
def test_texts(text: str, kept: str) -> None:
    assert made(text).text == kept


@pytest.mark.parametrize(
    ("given", "said"),
    [
        pytest.param({"text": " \n"}, "a mark needs a text", id="no text"),
        pytest.param({"cluster": "shp"}, "there is no cluster shp: there are shop", id="cluster"),
        pytest.param({"at": "yesterday"}, "at: must be a moment such as", id="no moment"),
        pytest.param({"at": "2026-11-01T00:00Z"}, "within the last seven days", id="long ago"),
        pytest.param({"at": "2026-11-24T13:00Z"}, "within the last seven days", id="ahead"),
        pytest.param({"at": "0001-01-01T00:00+14:00"}, "at: must be a moment", id="before time"),
        pytest.param({"group": ""}, "group: must be one line", id="no name"),
        pytest.param({"topic": "a\nb"}, "topic: must be one line", id="two lines"),
    ],
)
def test_what_is_refused(given: dict[str, str], said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        made(**given)
    assert "\n" not in str(caught.value)


def test_of_several_clusters_one_is_named() -> None:
    with pytest.raises(ValueError, match="name the cluster, one of: a, b"):
        deploy_mark("x", clusters=["a", "b"], now=NOW)
    assert deploy_mark("x", clusters=["a", "b"], now=NOW, cluster="b").cluster == "b"


def test_json() -> None:
    content = json.dumps({"text": "orders", "topic": "orders.placed"}).encode()
    assert from_json(content, ["shop"], NOW) == made("orders", topic="orders.placed")


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\xff", id="no text"),
        pytest.param(b"[" * 100_000, id="nested deeply"),
        pytest.param(b'["orders"]', id="no object"),
        pytest.param(b'{"text": "a", "now": "x"}', id="an unknown field"),
        pytest.param(b'{"text": 7}', id="a number"),
        pytest.param(b'{"text": "a", "group": null}', id="null"),
        pytest.param(b'{"group": "a"}', id="without a text"),
    ],
)
def test_what_is_no_mark(content: bytes) -> None:
    with pytest.raises(ValueError, match=r"^.+$"):
        from_json(content, ["shop"], NOW)
