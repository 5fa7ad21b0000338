"""The demo's data folder: one demo at a time, a control channel, nobody else's files deleted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from demo.errors import DemoError, NotRunningError
from demo.state import Answer, DataFolder, Request
from demo.workload.control import Reached, Wanted


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[DataFolder]:
    taken = DataFolder(tmp_path / "data")
    taken.take()
    yield taken
    taken.release()


def test_a_folder_is_taken_once(folder: DataFolder) -> None:
    assert folder.running()
    with pytest.raises(DemoError, match=r"a demo runs in .* already"):
        DataFolder(folder.path).take()
    folder.release()
    assert not folder.running()
    again = DataFolder(folder.path)
    again.take()
    again.release()


def test_a_folder_of_somebody_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(DemoError, match="holds something that is not a demo's"):
        DataFolder(tmp_path).take()
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DemoError, match="is not a folder"):
        DataFolder(tmp_path / "file").take()


def test_clearing_leaves_what_is_not_ours(folder: DataFolder) -> None:
    folder.lake.mkdir()
    folder.config.write_text("clusters: []")
    (folder.path / "notes.txt").write_text("mine")
    folder.clear()
    left = sorted(path.name for path in folder.path.iterdir())
    assert left == ["control", "headroom-demo", "notes.txt"]


def test_only_data_of_an_orderly_end_is_kept(folder: DataFolder) -> None:
    folder.kafka.mkdir()
    assert not folder.kept
    folder.keep()
    assert folder.kept


def test_a_request_is_answered(folder: DataFolder) -> None:
    seen: list[Request] = []

    def serve() -> None:
        while not seen:
            for name, request in folder.requests():
                seen.append(request)
                folder.reply(
                    name, Answer(done=True, message="done", details={"broker": request.broker})
                )

    server = threading.Thread(target=serve)
    server.start()
    answer = DataFolder(folder.path).ask(
        Request(action="kill-broker", broker=2), timeout_seconds=10
    )
    server.join()
    assert answer == Answer(done=True, message="done", details={"broker": 2})
    assert seen == [Request(action="kill-broker", broker=2)]
    assert list(folder.control.iterdir()) == []


@pytest.mark.parametrize("exists", [pytest.param(True, id="ended"), pytest.param(False, id="none")])
def test_without_a_running_demo_there_is_one_clear_line(tmp_path: Path, exists: bool) -> None:
    folder = DataFolder(tmp_path / "data")
    if exists:
        folder.take()
        folder.release()
    with pytest.raises(NotRunningError, match=r"no demo runs in .*: start one with make demo"):
        folder.ask(Request(action="restore"))


def test_no_answer_ends_at_the_deadline(folder: DataFolder) -> None:
    with pytest.raises(DemoError, match="did not answer in 0 s"):
        DataFolder(folder.path).ask(Request(action="status"), timeout_seconds=0.3)


def test_the_workload_is_told_through_files(tmp_path: Path) -> None:
    assert Wanted.read(tmp_path) is None
    assert Reached.read(tmp_path) is None
    Wanted(number=3, stopped_groups=["a", "b"]).write(tmp_path)
    Reached(number=3, members={"a": 0}, error="why").write(tmp_path)
    assert Wanted.read(tmp_path) == Wanted(number=3, stopped_groups=["a", "b"])
    assert Reached.read(tmp_path) == Reached(number=3, members={"a": 0}, error="why")
