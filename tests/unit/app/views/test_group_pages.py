"""Groups and the overview, shaped from facts made by hand."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import polars as pl
import pytest

from alerting.status.descriptions import SCALING_STEP, WAIT_STEP
from alerting.status.explain import Feature
from alerting.status.model import Status
from app.data.context import View
from app.style.format import short
from app.ui import group_list, incidents, open_alerts, open_incidents, topic_list
from app.ui.tables import NEVER, NONE
from app.views.group import view_model as group_view_model
from app.views.overview import view_model as overview_view_model
from lake.schemas.current import CLUSTER_STATUS, GROUP_PARTITION_STATUS, GROUP_STATUS, OPEN_ALERTS
from lake.schemas.tables import GROUP_MEMBERS, GROUP_OFFSETS, PARTITIONS
from tests.unit.app.views.made_rows import START, at, rows


def statuses(*given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "cluster": "c",
                "evaluated_at": START,
                "status": "OK",
                "members": 1,
                "idle_members": 0,
                "partitions": 1,
                "unknown_partitions": 0,
                **one,
            }
            for one in given
        ],
        schema=GROUP_STATUS.polars_schema,
    )


def partition_statuses(*given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"cluster": "c", "group": "g", "topic": "t", "evaluated_at": START, **one}
            for one in given
        ],
        schema=GROUP_PARTITION_STATUS.polars_schema,
    )


def test_groups_are_listed_worst_first() -> None:
    found = group_list.rows(
        statuses(
            {"group": "fine", "lag": 3},
            {"group": "unsure", "status": "UNKNOWN", "members": None, "idle_members": None},
            {"group": "slow", "status": "FALLING_BEHIND", "time_lag_seconds": 60.0},
            {"group": "slower", "status": "FALLING_BEHIND", "time_lag_seconds": 600.0},
            {"group": "undated", "status": "FALLING_BEHIND"},
            {"group": "lost", "status": "LOSING_DATA", "lag": 1},
        )
    )
    assert found["group"].to_list() == ["lost", "slower", "slow", "undated", "unsure", "fine"]
    unsure = found.row(4, named=True)
    assert (unsure["lag"], unsure["members"], unsure["idle_members"]) == (None, None, None)
    assert unsure["label"] == ["? unknown"]


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        pytest.param({"lag": 9, "drain_seconds": 4.0}, 4.0, id="it is drained"),
        pytest.param(
            {"lag": 9, "growth_per_second": 1.0, "arrival_per_second": 9.0}, NEVER, id="it grows"
        ),
        pytest.param(
            {"lag": 9, "growth_per_second": 0.1, "arrival_per_second": 9.0}, NONE, id="it breathes"
        ),
        pytest.param({"lag": 0}, NONE, id="nothing waits"),
        pytest.param({}, None, id="nobody knows"),
    ],
)
def test_time_to_drain(numbers: dict[str, Any], expected: float | None) -> None:
    found = statuses({"group": "g", **numbers}).select(group_list.drain_seconds())
    assert found.item() == expected


def test_the_sentence_of_groups_never_hides_what_is_unknown() -> None:
    late = {"group": "a", "status": "STOPPED", "lag": 5, "time_lag_seconds": 120.0}
    unsure = {"group": "b", "status": "UNKNOWN", "unknown_partitions": 2}
    title, detail = group_list.sentence(statuses(late, unsure))
    assert title == "1 of 2 groups is late"
    assert "without 1 group that could not be read in full" in detail
    assert "furthest behind is a by 2 min" in detail
    _, detail = group_list.sentence(statuses({**late, "group": "z"}, late, {**late, "group": "k"}))
    assert "furthest behind is a by" in detail, "of those that are alike the first by name"
    title, _ = group_list.sentence(statuses(unsure))
    assert title == "No group is known to be late, 1 cannot be evaluated"


def test_one_message_waits_for_one_consumer() -> None:
    one = statuses({"group": "a", "lag": 1})
    assert group_list.sentence(one)[1] == "1 message waits."
    assert group_list.totals(one) == "1 message waits; 1 consumer"


def test_filters_and_quiet_groups() -> None:
    found = group_list.rows(
        statuses({"group": "Orders", "lag": 1}, {"group": "old", "members": 0, "lag": 0})
    )
    named = group_list.filtered(found, search="ord", statuses=[], kinds=[])
    assert named["group"].to_list() == ["Orders"]
    assert found.filter(group_list.is_quiet())["group"].to_list() == ["old"]
    assert group_list.filtered(found, search="", statuses=[Status.STOPPED], kinds=[]).is_empty()


def test_rates_of_which_a_part_is_unknown_are_labelled() -> None:
    rates = {"arrival_per_second": 5.0, "consumption_per_second": 4.0}
    groups = statuses(
        {"group": "part", "status": "STALLED"},
        {"group": "whole", "status": "STALLED", **rates},
        {"group": "nothing", "status": "UNKNOWN"},
        {"group": "fine"},
    )
    read = {"is_subscribed": True, "decides": True, "status": "STALLED"}
    partitions = partition_statuses(
        {"group": "part", "partition": 0, **read, **rates},
        {"group": "part", "partition": 1, **read, **rates},
        {"group": "part", "partition": 2, **read},
        {"group": "part", "partition": 3, **read, **rates, "is_subscribed": False},
        {"group": "part", "partition": 4, **read, "decides": False},
        {"group": "whole", "partition": 0, **read, **rates},
        {"group": "nothing", "partition": 0, **read},
    )
    found = group_list.with_known_rates(groups, partitions)
    assert found.select("group", *rates, "rates_of").rows() == [
        ("part", 10.0, 8.0, "2 of 3 partitions"),
        ("whole", 5.0, 4.0, None),
        ("nothing", None, None, None),
        ("fine", None, None, None),
    ]
    assert found.columns == [*groups.columns, "rates_of"]


def test_courses_of_lag_keep_the_order_of_the_groups() -> None:
    shown = group_list.rows(statuses({"group": "b", "lag": 1}, {"group": "a", "lag": 1}))
    past = pl.DataFrame({"time": [at(0), at(60)], "group": ["b", "b"], "lag": [1, 4]})
    found = group_list.with_trends(shown, past)
    assert found["group"].to_list() == ["a", "b"]
    assert found["trend"].to_list() == [None, [1.0, 4.0]]
    assert group_list.with_trends(shown, None)["trend"].to_list() == [None, None]


def test_courses_of_topics_span_the_whole_time() -> None:
    past = pl.DataFrame(
        {"time": [at(60 * number) for number in range(360)], "topic": ["t"] * 360}
    ).with_columns(arrival_per_second=pl.int_range(pl.len()).cast(pl.Float64))
    (trend,) = topic_list.with_trends(pl.DataFrame({"topic": ["t"]}), past)["trend"].to_list()
    assert trend[0] == 0.0
    assert trend[-1] > 340
    assert len(trend) <= 40


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        pytest.param([], None, id="not tiered"),
        pytest.param([(7, 8)], "in remote storage alone: 9; not copied yet: 4", id="known"),
        pytest.param(
            [(None, 8)], "in remote storage alone: unknown; not copied yet: 4", id="disks unknown"
        ),
        pytest.param(
            [(None, None)],
            "in remote storage alone: unknown; not copied yet: unknown",
            id="a partition unknown",
        ),
    ],
)
def test_what_of_a_topic_lies_where_is_unknown_as_long_as_one_partition_does_not_tell(
    given: list[tuple[int | None, int | None]], sentence: str | None
) -> None:
    tiers = [(2, 8), *given] if given else [(None, None)]
    found = topic_list.tier_rows(
        rows(
            PARTITIONS,
            *(
                {
                    **{"topic": "t", "partition": number, "log_start": 0, "log_end": 10},
                    **{"local_log_start": local, "remote_log_end": remote},
                }
                for number, (local, remote) in enumerate(tiers)
            ),
        )
    )
    if sentence is None:
        assert found.is_empty()
    else:
        assert topic_list.tier_sentence(found) == f"Offsets {sentence}."


def test_what_a_group_reads_no_more_is_named() -> None:
    read = {"group": "g", "topic": "t", "partition": 0, "lag": 1, "is_subscribed": True}
    left = {"group": "g", "topic": "old", "partition": 0, "lag": 9, "is_subscribed": False}
    unknown = {"group": "g", "topic": "u", "partition": 0, "lag": 9}
    assert group_view_model.left_over(rows(GROUP_OFFSETS, read, unknown)) is None
    note = group_view_model.left_over(rows(GROUP_OFFSETS, read, left, unknown))
    assert note is not None
    assert note.startswith("Left out: 1 partition of old.")


def test_nothing_that_was_measured_is_a_table_without_rows() -> None:
    assert group_view_model.feature_rows(()).columns == ["name", "value", "compared"]
    one = group_view_model.feature_rows([Feature(name="lag", value="5")])
    assert one.rows() == [("lag", "5", "")]


def held(number: int, **given: Any) -> dict[str, Any]:
    return {"group": "g", "topic": "t", "partition": number, "member_id": "m0", **given}


def rates(*per_second: float | None) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {"topic": "t", "partition": number, "consumption_per_second": one}
            for number, one in enumerate(per_second)
        ],
        schema={"topic": pl.String, "partition": pl.Int32, "consumption_per_second": pl.Float64},
    )


def test_members_with_what_they_hold_and_the_idle_last() -> None:
    members = rows(
        GROUP_MEMBERS,
        {"group": "g", "member_id": "spare", "client_id": "a", "assigned_partitions": 0},
        {"group": "g", "member_id": "m0", "client_id": "b", "assigned_partitions": 1},
    )
    offsets = rows(GROUP_OFFSETS, held(0, lag=4))
    found = group_view_model.member_rows(members, offsets, partition_statuses(), rates(3.0))
    assert found["client_id"].to_list() == ["b", "a"]
    assert found["does"].to_list() == ["consumes", "idle"]
    assert found["load"].to_list() == [1.0, 0.0]
    assert found["lag"].to_list() == [4, 0]


def test_a_member_with_an_unknown_partition_has_no_sum() -> None:
    members = rows(
        GROUP_MEMBERS, {"group": "g", "member_id": "m0", "client_id": "b", "assigned_partitions": 2}
    )
    offsets = rows(GROUP_OFFSETS, held(0, lag=None), held(1, lag=3))
    found = group_view_model.member_rows(members, offsets, partition_statuses(), rates(None, 1.0))
    assert (found["lag"][0], found["consumption_per_second"][0]) == (None, None)


def test_partitions_say_why_a_value_is_unknown() -> None:
    offsets = rows(
        GROUP_OFFSETS,
        held(0, lag=1, committed_at=at(-30)),
        held(1, unknown_reason="no leader"),
    )
    decided = partition_statuses(
        {"partition": 0, "status": "OK", "reason": "fine"},
        {"partition": 1, "status": "UNKNOWN", "reason": "no leader"},
    )
    found = group_view_model.partition_rows(decided, offsets, START)
    assert found["partition"].to_list() == [1, 0]
    assert found["unknown_reason"].to_list() == ["no leader", None]
    assert found["commit_age_seconds"].to_list() == [None, 30.0]


def test_an_open_transaction_shows_where_readers_of_committed_records_stop() -> None:
    waits = held(0, lag=4, log_end=9, last_stable=5, open_since=START - timedelta(seconds=90))
    offsets = rows(GROUP_OFFSETS, waits, held(1, lag=0, log_end=9, last_stable=9))
    found = group_view_model.partition_rows(partition_statuses(), offsets, START).sort("partition")
    assert found["last_stable"].to_list() == [5, None]
    assert found["open_seconds"].to_list() == [90.0, None]


def test_partitions_of_a_group_that_is_ok_are_ok_where_their_lag_is_known() -> None:
    offsets = rows(GROUP_OFFSETS, held(0, lag=1), held(1, unknown_reason="no leader"))
    found = group_view_model.partition_rows(partition_statuses(), offsets, START)
    assert dict(found.select("partition", "status").iter_rows()) == {0: "OK", 1: "UNKNOWN"}


def test_a_heatmap_names_topics_only_where_there_are_several() -> None:
    frame = pl.DataFrame(
        {
            "time": [START] * 3,
            "topic": ["a", "a", "b"],
            "partition": [0, 10, 2],
            "lag": [1, None, 3],
            "time_lag_seconds": [1.0, None, 3.0],
        }
    )
    found, total = group_view_model.heat_rows(frame)
    assert total == 3
    assert found.sort("order")["label"].to_list() == ["a-0", "a-10", "b-2"]
    one, _ = group_view_model.heat_rows(frame.filter(pl.col("topic") == "a"))
    assert one.sort("order")["label"].to_list() == ["0", "10"]


def history(**values: list[int | None]) -> pl.DataFrame:
    length = len(next(iter(values.values())))
    return pl.DataFrame(
        {"time": [at(60 * number) for number in range(length)], **values},
    )


def alerts(*given: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "cluster": "c",
                "evaluated_at": START,
                "rule": "R",
                "check": "lag",
                "severity": "warning",
                "state": "firing",
                "what": f"{one['fingerprint']} is late",
                "detail": "why",
                "cause": "",
                "step": "",
                "page": "group",
                "since": START,
                "started_at": START,
                "last_true_at": START,
                "labels": [{"key": "group", "value": one["fingerprint"]}],
                **one,
            }
            for one in given
        ],
        schema=OPEN_ALERTS.polars_schema,
    )


def at_start(view: View) -> View:
    return replace(view, now=START)


def test_causes_come_first_with_their_symptoms_below_them(view: View) -> None:
    found = incidents.of_rows(
        alerts(
            {"fingerprint": "watch"},
            {"fingerprint": "symptom", "inhibited_by": "cause", "severity": "critical"},
            {"fingerprint": "cause", "severity": "critical"},
            {
                **{"fingerprint": "the same of two rules", "what": "symptom is late"},
                **{"inhibited_by": "cause", "severity": "critical"},
            },
            {"fingerprint": "orphan", "inhibited_by": "gone", "severity": "info"},
            {"fingerprint": "new", "severity": "critical", "since": at(-60)},
            {"fingerprint": "old", "severity": "critical", "since": at(-120)},
            {"fingerprint": "may fire", "severity": "critical", "state": "pending"},
            {"fingerprint": "mends", "severity": "critical", "recovering_since": START},
            {
                **{"fingerprint": "loses", "check": "losing_data", "what": "loses loses data"},
                **{"severity": "critical", "since": at(-999)},
            },
        )
    )
    names = [one.cause.fingerprint for one in found]
    assert names == ["loses", "cause", "new", "old", "watch", "orphan", "mends", "may fire"]
    assert incidents.symptoms_of(found[1]) == ["symptom is late: why"]
    row = incidents.items(found, at_start(view), stored=False)[1]
    assert row.link is not None
    assert (row.link.page, row.link.parameters["group"]) == ("group", "cause")
    assert row.more == ["symptom is late: why"]


def test_clusters_are_counted_as_their_overviews_count() -> None:
    open_now = alerts(
        {"fingerprint": "cause"},
        {"fingerprint": "symptom", "inhibited_by": "cause", "severity": "critical"},
        {"fingerprint": "orphan", "inhibited_by": "gone", "severity": "critical"},
        {"fingerprint": "may fire", "severity": "critical", "state": "pending"},
        {"fingerprint": "mends", "severity": "critical", "recovering_since": START},
    )
    known = incidents.of_rows(open_now)
    assert incidents.numbers(known) == "1 thing needs you now, 1 to watch, 1 pending"
    status = pl.DataFrame([{"cluster": "c"}], schema=CLUSTER_STATUS.polars_schema)
    found = overview_view_model.cluster_rows(["c"], status, known, START)
    assert found.select("act_now", "watch").rows() == [(1, 1)]


def test_a_deadline_that_comes_and_goes_moves_no_row() -> None:
    given = [
        {"fingerprint": "near", "check": "data_loss_deadline", "since": at(-600)},
        {"fingerprint": "newer", "check": "stopped", "since": at(-60)},
        {"fingerprint": "older", "check": "stopped", "since": at(-300)},
    ]
    for deadlines in ((60, None, 60), (None, 60, None), (None, None, 60), (None, None, None)):
        found = incidents.of_rows(
            alerts(
                *(
                    one | {"deadline_at": None if left is None else at(left)}
                    for one, left in zip(given, deadlines, strict=True)
                )
            )
        )
        assert [one.cause.fingerprint for one in found] == ["near", "newer", "older"]


def test_a_cause_that_is_over_says_so_and_is_no_trouble_of_its_group(view: View) -> None:
    given = {"fingerprint": "a", "state": "resolved", "last_true_at": at(-300)}
    (row,) = incidents.items(incidents.of_rows(alerts(given)), at_start(view))
    assert row.until == "c, over, its symptoms go on"
    assert open_alerts.about(alerts(given), "group", "a") == []


def test_what_two_rules_say_alike_of_a_group_stands_in_its_header_once() -> None:
    said = {"started_at": START, "what": "a loses data soon"}
    found = open_alerts.about(
        alerts(
            *(
                {**said, "fingerprint": severity, "severity": severity}
                | {"labels": [{"key": "group", "value": "a"}]}
                for severity in ("warning", "critical")
            )
        ),
        *("group", "a"),
    )
    assert [icon for icon, _ in found] == [":material/error:"]


@pytest.mark.parametrize(
    ("seconds", "until"),
    [
        pytest.param(-30, "loses data in 1 h", id="so now"),
        pytest.param(-61, "last seen 07:58", id="kept open, and not so now"),
    ],
)
def test_an_alert_that_is_only_kept_open_says_so(view: View, seconds: float, until: str) -> None:
    given = {"fingerprint": "a", "deadline_at": at(3600), "last_true_at": at(seconds)}
    (row,) = incidents.items(incidents.of_rows(alerts(given)), at_start(view))
    assert row.until == f"{until}, c"


def test_the_step_of_a_group_that_falls_behind_is_what_scaling_advises() -> None:
    given = {"slow": SCALING_STEP, "off": "Start it.", "mends": WAIT_STEP, "quiet": SCALING_STEP}
    found = incidents.of_rows(
        alerts(*({"fingerprint": name, "step": step} for name, step in given.items()))
    )
    advised = {("c", name): f"advice on {name}" for name in ("slow", "off", "mends")}
    told = [open_incidents.advised_step(one, advised).cause for one in found]
    assert {one.fingerprint: one.step for one in told} == {
        **given,
        "slow": "Scaling advises: advice on slow",
    }


def test_nothing_to_act_on_is_folded_away() -> None:
    many = [{"fingerprint": f"c{number}", "severity": "critical"} for number in range(7)]
    few = [{"fingerprint": f"w{number}"} for number in range(3)]
    found = incidents.of_rows(alerts(*few, *many))
    seen, rest = overview_view_model.shown(found)
    assert [one.cause.severity for one in seen] == ["critical"] * 7
    assert overview_view_model.folded(rest) == "3 more: 3 to watch"
    assert incidents.needs(found) == "c0 is late. 7 things need you now, 3 to watch"
    assert [overview_view_model.with_steps(some) for some in (found, found[3:])] == [2, 4]
    quiet = incidents.of_rows(alerts(*few))
    assert overview_view_model.shown(quiet) == (quiet, [])
    flood = [{"fingerprint": f"c{number}", "severity": "critical"} for number in range(12)]
    _, rest = overview_view_model.shown(incidents.of_rows(alerts(*flood)))
    assert overview_view_model.folded(rest) == "2 more: 2 to act on now"
    unsure = [{**one, "state": "pending"} for one in many]
    _, rest = overview_view_model.shown(incidents.of_rows(alerts(*few, *unsure)))
    assert overview_view_model.folded(rest) == "6 more: 6 pending"


def test_the_sentence_of_the_overview() -> None:
    cluster = pl.DataFrame(
        [{"cluster": "c", "evaluated_at": START, "brokers": 3, "missing_brokers": [2]}],
        schema=CLUSTER_STATUS.polars_schema,
    )
    groups = statuses(
        {"group": "a", "status": "STALLED", "lag": 900, "unknown_partitions": 1},
        {"group": "b", "lag": 100},
    )
    found = incidents.of_rows(alerts({"fingerprint": "a", "severity": "critical"}))
    assert overview_view_model.headline(found, groups, cluster) == (
        "a is late. 1 thing needs you now",
        f"Lag total {short(1000)} without 1 group that could not be read in full, "
        "of 2 groups 1 stalled. 1 of 3 brokers missing.",
    )
    up = cluster.with_columns(pl.lit([], pl.List(pl.Int32)).alias("missing_brokers"))
    said = {
        read: overview_view_model.headline(found, groups, up, brokers_read=read)[1].split(". ")[1]
        for read in (True, False)
    }
    assert said == {True: "All brokers up.", False: "Whether all brokers are up is not known now."}
    nothing = overview_view_model.headline([], statuses(), cluster.clear())
    assert nothing == (
        "Nothing needs you",
        "No consumer group is known. Whether all brokers are up is unknown.",
    )


def test_how_much_lag_has_grown() -> None:
    assert overview_view_model.growth(history(lag=[None, 5, 9]), "lag") == "+4 in 1 min"
    assert overview_view_model.growth(history(lag=[9, 5, 4]), "lag") == "-5 in 2 min"
    assert overview_view_model.growth(history(lag=[5]), "lag") is None


def test_a_delay_that_lacks_a_partition_is_left_out() -> None:
    whole = history(lag=[5, 6]).with_columns(pl.Series("time_lag_seconds", [1.0, 2.0]))
    parts = pl.DataFrame(
        {
            "time": [START, at(60), at(60)],
            "lag": [5, 1, 5],
            "time_lag_seconds": [1.0, 2.0, None],
        }
    )
    found = group_view_model.with_whole_delays(whole, parts)
    assert found["time_lag_seconds"].to_list() == [1.0, None]
    assert group_view_model.lacks_delays(parts)
    assert not group_view_model.lacks_delays(parts.filter(pl.col("time_lag_seconds").is_not_null()))


def test_what_arrives_in_a_minute_is_normal_for_a_partition() -> None:
    assert group_view_model.neutral_lag(10.0, 2, 60.0) == 300.0
    assert group_view_model.neutral_lag(None, 2, 60.0) == 10.0


def test_the_objective_that_all_groups_have() -> None:
    def objectives(*seconds: float) -> pl.DataFrame:
        return pl.DataFrame({"objective_seconds": pl.Series(seconds, dtype=pl.Float64)})

    assert group_list.common_objective(objectives(300, 300), objectives(300)) == 300
    assert group_list.common_objective(objectives(300, 300), objectives(60)) is None
    assert group_list.common_objective(objectives(), objectives()) is None


def test_reasons_leave_out_what_the_columns_beside_them_say() -> None:
    given = {
        "Stopped: nobody consumes, 9 messages wait.": (
            "STOPPED",
            "nobody consumes, 9 messages wait.",
        ),
        "Falling behind on 4 of 4 partitions: 40/s arrive.": ("FALLING_BEHIND", "40/s arrive."),
        "Stalled on 1 of 12 partitions (o-7): no commit.": (
            *("STALLED", "on 1 of 12 partitions (o-7): no commit."),
        ),
        "Keeps up: 3 messages wait.": ("OK", "Keeps up: 3 messages wait."),
    }
    groups = pl.DataFrame(
        {"status": [status for status, _ in given.values()], "reason": list(given)}
    )
    brief = group_list.with_brief_reasons(groups)
    assert brief["reason"].to_list() == [said for _, said in given.values()]
