"""Runs the workload as a process of its own: ``python -m demo.workload --help``."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Annotated

import typer
from confluent_kafka import KafkaException

from demo.errors import DemoError
from demo.workload.clients import LOG
from demo.workload.control import Reached, Wanted
from demo.workload.service import Workload

_LOOK_SECONDS = 0.3
_TELL_EVERY = 10


def main(
    bootstrap_servers: Annotated[str, typer.Option(help="brokers, host:port with commas")],
    control: Annotated[Path, typer.Option(help="folder of the control files")],
) -> None:
    """Run the demo's producers and consumers until SIGTERM or Ctrl-C."""
    logging.getLogger("kafka").setLevel(logging.WARNING)  # kafka-python tells each connection
    logging.basicConfig(
        stream=sys.stdout, level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s"
    )
    ended = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ended.set())
    workload = Workload(bootstrap_servers)
    try:
        workload.start()
        LOG.info("all producers and consumers run")
        _follow(workload, control, ended)
    except (KafkaException, DemoError, TimeoutError) as error:
        LOG.error("the workload cannot go on: %s", error)
        _leave(1)
    workload.close(timeout_seconds=4)
    _leave(0)


def _follow(workload: Workload, control: Path, ended: threading.Event) -> None:
    """Bring the workload to the wanted state, again and again."""
    reached = Reached(number=-1)
    rounds = 0
    while not ended.is_set():
        wanted = Wanted.read(control) or Wanted()
        if wanted.number != reached.number or rounds % _TELL_EVERY == 0:
            error = _apply(workload, wanted) if wanted.number != reached.number else reached.error
            reached = Reached(number=wanted.number, members=workload.members(), error=error)
            reached.write(control)
        rounds += 1
        ended.wait(_LOOK_SECONDS)


def _apply(workload: Workload, wanted: Wanted) -> str | None:
    """Stop and start groups; return in one line what did not work."""
    try:
        for name in wanted.stopped_groups:
            if name not in workload.stopped_groups:
                LOG.info("stopping the consumers of %s", name)
                workload.stop_group(name)
        for name in workload.stopped_groups - set(wanted.stopped_groups):
            LOG.info("starting the consumers of %s", name)
            workload.start_group(name)
    except DemoError as error:
        return str(error)
    return None


def _leave(code: int) -> None:
    """End now: a client that waits for a broker that is gone must not hold the process."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(code)


if __name__ == "__main__":
    typer.run(main)
