"""The real demo in a real browser: brokers, workload, collectors, history, dashboard."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from playwright.sync_api import Browser

from config.load import load
from lake.errors import LakeError
from lake.schemas.tables import GROUP_HISTORY, GROUP_OFFSETS
from lake.storage.store import Lake
from tests.browser.watched import Watched
from tests.demo.running import Demo
from tests.selection import exhaustive
from tests.support import eventually

pytestmark = [pytest.mark.browser, pytest.mark.kafka, pytest.mark.spark, pytest.mark.timeout(1200)]

CLUSTER = "demo"
KNOWN = "shipment-notification"
"""A group that stopped for good: its lag only grows, by 25 a second."""

MENU = (
    "Overview",
    "Consumer groups",
    "Topics",
    "Brokers and replication",
    "Dead letters",
    "Kafka Connect",
    "Queues",
    "Alerts",
    "Silences",
    "Rules",
    "Scaling",
    "Monitoring health",
)


@pytest.fixture
def watched(browser: Browser, demo: Demo) -> Iterator[Watched]:
    context = browser.new_context(viewport={"width": 1280, "height": 800}, timezone_id="UTC")
    yield Watched(context.new_page(), demo.base)
    context.close()


def lag_in_the_lake(lake: Lake) -> int | None:
    """Return the known group's lag at the newest poll."""
    try:
        rows = lake.latest(
            GROUP_OFFSETS, cluster=CLUSTER, now=datetime.now(UTC), within=timedelta(minutes=5)
        ).filter(pl.col("group") == KNOWN)
    except LakeError:
        return None
    return None if rows.is_empty() or rows["lag"].null_count() else int(rows["lag"].sum())


def shown_lag(watched: Watched) -> float | None:
    """Return the lag on the group's page, as a number."""
    tile = watched.page.get_by_test_id("stMetric").filter(has_text="Lag").first
    value = tile.get_by_test_id("stMetricValue").inner_text()
    found = re.fullmatch(r"([\d.]+)\s*([kM]?)", value.strip())
    if found is None:
        return None
    return float(found.group(1)) * {"": 1, "k": 1e3, "M": 1e6}[found.group(2)]


def test_the_lag_of_a_known_group_is_on_its_page(demo: Demo, watched: Watched) -> None:
    lake = Lake(load(demo.folder / "demo.yaml").lake)
    before = eventually(lambda: lag_in_the_lake(lake), timeout_seconds=120, what="lag in the lake")

    watched.go("/")
    eventually(
        lambda: watched.page.get_by_test_id("stMetric").count() >= 6,
        timeout_seconds=60,
        what="figures on the overview",
    )
    watched.go(f"/group?group={KNOWN}")
    shown = eventually(lambda: shown_lag(watched), timeout_seconds=60, what="lag on the page")
    after = eventually(lambda: lag_in_the_lake(lake), what="lag in the lake")

    # Three significant figures are shown; the newest poll may be one that the page has not read.
    assert before * 0.995 <= shown <= max(after, before) * 1.005
    assert watched.headline() == KNOWN
    watched.check()


def test_a_stopped_group_is_called_stopped(watched: Watched) -> None:
    watched.go(f"/group?group={KNOWN}")
    eventually(
        lambda: "nobody consumes" in watched.page.get_by_test_id("stMain").inner_text(),
        timeout_seconds=90,
        what="status of the stopped group",
    )
    watched.check()


def test_history_reaches_the_pages(demo: Demo, watched: Watched) -> None:
    lake = Lake(load(demo.folder / "demo.yaml").lake)

    def written() -> bool:
        rows = lake.read(GROUP_HISTORY, pl.col("group") == KNOWN, cluster=CLUSTER)
        return rows.height > 0

    eventually(written, timeout_seconds=360, what="history of the known group")
    watched.go(f"/group?group={KNOWN}")
    eventually(
        lambda: (
            "No history of this time has been written yet"
            not in watched.page.get_by_test_id("stMain").inner_text()
        ),
        timeout_seconds=420,  # the first of its computations has all of the generated history
        what="page without the note",
    )
    watched.check()


@pytest.mark.parametrize("scheme", ["light", *exhaustive("dark")])
def test_every_page_of_the_demo_is_drawn_without_a_complaint(
    browser: Browser, demo: Demo, scheme: str
) -> None:
    context = browser.new_context(
        viewport={"width": 1280, "height": 800},
        color_scheme="dark" if scheme == "dark" else "light",
        timezone_id="UTC",
    )
    try:
        watched = Watched(context.new_page(), demo.base)
        watched.go("/")
        for name in MENU:
            if name != "Overview":
                watched.visit(name)
            assert watched.headline()
            watched.keep(f"demo-{name.lower().replace(' ', '-')}-{scheme}")
        watched.visit("Consumer groups")
        watched.go("/group?group=session-builder")
        assert watched.headline() == "session-builder"
        watched.keep(f"demo-group-{scheme}")
        watched.go("/topic?topic=web.page_views")
        assert watched.headline() == "web.page_views"
        watched.keep(f"demo-topic-{scheme}")
        watched.check()
    finally:
        context.close()
