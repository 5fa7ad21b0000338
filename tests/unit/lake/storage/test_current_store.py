from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from config.settings import LakeSettings
from lake.errors import LakeError, SchemaError, UnreadableTableError
from lake.schemas.current import CLUSTER_STATUS, CURRENT_TABLES, GROUP_STATUS
from lake.schemas.model import Table
from lake.storage.current_store import CurrentStore

AT = datetime(2026, 1, 1, tzinfo=UTC)


def status_rows(*groups: str) -> pl.DataFrame:
    empty = pl.DataFrame(schema=GROUP_STATUS.polars_schema)
    rows = pl.DataFrame(
        {"group": groups, "status": ["OK"] * len(groups), "evaluated_at": [AT] * len(groups)}
    )
    return pl.concat([empty, rows], how="diagonal_relaxed")


@pytest.fixture
def store(tmp_path: Path) -> CurrentStore:
    return CurrentStore(LakeSettings(uri=str(tmp_path / "lake")))


def test_a_replaced_table_holds_the_newest_rows_alone(store: CurrentStore) -> None:
    store.replace(GROUP_STATUS, "east", status_rows("a", "b"))
    store.replace(GROUP_STATUS, "east", status_rows("c"))

    rows = store.read(GROUP_STATUS, "east")

    assert rows is not None
    assert rows.schema == GROUP_STATUS.polars_schema
    assert rows.select("cluster", "group").rows() == [("east", "c")]


def test_clusters_do_not_share_rows_whatever_they_are_called(store: CurrentStore) -> None:
    names = ["east", "../east", "e/a%2Fst", ""]
    for name in names:
        store.replace(GROUP_STATUS, name, status_rows(f"group of {name}"))

    for name in names:
        rows = store.read(GROUP_STATUS, name)
        assert rows is not None
        assert rows["group"].to_list() == [f"group of {name}"]


def test_what_was_never_written_is_none_and_no_rows_are_no_rows(store: CurrentStore) -> None:
    assert store.read(GROUP_STATUS, "east") is None
    store.replace(GROUP_STATUS, "east", status_rows())
    rows = store.read(GROUP_STATUS, "east")
    assert rows is not None
    assert rows.is_empty()


def test_the_row_of_the_cluster_is_replaced_after_all_others(
    store: CurrentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    order: list[Table] = []
    monkeypatch.setattr(store, "replace", lambda table, *_: order.append(table))
    store.replace_all("east", {table: table.empty for table in (CLUSTER_STATUS, GROUP_STATUS)})
    assert order == [GROUP_STATUS, CLUSTER_STATUS]


def test_predicates_choose_rows(store: CurrentStore) -> None:
    store.replace(GROUP_STATUS, "east", status_rows("a", "b"))
    rows = store.read(GROUP_STATUS, "east", pl.col("group") == "b")
    assert rows is not None
    assert rows["group"].to_list() == ["b"]


def test_a_broken_file_is_an_error_of_the_lake(store: CurrentStore) -> None:
    store.replace(GROUP_STATUS, "east", status_rows("a"))
    path = Path(store.uri(GROUP_STATUS, "east"))
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(UnreadableTableError, match="group_status"):
        store.read(GROUP_STATUS, "east")


def test_rows_that_do_not_fit_change_nothing(store: CurrentStore) -> None:
    store.replace(GROUP_STATUS, "east", status_rows("a"))
    with pytest.raises(SchemaError, match="group_status"):
        store.replace(GROUP_STATUS, "east", pl.DataFrame({"group": ["b"]}))
    rows = store.read(GROUP_STATUS, "east")
    assert rows is not None
    assert rows["group"].to_list() == ["a"]


def test_a_folder_that_cannot_be_written_is_an_error_of_the_lake(tmp_path: Path) -> None:
    (tmp_path / "lake").write_text("a file where the folder should be")
    with pytest.raises(LakeError, match="group_status"):
        CurrentStore(LakeSettings(uri=str(tmp_path / "lake"))).replace(
            GROUP_STATUS, "east", status_rows("a")
        )


@pytest.mark.parametrize("table", CURRENT_TABLES, ids=lambda table: table.name)
def test_every_table_is_written_and_read(store: CurrentStore, table: Table) -> None:
    store.replace(table, "east", pl.DataFrame(schema=table.polars_schema))
    rows = store.read(table, "east")
    assert rows is not None
    assert rows.schema == table.polars_schema


def test_a_column_that_the_file_lacks_yet_is_null(store: CurrentStore) -> None:
    path = Path(store.uri(CLUSTER_STATUS, "east"))
    path.parent.mkdir(parents=True)
    pl.DataFrame({"cluster": ["east"], "evaluated_at": [AT]}).write_parquet(path)
    rows = store.read(CLUSTER_STATUS, "east")
    assert rows is not None
    assert rows["lag"].to_list() == [None]


def test_whoever_is_killed_while_replacing_leaves_readable_rows(
    store: CurrentStore, tmp_path: Path
) -> None:
    script = (
        "import sys, polars as pl\n"
        "from config.settings import LakeSettings\n"
        "from lake.schemas.current import GROUP_STATUS\n"
        "from lake.storage.current_store import CurrentStore\n"
        "from tests.unit.lake.storage.test_current_store import status_rows\n"
        "store = CurrentStore(LakeSettings(uri=sys.argv[1]))\n"
        "rows = [status_rows(*map(str, range(n))) for n in (1, 5000)]\n"
        "store.replace(GROUP_STATUS, 'east', rows[0])\n"
        "print('begun', flush=True)\n"
        "while True:\n"
        "    for one in rows:\n"
        "        store.replace(GROUP_STATUS, 'east', one)\n"
    )
    for _ in range(3):
        child = subprocess.Popen(
            [sys.executable, "-c", script, str(tmp_path / "lake")], stdout=subprocess.PIPE
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"begun\n"
        seen = set()
        while len(seen) < 2:
            rows = store.read(GROUP_STATUS, "east")
            assert rows is not None
            seen.add(rows.height)
        child.kill()
        child.wait()
        child.stdout.close()
        rows = store.read(GROUP_STATUS, "east")
        assert rows is not None
        assert rows.height in (1, 5000)
