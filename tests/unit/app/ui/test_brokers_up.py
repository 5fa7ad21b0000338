"""Whether all brokers are up, as every page says it."""

from __future__ import annotations

from datetime import UTC, timedelta
from typing import Any

import polars as pl
import pytest

from app.ui.brokers_up import BrokersUp, brokers_up
from lake.schemas.current import BROKER_STATUS, CLUSTER_STATUS
from tests.unit.app.views.made_rows import START, at

UP: dict[str, Any] = {"is_alive": True, "observed_at": at(55)}
SILENT = UP | {"unknown_reason": "broker 2 (b:9092): Connection refused"}


def found(*brokers: dict[str, Any], is_read: bool = True, **cluster: Any) -> BrokersUp:
    gone = [number for number, one in enumerate(brokers, 1) if not one["is_alive"]]
    row = {"cluster": "c", "evaluated_at": START, "brokers": len(brokers) or None}
    rows = [
        {"cluster": "c", "evaluated_at": START, "broker_id": number, **one}
        for number, one in enumerate(brokers, 1)
    ]
    return brokers_up(
        pl.DataFrame(
            [row | {"missing_brokers": gone} | cluster], schema=CLUSTER_STATUS.polars_schema
        ),
        pl.DataFrame(rows, schema=BROKER_STATUS.polars_schema),
        zone=UTC,
        now=at(60),
        stale_after=timedelta(seconds=20),
        is_read=is_read,
    )


@pytest.mark.parametrize(
    ("brokers", "said"),
    [
        pytest.param([UP, UP], "All brokers are up", id="up"),
        pytest.param([UP], "The broker is up", id="one"),
        pytest.param([], "Which brokers are up is unknown", id="never read"),
        pytest.param(
            [UP, {"is_alive": False, "missing_since": at(0)}],
            f"Broker 2 is missing since {at(0):%H:%M}",
            id="missing",
        ),
        pytest.param(
            [UP, *[{"is_alive": False}] * 2], "Brokers 2 and 3 are missing", id="two missing"
        ),
        pytest.param([UP, SILENT, UP], "Broker 2 does not answer, the other 2 do", id="silent"),
        pytest.param([UP, SILENT], "Broker 2 does not answer, the other one does", id="of two"),
        pytest.param([SILENT], "Broker 1 does not answer", id="the only one is silent"),
        pytest.param([SILENT, SILENT], "Brokers 1 and 2 do not answer", id="all are silent"),
        pytest.param(
            [UP | {"observed_at": at(39)}] * 2,
            f"Whether all brokers are up is not known since {at(39):%H:%M:%S}",
            id="no poll for a while",
        ),
        *(
            pytest.param([UP, UP | {"unknown_reason": why}], "All brokers are up", id=why[:9])
            for why in (
                "disk: not permitted",
                "log directory /a: it is offline",
                "broker 2 (b:9092): throttles this client for another 3.0 s, since its quota is "
                "used up",
            )
        ),
    ],
)
def test_what_is_known_of_the_brokers(brokers: list[dict[str, Any]], said: str) -> None:
    up = found(*brokers)
    assert up.said == said
    assert up.is_so == (said in ("All brokers are up", "The broker is up"))


def test_a_poll_that_failed_on_them_says_no_more_that_they_are_up() -> None:
    up = found(UP, UP, is_read=False)
    assert up.said == f"Whether all brokers are up is not known since {at(55):%H:%M:%S}"
    assert (up.is_so, up.is_now) == (False, False)


@pytest.mark.parametrize(
    ("up", "number", "is_known"),
    [
        pytest.param(found(UP, UP), 0, True, id="none"),
        pytest.param(found(UP, SILENT), 0, False, id="one does not answer"),
        pytest.param(found(UP, SILENT), 2, True, id="some are, whoever answers"),
        pytest.param(found(), 0, False, id="no broker was read"),
        pytest.param(found(UP, UP, is_read=False), 0, False, id="not in this poll"),
        pytest.param(found(UP, UP), None, False, id="no partition was read"),
    ],
)
def test_none_is_out_of_sync_only_where_every_broker_was_asked(
    up: BrokersUp, number: int | None, *, is_known: bool
) -> None:
    assert up.tells_of(number) is is_known


def test_why_a_broker_does_not_answer_is_kept() -> None:
    assert found(UP, SILENT).why == "broker 2 (b:9092): Connection refused"
