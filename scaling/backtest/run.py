"""Policies compared on the same workloads: each sees only what collectors would see.

Seeds are split: one half chooses what may be chosen (KEDA's best threshold), the other half is
scored. With one seed alone both are the same, and the result says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scaling.backtest.policies.dataflow import Ds2, Flink
from scaling.backtest.policies.headroom import Headroom
from scaling.backtest.policies.kubernetes import HpaCpu, Keda
from scaling.backtest.policies.oracle import Oracle
from scaling.backtest.policies.policy import Limits, Policy
from scaling.backtest.trial import TrialScore, remember, run, run_static
from scaling.backtest.workers import Workers
from simulation.model import Workload
from simulation.traces import Trace, trace_workload
from simulation.workloads import NOTHING_TO_GAIN, workload

OURS = "headroom"
ORACLE = "oracle"
KEDA_BEST = "keda best"
KEDA_THRESHOLDS = (100.0, 1000.0, 5000.0, 20000.0)
KEDA_DIVISORS = (1.5, 3.0, 6.0, 12.0, 24.0)
"""Candidates for KEDA's best threshold: messages of one consumer in the objective, divided."""

BASELINES = (
    "static mean",
    "static peak",
    *(f"keda {threshold:g}" for threshold in KEDA_THRESHOLDS),
    KEDA_BEST,
    "hpa cpu",
    "ds2",
    "flink",
)
_TUNING_SEEDS = 3
_MINUTE = 60.0

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class BacktestWorkload:
    """A workload to compare policies on."""

    name: str
    trace: Trace | None = None  # the recorded series that it is made of; None: it is generated

    def make(self, seed: int) -> Workload:
        """Return the workload of a seed."""
        if self.trace is not None:
            return trace_workload(self.trace, seed)
        return workload(self.name, seed)


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyResult:
    """What one policy did on the scored seeds of one workload, in means over the seeds.

    Attributes:
        violation_minutes_per_day: Time in which the oldest unread message was older than the
            objective.
        capacity_coverage: Share of the 90 % intervals for the capacity that held the truth; None
            where none was given.
        advice_errors_per_day: Steps up while no number of consumers can help; None where one can.
        chosen: What the tuning seeds chose; None where nothing is chosen.
    """

    policy: str
    violation_minutes_per_day: float
    consumer_hours_per_day: float
    rescales_per_day: float
    lost_messages: float
    oracle_ratio: float | None = None
    capacity_coverage: float | None = None
    advice_errors_per_day: float | None = None
    chosen: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadResult:
    """All policies on one workload."""

    workload: str
    seeds: int
    days: float
    policies: tuple[PolicyResult, ...]

    def of(self, policy: str) -> PolicyResult:
        """Return one policy's result.

        Raises:
            KeyError: It did not take part.
        """
        for one in self.policies:
            if one.policy == policy:
                return one
        raise KeyError(policy)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Task:
    subject: BacktestWorkload
    seed: int
    policy: str
    threshold: float | None = None


def split(seeds: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return the seeds to tune on and those to score on.

    Raises:
        ValueError: There is no seed.
    """
    if seeds < 1:
        raise ValueError("at least one seed is needed")
    if seeds == 1:
        return range(1), range(1)
    return range(0, seeds, 2)[:_TUNING_SEEDS], range(1, seeds, 2)


def backtest(
    subjects: Sequence[BacktestWorkload],
    seeds: int,
    *,
    processes: int = 2,
    progress: Progress | None = None,
) -> Iterator[WorkloadResult]:
    """Compare all policies, one workload after the other.

    Args:
        subjects: The workloads.
        seeds: How many seeds, those for tuning included.
        processes: Processes to work in.
        progress: Called with what is done and what there is to do, in runs.

    Yields:
        The results of each workload.
    """
    tuning, scored = split(seeds)
    policies = (OURS, *BASELINES, ORACLE)
    total = len(subjects) * (len(tuning) * len(KEDA_DIVISORS) + len(scored) * len(policies))
    done = 0
    with Workers(processes) as workers:

        def scores(tasks: Sequence[_Task]) -> list[TrialScore]:
            nonlocal done
            found = []
            for score in workers.map(_score, tasks):
                found.append(score)
                done += 1
                if progress is not None:
                    progress(done, total)
            return found

        for subject in subjects:
            divisor = _best_divisor(subject, tuning, scores)
            tasks = [
                _Task(
                    subject=subject,
                    seed=seed,
                    policy=policy,
                    threshold=divisor if policy == KEDA_BEST else None,
                )
                for policy in policies
                for seed in scored
            ]
            found = scores(tasks)
            by_policy = {
                policy: [s for t, s in zip(tasks, found, strict=True) if t.policy == policy]
                for policy in policies
            }
            yield _result(subject, len(scored), by_policy, divisor)


def _best_divisor(
    subject: BacktestWorkload,
    tuning: Sequence[int],
    scores: Callable[[Sequence[_Task]], list[TrialScore]],
) -> float:
    """Return what violates least on the tuning seeds and, of that, costs least."""
    tasks = [
        _Task(subject=subject, seed=seed, policy=KEDA_BEST, threshold=by)
        for by in KEDA_DIVISORS
        for seed in tuning
    ]
    found = scores(tasks)

    def cost(divisor: float) -> tuple[float, float]:
        of = [s for t, s in zip(tasks, found, strict=True) if t.threshold == divisor]
        return sum(s.violation_minutes for s in of), sum(s.consumer_hours for s in of)

    return min(KEDA_DIVISORS, key=cost)


def _score(task: _Task) -> TrialScore:
    """Run one policy; in a process of its own."""
    work = task.subject.make(task.seed)
    consumers, partitions = work.consumers, work.partitions
    if task.policy.startswith("static"):
        times = work.starts_at + np.arange(0.0, work.duration_seconds, _MINUTE)
        rate = np.asarray(work.rate(times), dtype=np.float64)
        total = rate if rate.ndim == 1 else rate.sum(axis=1)
        load = total.mean() if task.policy == "static mean" else total.max()
        number = max(1, int(np.ceil(load / consumers.rate_per_second)))
        return run_static(work, task.seed, min(number, consumers.maximum))
    start = consumers.count
    policy: Policy
    if task.policy == OURS:
        policy = Headroom(Limits.of(work))
        remember(work, task.seed, policy)
    elif task.policy == ORACLE:
        policy = Oracle(work)
        start = policy.first
    elif task.policy == KEDA_BEST:
        fitting = consumers.rate_per_second * work.objective_seconds / (task.threshold or 1.0)
        policy = Keda(partitions, max(1, round(fitting)), consumers.maximum)
    elif task.policy.startswith("keda"):
        policy = Keda(partitions, int(task.policy.split()[1]), consumers.maximum)
    elif task.policy == "hpa cpu":
        policy = HpaCpu(partitions)
    elif task.policy == "ds2":
        policy = Ds2(partitions)
    else:
        policy = Flink(partitions)
    return run(work, task.seed, policy, start)


def _result(
    subject: BacktestWorkload,
    seeds: int,
    scores: Mapping[str, Sequence[TrialScore]],
    divisor: float,
) -> WorkloadResult:
    hours = {
        policy: sum(s.consumer_hours for s in of) / sum(s.days for s in of)
        for policy, of in scores.items()
    }
    results = []
    for policy, of in scores.items():
        days = sum(one.days for one in of)
        intervals = sum(one.intervals for one in of)
        results.append(
            PolicyResult(
                policy=policy,
                violation_minutes_per_day=sum(one.violation_minutes for one in of) / days,
                consumer_hours_per_day=hours[policy],
                rescales_per_day=sum(one.rescales for one in of) / days,
                lost_messages=sum(one.lost_messages for one in of) / len(of),
                oracle_ratio=hours[policy] / hours[ORACLE] if hours[ORACLE] else None,
                capacity_coverage=sum(one.covering for one in of) / intervals
                if intervals
                else None,
                advice_errors_per_day=sum(one.vain_steps_up for one in of) / days
                if subject.name in NOTHING_TO_GAIN
                else None,
                chosen=f"lagThreshold = capacity x objective / {divisor:g}"
                if policy == KEDA_BEST
                else None,
            )
        )
    return WorkloadResult(
        workload=subject.name,
        seeds=seeds,
        days=sum(one.days for one in scores[OURS]) / len(scores[OURS]),
        policies=tuple(results),
    )


def cheapest_as_good(result: WorkloadResult) -> PolicyResult | None:
    """Return the cheapest baseline that violates the objective no more than ours; None: none."""
    ours = result.of(OURS)
    as_good = [
        one
        for one in result.policies
        if one.policy not in (OURS, ORACLE)
        and one.violation_minutes_per_day <= ours.violation_minutes_per_day
    ]
    return min(as_good, key=lambda one: one.consumer_hours_per_day) if as_good else None


def missed_goals(result: WorkloadResult) -> tuple[str, ...]:
    """Return what ours falls short of on one workload, in words."""
    ours = result.of(OURS)
    missed = []
    others = [one for one in result.policies if one.policy not in (OURS, ORACLE)]
    best = min(others, key=lambda one: one.violation_minutes_per_day)
    if best.violation_minutes_per_day < ours.violation_minutes_per_day:
        missed.append(
            f"{ours.violation_minutes_per_day:.1f} violation minutes a day, "
            f"{best.policy} has {best.violation_minutes_per_day:.1f}"
        )
    cheapest = cheapest_as_good(result)
    if (
        cheapest is not None
        and ours.consumer_hours_per_day > 1.05 * cheapest.consumer_hours_per_day
    ):
        missed.append(
            f"{ours.consumer_hours_per_day:.0f} consumer-hours a day, {cheapest.policy} does as "
            f"well with {cheapest.consumer_hours_per_day:.0f}"
        )
    if ours.rescales_per_day > 12:
        missed.append(f"{ours.rescales_per_day:.1f} rescales a day")
    if ours.advice_errors_per_day:
        missed.append(f"{ours.advice_errors_per_day:.1f} steps up a day that cannot help")
    return tuple(missed)


def as_document(results: Sequence[WorkloadResult]) -> dict[str, Any]:
    """Return the results as the JSON document of the command."""
    ours = [one.of(OURS) for one in results]
    oracle = sum(one.of(ORACLE).consumer_hours_per_day for one in results)
    coverages = [one.capacity_coverage for one in ours if one.capacity_coverage is not None]
    return {
        "workloads": [{**asdict(one), "missed": missed_goals(one)} for one in results],
        "overall": {
            "oracle_ratio": sum(one.consumer_hours_per_day for one in ours) / oracle
            if oracle
            else None,
            "capacity_coverage": sum(coverages) / len(coverages) if coverages else None,
        },
    }
