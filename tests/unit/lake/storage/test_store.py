from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from deltalake import DeltaTable, write_deltalake

from config.settings import LakeSettings
from lake.errors import LakeError, LeaseLostError, SchemaError, UnreadableTableError
from lake.schemas import tables
from lake.schemas.model import Column, Table
from lake.storage import append
from lake.storage.append import conform
from lake.storage.chunks import in_few_chunks
from lake.storage.store import Lake
from tests.support import double

NOW = datetime(2026, 11, 20, 23, 59, 50, 123456, tzinfo=UTC)
OF_POLLS = ["cluster", "observed_at", "poll_id", "group"]


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(LakeSettings(uri=str(tmp_path / "lake")))


def offsets(at: datetime, *, cluster: str = "a", lag: int | None = 7) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "cluster": [cluster, cluster],
            "observed_at": [at, at],
            "poll_id": [at.isoformat()] * 2,
            "group": ["g", "g"],
            "topic": ["t", "t"],
            "partition": [0, 1],
            "lag": [lag, lag],
        }
    )


def test_rows_come_back_as_they_went_in(lake: Lake) -> None:
    assert lake.append(tables.GROUP_OFFSETS, offsets(NOW)) == 2

    rows = lake.read(tables.GROUP_OFFSETS)

    assert rows.schema == tables.GROUP_OFFSETS.polars_schema
    assert rows["observed_at"].to_list() == [NOW, NOW]
    assert rows["date"].to_list() == [date(2026, 11, 20)] * 2
    assert rows["lag"].to_list() == [7, 7]
    assert rows["committed"].to_list() == [None, None]


def test_lists_and_maps_survive(lake: Lake) -> None:
    sample = {"cluster": ["a"], "observed_at": [NOW], "poll_id": ["1"]}
    lake.append(
        tables.DEAD_LETTERS,
        pl.DataFrame(
            sample
            | {"source": ["kafka"], "name": ["d"], "reasons": [[{"key": "ValueError", "value": 3}]]}
        ),
    )
    lake.append(
        tables.PARTITIONS,
        pl.DataFrame(sample | {"topic": ["t"], "partition": [0], "replicas": [[1, 2, 3]]}),
    )

    assert lake.read(tables.DEAD_LETTERS)["reasons"].to_list() == [
        [{"key": "ValueError", "value": 3}]
    ]
    assert lake.read(tables.PARTITIONS)["replicas"].to_list() == [[1, 2, 3]]


def test_no_rows_are_no_commit(lake: Lake) -> None:
    assert lake.append(tables.GROUP_OFFSETS, offsets(NOW).clear()) == 0
    assert not lake.exists(tables.GROUP_OFFSETS)


def test_a_table_that_does_not_exist_is_empty(lake: Lake) -> None:
    assert lake.read(tables.GROUP_HISTORY).is_empty()
    assert (
        lake.latest(tables.GROUPS, cluster="a", now=NOW, within=timedelta(hours=1)).schema
        == tables.GROUPS.polars_schema
    )


def test_reads_are_narrowed_by_time_and_cluster(lake: Lake) -> None:
    for cluster in "ab":
        for minute in range(4):  # the polls reach over midnight
            at = NOW + timedelta(minutes=minute)
            lake.append(tables.GROUP_OFFSETS, offsets(at, cluster=cluster))

    rows = lake.read(
        tables.GROUP_OFFSETS,
        since=NOW + timedelta(minutes=1),
        until=NOW + timedelta(minutes=3),
        cluster="b",
    )

    assert set(rows["cluster"]) == {"b"}
    assert sorted(set(rows["observed_at"])) == [NOW + timedelta(minutes=m) for m in (1, 2)]


def test_days_outside_the_range_are_not_opened(lake: Lake, tmp_path: Path) -> None:
    lake.append(tables.GROUP_OFFSETS, offsets(NOW - timedelta(days=2)))
    lake.append(tables.GROUP_OFFSETS, offsets(NOW))
    for file in tmp_path.glob("lake/bronze/group_offsets/date=2026-11-18/*.parquet"):
        file.write_bytes(b"broken")

    assert lake.read(tables.GROUP_OFFSETS, since=NOW - timedelta(hours=1)).height == 2
    with pytest.raises(UnreadableTableError, match="group_offsets"):
        lake.read(tables.GROUP_OFFSETS)


def test_a_few_rows_of_many_files_are_in_one_piece(lake: Lake) -> None:
    for second in range(3):
        lake.append(tables.GROUPS, offsets(NOW + timedelta(seconds=second)).select(OF_POLLS))

    rows = lake.as_written(tables.GROUPS, [], OF_POLLS, since=None, until=None, cluster="a")

    assert rows.height == 6
    assert rows.n_chunks() == 1


def test_large_pieces_are_not_copied() -> None:
    large = pl.DataFrame({"x": range(2_000)})
    assert in_few_chunks(pl.concat([large, large])).n_chunks() == 2
    assert in_few_chunks(pl.concat([large[:9], large[9:12]], rechunk=False)).n_chunks() == 1


def test_latest_is_the_newest_poll_of_that_cluster(lake: Lake) -> None:
    lake.append(tables.GROUP_OFFSETS, offsets(NOW, lag=1))
    lake.append(tables.GROUP_OFFSETS, offsets(NOW + timedelta(seconds=15), lag=2))
    lake.append(tables.GROUP_OFFSETS, offsets(NOW + timedelta(seconds=20), cluster="b", lag=3))

    rows = lake.latest(
        tables.GROUP_OFFSETS,
        cluster="a",
        now=NOW + timedelta(minutes=1),
        within=timedelta(minutes=5),
    )

    assert rows["lag"].to_list() == [2, 2]


def test_a_reader_sees_what_another_writer_appended(lake: Lake, tmp_path: Path) -> None:
    lake.append(tables.GROUP_OFFSETS, offsets(NOW))
    assert lake.read(tables.GROUP_OFFSETS).height == 2

    other = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    other.append(tables.GROUP_OFFSETS, offsets(NOW + timedelta(seconds=1)))

    assert lake.read(tables.GROUP_OFFSETS).height == 4


def test_an_older_table_is_read_after_a_column_was_added(lake: Lake) -> None:
    before = Table(
        name="groups",
        layer="bronze",
        columns=tuple(c for c in tables.GROUPS.columns if c.name not in {"kind", "members"}),
        time="observed_at",
        key=tables.GROUPS.key,
    )
    row = {"cluster": ["a"], "observed_at": [NOW], "poll_id": ["1"], "group": ["g"]}
    lake.append(before, pl.DataFrame(row))

    assert lake.read(tables.GROUPS)["kind"].to_list() == [None]

    lake.append(
        tables.GROUPS, pl.DataFrame(row | {"poll_id": ["2"], "kind": ["connect"], "members": [2]})
    )

    assert sorted(lake.read(tables.GROUPS)["kind"].to_list(), key=str) == [None, "connect"]
    assert lake.read(before).height == 2  # and an older reader reads the newer table


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param({"colour": ["red"] * 2}, "has no column colour", id="unknown column"),
        pytest.param({"lag": ["many"] * 2}, "conversion", id="wrong type"),
        pytest.param({"cluster": [None, "a"]}, "cluster is missing in 1 rows", id="key missing"),
    ],
)
def test_rows_that_do_not_fit_are_refused(
    lake: Lake, change: dict[str, list[str | None]], message: str
) -> None:
    with pytest.raises(SchemaError, match=message):
        lake.append(
            tables.GROUP_OFFSETS,
            offsets(NOW).with_columns(**{k: pl.Series(v) for k, v in change.items()}),
        )
    assert not lake.exists(tables.GROUP_OFFSETS)


def test_a_broken_log_names_the_table(lake: Lake, tmp_path: Path) -> None:
    lake.append(
        tables.GROUPS,
        pl.DataFrame({"cluster": ["a"], "observed_at": [NOW], "poll_id": ["1"], "group": ["g"]}),
    )
    log = tmp_path / "lake/bronze/groups/_delta_log/00000000000000000000.json"
    log.write_text("not JSON", encoding="utf-8")

    with pytest.raises(UnreadableTableError, match="groups"):
        Lake(LakeSettings(uri=str(tmp_path / "lake"))).read(tables.GROUPS)


def test_a_table_of_others_that_lacks_the_cluster_is_named(lake: Lake) -> None:
    write_deltalake(lake.uri(tables.BROKERS), pl.DataFrame({"broker_id": [1]}).to_arrow())
    with pytest.raises(UnreadableTableError, match=r"brokers: .*cluster"):
        lake.read(tables.BROKERS, cluster="a")


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    with pytest.raises(LakeError, match="cannot append"):
        Lake(LakeSettings(uri=str(tmp_path / "file"))).append(tables.GROUP_OFFSETS, offsets(NOW))


@pytest.mark.parametrize("table", tables.TABLES.values(), ids=list(tables.TABLES))
def test_every_table_is_written_and_read(lake: Lake, table: Table) -> None:
    row: dict[str, object] = {
        column: [_value(column_type)]
        for column, column_type in table.polars_schema.items()
        if column in table.required
    }
    frame = conform(table, pl.DataFrame(row).drop("date"))

    write_deltalake(lake.uri(table), frame.to_arrow(), partition_by=["date"])

    assert lake.read(table).height == 1
    assert set(table.key) <= set(table.polars_schema)
    assert table.time in table.required
    assert table.columns[-1] == Column("date", "date", required=True)


def _value(type_: pl.DataType) -> object:
    if type_ == pl.Datetime("us", "UTC"):
        return NOW
    if type_ == pl.Date():
        return NOW.date()
    return 1 if type_.is_integer() else "x"


def brokers(at: datetime) -> pl.DataFrame:
    return offsets(at).select("cluster", "observed_at", "poll_id", broker_id="partition")


@pytest.mark.parametrize(
    ("table", "rows"),
    [
        pytest.param(tables.BROKERS, brokers, id="brokers"),
        pytest.param(tables.GROUP_OFFSETS, offsets, id="group_offsets"),
    ],
)
def test_what_is_stored_twice_is_read_once(
    lake: Lake, table: Table, rows: Callable[[datetime], pl.DataFrame]
) -> None:
    """Given a lake in which two compactions at once have stored every row twice,
    when it is read in whatever way, then each row is there once."""
    for second in range(4):
        lake.append(table, rows(NOW + timedelta(seconds=second)))
    before = lake.read(table)
    double(lake, table)

    assert lake.scan(table).collect().height == 2 * before.height == 16
    assert lake.read(table).sort(table.key).equals(before.sort(table.key))
    assert lake.read(table, pl.col("cluster") == "a", columns=["poll_id"]).height == 8
    newest = lake.latest(table, cluster="a", now=NOW, within=timedelta(hours=1))
    assert newest.height == 2


def test_a_poll_of_the_future_is_not_the_latest(lake: Lake) -> None:
    """Given a poll by a clock that was two hours ahead, then the newest that can be is shown."""
    late = offsets(NOW + timedelta(hours=2), lag=99)
    for rows in (offsets(NOW, lag=1), late, offsets(NOW + timedelta(seconds=30), lag=2)):
        lake.append(tables.GROUP_OFFSETS, rows)
    for predicates in ((), (pl.col("group") == "g",)):
        found = lake.latest(
            tables.GROUP_OFFSETS, *predicates, cluster="a", now=NOW, within=timedelta(hours=1)
        )
        assert found["lag"].to_list() == [2, 2]


def test_two_writers_append_in_turn(lake: Lake, tmp_path: Path) -> None:
    other = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    for turn in range(6):
        rows = offsets(NOW + timedelta(seconds=turn), lag=turn)
        (lake, other)[turn % 2].append(tables.GROUP_OFFSETS, rows)
    for reader in (lake, other):
        assert sorted(reader.read(tables.GROUP_OFFSETS)["lag"]) == sorted([*range(6)] * 2)


def test_a_table_that_was_deleted_begins_anew(lake: Lake, tmp_path: Path) -> None:
    for turn in range(3):
        lake.append(tables.GROUP_OFFSETS, offsets(NOW + timedelta(seconds=turn), lag=turn))
    assert lake.read(tables.GROUP_OFFSETS).height == 6
    shutil.rmtree(lake.uri(tables.GROUP_OFFSETS))
    assert lake.read(tables.GROUP_OFFSETS).is_empty()
    lake.append(tables.GROUP_OFFSETS, offsets(NOW, lag=7))
    for reader in (lake, Lake(LakeSettings(uri=str(tmp_path / "lake")))):
        assert reader.read(tables.GROUP_OFFSETS)["lag"].to_list() == [7, 7]


def test_a_table_is_made_without_a_row_once(lake: Lake) -> None:
    first = lake.create(tables.GROUP_OFFSETS)
    assert first == lake.create(tables.GROUP_OFFSETS)
    assert lake.read(tables.GROUP_OFFSETS).is_empty()
    assert lake.files(tables.GROUP_OFFSETS).is_empty()
    assert lake.append(tables.GROUP_OFFSETS, offsets(NOW)) == 2
    shutil.rmtree(lake.uri(tables.GROUP_OFFSETS))
    assert lake.files(tables.GROUP_OFFSETS).is_empty()
    assert lake.create(tables.GROUP_OFFSETS) != first


def test_files_are_told_as_the_log_describes_them(lake: Lake) -> None:
    lake.append(tables.GROUP_OFFSETS, offsets(NOW))
    (file,) = lake.files(tables.GROUP_OFFSETS).rows(named=True)
    assert file["num_records"] == 2
    assert file["partition.date"] == date(2026, 11, 20)
    assert abs(file["min.observed_at"] - NOW) < timedelta(milliseconds=1)


def test_who_was_replaced_writes_nothing_more(lake: Lake, tmp_path: Path) -> None:
    """Given a newer writer of a cluster's rows, when the older one writes, then it may not."""
    newer = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    later = NOW + timedelta(seconds=1)
    lake.append(tables.GROUP_OFFSETS, offsets(NOW, lag=1), {"a": 5})
    lake.append(tables.GROUP_OFFSETS, offsets(NOW, cluster="b", lag=1), {"b": 5})
    newer.append(tables.GROUP_OFFSETS, offsets(later, lag=2), {"a": 6})
    with pytest.raises(LeaseLostError, match="another process writes rows of a now"):
        lake.append(tables.GROUP_OFFSETS, offsets(later, lag=3), {"a": 5})
    lake.append(tables.GROUP_OFFSETS, offsets(later, cluster="b", lag=4), {"b": 5})
    newer.append(tables.GROUP_OFFSETS, offsets(later + timedelta(seconds=1), lag=5), {"a": 6})
    assert sorted(lake.read(tables.GROUP_OFFSETS)["lag"].unique()) == [1, 2, 4, 5]


def test_who_was_replaced_in_the_middle_of_a_write_does_not_finish_it(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given a write that has looked, when another one replaces it before its commit, then none."""
    newer = Lake(LakeSettings(uri=str(tmp_path / "lake")))
    lake.append(tables.GROUP_OFFSETS, offsets(NOW, lag=1), {"a": 5})
    write, late = append.write_deltalake, []

    def replaced(*args: Any, **options: Any) -> None:
        if not late:
            late.append(True)
            newer.append(tables.GROUP_OFFSETS, offsets(NOW, lag=2), {"a": 6})
        write(*args, **options)

    monkeypatch.setattr(append, "write_deltalake", replaced)
    with pytest.raises(LeaseLostError):
        lake.append(tables.GROUP_OFFSETS, offsets(NOW, lag=3), {"a": 5})
    assert sorted(lake.read(tables.GROUP_OFFSETS)["lag"].unique()) == [2]


def test_of_many_who_make_a_table_one_does(tmp_path: Path) -> None:
    """A second one would have an id of its own, and history would begin anew."""
    for number in range(20):
        settings = LakeSettings(uri=str(tmp_path / str(number)))
        ready = threading.Barrier(8)

        def make(settings: LakeSettings, ready: threading.Barrier) -> None:
            lake = Lake(settings)
            ready.wait()
            lake.create(tables.GROUP_OFFSETS)

        threads = [threading.Thread(target=make, args=(settings, ready)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert DeltaTable(Lake(settings).uri(tables.GROUP_OFFSETS)).version() == 0
