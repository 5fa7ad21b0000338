from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import polars as pl
import pytest

from collectors.service.snapshot import POLL, Snapshots, SourceState
from collectors.source.model import SectionResult
from tests.unit.collectors.exporter.frames import NOW, Clock, Named, frame, result

SHOP = Named()


def snapshots(clock: Clock, sources: Sequence[Named] = (SHOP,)) -> Snapshots:
    return Snapshots(sources, clock)  # type: ignore[arg-type]


def take(into: Snapshots, each: SectionResult, source: Named = SHOP) -> SourceState:
    into.take(source, each)  # type: ignore[arg-type]
    return next(state for state in into.states() if state.cluster == source.cluster)


def test_nothing_is_known_before_the_first_poll() -> None:
    (state,) = snapshots(Clock()).states()
    assert (state.cluster, state.source, state.interval_seconds) == ("shop", "kafka", 10.0)
    assert (state.polled_at, state.cluster_id) == (None, None)
    assert state.fresh_tables(1000.0) == {}


def test_a_failed_section_keeps_its_rows_for_three_intervals() -> None:
    clock = Clock()
    known = snapshots(clock)
    take(known, result("brokers", brokers=frame("brokers", {"broker_id": 1})))
    clock.now += 10
    state = take(known, result("brokers", "failed"))
    assert state.tables["brokers"].rows.height == 1
    assert "brokers" in state.fresh_tables(1030.0)
    assert "brokers" not in state.fresh_tables(1030.1)
    section = state.sections["brokers"]
    assert (section.status, section.error) == ("failed", "brokers went wrong")
    # The read took 0.25 s: it began so much earlier.
    assert (section.succeeded_at, section.succeeded_clock) == (NOW, 999.75)


def test_a_section_that_never_worked_has_no_success() -> None:
    state = take(snapshots(Clock()), result("brokers", "failed"))
    section = state.sections["brokers"]
    assert (section.succeeded_at, section.succeeded_clock) == (None, None)


def test_a_partial_read_is_a_success() -> None:
    state = take(snapshots(Clock()), result("brokers", "partial", brokers=frame("brokers")))
    assert state.sections["brokers"].succeeded_at == NOW


def test_reads_are_counted_by_how_they_ended() -> None:
    known = snapshots(Clock())
    for status in ("ok", "failed", "ok", "partial"):
        take(known, result("groups", status))  # type: ignore[arg-type]
    state = take(known, result(POLL, "skipped"))
    assert state.sections["groups"].counts == {"ok": 2, "failed": 1, "partial": 1}
    assert state.sections[POLL].counts == {"skipped": 1}


def test_rows_have_every_column_of_their_table() -> None:
    few = pl.DataFrame({"group": ["billing"], "members": [2]})
    rows = take(snapshots(Clock()), result("groups", groups=few)).tables["groups"].rows
    assert rows["state"].to_list() == [None]
    assert rows["members"].to_list() == [2]
    assert "cluster" not in rows.columns


def test_a_state_that_was_handed_out_never_changes() -> None:
    known = snapshots(Clock())
    before = take(known, result("brokers", brokers=frame("brokers", {"broker_id": 1})))
    version = before.tables["brokers"].version
    after = take(known, result("brokers", brokers=frame("brokers", {"broker_id": 2})))
    assert before.tables["brokers"].rows["broker_id"].to_list() == [1]
    assert after.tables["brokers"].rows["broker_id"].to_list() == [2]
    assert after.tables["brokers"].version != version


def test_sources_do_not_touch_each_other() -> None:
    other = Named(cluster="other", name="connect/main")
    known = snapshots(Clock(), [SHOP, other])
    take(known, result("brokers", brokers=frame("brokers", {"broker_id": 1})))
    known.poll_ended(other)  # type: ignore[arg-type]
    first, second = known.states()
    assert (first.polled_at, second.polled_at) == (None, 1000.0)
    assert second.tables == {}


def topic_rows(name: str, policy: str, seconds: float = 0.0) -> SectionResult:
    rows = frame("topics", {"topic": name, "cleanup_policy": policy})
    at = NOW + timedelta(seconds=seconds)
    return SectionResult(
        section="topics",
        started_at=at,
        duration_seconds=0.1,
        status="ok",
        error=None,
        frames={"topics": rows},
    )


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        pytest.param(
            topic_rows("payments", "compact", 60),
            {"orders": "delete", "payments": "compact"},
            id="another topic: both are known",
        ),
        pytest.param(topic_rows("orders", "compact", 60), {"orders": "compact"}, id="a change"),
        pytest.param(
            topic_rows("payments", "compact", 7201), {"payments": "compact"}, id="long unheard of"
        ),
    ],
)
def test_topics_come_when_they_change(second: SectionResult, expected: dict[str, str]) -> None:
    known = snapshots(Clock())
    take(known, topic_rows("orders", "delete"))
    rows = take(known, second).tables["topics"].rows
    assert dict(rows.select("topic", "cleanup_policy").iter_rows()) == expected


def test_events_are_counted() -> None:
    known = snapshots(Clock())
    rows = frame(
        "cluster_events",
        {"kind": "broker missing", "subject": "1"},
        {"kind": "broker missing", "subject": "2"},
        {"kind": "controller changed", "subject": "cluster"},
    )
    take(known, result("cluster_events", cluster_events=rows))
    state = take(known, result("cluster_events", cluster_events=rows.head(1)))
    assert state.events == {"broker missing": 3, "controller changed": 1}
