"""The page of rules: listed, tried, broken."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.app.conftest import Open
from tests.app.test_pages import calm, texts


def test_rules_are_listed_and_one_is_tried(open_page: Open, alarmed: Path) -> None:
    test = open_page(alarmed, "rules", rule="BrokerMissing")
    calm(test)
    assert test.title[0].value.endswith("rules")
    assert "Evaluated about every " in texts(test)
    order = [id(one) for one in test.main]
    panel = next(one for one in test.expander if one.label == "Try a rule")
    assert panel.proto.expanded, "the address names a rule"
    assert order.index(id(panel)) < order.index(id(test.dataframe[0])), "above the rules"
    folded = open_page(alarmed, "rules").expander[0]
    assert (folded.label, folded.proto.expanded) == ("Try a rule", False)
    rows = test.dataframe[0].value.set_index("rule")
    assert rows.loc["BrokerMissing", "firing"] == 1
    assert "overrides" not in rows, "none has any"
    (folded,) = (one.label for one in test.expander if "never seen here" in one.label)
    others = test.dataframe[1].value["rule"].to_list()
    assert "QueueBacklog" in others and "QueueBacklog" not in rows.index
    assert folded.startswith(f"{len(others)} rules of")
    assert rows.loc["TimeLagHigh", "condition"].endswith(": where an objective is set")
    test.toggle(key="try").set_value(True).run()
    calm(test)
    assert "**1 alert** and 1 message" in texts(test)
    assert len(test.get("plotly_chart")) == 2


def test_a_file_of_rules_that_cannot_be_used_is_told(open_page: Open, alarmed: Path) -> None:
    path = alarmed / "headroom.yaml"
    content = yaml.safe_load(path.read_text())
    content["alerting"]["rules"] = "rules.yaml"
    path.write_text(yaml.safe_dump(content))
    (alarmed / "rules.yaml").write_text("rules: {Lagg: {threshold: 1}}")
    test = open_page(alarmed, "rules")
    (message,) = [one.value for one in test.error]
    assert "left out" in message
    assert "Lagg" in message
    assert "BrokerMissing" in test.dataframe[0].value["rule"].to_list()
    for page in ("alerts", "silences"):
        test = open_page(alarmed, page)
        assert "Lagg" in test.error[0].value
        assert "cannot be shown" not in test.title[0].value
