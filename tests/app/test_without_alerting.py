"""Pages without the alerting service: they say so, and evaluate in the background."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.support import eventually

Open = Callable[..., AppTest]


@pytest.fixture
def unwatched(filled: Path, tmp_path: Path) -> Path:
    """A lake with samples and history, which no alerting service has evaluated."""
    folder = tmp_path / "unwatched"
    shutil.copytree(filled, folder)
    shutil.rmtree(folder / "lake" / "current")
    return folder


def texts(test: AppTest) -> str:
    return "\n".join(part.value for part in (*test.markdown, *test.caption))


def test_pages_evaluate_in_the_background_and_say_so(open_page: Open, unwatched: Path) -> None:
    first = open_page(unwatched, "groups")
    assert [one.value for one in first.exception] == []
    assert "the alerting service does not run" in texts(first)
    # Nothing is known yet: no page may say that all is well.
    assert first.title[0].value == "The first evaluation is under way"

    def evaluated() -> bool:
        title: str = open_page(unwatched, "groups").title[0].value
        return title.startswith("Of 10 groups: ")

    eventually(evaluated, timeout_seconds=60, what="evaluation of this process")


def test_a_broken_file_of_a_service_that_is_gone_holds_nothing_up(
    open_page: Open, unwatched: Path
) -> None:
    for table in ("cluster_status", "group_status"):
        path = unwatched / "lake" / "current" / table / "demo.parquet"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"PAR1")

    def evaluated() -> bool:
        title: str = open_page(unwatched, "groups").title[0].value
        return title.startswith("Of 10 groups: ")

    eventually(evaluated, timeout_seconds=60, what="evaluation of this process")


def test_what_the_service_wrote_is_shown_without_such_a_word(open_page: Open, filled: Path) -> None:
    assert "the alerting service does not run" not in texts(open_page(filled, "groups"))
