"""What is made of answers about what administrators have set, odd ones included."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from collectors.errors import CollectorError, RefusedError
from collectors.kafka.cluster.setting_changes import setting_changes
from collectors.kafka.cluster.settings_reads import (
    MOST_SETTINGS,
    BrokerVersion,
    Found,
    features,
    read_acls,
    read_broker_configs,
    read_client_quotas,
    read_group_configs,
    read_scram_users,
    read_versions,
    set_on_brokers,
)
from collectors.kafka.protocol.broker_requests import Deadline, Wire

ON_TIME = Deadline(60, 60)


def wire(answer: Any) -> Wire:
    """Return a wire on which every broker gives the same answer."""
    return cast(
        Wire,
        SimpleNamespace(
            any=lambda make, deadline: answer,
            each=lambda requests, deadline: {
                broker: answer if isinstance(answer, CollectorError) else [answer]
                for broker in requests
            },
        ),
    )


def ns(**values: Any) -> SimpleNamespace:
    return SimpleNamespace(**values)


def acl(principal: str | None, operation: int = 3, permission: int = 3) -> SimpleNamespace:
    return ns(principal=principal, host="*", operation=operation, permission_type=permission)


def test_acls_in_words() -> None:
    resources = [
        ns(resource_type=2, resource_name="orders", pattern_type=3, acls=[acl("User:a")]),
        ns(resource_type=3, resource_name="pay", pattern_type=4, acls=[acl("User:a", 8, 2)]),
        ns(resource_type=99, resource_name="x", pattern_type=3, acls=[acl("User:b", 99, 99)]),
        ns(resource_type=2, resource_name="half \ud800", pattern_type=3, acls=[acl(None)]),
        ns(resource_type=2, resource_name="empty", pattern_type=3, acls=None),
    ]
    found = read_acls(wire(ns(error_code=0, resources=resources)), ON_TIME)
    assert found == {
        "User:a": {
            "allow READ on topic orders from *": "",
            "deny DESCRIBE on group prefix pay from *": "",
        },
        "User:b": {"? operation 99 on type 99 x from *": ""},
        "": {"allow READ on topic half \\ud800 from *": ""},
    }


def test_a_cluster_without_an_authorizer_has_no_acls() -> None:
    assert read_acls(wire(ns(error_code=54, resources=None)), ON_TIME) == {}


def test_too_many_acls_are_none() -> None:
    acls = [acl(f"User:{number}") for number in range(MOST_SETTINGS + 1)]
    resource = ns(resource_type=2, resource_name="orders", pattern_type=3, acls=acls)
    with pytest.raises(CollectorError, match="20001 ACLs are more than 20000"):
        read_acls(wire(ns(error_code=0, resources=[resource])), ON_TIME)


def test_scram_users() -> None:
    results = [
        ns(
            user="alice",
            error_code=0,
            credential_infos=[ns(mechanism=1, iterations=4096), ns(mechanism=2, iterations=8192)],
        ),
        ns(user="odd", error_code=0, credential_infos=[ns(mechanism=7, iterations=1)]),
        ns(user="gone", error_code=91, credential_infos=[]),
    ]
    found = read_scram_users(wire(ns(error_code=0, results=results)), ON_TIME)
    assert found == {
        "alice": {"SCRAM-SHA-256": "4096 iterations", "SCRAM-SHA-512": "8192 iterations"},
        "odd": {"mechanism 7": "1 iterations"},
    }


def test_scram_users_of_whom_one_is_refused_are_unknown() -> None:
    refused = ns(user="alice", error_code=31, credential_infos=[])
    with pytest.raises(CollectorError, match="not permitted"):
        read_scram_users(wire(ns(error_code=0, results=[refused])), ON_TIME)


def test_client_quotas() -> None:
    def entity(**parts: str | None) -> list[SimpleNamespace]:
        return [ns(entity_type=kind.replace("_", "-"), entity_name=n) for kind, n in parts.items()]

    entries = [
        ns(
            entity=entity(client_id="batch", user=None),
            values=[ns(key="producer_byte_rate", value=1048576.0), ns(key="rate", value=0.5)],
        ),
        ns(entity=entity(ip="10.0.0.1"), values=[ns(key="rate", value=float("inf"))]),
    ]
    found = read_client_quotas(wire(ns(error_code=0, entries=entries)), ON_TIME)
    assert found == {
        "user=(default), client-id=batch": {"producer_byte_rate": "1048576", "rate": "0.5"},
        "ip=10.0.0.1": {"rate": "inf"},
    }


@pytest.mark.parametrize(
    ("read", "right"),
    [
        pytest.param(read_acls, "DESCRIBE on the cluster", id="acls"),
        pytest.param(read_scram_users, "DESCRIBE on the cluster", id="scram users"),
        pytest.param(read_group_configs, "DESCRIBE_CONFIGS on the cluster", id="groups"),
        pytest.param(read_client_quotas, "DESCRIBE_CONFIGS on the cluster", id="quotas"),
    ],
)
def test_a_missing_right_is_named(read: Callable[[Wire, Deadline], Found], right: str) -> None:
    with pytest.raises(RefusedError, match=f"needs {right}"):
        read(wire(ns(error_code=31)), ON_TIME)


class GroupWire:
    """Lists groups with settings, and answers for as many as are asked for at once."""

    def __init__(
        self,
        groups: list[str],
        refused: frozenset[str] = frozenset(),
        silent: frozenset[str] = frozenset(),
    ) -> None:
        self.groups, self.refused, self.silent = groups, refused, silent
        self.asked: list[int] = []

    def any(self, make: Callable[[], Any], _: Deadline) -> Any:
        request = make()
        if type(request).__name__ == "ListConfigResourcesRequest":
            assert request.resource_types == [32], "of groups, not of topics"
            return ns(error_code=0, config_resources=[ns(resource_name=g) for g in self.groups])
        self.asked.append(len(request.resources))
        configs = [
            config("consumer.session.timeout.ms", "30000", 8),
            config("share.auto.offset.reset", "latest", 5),
            config("half \ud800", "x", 8),
            config("sasl.password", "let out", 8),
            config(None, "let out", 8),
        ]
        return ns(
            results=[
                ns(
                    error_code=30 if each.resource_name in self.refused else 0,
                    resource_name=each.resource_name,
                    configs=configs,
                )
                for each in request.resources
                if each.resource_name not in self.silent
            ]
        )


def test_settings_of_groups_are_those_that_somebody_set() -> None:
    made = GroupWire(["b", "a", "a", ""])
    found = read_group_configs(cast(Wire, made), ON_TIME)
    own = {"consumer.session.timeout.ms": "30000", "half \\ud800": "x"}
    assert found == {"a": own, "b": own}
    assert made.asked == [2]


def test_groups_that_are_not_answered_for_make_all_unknown() -> None:
    made = GroupWire(["a", "b"], silent=frozenset("b"))
    with pytest.raises(CollectorError, match="did not answer for all groups"):
        read_group_configs(cast(Wire, made), ON_TIME)


def test_groups_are_asked_for_in_parts() -> None:
    made = GroupWire([f"g{number:04}" for number in range(1200)])
    assert len(read_group_configs(cast(Wire, made), ON_TIME)) == 1200
    assert made.asked == [500, 500, 200]


def test_one_group_that_may_not_be_described_makes_all_unknown() -> None:
    made = GroupWire(["a", "b"], refused=frozenset("b"))
    with pytest.raises(RefusedError, match="needs DESCRIBE_CONFIGS on the groups"):
        read_group_configs(cast(Wire, made), ON_TIME)


def test_too_many_groups_with_settings_are_not_even_asked_for() -> None:
    made = GroupWire([str(number) for number in range(MOST_SETTINGS + 1)])
    with pytest.raises(CollectorError, match="20001 groups with settings are more than 20000"):
        read_group_configs(cast(Wire, made), ON_TIME)
    assert made.asked == []


def config(name: str | None, value: str | None, source: int = 4, *, sensitive: bool = False) -> Any:
    return ns(name=name, value=value, config_source=source, is_sensitive=sensitive)


def test_settings_of_brokers() -> None:
    configs = [
        config("num.io.threads", "8", 5),
        config("log.cleaner.threads", "2"),
        config("ssl.key.password", None, sensitive=True),
        config("sasl.jaas.config", "plain text that a service lets out"),
        config("absent", None),
    ]
    answer = ns(results=[ns(error_code=0, configs=configs)])
    found = read_broker_configs(wire(answer), [1], ON_TIME)
    assert found == {1: {"num.io.threads": ("8", False), "log.cleaner.threads": ("2", True)}}
    refused = read_broker_configs(wire(ns(results=[ns(error_code=31)])), [1], ON_TIME)
    assert str(refused[1]) == "not permitted: needs DESCRIBE_CONFIGS on the cluster"
    assert isinstance(read_broker_configs(wire(ns(results=[])), [1], ON_TIME)[1], CollectorError)


def test_what_is_set_on_one_broker_is_told_of_all() -> None:
    before = {1: {"a": ("1", False), "b": ("x", False)}, 2: {"a": ("1", False)}}
    after = {**before, 1: {"a": ("2", True), "b": ("x", False)}}
    assert set_on_brokers(before) == {"1": {}, "2": {}}
    assert set_on_brokers(after) == {"1": {"a": "2"}, "2": {"a": "1 (default)"}}
    events = setting_changes(
        {"broker configuration": set_on_brokers(before)},
        {"broker configuration": set_on_brokers(after)},
    )
    assert [(one.subject, one.before, one.after) for one in events] == [("1", None, "a=2")]


def test_kinds_whose_subjects_come_and_go() -> None:
    before = {"acl": {"User:a": {"x": ""}}, "broker version": {"1": {"release": "4.2"}}}
    now = {
        "acl": {"User:b": {"y": ""}},
        "broker version": {"1": {"release": "4.3"}, "2": {"release": "4.3"}},
        "scram user": {"new": {"m": "1"}},  # not known before
    }
    events = setting_changes(before, now)
    assert [(one.kind, one.subject, one.before, one.after) for one in events] == [
        ("acl changed", "User:a", "x", None),
        ("acl changed", "User:b", None, "y"),
        ("broker version changed", "1", "release=4.2", "release=4.3"),
    ]


def test_versions_of_brokers() -> None:
    answer = ns(
        error_code=0,
        api_keys=[ns(api_key=35, min_version=1, max_version=5)],
        supported_features=[
            ns(name="metadata.version", max_version=30),
            ns(name="share.version", max_version=1),
        ],
        finalized_features_epoch=7,
        finalized_features=[ns(name="metadata.version", max_version_level=27)],
    )
    found = read_versions(wire(answer), [1], ON_TIME)[1]
    assert found == BrokerVersion(
        release="4.3",
        supported={"metadata.version": 30, "share.version": 1},
        finalized={"metadata.version": 27, "share.version": 0},
        epoch=7,
    )
    assert isinstance(read_versions(wire(ns(error_code=35)), [1], ON_TIME)[1], CollectorError)


def test_features_of_a_cluster_that_is_being_upgraded() -> None:
    old = BrokerVersion(
        release="4.2",
        supported={"metadata.version": 29},
        finalized={"metadata.version": 27},
        epoch=7,
    )
    new = BrokerVersion(
        release="4.3",
        supported={"metadata.version": 30},
        finalized={"metadata.version": 28},
        epoch=8,
    )
    dumb = BrokerVersion(release="0.10.0", supported={}, finalized=None)
    assert features([old, new, dumb]) == {"metadata.version": {"level": "28", "supported": "29"}}
    assert features([dumb]) == {}
    assert features([]) == {}
