"""Dead letters and collection health, shaped from rows made by hand."""

from __future__ import annotations

import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from alerting.inputs.facts import section_rows
from app.data.lake_tables import lake_rows
from app.ui.frame import status_bar
from app.views.dead_letters import view_model as dead_letters_view_model
from app.views.health import view_model as health_view_model
from config.settings import LakeSettings
from lake.schemas.tables import COLLECTIONS, DEAD_LETTERS, JOBS
from lake.storage.store import Lake
from tests.unit.app.views.made_rows import START, at, rows


def letters(**given: Any) -> pl.DataFrame:
    usual = {
        "name": "d",
        "redrive_group": "r",
        "unprocessed": 5,
        "arrival_per_second": 0.0,
    }
    return pl.DataFrame(
        [{**usual, **given}],
        schema={
            "name": pl.String,
            "redrive_group": pl.String,
            "unprocessed": pl.Int64,
            "arrival_per_second": pl.Float64,
        },
    )


@pytest.mark.parametrize(
    ("given", "title", "detail"),
    [
        pytest.param({}, "Nothing fails now", "5 wait to be redriven", id="quiet"),
        pytest.param({"arrival_per_second": 2.0}, "120/min fail", "5 wait", id="growing"),
        pytest.param(
            {"arrival_per_second": None}, "Arrivals of 1 of 1", "5 wait", id="arrivals unknown"
        ),
        pytest.param(
            {"redrive_group": None, "unprocessed": None},
            "Nothing fails now",
            "has no redrive group: nobody looks",
            id="nobody looks",
        ),
        pytest.param(
            {"unprocessed": None}, "Nothing fails now", "unknown depth", id="depth unknown"
        ),
    ],
)
def test_the_sentence_of_dead_letters(given: dict[str, Any], title: str, detail: str) -> None:
    found = dead_letters_view_model.sentence(letters(**given))
    assert title in found[0]
    assert detail in found[1]


def test_arrivals_are_shared_out_by_the_exceptions_of_each_poll() -> None:
    samples = pl.DataFrame(
        [
            {"observed_at": at(0), "log_end": 100, "reasons": [{"key": "a.Old", "value": 9}]},
            {
                "observed_at": at(30),
                "log_end": 140,
                "reasons": [{"key": "a.b.Rare", "value": 1}, {"key": "a.b.Common", "value": 3}],
            },
            {"observed_at": at(60), "log_end": 140, "reasons": [{"key": "a.b.Rare", "value": 4}]},
            {"observed_at": at(90), "log_end": None, "reasons": None},
            {"observed_at": at(120), "log_end": 200, "reasons": [{"key": "a.b.Rare", "value": 2}]},
        ]
    )
    found = dead_letters_view_model.by_exception(samples, 60.0)
    first = found.filter(pl.col("time") == at(0))
    assert dict(first.select("reason", "arrived").iter_rows()) == {"Common": 30.0, "Rare": 10.0}
    later = found.filter(pl.col("time") == at(120))
    assert later.select("reason", "arrived", "arrival_per_second").rows() == [("Rare", 60.0, 1.0)]
    counted = dead_letters_view_model.reason_rows(found, None)
    assert counted.select("reason", "messages").rows() == [("Rare", 70.0), ("Common", 30.0)]
    assert counted["share"].to_list() == pytest.approx([0.7, 0.3])


def test_a_step_that_runs_is_not_drawn() -> None:
    arrived = pl.DataFrame({"time": [at(0), at(60), at(120)], "arrived": [60.0, 60.0, 3.0]})

    def whole(newest: float) -> int:
        samples = pl.DataFrame({"observed_at": [at(0), at(newest)]})
        return dead_letters_view_model.whole_steps(arrived, samples, 60.0).height

    assert (whole(125), whole(179), whole(180), whole(30)) == (2, 2, 3, 0)


def test_where_nothing_arrived_the_sampled_records_are_counted() -> None:
    nothing = dead_letters_view_model.by_exception(
        pl.DataFrame(schema=DEAD_LETTERS.polars_schema), 60.0
    )
    assert nothing.is_empty()
    found = dead_letters_view_model.reason_rows(
        nothing, [{"key": "a.b.Rare", "value": 1}, {"key": "a.b.Common", "value": 3}]
    )
    assert found["reason"].to_list() == ["Common", "Rare"]
    assert found["share"].to_list() == [0.75, 0.25]
    assert dead_letters_view_model.reason_rows(nothing, None).is_empty()


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
    found = health_view_model.table_rows(sections, at(now), 5.0)
    assert found["label"].to_list() == [[label]]


@pytest.mark.parametrize(
    ("status", "label"),
    [("ok", "✓ ok"), ("read", "✓ read"), ("waiting", "· waiting"), ("failed", "✖ failed")],
)
def test_the_state_of_a_background_job(status: str, label: str) -> None:
    run = {"job": "history", "status": status, "started_at": at(0), "finished_at": at(1)}
    schema = {name: JOBS.polars_schema[name] for name in run}
    found = health_view_model.job_rows(pl.DataFrame([run], schema=schema), None)
    assert found["label"].to_list() == [[label]]


@pytest.mark.parametrize(
    ("job", "status", "label", "seconds"),
    [
        pytest.param("history", "ok", "● behind", 2940.0, id="it works, and is late"),
        pytest.param("history", "failed", "✖ failed", 2940.0, id="it fails, and is late"),
        pytest.param("derived", "ok", "✓ ok", 7.0, id="another job"),
    ],
)
def test_a_history_job_that_is_late_is_not_well(
    job: str, status: str, label: str, seconds: float
) -> None:
    run = {"job": job, "status": status, "started_at": at(0), "finished_at": at(1)}
    run["delay_seconds"] = 7.0
    schema = {name: JOBS.polars_schema[name] for name in run}
    late = timedelta(minutes=49)
    found = health_view_model.job_rows(pl.DataFrame([run], schema=schema), late)
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
    said, found = health_view_model.late_history(jobs, late, at(1 + ago))
    assert said == "behind by 49 min"
    assert step in found
    assert "spark_metrics run" in health_view_model.late_history(jobs.clear(), late, at(0))[1]


def test_the_sentence_of_collection_health() -> None:
    good = section_rows(rows(COLLECTIONS, section("groups"), section("topics")))
    assert health_view_model.sentence(good, at(3), 5.0) == (
        "Everything is collected",
        "The newest poll was 3 s ago.",
    )
    said, _ = health_view_model.sentence(good, at(3), 5.0, timedelta(minutes=14))
    assert said == "Everything is collected, history is 14 min behind"
    assert health_view_model.sentence(good, at(60), 5.0)[0] == "Nothing is being collected"
    bad = section_rows(rows(COLLECTIONS, section("groups", "failed"), section("topics")))
    assert health_view_model.sentence(bad, at(3), 5.0)[0] == "1 of 2 sections not collected in full"


def test_lost_rows_are_over_once_a_newer_poll_was_collected() -> None:
    lost = section("lake", "failed", 1.0, interval_seconds=None)
    before = section_rows(rows(COLLECTIONS, section("groups"), lost))
    after = section_rows(rows(COLLECTIONS, section("groups", "ok", 5.0), lost))

    assert health_view_model.sentence(before, at(3), 5.0)[0].startswith("1 of 2 sections")
    assert health_view_model.sentence(after, at(6), 5.0)[0] == "Everything is collected"
    assert ["· over"] in health_view_model.table_rows(after, at(6), 5.0)["label"].to_list()


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
    assert step in health_view_model.what_to_do(error)


def test_the_time_between_polls_leaves_out_skipped_ones() -> None:
    found = health_view_model.polls(
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


def test_records_of_the_sample_as_far_as_they_are_known() -> None:
    newest = {"partition": "3", "offset": "17", "timestamp": "2026-11-20T08:00:00.000+00:00"}
    entries = [{"key": name, "value": value} for name, value in newest.items()]
    found = dead_letters_view_model.record_rows({"newest_record": entries, "oldest_record": None})
    (row,) = found.to_dicts()
    assert (row["which"], row["partition"], row["offset"]) == ("newest", 3, 17)
    assert row["at"].isoformat() == "2026-11-20T08:00:00+00:00"
    assert row["reason"] is None
    assert dead_letters_view_model.record_rows({"newest_record": []}).is_empty()


def test_the_command_that_looks_at_a_record_takes_the_name_as_one_word() -> None:
    command = dead_letters_view_model.look_command("a; rm -rf $HOME", 3, 17)
    words = shlex.split(command)
    assert words[words.index("--topic") + 1] == "a; rm -rf $HOME"
    assert words[words.index("--offset") + 1] == "17"
