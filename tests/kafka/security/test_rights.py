"""ACLs: what works with which rights, and what says that one is missing."""

from __future__ import annotations

from typing import Any, get_args

import pytest
from confluent_kafka.admin import (
    AclOperation,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

from config.settings import Feature
from tests.kafka.collecting import polling
from tests.kafka.security.secured import (
    ALL,
    CLUSTER,
    CLUSTER_CONFIGS,
    CONFIGS,
    GROUPS,
    PASSWORD,
    TOPICS,
    Secured,
    as_secret,
    binding,
    ok,
    run,
    sasl,
)
from tests.support import Names, eventually

pytestmark = pytest.mark.usefixtures("configs_at_every_poll")


def test_with_describe_alone_only_the_optional_features_are_missing(
    secured: Secured, grant: Any
) -> None:
    grant(TOPICS, GROUPS)
    with polling(secured.sasl, properties=as_secret(sasl("PLAIN"))) as poller:

        def visible() -> Any:
            poll = poller.poll()
            return poll if poll.group(secured.group) else None

        poll = eventually(visible, what="visible group")
        row = poll.offsets(secured.group, secured.topic)[0]
        assert (row["committed"], row["log_end"], row["lag"]) == (4, 10, 6)
        assert poll.errors.keys() == {
            "partitions",
            "topics",
            "log_directories",
            "quorum",
            "cluster_settings",
            "dead_letters",
        }
        for section in ("partitions", "log_directories", "quorum", "cluster_settings"):
            assert "DESCRIBE on the cluster" in poll.errors[section]
        partitions = poll.table("partitions")
        assert partitions["adding_replicas"].null_count() == partitions.height
        assert poll.table("quorum").is_empty()
        (directory,) = poll.table("log_directories").to_dicts()
        assert (directory["path"], directory["is_offline"]) == (None, None)
        assert "DESCRIBE on the cluster" in directory["unknown_reason"]
        assert "DESCRIBE_CONFIGS" in poll.errors["partitions"]
        assert "DESCRIBE_CONFIGS" in poll.errors["topics"]
        assert "READ on the topic" in poll.errors["dead_letters"]
        (broker,) = poll.table("brokers").to_dicts()
        assert broker["log_bytes"] is None
        assert broker["is_controller"] is None
        assert broker["under_replicated"] == 0
        assert "DESCRIBE on the cluster" in broker["unknown_reason"]
    answer = run(secured, ["check"], secured.sasl, sasl("PLAIN"))
    assert answer.returncode == 0, answer.stdout
    assert answer.stderr == ""
    for missing in (
        "DESCRIBE_CONFIGS on the topic",
        "DESCRIBE_CONFIGS on the cluster",
        "DESCRIBE on the cluster",
        "READ on the topic",
    ):
        assert missing in answer.stdout


def test_what_is_switched_off_is_not_asked_for_and_nothing_is_partial(
    secured: Secured, grant: Any
) -> None:
    grant(TOPICS, GROUPS)
    features = list(get_args(Feature))
    with polling(
        secured.sasl,
        properties=as_secret(sasl("PLAIN")),
        switched_off=features,
        dead_letters={"sample_records": 0},
    ) as poller:

        def visible() -> Any:
            poll = poller.poll()
            return poll if poll.group(secured.group) else None

        poll = eventually(visible, what="visible group")
        assert poll.errors == {}
        assert poll.table("quorum").is_empty()
        (broker,) = poll.table("brokers").to_dicts()
        assert (broker["log_bytes"], broker["is_controller"]) == (None, None)
        assert broker["unknown_reason"] == "disk: switched off: log_directories"
        topics = poll.table("topics")
        assert set(topics["unknown_reason"]) == {"switched off: topic_configs"}
        partitions = poll.table("partitions")
        assert partitions["adding_replicas"].null_count() == partitions.height
        found = {check.feature: check for check in poller.source.check()}
        for feature, check in found.items():
            if check.detail.startswith("switched off"):
                assert check.works is None, feature
        assert sum(check.detail.startswith("switched off") for check in found.values()) == 14


def test_without_rights_check_names_what_is_missing(secured: Secured) -> None:
    answer = run(secured, ["check"], secured.sasl, sasl("PLAIN"))
    assert answer.returncode == 1
    assert "DESCRIBE on the topics" in answer.stdout
    assert "DESCRIBE on the groups" in answer.stdout
    assert PASSWORD not in answer.stdout + answer.stderr


def test_with_all_rights_check_finds_nothing(secured: Secured, grant: Any) -> None:
    grant(*ALL)

    def complete() -> bool:
        answer = run(secured, ["check"], secured.sasl, sasl("SCRAM-SHA-512"))
        return answer.returncode == 0 and "fails" not in answer.stdout

    eventually(complete, timeout_seconds=60, what="check without a complaint")


def test_without_a_right_on_one_topic_or_group_the_others_are_read(
    secured: Secured, grant: Any
) -> None:
    """Topics that one may not describe are not there; groups are, with DESCRIBE on the cluster."""
    made = Names(secured.cluster)
    other = made.topic("secret.orders", partitions=1)
    made.produce(other, 3)
    made.commit(secured.group, other, {0: 1})
    made.commit("secret-group", secured.topic, {0: 1})
    grant(
        binding(ResourceType.TOPIC, secured.topic, AclOperation.DESCRIBE),
        binding(ResourceType.TOPIC, secured.topic, AclOperation.DESCRIBE_CONFIGS),
        binding(ResourceType.GROUP, secured.group, AclOperation.DESCRIBE),
        CLUSTER,
    )
    try:
        with polling(secured.sasl, properties=as_secret(sasl("PLAIN"))) as poller:

            def complete() -> Any:
                poll = poller.poll()
                done = poll.group("secret-group") and poll.errors.keys() <= {
                    "groups",
                    "group_offsets",
                    "cluster_settings",
                }
                return poll if done else None

            poll = eventually(complete, what="poll with all that is permitted")
            for section in ("groups", "group_offsets"):
                assert "1 of 2 groups are unknown" in poll.errors[section]
                assert "needs DESCRIBE on the group" in poll.errors[section]
            secret = poll.group("secret-group")
            assert secret is not None
            assert (secret["state"], secret["members"]) == ("unknown", None)
            assert "needs DESCRIBE on the group" in secret["unknown_reason"]
            assert set(poll.table("partitions")["topic"]) == {secured.topic}
            assert set(poll.table("group_offsets")["topic"]) == {secured.topic}
            assert poll.offsets(secured.group, secured.topic)[0]["lag"] == 6
            # A right that is granted later is used without a restart.
            grant(binding(ResourceType.TOPIC, other, AclOperation.DESCRIBE))

            def seen() -> bool:
                return poller.poll().offsets(secured.group, other).get(0, {}).get("lag") == 2

            eventually(seen, what="the other topic")
    finally:
        made.delete()
        secured.cluster.admin().delete_consumer_groups(["secret-group"])["secret-group"].result(20)


def test_without_read_on_one_dead_letter_topic_the_other_is_sampled(
    secured: Secured, grant: Any
) -> None:
    made = Names(secured.cluster)
    other = made.topic("payments.dlq", partitions=1)
    made.produce(other, 4)
    grant(TOPICS, GROUPS, CONFIGS, CLUSTER, CLUSTER_CONFIGS)
    grant(binding(ResourceType.TOPIC, other, AclOperation.READ))
    try:
        with polling(secured.sasl, properties=as_secret(sasl("PLAIN"))) as poller:

            def sampled() -> Any:
                poll = poller.poll()
                if poll.table("dead_letters").height < 2:
                    return None
                return poll if poll.dead_letter(other)["sampled_records"] == 4 else None

            poll = eventually(sampled, what="sample of the permitted topic")
            denied = f"needs READ on the topic {secured.dead}"
            assert denied in poll.errors["dead_letters"]
            row = poll.dead_letter(secured.dead)
            assert (row["retained"], row["reasons"], row["sampled_records"]) == (2, None, None)
            assert denied in row["unknown_reason"]
            # It is asked again, though nothing arrived: a right that is granted later is used.
            grant(binding(ResourceType.TOPIC, secured.dead, AclOperation.READ))
            poll = eventually(lambda: ok(poller.poll()), what="poll without errors")
            assert poll.dead_letter(secured.dead)["sampled_records"] == 2
    finally:
        made.delete()


def test_who_may_what_and_who_can_log_in_are_events_when_they_change(
    secured: Secured, grant: Any
) -> None:
    with polling(secured.cluster) as poller:

        def events(kind: str) -> list[dict[str, Any]]:
            return poller.poll().table("cluster_events").filter(kind=kind).to_dicts()

        assert poller.poll().errors == {}
        grant(TOPICS)
        (event,) = eventually(lambda: events("acl changed"), what="event of an ACL")
        assert (event["subject"], event["before"]) == ("User:reader", None)
        assert event["after"] == "allow DESCRIBE on topic * from *"
        mechanism = ScramMechanism.SCRAM_SHA_256
        admin = secured.cluster.admin()
        user = UserScramCredentialUpsertion(
            "auditor", ScramCredentialInfo(mechanism, 8192), PASSWORD.encode()
        )
        admin.alter_user_scram_credentials([user])["auditor"].result(20)
        (event,) = eventually(lambda: events("scram user changed"), what="event of a new user")
        assert (event["subject"], event["before"]) == ("auditor", None)
        assert event["after"] == "SCRAM-SHA-256=8192 iterations"
        gone = UserScramCredentialDeletion("auditor", mechanism)
        admin.alter_user_scram_credentials([gone])["auditor"].result(20)
        (event,) = eventually(lambda: events("scram user changed"), what="event of a user removed")
        assert (event["before"], event["after"]) == ("SCRAM-SHA-256=8192 iterations", None)
