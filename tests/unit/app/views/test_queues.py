"""What the page of RabbitMQ's queues says."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import polars as pl
import pytest
import yaml

from app.style.columns import DASH, NONE, Column
from app.style.theme import BadgeStyle
from app.ui import common_values
from app.views.queues import view_model as queues_view_model
from config.integrations import RabbitMQSettings
from lake.schemas.current import OPEN_ALERTS
from lake.schemas.tables import QUEUES

NOW = datetime(2026, 1, 2, 12, tzinfo=UTC)


def queues(*rows: dict[str, Any]) -> pl.DataFrame:
    """Rows of ``with_growth``: idle, consumed, and without dead letters unless told otherwise."""
    return queues_view_model.with_growth(polled(*rows), QUEUES.empty)


def polled(*rows: dict[str, Any]) -> pl.DataFrame:
    """Rows of ``queues`` of one poll."""
    idle = {
        "vhost": "shop",
        "kind": "plain",
        "ready": 0,
        "unacknowledged": 0,
        "consumers": 1,
        "deliver_per_second": 0.0,
    }
    named = [{"queue": f"queue {number}", **idle, **row} for number, row in enumerate(rows)]
    return pl.DataFrame(named, schema=QUEUES.polars_schema)


DROPS = {
    "dead_letter_exchange": "gone",
    "dead_letter_queues": [],
    "dead_letter_target_missing": True,
}
DEAD = {"kind": "dead letter", "ready": 2, "unacknowledged": 1}


@pytest.mark.parametrize(
    ("rows", "title"),
    [
        pytest.param([{}], "No dead letter waits or is lost", id="calm"),
        pytest.param([DROPS], "1 queue loses its dead letters", id="dropped"),
        pytest.param([DEAD], "3 dead letters wait", id="waiting"),
        pytest.param([{**DEAD, "unacknowledged": 0, "ready": 1}], "1 dead letter waits", id="one"),
        pytest.param(
            [DROPS, DROPS, DEAD], "2 queues lose their dead letters, 3 dead letters wait", id="both"
        ),
        pytest.param(
            [DEAD, {**DEAD, "ready": None}],
            "3 dead letters wait, the depth of 1 dead-letter queue is unknown",
            id="a depth that is unknown",
        ),
    ],
)
def test_the_headline(rows: list[dict[str, Any]], title: str) -> None:
    assert queues_view_model.sentence(queues(*rows))[0] == title


def grown(*depths: int | None, seconds: float = 60, **given: Any) -> pl.DataFrame:
    """A queue whose depth at polls so far apart was as given, the last one now."""
    polls = [
        polled({"ready": ready, "observed_at": NOW - ago * timedelta(seconds=seconds), **given})
        for ago, ready in enumerate(reversed(depths))
    ]
    return queues_view_model.with_growth(polls[0], pl.concat(polls))


@pytest.mark.parametrize(
    ("depths", "growth", "grows"),
    [
        pytest.param((0, 60, 120, 180, 240, 300), 1.0, True, id="it grows"),
        pytest.param((9000, 0, 60, 120, 180, 240, 300), 1.0, True, id="of five minutes"),
        pytest.param((0, 0, 0, 0, 0, 300), 0.0, False, id="the newest poll is no trend"),
        pytest.param((0, 300, 0, 300, 0, 300), 0.0, False, id="it swings"),
        pytest.param((0, 0, 0, 10, 10, 10), 0.0, False, id="few messages"),
        pytest.param((300, 240, 180, 120, 60, 0), -1.0, False, id="it is worked off"),
        pytest.param((7, 7, 7, 7, 7, 7), 0.0, False, id="nothing moves"),
        pytest.param((0, None, 120, 180, None, 300), 1.0, True, id="a poll does not tell"),
        pytest.param((None, None, None), None, False, id="nothing tells"),
        pytest.param((300,), None, False, id="one poll"),
        pytest.param((0, 300), None, False, id="two polls tell of no scatter"),
        pytest.param((7, 7, 7), None, False, id="of the later half alone"),
    ],
)
def test_a_queue_grows_where_more_waits_on_average_and_it_does_not_swing(
    depths: tuple[int | None, ...], growth: float | None, grows: bool
) -> None:
    found = grown(*depths)
    assert found["growth_per_second"].to_list() == [pytest.approx(growth) if growth else growth]
    assert found["grows"].to_list() == [grows]


def test_slow_growth_is_seen_through_what_is_taken_in_batches() -> None:
    """Given 25 messages a minute more and 20 taken at once, then it grows with each fall."""
    step = 25 / 4
    taken = (0, 15, 5, 20)
    depths = [round(500 + step * poll - taken[poll % 4]) for poll in range(21)]
    assert grown(*depths, seconds=15)["grows"].to_list() == [True]
    swings = [round(500 - 3 * taken[poll % 4]) for poll in range(21)]
    assert grown(*swings, seconds=15)["grows"].to_list() == [False]
    found = grown(*depths, seconds=15, consumers=0, deliver_per_second=1.0)
    (status,) = queues_view_model.table_rows(found, NOW, OPEN_ALERTS.empty)["status"].to_list()
    assert status == [queues_view_model.FALLING_BEHIND.label], "although it is polled"


@pytest.mark.parametrize(
    ("given", "badge_style", "title"),
    [
        pytest.param({}, queues_view_model.FALLING_BEHIND, "1 queue falls behind", id="plain"),
        pytest.param(
            {"consumers": 0}, queues_view_model.IDLE, "Nobody consumes 1 queue", id="nobody"
        ),
        pytest.param(
            {"kind": "retry"},
            queues_view_model.OK,
            "No dead letter waits or is lost",
            id="they wait to go back",
        ),
        pytest.param(
            {"kind": "stream"}, queues_view_model.OK, "No dead letter waits or is lost", id="stream"
        ),
    ],
)
def test_a_queue_that_grows_falls_behind(
    given: dict[str, Any], badge_style: BadgeStyle, title: str
) -> None:
    found = grown(0, 60, 120, 180, 240, 300, **given)
    (status,) = queues_view_model.table_rows(found, NOW, OPEN_ALERTS.empty)["status"].to_list()
    assert status == [badge_style.label]
    assert queues_view_model.sentence(found)[0] == title


def test_streams_and_unknown_depths_are_in_no_total() -> None:
    rows = queues({"ready": 5}, {"ready": None}, {"kind": "stream", "ready": None})
    _, detail = queues_view_model.sentence(rows)
    assert detail == ("3 queues: 5 messages ready, 0 unacknowledged, the depth of 1 queue unknown.")


def test_a_total_of_nothing_known_is_unknown() -> None:
    assert queues_view_model.total(queues({"ready": None}), "ready") is None
    assert queues_view_model.total(queues({"ready": None}, {"ready": 0}), "ready") == 0


@pytest.mark.parametrize(
    ("row", "badge_style"),
    [
        pytest.param({**DROPS, "ready": 9}, queues_view_model.DROPPED, id="dropped"),
        pytest.param(DEAD, queues_view_model.WAITING, id="dead letters"),
        pytest.param(
            {**DEAD, "ready": 0, "unacknowledged": 0}, queues_view_model.OK, id="no dead letters"
        ),
        pytest.param({"ready": 1, "consumers": 0}, queues_view_model.IDLE, id="nobody consumes"),
        pytest.param(
            {"ready": 1, "consumers": 0, "deliver_per_second": 0.2},
            queues_view_model.POLLED,
            id="taken one by one, without a consumer",
        ),
        pytest.param({"ready": 1, "consumers": None}, queues_view_model.OK, id="consumers unknown"),
        pytest.param(
            {"kind": "retry", "ready": 1, "consumers": 0}, queues_view_model.OK, id="retry"
        ),
        pytest.param({"ready": None}, queues_view_model.UNSURE, id="unknown"),
        pytest.param({"kind": "stream", "ready": None}, queues_view_model.OK, id="stream"),
    ],
)
def test_a_queue_has_a_status(row: dict[str, Any], badge_style: BadgeStyle) -> None:
    (status,) = queues_view_model.table_rows(queues(row), NOW, OPEN_ALERTS.empty)[
        "status"
    ].to_list()
    assert status == [badge_style.label]


@pytest.mark.parametrize(
    ("row", "alert", "badge_style"),
    [
        pytest.param({}, {}, queues_view_model.CRITICAL, id="act now"),
        pytest.param({}, {"severity": "warning"}, queues_view_model.WARNING, id="watch"),
        pytest.param({}, {"severity": "info"}, queues_view_model.OK, id="a note"),
        pytest.param({}, {"state": "pending"}, queues_view_model.OK, id="pending"),
        pytest.param({}, {"recovering_since": NOW}, queues_view_model.OK, id="recovering"),
        pytest.param(DROPS, {}, queues_view_model.DROPPED, id="it says more itself"),
        pytest.param({"vhost": "bank"}, {}, queues_view_model.OK, id="another virtual host"),
    ],
)
def test_a_queue_is_no_better_than_its_open_alerts(
    row: dict[str, Any], alert: dict[str, Any], badge_style: BadgeStyle
) -> None:
    labels = [{"key": "vhost", "value": "shop"}, {"key": "queue", "value": "queue 0"}]
    firing = {"severity": "critical", "state": "firing", "labels": labels}
    alerts = pl.DataFrame([firing | alert], schema=OPEN_ALERTS.polars_schema)
    # Somebody takes from it one by one, so that its status alone would be fine.
    (status,) = queues_view_model.table_rows(queues(row), NOW, alerts)["status"].to_list()
    assert status == [badge_style.label]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        pytest.param({}, "–", id="none"),  # noqa: RUF001
        pytest.param(
            {
                "dead_letter_exchange": "dlx",
                "dead_letter_queues": ["a", "b"],
                "dead_letter_target_missing": False,
            },
            "a, b",
            id="two queues",
        ),
        pytest.param(DROPS, "nowhere: exchange gone", id="missing exchange"),
        pytest.param(
            {**DROPS, "dead_letter_exchange": "", "dead_letter_routing_key": "b"},
            "nowhere: no queue b",
            id="missing queue",
        ),
        pytest.param(
            {"dead_letter_exchange": "match", "dead_letter_queues": ["a"]},
            "perhaps a",
            id="perhaps",
        ),
        pytest.param({"dead_letter_exchange": "dlx", "dead_letter_queues": []}, None, id="unknown"),
    ],
)
def test_where_dead_letters_go(row: dict[str, Any], text: str | None) -> None:
    assert queues_view_model.table_rows(queues(row), NOW, OPEN_ALERTS.empty)[
        "goes_to"
    ].to_list() == [text]


def test_the_worst_and_the_fullest_come_first() -> None:
    rows = queues(
        {"queue": "calm"},
        {"queue": "full", "ready": 50},
        {"queue": "dead", **DEAD, "oldest_at": NOW - timedelta(minutes=2)},
        {"queue": "drops", **DROPS},
    )
    table = queues_view_model.table_rows(rows, NOW, OPEN_ALERTS.empty)
    assert table["queue"].to_list() == ["drops", "dead", "full", "calm"]
    assert table["oldest_seconds"].to_list() == [None, 120, None, None]


def test_the_deepest_queues_are_no_streams_and_the_unknown_come_last() -> None:
    rows = queues(
        {"queue": "new", "ready": None},
        {"queue": "a", "ready": 3},
        {"queue": "log", "kind": "stream", "ready": 99},
        {"queue": "<b>|`x`\n", "ready": 50},
        {"queue": "a", "vhost": "bank", "ready": 3},
    )
    every = [("shop", "<b>|`x`\n"), ("bank", "a"), ("shop", "a"), ("shop", "new")]
    assert queues_view_model.deepest(rows, 5) == every
    assert queues_view_model.deepest(rows, 2) == every[:2]
    assert queues_view_model.deepest(rows.clear(), 5) == []


def test_queues_of_several_virtual_hosts_say_of_which() -> None:
    def named(*vhosts: str) -> list[str]:
        course = pl.DataFrame({"vhost": vhosts, "queue": ["a"] * len(vhosts)})
        return queues_view_model.with_names(course)["name"].to_list()

    assert named("shop", "shop") == ["a", "a"]
    assert named("shop", "bank") == ["a (shop)", "a (bank)"]


def test_the_example_of_a_configuration_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RABBITMQ_PASSWORD", "secret")
    (server,) = yaml.safe_load(queues_view_model.HOW_TO_CONFIGURE)["rabbitmq"]
    assert RabbitMQSettings.model_validate(server).username == "headroom"


def test_columns_of_one_value_are_said_once() -> None:
    table = pl.DataFrame({"queue": ["a", "b"], "ready": [1, 1], "consumers": [0, 0], "type": "t"})
    columns = {name: Column(name) for name in table.columns}
    kept, same = common_values.told_apart(table, columns, ("queue", "ready"))
    assert (list(kept), list(same)) == (["queue", "ready"], ["consumers", "type"])
    kept, same = common_values.told_apart(table.head(1), columns, ("queue",))
    assert (list(kept), same) == (table.columns, {}), "one queue has nothing in common"


def test_what_queues_have_in_common_is_nothing_unknown() -> None:
    said = common_values.in_common(["consumers", "oldest", "policy"], ["0", "unknown", DASH])
    assert said == "The same of all, where known: consumers 0"
    assert common_values.in_common(["oldest"], ["unknown"]) == ""


def test_a_column_of_zeros_is_noise_and_one_that_is_known_once_is_not() -> None:
    table = pl.DataFrame(
        {"unacked": [int(NONE), 0, 0], "capacity": [None, 0.0, 0.0], "oldest": [None, None, 9.0]}
    )
    columns = {name: Column(name) for name in table.columns}
    kept, same = common_values.told_apart(table, columns, ())
    assert (list(kept), list(same)) == (["oldest"], ["unacked", "capacity"])
    assert common_values.first_known(table, same).row(0) == (0, 0.0)


def test_where_nobody_consumes_there_is_no_capacity() -> None:
    """RabbitMQ says 0 there, which reads as if consumers were too slow."""
    given = queues(
        {"consumers": 0, "consumer_capacity": 0.0}, {"consumers": 2, "consumer_capacity": 0.5}
    )
    found = queues_view_model.table_rows(given, NOW, OPEN_ALERTS.empty)
    said = dict(found.select("consumers", "consumer_capacity").iter_rows())
    assert said == {0: NONE, 2: 0.5}


def test_why_something_is_not_known_is_said_once_with_the_queues() -> None:
    said = "a stream keeps what was read: it has no backlog"
    table = pl.DataFrame({"queue": ["audit", "log", "q"], "unknown_reason": [said, said, None]})
    assert common_values.why_unknown(table, "queue") == f"audit and log: {said}"
    assert common_values.why_unknown(table.tail(1), "queue") == ""


@pytest.mark.parametrize(
    ("consumers", "said"),
    [((1, 2), "with 3 consumers"), ((0, 0), "0 consumers"), ((None,), "consumers unknown")],
)
def test_who_holds_what_is_not_acknowledged(consumers: tuple[int | None, ...], said: str) -> None:
    rows = queues(*({"consumers": number} for number in consumers))
    assert queues_view_model.held_by(rows) == said
