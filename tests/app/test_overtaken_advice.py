"""Advice of minutes ago beside what groups and topics do now."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest
from deltalake import write_deltalake
from streamlit.testing.v1 import AppTest

from config.load import load
from lake.schemas.current import CHANGED_ADVICE, GROUP_STATUS
from lake.schemas.tables import RECOMMENDATIONS
from lake.storage.append import conform
from lake.storage.current_store import CurrentStore
from lake.storage.store import Lake
from scaling.advice.advice_table import recommendation_frame, recommendation_rows
from scaling.advice.model import (
    AdviceKind,
    AdviceSeverity,
    Confidence,
    Evidence,
    Recommendation,
    Subject,
)
from tests.app.conftest import NOW
from tests.app.test_alerts import listed
from tests.app.test_pages import calm, texts
from tests.app.world import CLUSTER

Open = Callable[..., AppTest]

GIVEN, ROUND_BEFORE = NOW - timedelta(minutes=9), NOW - timedelta(minutes=13)
SINCE = NOW - timedelta(minutes=3)
KEEP = Recommendation(
    kind=AdviceKind.KEEP,
    cluster=CLUSTER,
    subject="archive",
    severity=AdviceSeverity.INFO,
    confidence=Confidence.HIGH,
    reason="The group keeps up: no reason to change its consumers.",
)
HOT = replace(
    KEEP,
    kind=AdviceKind.HOT_PARTITION,
    subject="sessions",
    reason="One partition gets most.",
    evidence=(Evidence(name="hot partitions", value="sessions-4"),),
)


@pytest.fixture(scope="module")
def older(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake in which the advice is older than what a group does now."""
    folder = tmp_path_factory.mktemp("older") / "lake"
    shutil.copytree(filled, folder)
    settings = load(folder / "headroom.yaml").lake
    unread = replace(KEEP, subject="payments", current=0, reason="Nobody reads now.")
    advice = [KEEP, HOT, unread, replace(KEEP, subject="sessions", subject_kind=Subject.TOPIC)]
    withdrawn = replace(KEEP, kind=AdviceKind.PARTITION_BOUND, subject="billing")
    rows = [
        *recommendation_rows(advice, at=GIVEN),
        *recommendation_rows([withdrawn], at=ROUND_BEFORE),
    ]
    made = conform(RECOMMENDATIONS, recommendation_frame(rows)).to_arrow()
    uri = Lake(settings).uri(RECOMMENDATIONS)
    write_deltalake(uri, made, mode="append", partition_by=["date"])
    store = CurrentStore(settings)
    status = store.read(GROUP_STATUS, CLUSTER)
    assert status is not None
    is_archive = pl.col("group") == "archive"
    store.replace(
        GROUP_STATUS,
        CLUSTER,
        status.with_columns(
            pl.when(is_archive).then(pl.lit(SINCE)).otherwise("since").alias("since"),
            pl.col("since_at_least") & ~is_archive,
        ),
    )
    return folder


def test_to_keep_it_is_no_answer_beside_a_group_that_stopped_since(
    open_page: Open, older: Path
) -> None:
    test = open_page(older, "group", group="archive")
    calm(test)
    said = texts(test).replace("\\", "")
    assert f"No change was advised at {GIVEN:%H:%M}. That is older than what the group does" in said
    assert f"since {SINCE:%H:%M}: stopped; the next round advises anew." in said
    assert "keep as it is" not in said and "keeps up" not in said
    assert "Measured 9 min ago." in said


def test_that_nobody_reads_is_no_answer_beside_who_has_read_for_long(
    open_page: Open, older: Path
) -> None:
    test = open_page(older, "group", group="payments")
    calm(test)
    said = texts(test).replace("\\", "")
    assert f"at {GIVEN:%H:%M}. That is older than the number of its consumers: " in said
    assert "keep as it is" not in said


def test_the_page_of_advice_lists_it_apart(open_page: Open, older: Path) -> None:
    test = open_page(older, "scaling", advice="group:archive:keep:0")
    calm(test)
    said = texts(test).replace("\\", "")
    assert any("2 pieces of advice overtaken since" in one.label for one in test.expander)
    archive = next(one for one in listed(test) if one["id"] == "group:archive:keep:0")
    assert archive["badge"]["label"].endswith("older")
    assert archive["link"]["label"] == "archive: no advice yet on what it does now"
    assert "subject to keep as" not in said and "subjects to keep as" not in said
    due = f"the next round is due at {GIVEN + timedelta(minutes=10):%H:%M}"
    assert f"Withdrawn at {GIVEN:%H:%M}, given last at {ROUND_BEFORE:%H:%M}; {due}:" in said
    (gone,) = (one for one in listed(test) if one["what"] == "billing")
    assert gone["why"] == "It is not there now"
    sessions = next(one for one in test.selectbox if one.key == "scaling-group")
    sessions.set_value("sessions").run()
    said = texts(test).replace("\\", "")
    assert "One partition gets most." in said


def test_the_card_of_a_change_that_is_withdrawn_says_so(open_page: Open, older: Path) -> None:
    test = open_page(older, "scaling", advice="group:billing:partition_bound:0")
    calm(test)
    said = texts(test).replace("\\", "")
    assert f"Withdrawn at {GIVEN:%H:%M}. It is not there now; the next round is due at" in said
    card = " ".join(one.value for one in test.main.markdown).replace("\\", "")
    assert "withdrawn" in card
    assert ":gray[billing: bound by its partitions]" in card


def test_a_subject_without_advice_says_when_it_was_last_given(open_page: Open, older: Path) -> None:
    test = open_page(older, "scaling", advice="group:nobody:add_consumers:0")
    calm(test)
    assert "There is no advice on nobody now. The rows" in texts(test)


def test_the_figures_of_a_card_say_when_they_were_measured(open_page: Open, older: Path) -> None:
    test = open_page(older, "group", group="sessions")
    calm(test)
    said = f"Measured until {GIVEN:%H:%M}, high confidence."
    assert said in [one.value for one in test.caption]


def test_a_topic_has_the_advice_on_its_hot_partitions_first(open_page: Open, older: Path) -> None:
    test = open_page(older, "topic", topic="sessions")
    calm(test)
    said = texts(test).replace("\\", "")
    hot, kept = said.index("sessions: a hot partition"), said.index("older than what its replicas")
    assert hot < kept and "under-replicated" in said[kept:]


def test_what_is_not_there_to_be_drawn_is_a_line(open_page: Open, older: Path) -> None:
    test = open_page(older, "scaling", advice="group:archive:keep:0")
    calm(test)
    lacking = [one.value for one in test.caption if "**Load against capacity**:" in one.value]
    assert len(lacking) == 1 and "**What is expected to arrive**: No forecast" in lacking[0]
    assert not any(one.value.startswith("Load against capacity") for one in test.header)


def test_advice_of_between_two_rounds_takes_the_place_of_the_rounds(
    open_page: Open, older: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "lake"
    shutil.copytree(older, folder)
    at = NOW - timedelta(minutes=2)
    start = replace(
        KEEP,
        kind=AdviceKind.START_CONSUMERS,
        severity=AdviceSeverity.ACT_NOW,
        reason="Nobody consumes.",
        quantity="consumers",
        current=0,
        proposed=3,
    )
    rows = recommendation_frame(recommendation_rows([start], at=at))
    CurrentStore(load(folder / "headroom.yaml").lake).replace(CHANGED_ADVICE, CLUSTER, rows)
    test = open_page(folder, "scaling")
    calm(test)
    said = texts(test).replace("\\", "")
    assert "Measured 9 min ago; 1 group was advised on again since." in said
    archive = next(one for one in listed(test) if one["what"] == "archive")
    assert archive["id"] == "group:archive:start_consumers:0"
    assert archive["badge"]["label"].endswith("act now")
    assert not any("archive" in one for one in said.splitlines() if "older than" in one)
    given = next(one.value for one in test.dataframe if "became" in one.value.columns)
    of_archive = given.loc[given["subject"] == "archive", ["change", "became"]]
    assert of_archive.to_numpy().tolist()[0] == ["0 → 3 consumers", "stands"]
    assert list(of_archive["became"]).count("stands") == 1
