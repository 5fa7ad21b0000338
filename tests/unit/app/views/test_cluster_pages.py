"""Brokers, dead letters and collection health, shaped from rows made by hand."""

from __future__ import annotations

import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from alerting.inputs.facts import section_rows
from app.data.lake_tables import lake_rows
from app.ui.frame import status_bar
from app.views.brokers import view_model as brokers_view_model
from app.views.dead_letters import view_model as dead_letters_view_model
from app.views.health import view_model as health_view_model
from config.settings import LakeSettings
from lake.schemas.current import BROKER_STATUS, CLUSTER_STATUS, PARTITIONS_AT_RISK
from lake.schemas.tables import CLUSTER_SETTINGS, COLLECTIONS, DEAD_LETTERS, JOBS
from lake.storage.store import Lake

START = datetime(2026, 11, 20, 8, 0, tzinfo=UTC)


def at(second: float) -> datetime:
    return START + timedelta(seconds=second)


def rows(table: Any, *given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [{"cluster": "c", "poll_id": "p", "observed_at": START, **one} for one in given],
        schema=table.polars_schema,
    )


def cluster_status(**given: Any) -> pl.DataFrame:
    row = {"cluster": "c", "evaluated_at": START, **given}
    return pl.DataFrame([row], schema=CLUSTER_STATUS.polars_schema)


def test_the_sentence_of_brokers() -> None:
    def sentence(cluster: pl.DataFrame, *brokers: dict[str, Any]) -> tuple[str, str]:
        every = [
            {"cluster": "c", "evaluated_at": START, "broker_id": number, **broker}
            for number, broker in enumerate(brokers, 1)
        ]
        known = pl.DataFrame(every, schema=BROKER_STATUS.polars_schema)
        return brokers_view_model.sentence(cluster, known, UTC, at(600))

    counts = {"offline": 0, "under_min_isr": 0, "under_replicated": 0}
    up = {"is_alive": True, "offline_if_lost": 0, "refused_if_lost": 0}
    fine = sentence(cluster_status(brokers=2, missing_brokers=[], **counts), up, up)
    assert fine == (
        "All brokers are up",
        "Every partition has a leader and all its replicas in sync.",
    )
    one_down = cluster_status(brokers=3, missing_brokers=[2], **counts | {"under_replicated": 4})
    title, detail = sentence(
        one_down,
        up,
        {"is_alive": False, "missing_since": at(60)},
        up | {"refused_if_lost": 4},
    )
    assert title == f"Broker 2 is missing since {at(60):%H:%M}"
    assert detail == (
        "4 partitions under-replicated; none is offline or below min ISR: reads and writes go on; "
        "losing broker 3 too refuses acks=all on 4 partitions."
    )
    refused = up | {"refused_if_lost": 4}
    _, detail = sentence(one_down, refused, {"is_alive": False}, refused)
    assert detail.endswith("losing broker 1 or 3 too refuses acks=all on 4 partitions.")
    _, detail = sentence(
        one_down, refused, up | {"offline_if_lost": 2}, up | {"offline_if_lost": 1}, *[refused] * 5
    )
    assert detail.endswith(
        "losing broker 2 or 3 too takes up to 2 partitions offline; "
        "losing any of 6 brokers too refuses acks=all on 4 partitions."
    )
    title, detail = sentence(one_down, up, {"is_alive": False}, up)
    assert title == "Broker 2 is missing"
    assert detail.endswith("one more loss would stop no partition.")
    unsure = sentence(one_down, {"is_alive": True})
    assert "loss" not in unsure[1] and "losing" not in unsure[1]
    for unread in (cluster_status(), cluster_status().clear()):
        title, detail = sentence(unread)
        assert title == "Which brokers are up is unknown"
        assert "unknown" in detail


def test_replicas_that_lack_are_named() -> None:
    found = brokers_view_model.with_labels(
        pl.DataFrame(
            [
                {
                    "cluster": "c",
                    "topic": "t",
                    "partition": 0,
                    "evaluated_at": START,
                    "replication": "under-replicated",
                    "replicas": [1, 2],
                    "in_sync_replicas": [1],
                }
            ],
            schema=PARTITIONS_AT_RISK.polars_schema,
        )
    )
    assert found["lacking"].to_list() == [[2]]
    assert found["label"].to_list() == [["▲ under-replicated"]]


def test_the_worst_come_first_and_own_topics_before_internal_ones() -> None:
    names = ["__consumer_offsets", "orders", "__state", "clicks", "odd"]
    states = ["under-replicated", "under-replicated", "offline", "offline", None]
    given = pl.DataFrame(
        {"topic": names, "replication": states}, schema_overrides={"replication": pl.String}
    )
    frame = pl.concat([PARTITIONS_AT_RISK.empty, given], how="diagonal_relaxed")
    found = brokers_view_model.with_labels(frame)
    assert found["topic"].to_list() == ["clicks", "__state", "orders", "__consumer_offsets", "odd"]


def test_a_missing_broker_follows_nothing() -> None:
    given = [
        {
            "broker_id": number,
            "is_alive": is_alive,
            "leaders": 0 if number == 2 else 30,
            "replicas": 70,
        }
        for number, is_alive in ((1, True), (2, False), (3, None))
    ]
    frame = pl.DataFrame(given, schema=BROKER_STATUS.polars_schema)
    found = brokers_view_model.with_names(frame)
    assert found["followers"].to_list() == [40, 0, 40]
    assert [brokers_view_model.holds(row) for row in found.iter_rows(named=True)] == [
        "30 leaders, 70 replicas",
        "0 leaders; its 70 replicas are out of reach",
        "30 leaders, 70 replicas",
    ]


def test_who_can_lead_a_partition_without_a_leader_is_named() -> None:
    rows: list[dict[str, Any]] = [
        {"leader": None, "in_sync_replicas": [3], "eligible_leader_replicas": [2, 3]},
        {"leader": None, "in_sync_replicas": [3], "eligible_leader_replicas": None},
        {"leader": None, "in_sync_replicas": [], "eligible_leader_replicas": []},
        {"leader": 1, "in_sync_replicas": [1], "eligible_leader_replicas": None},
    ]
    frame = pl.DataFrame(rows, schema=PARTITIONS_AT_RISK.polars_schema)
    found = brokers_view_model.with_labels(frame.with_columns(replication=pl.lit("offline")))
    assert found["can_lead"].to_list() == [[2, 3], [3], [], None]


def test_preferred_leaders() -> None:
    known = cluster_status(preferred_led=5, partitions=9)
    assert (
        brokers_view_model.preferred_share(known)
        == "5 of 9 partitions led by their preferred replica."
    )
    assert brokers_view_model.preferred_share(cluster_status()) == "Preferred leaders are unknown."


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
        pytest.param({"arrival_per_second": 2.0}, "2/s fail", "5 wait", id="growing"),
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
    found = health_view_model.job_rows(pl.DataFrame([run], schema=schema))
    assert found["label"].to_list() == [[label]]


def test_the_sentence_of_collection_health() -> None:
    good = section_rows(rows(COLLECTIONS, section("groups"), section("topics")))
    assert health_view_model.sentence(good, at(3), 5.0) == (
        "Everything is collected",
        "The newest poll was 3 s ago.",
    )
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


def settings(*given: tuple[str, str, dict[str, str]]) -> pl.DataFrame:
    return rows(
        CLUSTER_SETTINGS,
        *(
            {
                "kind": kind,
                "subject": subject,
                "settings": [{"key": key, "value": value} for key, value in values.items()],
            }
            for kind, subject, values in given
        ),
    )


def test_settings_that_differ_between_brokers() -> None:
    kind = "broker configuration"
    found = brokers_view_model.drift(
        settings(
            (kind, "1", {"num.io.threads": "16", "same": "5", "node.id": "1", "rate": ""}),
            (kind, "2", {"num.io.threads": "8 (default)", "same": "5 (default)", "node.id": "2"}),
            (kind, "3", {"num.io.threads": "8", "same": "5", "rate": "3"}),
            ("acl", "2", {"num.io.threads": "7"}),
        )
    )
    assert found.rows() == [
        ("num.io.threads", "16 on 1; 8 on 2, 3"),
        ("rate", "empty on 1; 3 on 3"),
    ]


def test_features_and_what_was_set() -> None:
    given = settings(
        ("feature", "metadata.version", {"level": "27", "supported": "30"}),
        ("feature", "odd", {"level": "many"}),
        ("acl", "User:a", {"allow READ on topic orders from *": ""}),
    )
    assert brokers_view_model.features(given).rows() == [
        ("metadata.version", 27, 30),
        ("odd", None, None),
    ]
    listed = brokers_view_model.listed(given, "acl")
    assert listed.rows() == [("User:a", "allow READ on topic orders from *")]
    assert brokers_view_model.unknown(given, "acl") is None
    refused = rows(CLUSTER_SETTINGS, {"kind": "acl", "unknown_reason": "not permitted"})
    assert brokers_view_model.unknown(refused, "acl") == "not permitted"
    assert brokers_view_model.listed(refused, "acl").is_empty()


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


@pytest.mark.parametrize(
    ("under_replicated", "folded"),
    [
        pytest.param([0, 0], True, id="nothing"),
        pytest.param([0, 3], False, id="something"),
        pytest.param([0, None], False, id="unknown is not zero"),
        pytest.param([], False, id="no history"),
    ],
)
def test_a_chart_of_nothing_is_a_line(under_replicated: list[int | None], folded: bool) -> None:
    course = pl.DataFrame(
        {"under_replicated": under_replicated},
        schema={"under_replicated": pl.Float64},
    ).with_columns(under_min_isr=pl.lit(0.0), offline=pl.lit(0.0))
    assert brokers_view_model.nothing_at_risk(course) is folded


@pytest.mark.parametrize(
    ("now", "folded"),
    [
        pytest.param(0, True, id="fine"),
        pytest.param(70, False, id="at risk"),
        pytest.param(None, False, id="unknown"),
    ],
)
def test_no_risk_is_said_only_where_the_present_has_none(now: int | None, folded: bool) -> None:
    counts = ("under_replicated", "under_min_isr", "offline")
    course = pl.DataFrame({name: [0.0] for name in counts})
    cluster = cluster_status(under_replicated=now, under_min_isr=0, offline=0)
    assert brokers_view_model.nothing_at_risk(course, cluster) is folded
    assert not brokers_view_model.nothing_at_risk(course, cluster.clear())
