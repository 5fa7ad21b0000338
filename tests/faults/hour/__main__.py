"""``python -m tests.faults.hour``: break things for a while, then say what came of it."""

from __future__ import annotations

import argparse
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from bench.support.process_usage import usage_of_tree
from demo.kafka.class_archive import ensure_class_archive
from demo.running import POLL_SECONDS
from lake.storage.store import Lake
from runtime.jars import IvyResolver, ensure_all
from runtime.jarsets import DELTA, KAFKA, S3
from runtime.java import find_java
from tests.faults.hour import evidence
from tests.faults.hour.schedule import NOT_WITH_STORE, ONLY_WITH_STORE, Fault, Kind, plan
from tests.faults.hour.truth import HEALTHY, judge
from tests.faults.hour.world import DISK, SERVICES, World, unmount
from tests.servers.alerting.receiver import Receiver, receiving
from tests.servers.s3.server import S3PROXY

_MEASURE_SECONDS = 10.0
_WARM_PROCESS_SECONDS = 180.0
GROWTH_LIMIT = 1.5
"""A process that lived for minutes may not end with more than so many times its warm memory."""


def main() -> int:
    """Run it; the exit status is 1 if anything was lost, doubled or false."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--data", type=Path, help="default: a temporary folder, deleted if all is well"
    )
    parser.add_argument("--only", nargs="*", type=Kind, help="these kinds of faults alone")
    parser.add_argument(
        "--store", action="store_true", help="the lake in an object store, which fails, too"
    )
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by SIGTERM"))
    data = options.data or Path(tempfile.mkdtemp(prefix="headroom-faults-"))
    left_out = NOT_WITH_STORE if options.store else ONLY_WITH_STORE
    kinds = [kind for kind in options.only or Kind if kind not in left_out]
    failures = _run(data, options.minutes * 60, options.seed, kinds, options.store)
    for failure in failures:
        print(f"WRONG: {failure}")
    if failures or options.data:
        say(f"what it left is in {data}; umount {data / DISK} when you have looked")
    else:
        unmount(data)
        shutil.rmtree(data)
    return 1 if failures else 0


def _run(data: Path, seconds: float, seed: int, kinds: list[Kind], in_store: bool) -> list[str]:
    """Run the demo with faults, print what came of it, and return what is wrong."""
    java = find_java(on_progress=say)
    jars = (DELTA, KAFKA, S3, S3PROXY) if in_store else (DELTA, KAFKA)
    ensure_all(jars, IvyResolver(java), say)
    ensure_class_archive(java)
    with receiving() as receiver:
        world = World(data, java, receiver.url, say, store_seed=seed if in_store else None)
        try:
            if not world.has_own_disk:
                say("not root: the lake has no disk of its own, so no disk is filled")
                kinds = [kind for kind in kinds if kind is not Kind.DISK_FULL]
            if not world.clock.is_there:
                say("libfaketime is not installed: no clock is stepped")
                kinds = [kind for kind in kinds if kind is not Kind.CLOCK_STEPPED]
            faults = plan(seconds, seed, kinds, HEALTHY)
            memory = Memory(world)
            world.start()
            began = datetime.now(UTC)
            _break_things(world, faults, seconds, memory)
            say("ending the services")
            world.stop_services()
            world.complete_history()
            failures = report(world, faults, began, seconds, receiver, memory)
        finally:
            left = world.close()
    print(f"processes left                     {len(left)}")
    return failures + [f"process left: {line}" for line in left]


def say(message: str) -> None:
    """Print what happens, with the time."""
    print(f"{datetime.now(UTC):%H:%M:%S} {message}", file=sys.stderr, flush=True)


class Memory:
    """Resident memory of the services, process by process."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.seen: dict[tuple[str, int], list[tuple[float, int]]] = {}
        self._next = 0.0

    def look(self) -> None:
        """Measure, if it is time to."""
        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + _MEASURE_SECONDS
        for service in SERVICES:
            pid = self._world.pid(service)
            if pid is not None:
                resident = usage_of_tree(pid)[1]
                self.seen.setdefault((service, pid), []).append((time.monotonic(), resident))


def growth(
    seen: Mapping[tuple[str, int], Sequence[tuple[float, int]]],
) -> list[tuple[str, float, int, int]]:
    """Return service, minutes, first and last bytes, of the process that lived the longest.

    The first is the median of the minute after it had become warm, the last of the last minute.
    A service of which two run may wait at first and work later: the first is the largest one of all
    processes of both.

    Args:
        seen: When how many bytes were resident, by service and process.
    """
    warm = defaultdict[str, int](int)
    longest: dict[str, Sequence[tuple[float, int]]] = {}
    for (service, _), rows in seen.items():
        begun = rows[0][0] + _WARM_PROCESS_SECONDS
        if first := [size for at, size in rows if begun <= at <= begun + 60]:
            work = _work(service)
            warm[work] = max(warm[work], int(statistics.median(first)))
        longest[service] = max(longest.get(service, rows), rows, key=_lived)
    return [
        (
            service,
            _lived(rows) / 60,
            warm[_work(service)],
            int(statistics.median(size for at, size in rows if at >= rows[-1][0] - 60)),
        )
        for service, rows in longest.items()
        if _lived(rows) >= _WARM_PROCESS_SECONDS + 120
    ]


def _lived(rows: Sequence[tuple[float, int]]) -> float:
    return rows[-1][0] - rows[0][0]


def _work(service: str) -> str:
    return service.removesuffix("-2")


def _break_things(world: World, faults: list[Fault], seconds: float, memory: Memory) -> None:
    start = time.monotonic()
    steps = sorted(
        [(fault.at, True, fault) for fault in faults]
        + [(fault.ends, False, fault) for fault in faults],
        key=lambda step: step[:2],
    )
    while time.monotonic() - start < seconds:
        world.look_after()
        memory.look()
        now = time.monotonic() - start
        while steps and steps[0][0] <= now:
            _, begins, fault = steps.pop(0)
            what = f"{fault.kind} {fault.target or ''}".strip()
            say(f"{now:6.0f} s  {'fault' if begins else 'mended'}: {what}")
            (world.begin if begins else world.end)(fault)
        time.sleep(0.2)


def report(
    world: World,
    faults: list[Fault],
    began: datetime,
    seconds: float,
    receiver: Receiver,
    memory: Memory,
) -> list[str]:
    """Print what came of it, and return what is wrong."""
    lake = Lake(world.settings.lake)
    polls = evidence.polls(lake, faults, began, POLL_SECONDS)
    twice = evidence.duplicates(lake)
    rows, different = evidence.history_differences(lake)
    told = judge([one.body for one in receiver.received], faults, began.timestamp(), seconds)
    print(f"faults                             {len(faults)}")
    print(f"polls present                      {polls.present}")
    print(f"polls recorded as skipped          {polls.skipped}")
    print(f"losses that were recorded          {len(polls.given_up)}")
    print(f"gaps that a fault explains         {len(polls.explained)}")
    print(f"gaps that nothing explains         {len(polls.gaps)}")
    print(f"polls whose rows are not there     {len(polls.hollow)}")
    print(f"rows twice                         {sum(twice.values())}")
    print(f"rows of history                    {rows}")
    print(f"of them not as recomputed          {len(different)}")
    print(f"true incidents                     {told.incidents}")
    print(f"told once and resolved             {told.told_once}")
    print(f"false alarms                       {len(told.false)}")
    print(f"messages sent again, same key      {told.repeated_keys}")
    for each in (*polls.given_up, *polls.explained):
        print(f"  recorded or explained: {each}")
    failures = [f"gap: {gap}" for gap in polls.gaps]
    failures += [f"cadence: {one}" for one in polls.out_of_step]
    failures += [f"rows missing: {one}" for one in polls.hollow]
    failures += [f"{count} rows twice in {table}" for table, count in twice.items()]
    failures += [f"history: {one}" for one in different[:20]]
    failures += [f"not told: {one}" for one in told.not_told]
    failures += [f"told twice: {one}" for one in told.told_twice]
    failures += [f"not resolved: {one}" for one in told.not_resolved]
    failures += [f"false alarm: {one}" for one in told.false]
    for service, minutes, first, last in growth(memory.seen):
        print(
            f"memory of {service:<24} {first / 1e6:5.0f} MB warm, {last / 1e6:5.0f} MB "
            f"after {minutes:.0f} min"
        )
        if last > GROWTH_LIMIT * first:
            failures.append(f"{service} grew from {first} to {last} bytes")
    return failures


if __name__ == "__main__":
    sys.exit(main())
