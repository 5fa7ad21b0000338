"""Many polls, of a cluster that is well and of one that is down: nothing grows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from demo.kafka.cluster import KafkaCluster
from tests.kafka.collecting import Poller, polling
from tests.selection import exhaustive
from tests.support import Names

ROOT = Path(__file__).parents[2]
SETTLED = 100  # polls until everything is there that is made once
NOBODY = "127.0.0.1:1"
MAY_GROW_BYTES = 12 * 2**20  # of about 190 MiB; in 1,000 a leak of 14 KiB a poll would be seen


def main(servers: str, polls: int) -> None:
    """Poll in a process of its own, and print what it held after each of some polls."""
    with polling(servers) as well, polling(NOBODY) as down:
        seen = []
        for number in range(1, polls + 1):
            poll_both(well, down)
            if number in (SETTLED, polls):
                seen.append(held())
    print(json.dumps(seen))


def poll_both(well: Poller, down: Poller) -> None:
    errors = well.poll().errors
    if errors:
        raise RuntimeError(f"a poll went wrong: {errors}")
    if {result.status for result in down.poll().results.values()} != {"failed"}:
        raise RuntimeError("nobody answered, and yet something was read")


def held() -> dict[str, int]:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return {
        "resident_bytes": pages * os.sysconf("SC_PAGE_SIZE"),
        "threads": threading.active_count(),
        "files": len(list(Path("/proc/self/fd").iterdir())),
    }


@pytest.mark.kafka
@pytest.mark.parametrize("polls", [150, *exhaustive(1000)])
def test_nothing_grows(make_cluster: Callable[..., KafkaCluster], polls: int) -> None:
    cluster = make_cluster(brokers=1)
    names = Names(cluster)
    topic, dead = names.topic("orders", partitions=3), names.topic("orders.dlq", partitions=1)
    names.produce(topic, 30)
    names.produce(dead, 5)
    names.commit("billing", topic, dict.fromkeys(range(3), 1))
    answer = subprocess.run(
        [
            sys.executable,
            *("-m", "tests.faults.test_thousand_polls", cluster.bootstrap_servers, str(polls)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    settled, last = json.loads(answer.stdout)
    assert last["threads"] <= settled["threads"]
    assert last["files"] <= settled["files"]
    assert last["resident_bytes"] - settled["resident_bytes"] < MAY_GROW_BYTES


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
