"""Records of dead letters that were sampled, and how to look at them."""

from __future__ import annotations

import shlex

from app.views.dead_letters import view_model


def test_records_of_the_sample_as_far_as_they_are_known() -> None:
    newest = {"partition": "3", "offset": "17", "timestamp": "2026-11-20T08:00:00.000+00:00"}
    entries = [{"key": name, "value": value} for name, value in newest.items()]
    found = view_model.record_rows({"newest_record": entries, "oldest_record": None})
    (row,) = found.to_dicts()
    assert (row["which"], row["partition"], row["offset"]) == ("newest", 3, 17)
    assert row["at"].isoformat() == "2026-11-20T08:00:00+00:00"
    assert row["reason"] is None
    assert view_model.record_rows({"newest_record": []}).is_empty()
    thrown = [*entries, {"key": "reason", "value": "java.lang.IllegalStateException"}]
    (row,) = view_model.record_rows({"newest_record": thrown}).to_dicts()
    assert row["reason"] == "IllegalStateException"
    assert row["class"] == "java.lang.IllegalStateException"


def test_the_command_that_looks_at_a_record_takes_the_name_as_one_word() -> None:
    command = view_model.look_command("a; rm -rf $HOME", 3, 17)
    words = shlex.split(command)
    assert words[words.index("--topic") + 1] == "a; rm -rf $HOME"
    assert words[words.index("--offset") + 1] == "17"
