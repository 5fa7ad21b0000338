"""What the time lag of groups is held against."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

from alerting.checks.loss_deadline import kept_by_topic
from app.ui.lag_levels import Level, levels, shared
from app.views.incident import lag
from lake.schemas.current import TOPIC_STATUS
from tests.unit.app.views.made_rows import START, statuses

OBJECTIVE = ("objective 5 min", 300.0)


def topic(name: str, kept: float | None, policy: str = "delete") -> dict[str, Any]:
    return {
        **{"cluster": "c", "topic": name, "evaluated_at": START},
        **{"retention_seconds": kept, "cleanup_policy": policy},
    }


KEPT = kept_by_topic(
    pl.DataFrame(
        [
            *(topic("short", 60.0), topic("hour", 3600.0), topic("ever", None)),
            *(topic("keys", 5.0, "compact"), topic("both", 400.0, "compact,delete")),
        ],
        schema=TOPIC_STATUS.polars_schema,
    )
)


@pytest.mark.parametrize(
    ("topics", "expected"),
    [
        pytest.param(["hour"], [OBJECTIVE, ("retention 1 h", 3600.0)], id="both"),
        pytest.param(["short"], [("retention 1 min", 60.0)], id="deleted before it is missed"),
        pytest.param(["hour", "short"], [("retention 1 min of short", 60.0)], id="the shortest"),
        pytest.param(
            ["keys", "both"],
            [OBJECTIVE, ("retention 6 min 40 s of both", 400.0)],
            id="not what is compacted alone",
        ),
        pytest.param(["ever"], [OBJECTIVE], id="no limit"),
        pytest.param(["keys"], [OBJECTIVE], id="compacted"),
        pytest.param(["unseen"], [OBJECTIVE], id="not known"),
        pytest.param([], [OBJECTIVE], id="no topic"),
    ],
)
def test_a_time_lag_is_held_against_what_comes_first(
    topics: list[str], expected: list[Level]
) -> None:
    assert levels(300.0, KEPT, topics) == expected


def test_a_chart_of_several_groups_has_the_levels_of_all_of_them() -> None:
    both, short = levels(300.0, KEPT, ["hour"]), levels(300.0, KEPT, ["short"])
    assert shared([both]) == both
    assert shared([both, levels(300.0, KEPT, ["ever"])]) == [OBJECTIVE]
    assert shared([both, short]) == []
    assert shared([both, levels(600.0, KEPT, ["hour"])]) == [("retention 1 h", 3600.0)]


def test_an_incident_of_a_group_is_held_against_what_decides_first() -> None:
    """Given a topic that deletes before the objective is missed, then that is drawn and said."""
    status = statuses({"group": "late", "topics": ["short"]}, {"group": "slow", "topics": ["hour"]})

    def of(*names: str, is_time: bool = True) -> tuple[list[Level], str]:
        drawn = lag.Courses(
            frame=pl.DataFrame(),
            step_seconds=60,
            names=names,
            others=(),
            unknown=(),
            is_time=is_time,
        )
        return lag.held_against(drawn, status, KEPT, lambda _: 300.0)

    found, said = of("late")
    assert found == [("retention 1 min", 60.0)]
    assert said.startswith("short keeps messages for 1 min, less than the group's objective of")
    assert of("slow") == ([OBJECTIVE, ("retention 1 h", 3600.0)], "")
    assert of("late", "slow") == ([], "")
    assert of("late", is_time=False) == of() == ([], "")
