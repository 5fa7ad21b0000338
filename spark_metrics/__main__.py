"""The history job's command line: ``python -m spark_metrics``."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from pyspark.sql import SparkSession
from rich.console import Console
from rich.status import Status

from config.errors import ConfigError
from config.load import load
from config.logs import log_to_stderr
from config.settings import Settings
from lake.errors import BusyError, LakeError, LeaseLostError
from lake.maintenance.lease import Hold, only_one
from lake.maintenance.run import maintain as maintain_samples
from lake.maintenance.run import summary
from lake.storage.store import Lake
from lake.storage.table_maintenance import Maintained
from runtime import heartbeat
from spark_metrics.derived.job import DerivedJob, keep
from spark_metrics.errors import HistoryError
from spark_metrics.history_tables import HistoryTables
from spark_metrics.history_tables import backfill as compute_again
from spark_metrics.maintain import Maintenance
from spark_metrics.progress import JOB, MicroBatch, TimeRange
from spark_metrics.service import serve, work_until_stopped
from spark_metrics.session import java_and_jars, spark_session
from spark_metrics.streaming import HistoryJob

STOP_SECONDS = 4.0
"""How long a stop waits for the running micro-batch; one that is cut short is done again."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    help="History of lag, throughput and replication, computed by Spark from the samples.",
)
console = Console(stderr=True, highlight=False)

Config = Annotated[Path, typer.Option("--config", help="The configuration file (YAML).")]


@app.command()
def run(config: Config) -> None:
    """Keep the history up to date until stopped (Ctrl-C or SIGTERM)."""
    heartbeat.start()
    with _failures(), _lake(config) as (settings, lake, hold):
        stop = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        failure: list[Exception] = []

        def work() -> None:
            with console.status("starting Spark"):
                spark = spark_session(settings.spark, settings.lake, on_progress=_say)
            logging.getLogger(__name__).info("Spark %s is ready", spark.version)
            derived = DerivedJob(spark, lake, settings)
            threading.Thread(target=keep, args=(derived, stop), daemon=True).start()
            maintenance = Maintenance(lake, settings.lake)
            serve(
                HistoryJob(spark, lake, settings),
                stop,
                settings.spark.trigger_seconds,
                lambda: maintenance.between_micro_batches(spark),
            )

        worker = threading.Thread(
            target=work_until_stopped, args=(work, stop, failure), name="history", daemon=True
        )
        worker.start()
        while not stop.wait(0.5):  # with a time-out, or signal handlers would not run
            pass
        worker.join(STOP_SECONDS)
        if failure:
            raise failure[0]
        if worker.is_alive():  # a lease is not given back: Spark may be writing a last time
            _say("stopped in the middle of a micro-batch: the next start does it again")
        else:
            hold.release()
        _leave()


@app.command()
def once(config: Config) -> None:
    """Bring the history up to date with all samples that are there, and exit."""
    with _failures(), _lake(config) as (settings, lake, _):
        with _spark(settings) as (spark, status):
            job = HistoryJob(spark, lake, settings)
            status.update("computing history")
            while not job.is_done:
                job.step(everything=True)
            _derive(DerivedJob(spark, lake, settings), status)
        _say("history is up to date")


@app.command()
def backfill(
    config: Config,
    first: Annotated[
        str, typer.Option("--from", help="First moment (UTC), for example 2026-01-05T10:00.")
    ],
    last: Annotated[str, typer.Option("--to", help="Last moment (UTC), exclusive.")],
) -> None:
    """Compute a time range of history again from the samples that are still there."""
    with _failures(), _lake(config) as (settings, lake, _):
        start, end = _moment("--from", first), _moment("--to", last)
        if start >= end:
            raise HistoryError("--from must be before --to")
        with _spark(settings) as (spark, status):

            def show(time_range: TimeRange, number: int, count: int) -> None:
                status.update(f"computing {time_range.start:%Y-%m-%d %H:%M} ({number} of {count})")

            done = compute_again(HistoryTables(spark, lake, settings), start, end, on_progress=show)
        _say(f"computed anew: {done.start:%Y-%m-%d %H:%M} to {done.end:%Y-%m-%d %H:%M} UTC")


@app.command()
def maintain(config: Config) -> None:
    """Compact small files, delete what is too old and what nobody needs, and exit.

    Beside running collectors and a running history job, each of which maintains its own tables,
    this is not needed; it leaves history to a history job that runs.
    """
    with _failures():
        settings, lake = _settings_and_lake(config)
        done: list[Maintained] = []
        try:
            with console.status("maintaining samples"):
                done += maintain_samples(lake, settings.lake)
        except BusyError as error:
            _say(f"samples are left out: {error}")
        try:
            with (
                only_one(settings.lake, JOB, lost=_lost, on_progress=_say),
                _spark(settings) as (spark, status),
            ):
                status.update("maintaining history")
                done += Maintenance(lake, settings.lake).of_history(spark)
        except BusyError:
            _say("a history job is running: it maintains its own tables")
        _say(summary(done))


@app.command()
def jars(config: Config) -> None:
    """Print the jars that spark-submit needs, for its option --jars."""
    with _failures():
        settings, _ = _settings_and_lake(config)
        _, found = java_and_jars(settings.lake, _say)
        print(",".join(str(jar) for jar in found))


@app.command()
def derive(config: Config) -> None:
    """Compute seasons, forecasts, changes, skew and capacity anew from the history, and exit."""
    with _failures(), _lake(config) as (settings, lake, _):
        with _spark(settings) as (spark, status):
            done = _derive(DerivedJob(spark, lake, settings), status, anew=True)
        _say("no hour of history is complete yet" if done.status == "waiting" else "derived anew")


def _derive(job: DerivedJob, status: Status, *, anew: bool = False) -> MicroBatch:
    status.update("deriving seasons, forecasts, capacity")
    done = job.step(anew=anew)
    if done.error is not None:
        raise HistoryError(done.error)
    return done


@contextmanager
def _failures() -> Iterator[None]:
    """Turn an expected failure into one line on stderr and an exit code."""
    log_to_stderr(logging.WARNING)
    logging.getLogger("spark_metrics").setLevel(logging.INFO)
    logging.getLogger("__main__").setLevel(logging.INFO)
    try:
        yield
    except ConfigError as error:
        print(error, file=sys.stderr)
        raise typer.Exit(2) from None
    except (HistoryError, LakeError) as error:
        print(f"error: {error}", file=sys.stderr)
        raise typer.Exit(1) from None


@contextmanager
def _lake(config: Path) -> Iterator[tuple[Settings, Lake, Hold]]:
    settings, lake = _settings_and_lake(config)
    with only_one(settings.lake, JOB, lost=_lost, on_progress=_say) as hold:
        yield settings, lake, hold


@contextmanager
def _spark(settings: Settings) -> Iterator[tuple[SparkSession, Status]]:
    """Start Spark, and stop it at the end; yields it with the line that says what goes on."""
    with console.status("starting Spark") as status:
        spark = spark_session(settings.spark, settings.lake, on_progress=_say)
        try:
            yield spark, status
        finally:
            spark.stop()


def _settings_and_lake(config: Path) -> tuple[Settings, Lake]:
    settings = load(config)
    if settings.lake.is_local:
        folder = Path(settings.lake.uri)
        if folder.exists() and not folder.is_dir():
            raise LakeError(f"{folder} is not a folder: set lake.uri to one")
    return settings, Lake(settings.lake)


def _moment(option: str, text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise HistoryError(
            f"{option}: {text!r} is no date; write 2026-01-05 or 2026-01-05T10:00 (UTC)"
        ) from None
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _say(line: str) -> None:
    console.print(line, markup=False, soft_wrap=True)


def _lost(error: LeaseLostError) -> None:
    """End without any further write."""
    print(f"error: {error}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(1)


def _leave() -> None:
    """End at once; Spark's JVM ends with this process.

    Spark's own stop can take longer than a terminal is patient, and a micro-batch that it would
    wait for is safe to cut short.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    app()
