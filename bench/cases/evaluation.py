"""What an evaluation of the alerting service costs: lake to alerts and written tables."""

from __future__ import annotations

import resource
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import process_time

from alerting.current.state import Present
from alerting.evaluate.evaluation import ClusterEvaluator
from alerting.notify.notifications import NotificationIntervals
from alerting.notify.store import AlertStore
from alerting.rules.rule_file import load_rules
from alerting.service import evaluate_once
from bench.support.figures import Figure
from bench.support.samples import (
    CLUSTER,
    IDLE_RATIO,
    INTERVAL_SECONDS,
    LATE_EVERY,
    START,
    USUAL_DELAY_SECONDS,
    Collector,
    Workload,
)
from config.settings import LakeSettings
from lake.storage.current_store import CurrentStore
from lake.storage.store import Lake

LARGE = 10_000
_SMALL = 15
_SMALL_POLL_SECONDS = 5.0
_SMALL_FRACTION = 0.03
_LARGE_FRACTION = 0.25
_WARM_POLLS = 44


def measure(groups: int, polls: int, on_progress: Callable[[str], None]) -> list[Figure]:
    """Evaluate a small cluster and one of this many groups, poll after poll.

    Consumers follow within five seconds; one group in fifty follows at up to a minute, so that it
    is classified in full.
    """
    small = _evaluated(
        Workload(
            groups=_SMALL,
            partitions=6,
            idle_ratio=0.3,
            delay_seconds=USUAL_DELAY_SECONDS,
            late_every=5,
        ),
        polls,
        on_progress,
    )
    large = _evaluated(
        Workload(
            groups=groups,
            partitions=15,
            idle_ratio=IDLE_RATIO,
            delay_seconds=USUAL_DELAY_SECONDS,
            late_every=LATE_EVERY,
        ),
        polls,
        on_progress,
    )
    name, goal = f"{groups:,} groups of 15 partitions", _LARGE_FRACTION * INTERVAL_SECONDS
    return [
        Figure(
            name=f"{_SMALL} groups of 6 partitions: an evaluation, median",
            value=median(small[1:]),
            unit="CPU s",
            most=_SMALL_FRACTION * _SMALL_POLL_SECONDS,
        ),
        Figure(name=f"{name}: the first evaluation", value=large[0], unit="CPU s"),
        Figure(
            name=f"{name}: an evaluation, median",
            value=median(large[1:]),
            unit="CPU s",
            most=goal if groups == LARGE else None,
        ),
        Figure(name=f"{name}: the slowest", value=max(large[1:]), unit="CPU s"),
        Figure(
            name="peak memory, with what collects",
            value=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
            unit="MiB",
        ),
    ]


def _evaluated(workload: Workload, polls: int, on_progress: Callable[[str], None]) -> list[float]:
    """Return the processor time of each evaluation, the first one's first."""
    rules = load_rules(None)
    with TemporaryDirectory(prefix="headroom-bench-evaluation-") as folder:
        settings = LakeSettings(uri=str(Path(folder) / "lake"))
        collector = Collector(Lake(settings), workload)
        evaluator = ClusterEvaluator(Lake(settings), watched_since=0.0)
        present = Present(CurrentStore(settings))
        store = AlertStore(Path(folder) / "alerts.db")
        seconds = []
        for poll in range(_WARM_POLLS + polls + 1):
            on_progress(f"{workload.groups:,} groups: poll {poll + 1} of {_WARM_POLLS + polls + 1}")
            collector.poll()
            if poll < _WARM_POLLS:
                continue
            now = START + timedelta(seconds=INTERVAL_SECONDS * poll + 3)
            begun = process_time()
            found = evaluator.evaluate(CLUSTER, now.timestamp(), rules.rules)
            outcome = evaluate_once(found, rules, store, NotificationIntervals(), [])
            present.write(found, outcome.alerts)
            seconds.append(process_time() - begun)
        store.close()
    return seconds
