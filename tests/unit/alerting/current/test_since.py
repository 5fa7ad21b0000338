"""Since when a status holds: as the alerts say, and unmoved while it stays."""

from __future__ import annotations

import dataclasses
from datetime import datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from alerting.checks.model import CheckInput
from alerting.current.groups import group_rows, partition_lag
from alerting.current.rows import alert_rows, current_rows
from alerting.current.state import Present
from alerting.evaluate.evaluation import ClusterEvaluation, ClusterEvaluator, advanced
from alerting.evaluate.observations import CheckedCluster, group_observations
from alerting.inputs.frames import Frames
from alerting.inputs.polls import PARTITION_LAG
from alerting.inputs.windows import GroupKey
from alerting.rules.defaults import DEFAULT_ALERT_RULES
from alerting.rules.lifecycle import Alert, State
from alerting.status.model import GroupStatus, Status
from alerting.tools.benchmark.headroom import statuses
from config.settings import LakeSettings
from lake.schemas.current import GROUP_PARTITION_STATUS, GROUP_STATUS, READERS
from lake.schemas.model import Table
from lake.storage.current_store import CurrentStore
from lake.storage.store import Lake
from simulation.scenarios import families
from tests.selection import exhaustive
from tests.unit.alerting.current.sample_rows import NOW
from tests.unit.alerting.inputs.test_recent_rows import POLLS, Collector

_TROUBLE = ("stopped", "stalled", "falling_behind", "rewound", "losing_data", "unknown")


def classified(
    status: GroupStatus,
    at: float,
    *,
    group: str = "g",
    tables: dict[str, pl.DataFrame] | None = None,
) -> ClusterEvaluation:
    frames = Frames(cluster="c", now=at, tables=tables or {})
    found = {GroupKey("c", group): status}
    return ClusterEvaluation(
        frames=frames,
        statuses=found,
        clear_partitions=pl.DataFrame(schema=PARTITION_LAG),
        losses=CheckInput(frames=frames, classify=lambda _: found).losses,
        seen=CheckedCluster(observations=tuple(group_observations(found, now=at))),
    )


@pytest.mark.parametrize(
    ("family", "variant"),
    [  # Polls of a minute; of a quarter of one.
        ("frequent_job_gone", 7),
        ("poison_partition", 4),
        *exhaustive(("frequent_job_gone", 0), ("poison_partition", 0)),
    ],
)
def test_at_every_poll_the_rows_say_what_the_alerts_say(family: str, variant: int) -> None:
    scenario = families()[family](variant)
    alerts: dict[str, Alert] = {}
    previous: pl.DataFrame | None = None
    dates: set[datetime] = set()
    changes = 0
    for at, status in statuses(scenario):
        moment = NOW.timestamp() + at
        found = classified(_shifted(status), moment)
        alerts = advanced(alerts, found, DEFAULT_ALERT_RULES)
        groups = group_rows(found, partition_lag(found), previous)
        reported = alert_rows(alerts.values(), groups, READERS.empty, found.frames)
        (row,) = groups.iter_rows(named=True)
        true = [
            alert
            for alert in alerts.values()
            if alert.check in _TROUBLE and alert.last_true_at == moment
        ]
        true_now = {alert.status for alert in true}
        # What fired goes on as long as the backlog stands, whatever the group does about it.
        stands = {alert.status for alert in true if alert.status.lower() != alert.check}
        is_told = status.status.value.lower() in _TROUBLE and (
            status.status is not Status.FALLING_BEHIND or status.is_lasting
        )
        if status.status is Status.UNKNOWN and status.since is not None:
            # One or two polls that could not tell are no news.
            is_told = not found.frames.is_brief(at - status.since + found.frames.interval_seconds)
        assert row["status"] == status.status.value
        told = {row["status"]} if is_told else set()
        assert told <= true_now <= told | stands, at
        assert set(reported["fingerprint"]) == {
            name for name, alert in alerts.items() if alert.state is not State.RESOLVED
        }
        if previous is None or previous["status"].item() != row["status"]:
            changes, dates = changes + 1, set()
        dates.add(row["since"])
        assert len(dates - {None}) == 1, at
        previous = groups.with_columns(pl.lit(found.frames.at).alias("evaluated_at"))
    assert changes > 1


def _shifted(status: GroupStatus) -> GroupStatus:
    """Return a status of a scenario, whose seconds begin at zero, with dates of the present."""
    begin = NOW.timestamp()
    parts = tuple(
        dataclasses.replace(part, since=None if part.since is None else begin + part.since)
        for part in status.partitions
    )
    since = None if status.since is None else begin + status.since
    return dataclasses.replace(status, since=since, partitions=parts)


def fixed(status: Status, since: float | None, *, began_before: bool = False) -> GroupStatus:
    return dataclasses.replace(
        judged_status, status=status, since=since, began_before_window=began_before
    )


judged_status = statuses(families()["steady"](0))[0][1]


def since_of(
    steps: list[tuple[float, Status, float | None]],
) -> list[tuple[float | None, bool]]:
    """Return since when each step's row says that its status holds, seconds from the first."""
    previous: dict[Table, pl.DataFrame] = {}
    reported = []
    for at, status, since in steps:
        begin = NOW.timestamp()
        found = classified(fixed(status, None if since is None else begin + since), begin + at)
        previous = dict(current_rows(found, (), previous))
        (row,) = previous[GROUP_STATUS].iter_rows(named=True)
        reported.append(((row["since"] - NOW).total_seconds(), row["since_at_least"]))
    return reported


def test_since_stays_while_the_status_does() -> None:
    reported = since_of(
        [
            (0, Status.OK, None),
            (15, Status.OK, None),
            (30, Status.STALLED, 12),
            (45, Status.STALLED, 20),
            (60, Status.STALLED, 5),
            (75, Status.OK, None),
            (90, Status.OK, None),
        ]
    )
    assert reported == [
        (0, True),
        (0, True),
        (12, False),
        (12, False),
        (12, False),
        (75, False),
        (75, False),
    ]


def test_what_was_unknown_for_a_moment_and_is_as_it_was_has_been_so_all_the_time() -> None:
    reported = since_of(
        [
            (0, Status.OK, None),
            (15, Status.STALLED, 12),
            (30, Status.UNKNOWN, 30),
            (45, Status.UNKNOWN, 30),
            (60, Status.STALLED, 50),
            (75, Status.UNKNOWN, 75),
            (90, Status.STOPPED, 80),
        ]
    )
    assert [since for since, _ in reported] == [0, 12, 30, 30, 12, 75, 80]


def test_what_was_unknown_for_long_begins_anew() -> None:
    reported = since_of(
        [
            (0, Status.STALLED, -60),
            *((at, Status.UNKNOWN, 15) for at in range(15, 400, 60)),
            (400, Status.STALLED, 390),
        ]
    )
    assert reported[-1][0] == 390


def test_after_a_break_nobody_knows_whether_the_status_held() -> None:
    reported = since_of(
        [(0, Status.STALLED, -60), (299, Status.STALLED, 5), (700, Status.STALLED, 650)]
    )
    assert reported == [(-60, False), (-60, False), (650, False)]


@pytest.mark.parametrize(
    ("before", "at_least"),
    [
        pytest.param(None, True, id="nobody watched"),
        pytest.param(Status.UNKNOWN, True, id="it was not known before"),
        pytest.param(Status.OK, False, id="it was fine before"),
    ],
)
@pytest.mark.parametrize("since", [5.0, None])
def test_a_status_that_came_while_watched_began_then_and_not_before(
    before: Status | None, at_least: bool, since: float | None
) -> None:
    begin = NOW.timestamp()
    previous: dict[Table, pl.DataFrame] = {}
    if before is not None:
        previous = dict(current_rows(classified(fixed(before, None), begin), (), previous))
    dated = None if since is None else begin + since
    stalls = fixed(Status.STALLED, dated, began_before=since is not None)
    (row,) = current_rows(classified(stalls, begin + 15), (), previous)[GROUP_STATUS].to_dicts()
    assert row["since_at_least"] is at_least


def watched(lake: Lake, evaluator: ClusterEvaluator, present: Present, now: datetime) -> None:
    found = evaluator.evaluate("c", now.timestamp())
    alerts = advanced({}, found, DEFAULT_ALERT_RULES)
    present.write(found, alerts)


def test_since_stays_over_a_restart(tmp_path: Path) -> None:
    settings = LakeSettings(uri=str(tmp_path / "lake"))
    lake, store = Lake(settings), CurrentStore(settings)
    collector = Collector(lake, 11)
    evaluator, present = ClusterEvaluator(lake, watched_since=0.0), Present(store)
    reported: dict[str, dict[tuple[object, ...], tuple[str, datetime]]] = {}
    kept = 0
    restart = POLLS - 3
    for number in range(POLLS):
        now = collector.poll(number) + timedelta(seconds=3)
        if number < 10:
            continue
        if number == restart:
            evaluator, present = ClusterEvaluator(lake, watched_since=0.0), Present(store)
        watched(lake, evaluator, present, now)
        for table, key in (
            (GROUP_STATUS, ("group",)),
            (GROUP_PARTITION_STATUS, ("group", "topic", "partition")),
        ):
            written = store.read(table, "c")
            assert written is not None
            before = reported.get(table.name, {})
            reported[table.name] = {
                tuple(row[one] for one in key): (row["status"], row["since"])
                for row in written.iter_rows(named=True)
            }
            for name, (status, since) in reported[table.name].items():
                status_before, since_before = before.get(name, (None, None))
                if status_before == status:
                    assert since_before == since, (number, name, status)
                    kept += number == restart
    assert kept >= 3
