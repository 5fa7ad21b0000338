"""The log of commits needs a right of its own; without it commits are estimated."""

from __future__ import annotations

from typing import Any

import pytest
from confluent_kafka.admin import AclOperation, ResourceType

from collectors.kafka.commit_log import follower as module
from collectors.kafka.commit_log.follower import NEEDS, TOPIC
from tests.kafka.collecting import polling
from tests.kafka.commit_log.commit_reader import last_commits
from tests.kafka.security.secured import GROUPS, TOPICS, Secured, as_secret, binding, sasl
from tests.support import Names, eventually

LOG = binding(ResourceType.TOPIC, TOPIC, AclOperation.READ)


def test_read_denied_and_granted_later(
    secured: Secured, grant: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "_DENIED_RETRY_SECONDS", 0.5)
    grant(TOPICS, GROUPS)
    names = Names(secured.cluster)
    with polling(secured.sasl, properties=as_secret(sasl("PLAIN"))) as poller:

        def row() -> dict[str, Any]:
            return poller.poll().offsets(secured.group, secured.topic).get(0, {})

        eventually(lambda: row().get("commit_source") == "estimate", what="an estimate")
        eventually(lambda: row() and NEEDS in caplog.text, what="a line in the log")
        assert "READ on the topic __consumer_offsets" in NEEDS
        assert row()["committed_at"] is None
        names.commit(secured.group, secured.topic, {0: 4})  # the same offset: cannot be seen
        assert row()["committed_at"] is None
        names.commit(secured.group, secured.topic, {0: 5})
        poll = poller.poll()
        found = poll.offsets(secured.group, secured.topic)[0]
        assert (found["commit_source"], found["committed"]) == ("estimate", 5)
        estimated = found["committed_at"]
        assert "group_offsets" not in poll.errors  # nothing is unknown: it is labelled
        assert poll.errors["commit_log"] == f"partial: {NEEDS}"
        grant(LOG)
        eventually(lambda: row()["commit_source"] == "log", what="the log's word")
        assert "commit_log" not in poller.poll().errors
        key = (secured.group, secured.topic, 0)
        assert row()["committed_at"] == last_commits(secured.cluster)[key][1]
        assert row()["committed_at"] < estimated
        assert caplog.text.count(NEEDS) == 1
