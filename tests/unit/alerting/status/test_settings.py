from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from alerting.status.model import DEFAULT_STATUS_RULES, StatusRules

DOCS = Path(__file__).parents[4] / "docs/alerts.md"
MOST = 20


def test_the_documentation_has_every_setting_with_its_unit_and_reason() -> None:
    section = DOCS.read_text().partition("### The settings behind it")[2].partition("\n## ")[0]
    documented = re.findall(r"^\| `(\w+)` \| (.+?) \| (.+?) \|$", section, re.MULTILINE)
    assert documented == [
        (
            one.name,
            f"{getattr(DEFAULT_STATUS_RULES, one.name):,g} {one.metadata['unit']}",
            one.metadata["reason"],
        )
        for one in fields(StatusRules)
    ]


def test_settings_stay_few() -> None:
    assert len(fields(StatusRules)) <= MOST
