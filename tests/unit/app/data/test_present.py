"""What a page reads of the present, and that all of it is of one moment."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import polars as pl
import pytest

from app.data import present
from app.data.context import View
from app.data.viewer import Viewer
from app.data.visible_lake import VisibleCurrentStore
from lake.errors import UnreadableTableError
from lake.schemas.current import CLUSTER_STATUS, GROUP_STATUS
from lake.schemas.model import Table
from tests.unit.app.views_of import NOW


def evaluate(view: View, at: datetime, *groups: str) -> None:
    """Write what an evaluation writes."""
    found = {
        GROUP_STATUS: pl.DataFrame({"group": groups, "status": ["OK"] * len(groups)}),
        CLUSTER_STATUS: pl.DataFrame({"lag": [len(groups)]}),
    }
    whole = {
        table: pl.concat(
            [table.empty, rows.with_columns(cluster=pl.lit("east"), evaluated_at=pl.lit(at))],
            how="diagonal_relaxed",
        )
        for table, rows in found.items()
    }
    view.lake.current.replace_all("east", whole)


def test_a_page_is_of_one_evaluation_and_the_next_run_of_the_next(view: View) -> None:
    evaluate(view, NOW, "a")
    present.hold(view)
    evaluate(view, NOW + timedelta(seconds=5), "a", "b")
    assert present.rows(view, GROUP_STATUS)["group"].to_list() == ["a"]
    assert present.rows(view, CLUSTER_STATUS)["lag"].to_list() == [1]
    assert present.stamp(view) == NOW.timestamp()
    following = replace(view, held={})
    assert present.rows(following, GROUP_STATUS)["group"].to_list() == ["a", "b"]
    assert present.stamp(following) == NOW.timestamp() + 5


def test_a_page_that_is_opened_while_an_evaluation_is_written_waits_for_it(view: View) -> None:
    evaluate(view, NOW, "a")
    later = NOW + timedelta(seconds=5)

    class Replaced(VisibleCurrentStore):
        """All tables are replaced when the first of them has been read."""

        is_replaced = False

        def read(self, table: Table, cluster: str, *predicates: pl.Expr) -> pl.DataFrame | None:
            found = super().read(table, cluster, *predicates)
            if table == CLUSTER_STATUS and not self.is_replaced:
                self.is_replaced = True
                evaluate(view, later, "a", "b")
            return found

    view.lake.current = Replaced(view.settings.lake, view.viewer)
    present.hold(view)
    assert present.evaluated_at(view) == later
    assert present.rows(view, GROUP_STATUS)["evaluated_at"].unique().to_list() == [later]


def test_what_somebody_else_sees_is_not_taken_from_what_was_read(view: View) -> None:
    evaluate(view, NOW, "a")
    assert present.rows(view, GROUP_STATUS).height == 1
    assert view.once("it", lambda: 1) == view.once("it", lambda: 2) == 1
    other = replace(view, viewer=Viewer(name="ana", roles=()))
    assert other.cache_key != view.cache_key
    assert other.once("it", lambda: 2) == 2


def test_a_table_that_cannot_be_read_is_said_where_it_is_needed(view: View) -> None:
    evaluate(view, NOW, "a")
    with open(view.lake.current.uri(GROUP_STATUS, "east"), "wb") as file:
        file.write(b"PAR1")
    present.hold(view)
    assert present.rows(view, CLUSTER_STATUS)["lag"].to_list() == [1]
    with pytest.raises(UnreadableTableError):
        present.rows(view, GROUP_STATUS)
