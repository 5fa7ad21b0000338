"""A lake in an object store, as collectors, maintenance and readers use it: no Spark."""

from __future__ import annotations

import re
import threading
from datetime import UTC, datetime, timedelta

import polars as pl
import pytest
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import FileSelector, PyFileSystem
from pydantic import SecretStr

from bench.support.network import Failure, network
from config.storage import RetentionSettings
from lake.errors import BusyError, LakeError
from lake.maintenance.lease import Lease, Rhythm, only_one
from lake.maintenance.run import JOB, maintain
from lake.schemas.tables import BROKERS, GROUP_OFFSETS
from lake.storage.shared_files import SharedFiles
from lake.storage.store import Lake
from lake.storage.table_maintenance import Kept, maintain_table
from spark_metrics.maintain import delete_checkpoints
from spark_metrics.progress import JobRecords, MicroBatch, Progress
from tests.servers.s3.server import SECRET, S3Server
from tests.spark import bronze

QUICK = Rhythm(beat_seconds=0.3, expiry_seconds=4.0)


def test_collectors_that_write_at_once_lose_nothing(s3: S3Server) -> None:
    settings = s3.bucket("writers")
    models = [bronze.Model(cluster=f"c{number}", seed=number, calm=True) for number in range(4)]
    pasts = [bronze.history(model, polls=5) for model in models]

    def write(past: list[bronze.Rows]) -> None:
        own = Lake(settings)
        for poll in past:
            bronze.append(own, poll)

    writers = [threading.Thread(target=write, args=(past,)) for past in pasts]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
    found = Lake(settings).read(GROUP_OFFSETS)
    wanted = sum(len(poll["group_offsets"]) for past in pasts for poll in past)
    assert found.height == wanted
    assert found.unique(["cluster", "observed_at", "group", "topic", "partition"]).height == wanted


def test_rows_wait_for_a_store_that_is_away(s3: S3Server) -> None:
    lake = Lake(s3.bucket("away"))
    polls = bronze.history(bronze.Model(seed=3, calm=True), polls=2)
    bronze.append(lake, polls[0])
    s3.kill()
    writer = threading.Thread(target=bronze.append, args=(lake, polls[1]))
    writer.start()
    writer.join(4)
    try:
        assert writer.is_alive()
    finally:
        s3.start()
    writer.join(60)
    assert not writer.is_alive()
    assert lake.read(GROUP_OFFSETS).height == sum(len(poll["group_offsets"]) for poll in polls)


@pytest.mark.parametrize("failure", list(Failure))
@pytest.mark.parametrize("tokens", [{}, {"headroom/collectors/demo": 5}], ids=["free", "fenced"])
def test_rows_whose_commit_fails_on_the_way_are_there_once(
    s3: S3Server, failure: Failure, tokens: dict[str, int]
) -> None:
    """Given a store that fails at a commit, before it or between it and its answer, when rows are
    appended, then each is in one file that was added."""
    settings = s3.bucket(f"commit-{failure.name.lower().replace('_', '-')}-{len(tokens)}")
    asked: list[bytes] = []

    def failing(piece: bytes) -> Failure | None:
        is_commit = re.match(rb"PUT \S+/_delta_log/\d+\.json", piece) is not None
        asked.extend([piece] if is_commit else [])
        return failure if is_commit and len(asked) == 2 else None  # the first makes the table

    with network() as between:
        path = between.path(int(s3.endpoint.rpartition(":")[2]))
        address = {"aws_endpoint_url": f"http://127.0.0.1:{path.port}"}
        options = {**settings.storage_options, **address}
        lake = Lake(settings.model_copy(update={"storage_options": options}))
        path.failing = failing
        rows = bronze.history(bronze.Model(seed=6, calm=True), polls=2)
        for poll in rows:
            lake.append(BROKERS, pl.DataFrame(poll["brokers"]), tokens)
    found = Lake(settings).scan(BROKERS).collect()
    assert len(asked) >= 3
    assert found.height == found.unique(BROKERS.identity).height
    assert found.height == sum(len(poll["brokers"]) for poll in rows)
    table = s3.objects / settings.uri.split("/")[2] / "lake/bronze/brokers"
    assert len(list(table.glob("*/*.parquet"))) == 2
    log = "".join(commit.read_text() for commit in table.glob("_delta_log/*.json"))
    assert len(re.findall(r'"add":', log)) == 2


def test_maintenance_works_in_a_store(s3: S3Server) -> None:
    lake = Lake(s3.bucket("maintenance"))
    for poll in bronze.history(bronze.Model(seed=4, calm=True), polls=4):
        bronze.append(lake, poll)
    before = lake.read(BROKERS).height
    done = maintain_table(
        BROKERS,
        lake.uri(BROKERS),
        lake.options,
        RetentionSettings(raw_days=None),
        kept=Kept(files=timedelta(0), log=timedelta(0)),
    )
    assert done is not None
    assert (done.compacted_files, done.deleted_files) == (4, 4)
    assert lake.read(BROKERS).height == before
    assert len(list(s3.objects.glob("maintenance/lake/bronze/brokers/date=*/*.parquet"))) == 1
    expired = maintain_table(
        BROKERS,
        lake.uri(BROKERS),
        lake.options,
        RetentionSettings(),
        now=datetime.now(UTC),
    )
    assert expired is not None
    assert expired.expired_days == 1
    assert lake.read(BROKERS).is_empty()


def test_of_two_that_maintain_a_store_the_second_skips_it(s3: S3Server) -> None:
    """Given two processes' hands on one lake, when both want to maintain it at once, then one does
    and the other is marked so."""
    settings = s3.bucket("two-that-maintain").model_copy(
        update={"retention": RetentionSettings(raw_days=None)}
    )
    lake = Lake(settings)
    for poll in bronze.history(bronze.Model(seed=5, calm=True), polls=3):
        bronze.append(lake, poll)
    before = lake.scan(BROKERS).collect().height
    with only_one(settings, JOB, lost=lambda error: pytest.fail(str(error)), rhythm=QUICK) as hold:
        with pytest.raises(BusyError, match="another maintenance job works on this lake"):
            maintain(lake, settings)
        hold.confirm()
    assert {one.compacted_files for one in maintain(lake, settings)} == {3}
    assert lake.scan(BROKERS).collect().height == before


def test_of_two_drivers_the_second_is_refused(s3: S3Server) -> None:
    settings = s3.bucket("lease")
    uri, options = f"{Lake(settings).checkpoints_uri}/lease", settings.plain_storage_options()
    first = Lease(uri, options, "history", QUICK)
    first.acquire()
    first.keep(lambda error: pytest.fail(str(error)))
    with pytest.raises(BusyError):
        Lease(uri, options, "history", QUICK).acquire()
    first.release()
    Lease(uri, options, "history", QUICK).acquire()


def test_wrong_credentials_are_one_line_without_them(s3: S3Server) -> None:
    settings = s3.bucket("denied")
    wrong = {**settings.storage_options, "aws_secret_access_key": SecretStr("not-the-secret")}
    lake = Lake(settings.model_copy(update={"storage_options": wrong}))
    with pytest.raises(LakeError) as caught:
        lake.read(BROKERS)
    assert "\n" not in str(caught.value)
    assert "not-the-secret" not in str(caught.value)
    assert SECRET not in str(caught.value)


def test_checkpoints_that_nothing_reads_any_more_are_deleted(s3: S3Server) -> None:
    lake = Lake(s3.bucket("checkpoints"))
    used, old = Progress(), "0" * 32
    JobRecords(lake).add(MicroBatch(started_at=datetime.now(UTC), status="ok"), used)
    assert delete_checkpoints(lake) == []
    folder = PyFileSystem(DeltaStorageHandler(lake.checkpoints_uri, lake.options))
    names = [f"history/{stream}/{name}" for stream in (used.stream, old) for name in ("a", "b/0")]
    for name in names:
        pl.DataFrame({"a": [1]}).write_parquet(
            f"{lake.checkpoints_uri}/{name}", storage_options=lake.options
        )
    assert delete_checkpoints(lake) == [old]
    left = folder.get_file_info(FileSelector("history", recursive=True))
    assert {one.path for one in left if one.is_file} == set(names[:2])


def test_small_files_are_put_listed_read_and_removed(s3: S3Server) -> None:
    files = SharedFiles(s3.bucket("files"), "alerting/requests")
    assert files.names() == []
    assert files.get("a.json") is None
    files.put("b.json", b"2")
    files.put("a.json", b"1")
    files.put("a.json", b"one")
    assert files.names() == ["a.json", "b.json"]
    content = files.get("a.json")
    assert content is not None and content.rstrip() == b"one"
    files.remove("a.json")
    files.remove("a.json")
    assert files.names() == ["b.json"]
    assert files.get("a.json") is None
