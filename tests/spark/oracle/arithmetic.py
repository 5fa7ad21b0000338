"""Numbers of many samples in plain Python, where an unknown one stays unknown."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

Row = dict[str, Any]
Rows = dict[str, list[Row]]
Key = tuple[Any, ...]

GAP_POLLS = 4
GAP_SECONDS_WITHOUT_CADENCE = 60.0
GROWTH = 1.02 / 0.98  # neighbouring buckets of the histogram


def floor(moment: datetime, seconds: int) -> datetime:
    return datetime.fromtimestamp(math.floor(moment.timestamp() / seconds) * seconds, UTC)


def minute(moment: datetime) -> datetime:
    return floor(moment, 60)


def known(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def total(values: Iterable[Any]) -> Any:
    found = known(values)
    return sum(found) if found else None


def most(values: Iterable[Any]) -> Any:
    return max(known(values), default=None)


def least(values: Iterable[Any]) -> Any:
    return min(known(values), default=None)


def last(pairs: Iterable[tuple[datetime, Any]]) -> Any:
    found = sorted((pair for pair in pairs if pair[1] is not None), key=lambda pair: pair[0])
    return found[-1][1] if found else None


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    found: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        found[key(row)].append(row)
    return dict(found)


def once(rows: Iterable[Row], *series: str) -> list[Row]:
    """Drop the repetitions of a sample."""
    found: dict[Key, Row] = {}
    for row in rows:
        found[(*(row[name] for name in series), row["observed_at"])] = row
    return list(found.values())


class Cadence:
    """How often a cluster was to be polled, by minute."""

    def __init__(self, collections: list[Row]) -> None:
        self.found: dict[Key, float] = {}
        kafka = {r["cluster"] for r in collections if (r.get("source") or "kafka") == "kafka"}
        for row in collections:
            if row["cluster"] in kafka and (row.get("source") or "kafka") != "kafka":
                continue
            key = (row["cluster"], minute(row["observed_at"]))
            asked = row["interval_seconds"]
            if asked is not None:
                self.found[key] = min(asked, self.found.get(key, asked))

    def of(self, row: Row) -> float | None:
        return self.found.get((row["cluster"], minute(row["observed_at"])))


def gains(
    rows: list[Row], series: tuple[str, ...], counters: tuple[str, ...], cadence: Cadence
) -> list[Row]:
    """Return copies of samples with what each counter gained since it was known before."""
    done = []
    for samples in grouped(once(rows, *series), lambda r: tuple(r[s] for s in series)).values():
        before: dict[str, tuple[datetime, int]] = {}
        for sample in sorted(samples, key=lambda r: r["observed_at"]):
            at, interval = sample["observed_at"], cadence.of(sample)
            limit = GAP_SECONDS_WITHOUT_CADENCE if interval is None else interval * GAP_POLLS
            row = {**sample, "interval_seconds": interval, "resets": 0}
            for counter in counters:
                row[f"{counter}_gain"] = row[f"{counter}_seconds"] = None
                value = sample.get(counter)
                if value is None:
                    continue
                if counter in before:
                    seconds = (at - before[counter][0]).total_seconds()
                    gain = value - before[counter][1]
                    if seconds <= limit and gain >= 0:
                        row[f"{counter}_gain"], row[f"{counter}_seconds"] = gain, seconds
                    elif seconds <= limit:
                        row["resets"] += 1
                before[counter] = (at, value)
            done.append(row)
    return done


def percentile(values: list[float], share: float) -> float | None:
    """Return the percentile with linear interpolation between neighbours."""
    if not values:
        return None
    ordered = sorted(values)
    position = share * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)


def bucket(value: int) -> int:
    return 0 if value == 0 else math.ceil(math.log(value) / math.log(GROWTH)) + 1


def histogram(values: list[int]) -> dict[int, int]:
    counts: dict[int, int] = defaultdict(int)
    for value in values:
        counts[bucket(value)] += 1
    return dict(counts)


def lag_columns(samples: list[Row]) -> Row:
    lags = known(row["lag"] for row in samples)
    counts = histogram(lags)
    return {
        "lag_min": least(lags),
        "lag_mean": sum(lags) / len(lags) if lags else None,
        "lag_max": most(lags),
        "lag_last": last((row["observed_at"], row["lag"]) for row in samples),
        "lag_p95": percentile(lags, 0.95),
        "lag_buckets": sorted(counts),
        "lag_bucket_samples": [counts[number] for number in sorted(counts)],
    }


def flow(samples: list[Row], counter: str, name: str) -> Row:
    return {
        name: total(row[f"{counter}_gain"] for row in samples),
        f"{name}_seconds": total(row[f"{counter}_seconds"] for row in samples),
    }


def newest(samples: list[Row], column: str) -> Any:
    return last((row["observed_at"], row.get(column)) for row in samples)
