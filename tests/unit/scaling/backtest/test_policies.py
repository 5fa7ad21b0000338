"""The rules of others do what their sources say; ours sees what collectors see."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from scaling.backtest.policies.dataflow import Ds2
from scaling.backtest.policies.kubernetes import HpaCpu, Keda
from scaling.backtest.policies.policy import Policy
from scaling.backtest.run import (
    BASELINES,
    ORACLE,
    OURS,
    BacktestWorkload,
    PolicyResult,
    WorkloadResult,
    as_document,
    backtest,
    cheapest_as_good,
    missed_goals,
    split,
)
from scaling.backtest.trial import run, run_static
from simulation.model import Floats, GroupObservation, Workload
from simulation.workloads import workload


def seen(
    lag: float, replicas: int, *, at: float = 0.0, partitions: int = 24, end: float = 1e6
) -> GroupObservation:
    return GroupObservation(
        at=at,
        keys=tuple(("orders", number) for number in range(partitions)),
        log_start=np.zeros(partitions),
        log_end=np.full(partitions, end),
        committed=np.full(partitions, end - lag / partitions),
        member=np.arange(partitions) % replicas,
        time_lag_seconds=np.zeros(partitions),
        members=replicas,
        state="Stable",
        replicas=replicas,
    )


def follow(policy: Policy, lag: float, replicas: int, *, steps: int = 60) -> int:
    """Return where a policy ends that always sees the same lag."""
    for step in range(steps):
        replicas = policy.decide(seen(lag, replicas, at=15.0 * step), np.full(replicas, 0.5))
    return replicas


@pytest.mark.parametrize(
    ("lag", "replicas", "expected"),
    [
        pytest.param(24_500.0, 20, 25, id="one more than partitions: its cap only looks at whole"),
        pytest.param(25_008.0, 20, 24, id="cut to the partitions from there on"),
        pytest.param(24_000.0, 22, 22, id="stuck below the partitions within the tolerance"),
        pytest.param(24_000.0, 20, 24, id="reached from further below"),
        pytest.param(0.0, 8, 1, id="nothing waits"),
        pytest.param(8_700.0, 8, 8, id="within ten percent"),
    ],
)
def test_keda(lag: float, replicas: int, expected: int) -> None:
    assert follow(Keda(24, 1000), lag, replicas) == expected


def test_hpa_steps_down_to_the_most_of_the_last_five_minutes() -> None:
    policy = Keda(24, 1000)
    policy.decide(seen(20_000.0, 20), np.full(20, 0.5))
    after = [
        policy.decide(seen(0.0, 20, at=float(at)), np.full(20, 0.5)) for at in range(30, 420, 30)
    ]

    assert set(after[:9]) == {20}
    assert after[-1] == 1


def test_hpa_doubles_at_most() -> None:
    assert Keda(24, 10).decide(seen(1e6, 8), np.full(8, 0.5)) == 16
    assert Keda(24, 10).decide(seen(1e6, 2), np.full(2, 0.5)) == 6


@pytest.mark.parametrize(
    ("busy", "expected"), [(0.8, 10), (0.86, 10), (1.0, 13), (0.2, 3)], ids=str
)
def test_hpa_on_cpu(busy: float, expected: int) -> None:
    policy, replicas = HpaCpu(24), 10
    answers = [
        policy.decide(seen(0.0, replicas, at=30.0 * step), np.full(replicas, busy))
        for step in range(12)
    ]

    assert answers[-1] == expected


def test_ds2_takes_the_rate_of_a_busy_consumer() -> None:
    policy, replicas = Ds2(24), 12
    for step in range(6):
        # 600 messages/s arrive and are processed in half of the consumers' time: 100 each.
        one = seen(0.0, replicas, at=60.0 * step, end=1e6 + 25.0 * 60 * step)
        replicas = policy.decide(one, np.full(replicas, 0.5))
        if replicas != 12:
            break

    assert replicas == 6


class _Fixed:
    name = "fixed"

    def decide(self, seen: GroupObservation, busy_ratio: Floats) -> int:
        return 6


def test_policy_that_never_moves_scores_like_a_fixed_number() -> None:
    work = replace(workload("steady", 1), duration_seconds=3600.0)

    assert run(work, 1, _Fixed(), 6) == run_static(work, 1, 6)


def test_seeds_that_tune_are_not_scored() -> None:
    tuning, scored = split(20)

    assert len(scored) == 10
    assert not set(tuning) & set(scored)
    assert split(1) == (range(1), range(1))
    with pytest.raises(ValueError, match="one seed"):
        split(0)


def result(policy: str, violation: float, hours: float, **more: Any) -> PolicyResult:
    return replace(
        PolicyResult(
            policy=policy,
            violation_minutes_per_day=violation,
            consumer_hours_per_day=hours,
            rescales_per_day=3.0,
            lost_messages=0.0,
        ),
        **more,
    )


def test_losses_are_named() -> None:
    found = WorkloadResult(
        workload="steady",
        seeds=1,
        days=1.0,
        policies=(
            result(OURS, 5.0, 300.0, rescales_per_day=14.0, advice_errors_per_day=1.0),
            result("a", 6.0, 100.0),
            result("b", 5.0, 200.0),
            result("c", 2.0, 400.0),
            result(ORACLE, 0.0, 150.0),
        ),
    )
    cheapest = cheapest_as_good(found)

    assert cheapest is not None and cheapest.policy == "b"
    missed = missed_goals(found)
    assert len(missed) == 4
    assert "c has 2.0" in missed[0]
    assert "b does as well with 200" in missed[1]


def test_nothing_is_missed_where_ours_is_best() -> None:
    found = WorkloadResult(
        workload="steady",
        seeds=1,
        days=1.0,
        policies=(result(OURS, 0.0, 200.0), result("a", 0.0, 195.0), result(ORACLE, 0, 180)),
    )

    assert missed_goals(found) == ()
    assert as_document([found])["overall"]["oracle_ratio"] == pytest.approx(200 / 180)


class _Short(BacktestWorkload):
    """A workload cut to an hour."""

    def make(self, seed: int) -> Workload:
        return replace(super().make(seed), duration_seconds=3600.0)


def test_backtest_gives_every_policy_in_the_published_form() -> None:
    [found] = backtest([_Short(name="step")], 1, processes=1)
    document = as_document([found])
    [one] = document["workloads"]

    assert (one["workload"], one["seeds"]) == ("step", 1)
    assert [p["policy"] for p in one["policies"]] == [OURS, *BASELINES, ORACLE]
    assert all(
        {
            "violation_minutes_per_day",
            "consumer_hours_per_day",
            "rescales_per_day",
            "lost_messages",
        }
        <= set(p)
        for p in one["policies"]
    )
    hours = [p["consumer_hours_per_day"] for p in one["policies"]]
    assert min(hours) > 0
    assert found.of(OURS).capacity_coverage in (0.0, 1.0)
    with pytest.raises(KeyError):
        found.of("nobody")
