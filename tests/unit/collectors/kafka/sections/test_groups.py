from __future__ import annotations

import polars as pl
import pytest

from collectors.kafka.sections.groups import with_kinds_of_members
from lake.schemas.tables import GROUP_MEMBERS

Found = tuple[int | None, int | None]

_COLUMNS = ("group", "member_id", "instance_id", "assigned_partitions")


@pytest.mark.parametrize(
    ("assigned", "members", "idle_and_static"),
    [
        pytest.param((2, 2, 0), 3, (1, 1), id="one without a partition"),
        pytest.param((2, None), 2, (None, 1), id="an assignment could not be read"),
        pytest.param((), 2, (None, None), id="members could not be read"),
        pytest.param((), 0, (0, 0), id="no members"),
    ],
)
def test_members_that_are_unknown_are_not_none(
    assigned: tuple[int | None, ...], members: int, idle_and_static: Found
) -> None:
    rows = [
        {
            "group": "billing",
            "member_id": f"m{index}",
            "instance_id": "static" if index == 0 else None,
            "assigned_partitions": number,
        }
        for index, number in enumerate(assigned)
    ]
    groups = pl.DataFrame({"group": ["billing"], "members": [members]})

    schema = {name: GROUP_MEMBERS.polars_schema[name] for name in _COLUMNS}
    found = with_kinds_of_members(groups, pl.DataFrame(rows, schema=schema))

    assert found.select("idle_members", "static_members").row(0) == idle_and_static
