from __future__ import annotations

from collections.abc import Iterable

import pytest

from collectors.connect import source as connect
from collectors.kafka.sections import registry as kafka
from collectors.rabbitmq import source as rabbitmq
from collectors.schema_registry import source as schema_registry
from lake.schemas.tables import TABLES


@pytest.mark.parametrize(
    ("kind", "sections"),
    [
        ("kafka", kafka.SECTIONS),
        ("connect", connect.SECTIONS),
        ("rabbitmq", rabbitmq.SECTIONS),
        ("schema_registry", schema_registry.SECTIONS),
    ],
)
def test_tables_name_the_sources_that_have_a_section_of_their_name(
    kind: str, sections: Iterable[str]
) -> None:
    declared = {name for name, table in TABLES.items() if kind in table.collected_by}
    assert declared == set(sections) & set(TABLES)
