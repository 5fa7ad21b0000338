"""Collection health, shaped from rows made by hand."""

from __future__ import annotations

from datetime import UTC, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from alerting.inputs.facts import section_rows
from app.data.lake_tables import lake_rows
from app.ui.frame import status_bar
from app.views.health import jobs as background_jobs
from app.views.health import view_model
from config.settings import LakeSettings
from lake.schemas.current import BROKER_STATUS
from lake.schemas.tables import COLLECTIONS, JOBS
from lake.storage.store import Lake
from tests.unit.app.views.made_rows import START, at, rows


def section(name: str, status: str = "ok", second: float = 0, **given: Any) -> dict[str, Any]:
    return {
        "observed_at": at(second),
        "section": name,
        "status": status,
        "interval_seconds": 5.0,
        **given,
    }


@pytest.mark.parametrize(
    ("status", "now", "label"),
    [
        pytest.param("ok", 4, "✓ ok", id="fine"),
        pytest.param("ok", 21, "● late", id="older than four polls"),
        pytest.param("failed", 4, "✖ failed", id="failed"),
        pytest.param("partial", 4, "▲ partial", id="partial"),
        pytest.param("odd", 4, "? unknown", id="a word that nobody knows"),
    ],
)
def test_the_state_of_a_section(status: str, now: float, label: str) -> None:
    sections = section_rows(rows(COLLECTIONS, section("groups"), section("groups", status, 0.5)))
    found = view_model.table_rows(sections, at(now), 5.0)
    assert found["label"].to_list() == [[label]]


@pytest.mark.parametrize(
    ("status", "label"),
    [("ok", "✓ ok"), ("read", "✓ read"), ("waiting", "· waiting"), ("failed", "✖ failed")],
)
def test_the_state_of_a_background_job(status: str, label: str) -> None:
    found = background_jobs.job_rows(job("history", status), None, at(2))
    assert found["label"].to_list() == [[label]]


def test_jobs_are_called_by_what_they_do() -> None:
    runs = pl.concat([job("history"), job("derived"), job("maintenance"), job("new")])
    said = dict(background_jobs.job_rows(runs, None, at(2)).select("job", "does").iter_rows())
    assert said["history"] == "history by the minute"
    assert said["derived"] == "forecasts and advice, hourly"
    assert said["new"] == "new", "of what has no words, its name"


def job(name: str, status: str = "ok", **given: Any) -> pl.DataFrame:
    run = {"job": name, "status": status, "started_at": at(0), "finished_at": at(1), **given}
    return pl.DataFrame([run], schema=JOBS.polars_schema)


def test_the_last_failure_of_a_day_is_dated_and_says_why() -> None:
    attempts = rows(
        COLLECTIONS,
        section("groups", "failed", 1, error="too old"),
        section("groups", "failed", 2, error="connection refused"),
        section("groups", "ok", 3),
        section("topics", "ok", 3),
        section("brokers", "failed", 1, error="no answer"),
        section("brokers", "partial", 3, error="broker 2 is missing"),
    )
    found = view_model.with_last_failure(
        view_model.table_rows(section_rows(attempts), at(4), 5.0),
        attempts,
        by="section",
        at="observed_at",
    )
    said = {row["section"]: (row["failed_at"], row["said"]) for row in found.to_dicts()}
    assert said == {
        "groups": (at(2), "connection refused"),
        "topics": (None, None),
        "brokers": (at(1), "broker 2 is missing"),
    }


def test_the_last_failure_of_a_job_is_dated_and_says_why() -> None:
    runs = pl.concat(
        [
            job("history", "failed", error="no space left"),
            job("history", started_at=at(60), finished_at=at(61)),
        ]
    )
    found = view_model.with_last_failure(
        background_jobs.job_rows(runs, None, at(62)), runs, by="job", at="started_at"
    )
    assert found.select("failures", "failed_at", "said").rows() == [(1, at(0), "no space left")]


@pytest.mark.parametrize(
    ("status", "minutes", "label", "due", "behind"),
    [
        pytest.param("ok", 20, "✓ ok", 51, None, id="between two hours"),
        pytest.param("ok", 60, "✓ ok", 51, None, id="the history gets the hour"),
        pytest.param("ok", 70, "● behind", 51, 19 * 60.0, id="overdue"),
        pytest.param("failed", 20, "✖ failed", -9, 29 * 60.0, id="it fails, and is overdue"),
    ],
)
def test_the_hourly_job_is_behind_only_past_its_hour(
    status: str, minutes: float, label: str, due: float, behind: float | None
) -> None:
    """Given a run of eight o'clock for what had ended nine minutes before."""
    run = job("derived", status, finished_at=at(0), delay_seconds=9 * 60.0)
    (found,) = background_jobs.job_rows(run, None, at(60 * minutes)).to_dicts()
    assert found["label"] == [label]
    assert found["due_at"] == at(60 * due)
    assert found["delay_seconds"] == behind


@pytest.mark.parametrize(
    ("name", "status", "label", "seconds"),
    [
        pytest.param("history", "ok", "● behind", 2940.0, id="it works, and is late"),
        pytest.param("history", "failed", "✖ failed", 2940.0, id="it fails, and is late"),
        pytest.param("maintenance", "ok", "✓ ok", 7.0, id="another job"),
    ],
)
def test_a_history_job_that_is_late_is_not_well(
    name: str, status: str, label: str, seconds: float
) -> None:
    late = timedelta(minutes=49)
    found = background_jobs.job_rows(job(name, status, delay_seconds=7.0), late, at(60))
    assert found["label"].to_list() == [[label]]
    assert found["delay_seconds"].to_list() == [seconds]


@pytest.mark.parametrize(
    ("status", "ago", "step"),
    [
        pytest.param("ok", 60, "It runs", id="it catches up"),
        pytest.param("failed", 60, "It failed", id="it fails"),
        pytest.param("ok", 900, "python -m spark_metrics run", id="it is away"),
    ],
)
def test_what_to_do_about_late_history(status: str, ago: float, step: str) -> None:
    run = {"job": "history", "status": status, "started_at": at(0), "finished_at": at(1)}
    jobs = pl.DataFrame([run], schema={name: JOBS.polars_schema[name] for name in run})
    late = timedelta(minutes=49)
    said, found = background_jobs.late_history(jobs, late, at(1 + ago))
    assert said == "behind by 49 min"
    assert step in found
    assert "spark_metrics run" in background_jobs.late_history(jobs.clear(), late, at(0))[1]


def test_the_sentence_of_collection_health() -> None:
    good = section_rows(rows(COLLECTIONS, section("groups"), section("topics")))
    assert view_model.sentence(good, at(3), 5.0) == ("Everything is collected", "")
    said, _ = view_model.sentence(good, at(3), 5.0, timedelta(minutes=14))
    assert said == "Everything is collected, history is 14 min behind"
    assert view_model.sentence(good, at(60), 5.0)[0] == "Nothing is being collected"
    bad = section_rows(rows(COLLECTIONS, section("groups", "failed"), section("topics")))
    assert view_model.sentence(bad, at(3), 5.0)[0] == "1 of 2 sections not collected in full"


def test_the_page_begins_with_figures() -> None:
    def said(now: float, late: timedelta | None, *sections: dict[str, Any]) -> list[Any]:
        found = view_model.table_rows(
            section_rows(rows(COLLECTIONS, *sections)), at(now), interval_seconds=5.0
        )
        tables = pl.DataFrame({"size_bytes": [1024, None]})
        tiles = view_model.tiles(found, at(now), 5.0, late, tables)
        return [(one.label, one.value, one.clause, one.colour) for one in tiles]

    slow, fast = section("group_offsets", duration_seconds=0.5), section("a", duration_seconds=0.1)
    assert said(3, None, slow, fast) == [
        ("Newest poll", "3 s ago", "every 5 s", "off"),
        ("Slowest section", "0.5 s", "group offsets", "off"),
        ("Sections", "2", "all collected", "off"),
        ("History", "in time", "by the newest poll", "off"),
        ("Lake", "1 KiB", "2 tables", "off"),
    ]
    newest, slowest, sections, history, _ = said(60, timedelta(minutes=14), section("a", "failed"))
    assert newest[3] == "red"
    assert slowest[1] == "unknown"
    assert sections[2:] == ("1 not in full", "red")
    assert history[1:] == ("14 min", "behind the newest poll", "red")


def brokers(*missing: tuple[int, float | None]) -> pl.DataFrame:
    """Broker 1, which is there, and missing ones with the second since when they are."""
    common = {"cluster": "c", "evaluated_at": START}
    known: list[dict[str, Any]] = [{**common, "broker_id": 1, "is_alive": True}]
    for broker, since in missing:
        at_since = None if since is None else at(since)
        known.append({**common, "broker_id": broker, "is_alive": False, "missing_since": at_since})
    return pl.DataFrame(known, schema=BROKER_STATUS.polars_schema)


def test_log_directories_of_a_missing_broker_are_not_collected() -> None:
    polled = section_rows(rows(COLLECTIONS, section("groups"), section("log_directories")))
    said = view_model.unknown_disks(polled, brokers((2, 180)), UTC, at(3))
    assert said == "log directories of broker 2, which is missing: not known since 08:03"
    found = view_model.with_unknown_disks(polled, said)
    assert view_model.sentence(found, at(3), 5.0, unknown=said) == (
        "Log directories of broker 2, which is missing: not known since 08:03",
        "All else is collected. The newest poll was 3 s ago.",
    )
    first = view_model.table_rows(found, at(3), 5.0).row(0, named=True)
    assert (first["section"], first["label"]) == ("log_directories", ["▲ partial"])
    assert first["error"] == said
    assert "Brokers and replication" in view_model.what_to_do(said)


def test_what_else_is_not_collected_is_said_beside_the_log_directories() -> None:
    partial = section("log_directories", "partial", error="broker 3: the disk")
    polled = section_rows(rows(COLLECTIONS, section("groups", "failed"), partial))
    said = view_model.unknown_disks(polled, brokers((2, 180), (4, None)), UTC, at(3))
    assert said.endswith("since 08:03; of broker 4, which is missing: not known")
    found = view_model.with_unknown_disks(polled, said)
    assert f"{said}; broker 3: the disk" in found["error"].to_list()
    title, detail = view_model.sentence(found, at(3), 5.0, unknown=said)
    assert title == "2 of 2 sections not collected in full"
    assert detail.startswith("groups and log directories. Log directories of broker 2, ")


@pytest.mark.parametrize(
    ("sections", "missing"),
    [
        pytest.param((section("log_directories"),), (), id="all brokers are there"),
        pytest.param((section("groups"),), ((2, 180.0),), id="they are not to be read"),
        pytest.param((section("log_directories", "failed"),), ((2, 180.0),), id="it failed"),
    ],
)
def test_log_directories_that_nobody_misses(
    sections: tuple[dict[str, Any], ...], missing: tuple[tuple[int, float | None], ...]
) -> None:
    polled = section_rows(rows(COLLECTIONS, *sections))
    said = view_model.unknown_disks(polled, brokers(*missing), UTC, at(3))
    assert said == ""
    assert view_model.with_unknown_disks(polled, said).equals(polled)


def test_lost_rows_are_over_once_a_newer_poll_was_collected() -> None:
    lost = section("lake", "failed", 1.0, interval_seconds=None)
    before = section_rows(rows(COLLECTIONS, section("groups"), lost))
    after = section_rows(rows(COLLECTIONS, section("groups", "ok", 5.0), lost))

    assert view_model.sentence(before, at(3), 5.0)[0].startswith("1 of 2 sections")
    assert view_model.sentence(after, at(6), 5.0)[0] == "Everything is collected"
    assert ["· over"] in view_model.table_rows(after, at(6), 5.0)["label"].to_list()


@pytest.mark.parametrize(
    ("error", "step"),
    [
        pytest.param("TOPIC_AUTHORIZATION_FAILED: denied", "DESCRIBE", id="rights"),
        pytest.param("the coordinator does not answer", "Brokers and replication", id="broker"),
        pytest.param("request timed out", "which address fails", id="network"),
        pytest.param("surprise", "collectors check", id="anything else"),
    ],
)
def test_what_to_do_about_an_error(error: str, step: str) -> None:
    assert step in view_model.what_to_do(error)


def test_the_time_between_polls_leaves_out_skipped_ones() -> None:
    found = view_model.polls(
        rows(
            COLLECTIONS,
            section("a", second=0),
            section("b", second=0),
            section("a", second=5),
            section("poll", "skipped", second=10),
            section("a", second=15),
        )
    )
    assert found["gap_seconds"].drop_nulls().to_list() == [5.0, 10.0]


def test_the_strip_counts_what_was_not_collected() -> None:
    found = status_bar.collected(
        rows(
            COLLECTIONS, section("a"), section("b", "failed", error="boom"), section("c", "partial")
        )
    )
    assert found.at == START
    assert found.failing == {"b": "boom", "c": "the section is partial"}
    assert status_bar.collected(rows(COLLECTIONS)).at is None


def test_the_state_of_tables_of_an_empty_lake(tmp_path: Path) -> None:
    found = lake_rows(Lake(LakeSettings(uri=str(tmp_path))), START)
    assert set(found["state"].to_list()) == {"missing"}
    (tmp_path / "bronze" / "groups" / "_delta_log").mkdir(parents=True)
    (tmp_path / "bronze" / "groups" / "_delta_log" / f"{0:020}.json").write_text("{ no")
    found = lake_rows(Lake(LakeSettings(uri=str(tmp_path))), START)
    assert found["table"].to_list()[0] == "groups"
    assert found["state"].to_list()[0] == "broken"
    assert found["error"].to_list()[0]


def test_one_peak_does_not_flatten_how_long_sections_take() -> None:
    usual = [section("groups", second=number, duration_seconds=0.1) for number in range(200)]
    steady = view_model.durations(rows(COLLECTIONS, *usual))
    assert view_model.cap(steady, UTC, at(300)) == (None, None)
    first = section("topics", second=0, duration_seconds=3.6)
    found = view_model.durations(rows(COLLECTIONS, *usual, first))
    assert view_model.cap(found, UTC, at(300)) == (
        0.5,
        "Not drawn whole: topics took 3.6 s at 12:00.".replace("12:00", f"{START:%H:%M}"),
    )
    assert view_model.cap(found.clear(), UTC, at(300)) == (None, None)
