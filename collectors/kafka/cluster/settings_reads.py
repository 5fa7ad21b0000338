"""What administrators have set: features, brokers, groups, quotas, ACLs, SCRAM users.

Names and settings alone: none of these requests is answered with a password, and values that Kafka
calls sensitive are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kafka.protocol.admin import (
    DescribeAclsRequest,
    DescribeClientQuotasRequest,
    DescribeUserScramCredentialsRequest,
    ListConfigResourcesRequest,
)
from kafka.protocol.broker_version_data import infer_broker_version_from_api_versions
from kafka.protocol.metadata import ApiVersionsRequest

from collectors.errors import CollectorError, RefusedError
from collectors.kafka.cluster.setting_changes import DEFAULT, Settings, cut, is_secret
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from collectors.kafka.protocol.config_answers import configs_request
from collectors.kafka.protocol.error_codes import NOT_PERMITTED, reason

Found = Mapping[str, Settings]
"""Subject: its settings."""

MOST_SETTINGS = 20_000
"""Settings of one kind that are kept; where there are more, none is: a part would look whole."""

_ANY = 1
_BROKER_RESOURCE = 4
_GROUP_RESOURCE = 32
_DEFAULT_CONFIG = 5
_DYNAMIC_GROUP_CONFIG = 8
_GROUPS_A_REQUEST = 500
_SECURITY_DISABLED = 54
_USER_NOT_FOUND = 91
_RESOURCE_TYPES = {
    **{2: "topic", 3: "group", 4: "cluster", 5: "transactional id", 6: "delegation token"},
    7: "user",
}
_OPERATIONS = {
    **{2: "ALL", 3: "READ", 4: "WRITE", 5: "CREATE", 6: "DELETE", 7: "ALTER", 8: "DESCRIBE"},
    **{9: "CLUSTER_ACTION", 10: "DESCRIBE_CONFIGS", 11: "ALTER_CONFIGS", 12: "IDEMPOTENT_WRITE"},
    **{13: "CREATE_TOKENS", 14: "DESCRIBE_TOKENS", 15: "TWO_PHASE_COMMIT"},
}
_PERMISSIONS = {2: "deny", 3: "allow"}
_PREFIXED = 4
_MECHANISMS = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerVersion:
    """What a broker says of its own software, and of the cluster's features.

    Attributes:
        release: The newest release of Kafka whose protocol it speaks, for example ``4.3``.
        supported: Feature: the highest level that it supports.
        finalized: Feature: the level that the cluster uses; None where it does not know.
        epoch: How new that is.
    """

    release: str
    supported: Mapping[str, int]
    finalized: Mapping[str, int] | None
    epoch: int = -1


def read_versions(
    wire: Wire, brokers: Iterable[int], deadline: Deadline
) -> dict[int, BrokerVersion | CollectorError]:
    """Ask brokers for their versions."""
    requests = {broker: [_api_versions()] for broker in brokers}
    return {
        broker: answers if isinstance(answers, CollectorError) else _version(answers[0])
        for broker, answers in wire.each(requests, deadline).items()
    }


def features(versions: Iterable[BrokerVersion]) -> Found:
    """Return the features of the cluster: their levels, and the one that all brokers support.

    Raises:
        CollectorError: There are too many.
    """
    known = list(versions)
    newest = max(known, key=lambda each: each.epoch, default=None)
    if newest is None or newest.finalized is None:
        return {}
    found = {}
    for name, level in newest.finalized.items():
        supported = [each.supported[name] for each in known if name in each.supported]
        found[name] = {
            "level": str(level),
            **({"supported": str(min(supported))} if supported else {}),
        }
    return _bounded(found, "features")


def read_broker_configs(
    wire: Wire, brokers: Iterable[int], deadline: Deadline
) -> dict[int, Mapping[str, tuple[str, bool]] | CollectorError]:
    """Ask each broker for its own configuration.

    Returns:
        Broker: its settings, each with its value and whether somebody set it; or why they are
        unknown.
    """
    requests = {broker: [configs_request(_BROKER_RESOURCE, [str(broker)])] for broker in brokers}
    found: dict[int, Mapping[str, tuple[str, bool]] | CollectorError] = {}
    for broker, answers in wire.each(requests, deadline).items():
        if isinstance(answers, CollectorError):
            found[broker] = answers
            continue
        results = answers[0].results or ()
        code = results[0].error_code if results else 0
        if code or not results:
            found[broker] = _refusal(code, "DESCRIBE_CONFIGS on the cluster")
            continue
        found[broker] = {
            cut(config.name): (cut(config.value), config.config_source != _DEFAULT_CONFIG)
            for config in results[0].configs or ()
            if config.value is not None and _may_be_shown(config)
        }
    return found


def set_on_brokers(configs: Mapping[int, Mapping[str, tuple[str, bool]]]) -> Found:
    """Return what somebody set on a broker, with the value that it has on each of them.

    Raises:
        CollectorError: It is too much.
    """
    names = {name for config in configs.values() for name, (_, is_set) in config.items() if is_set}
    found = {
        str(broker): {
            name: value if is_set else value + DEFAULT
            for name, (value, is_set) in config.items()
            if name in names
        }
        for broker, config in configs.items()
    }
    return _bounded(found, "settings of brokers")


def read_group_configs(wire: Wire, deadline: Deadline) -> Found:
    """Ask for what is set on groups: session time-outs, heartbeats, where share groups begin.

    Raises:
        CollectorError: It is unknown.
        UnsupportedError: The brokers are older than Kafka 4.1.
    """
    listed = wire.any(
        lambda: ListConfigResourcesRequest(resource_types=[_GROUP_RESOURCE], min_version=1),
        deadline,
    )
    if listed.error_code:
        raise _refusal(listed.error_code, "DESCRIBE_CONFIGS on the cluster")
    groups = sorted(
        {each.resource_name for each in listed.config_resources or () if each.resource_name}
    )
    if len(groups) > MOST_SETTINGS:
        raise _too_many(len(groups), "groups with settings")
    found: dict[str, Settings] = {}
    for start in range(0, len(groups), _GROUPS_A_REQUEST):
        asked = groups[start : start + _GROUPS_A_REQUEST]
        answer = wire.any(partial(configs_request, _GROUP_RESOURCE, asked), deadline)
        results = answer.results or ()
        if not set(asked) <= {result.resource_name for result in results}:
            raise CollectorError("the broker did not answer for all groups")
        for result in results:
            if result.error_code:
                raise _refusal(result.error_code, "DESCRIBE_CONFIGS on the groups")
            found[cut(result.resource_name)] = {
                cut(config.name): cut(config.value)
                for config in result.configs or ()
                if config.config_source == _DYNAMIC_GROUP_CONFIG and _may_be_shown(config)
            }
    return _bounded(found, "settings of groups")


def read_client_quotas(wire: Wire, deadline: Deadline) -> Found:
    """Ask for the quotas of users, clients and addresses.

    Raises:
        CollectorError: They are unknown.
    """
    answer = wire.any(lambda: DescribeClientQuotasRequest(components=[], strict=False), deadline)
    if answer.error_code:
        raise _refusal(answer.error_code, "DESCRIBE_CONFIGS on the cluster")
    found = {}
    for entry in answer.entries or ():
        entity = ", ".join(
            f"{part.entity_type}={'(default)' if part.entity_name is None else part.entity_name}"
            for part in sorted(entry.entity or (), key=lambda one: str(one.entity_type))[::-1]
        )
        found[cut(entity)] = {cut(value.key): f"{value.value:.15g}" for value in entry.values or ()}
    return _bounded(found, "client quotas")


def read_acls(wire: Wire, deadline: Deadline) -> Found:
    """Ask for all access rules; none where the cluster has no authorizer.

    Returns:
        Principal: its rules, each in words.

    Raises:
        CollectorError: They are unknown.
    """
    answer = wire.any(_describe_acls, deadline)
    if answer.error_code == _SECURITY_DISABLED:
        return {}
    if answer.error_code:
        raise _refusal(answer.error_code, "DESCRIBE on the cluster")
    found: dict[str, dict[str, str]] = {}
    for resource in answer.resources or ():
        kind = _RESOURCE_TYPES.get(resource.resource_type, f"type {resource.resource_type}")
        prefix = " prefix" if resource.pattern_type == _PREFIXED else ""
        for acl in resource.acls or ():
            rule = (
                f"{_PERMISSIONS.get(acl.permission_type, '?')} "
                f"{_OPERATIONS.get(acl.operation, f'operation {acl.operation}')} on "
                f"{kind}{prefix} {resource.resource_name} from {acl.host}"
            )
            found.setdefault(cut(acl.principal), {})[cut(rule, 512)] = ""
    return _bounded(found, "ACLs")


def read_scram_users(wire: Wire, deadline: Deadline) -> Found:
    """Ask which users have SCRAM credentials, and of which kind; never for the credentials.

    Raises:
        CollectorError: They are unknown.
    """
    # Empty means all, as null does; but null is never answered where it is not permitted.
    answer = wire.any(lambda: DescribeUserScramCredentialsRequest(users=[]), deadline)
    if answer.error_code:
        raise _refusal(answer.error_code, "DESCRIBE on the cluster")
    users = [user for user in answer.results or () if user.error_code != _USER_NOT_FOUND]
    for code in filter(None, (user.error_code for user in users)):
        raise _refusal(code, "DESCRIBE on the cluster")
    found = {
        cut(user.user): {
            _MECHANISMS.get(
                one.mechanism, f"mechanism {one.mechanism}"
            ): f"{one.iterations} iterations"
            for one in user.credential_infos or ()
        }
        for user in users
    }
    return _bounded(found, "SCRAM users")


def _may_be_shown(config: Any) -> bool:
    return config.name is not None and not config.is_sensitive and not is_secret(config.name)


def _api_versions() -> Any:
    return ApiVersionsRequest(client_software_name="headroom", client_software_version="0.1.0")


def _version(answer: Any) -> BrokerVersion | CollectorError:
    if answer.error_code:
        return CollectorError(reason(answer.error_code))
    keys = {api.api_key: (api.min_version, api.max_version) for api in answer.api_keys or ()}
    epoch = answer.finalized_features_epoch
    supported = {cut(each.name): each.max_version for each in answer.supported_features or ()}
    finalized = {cut(each.name): each.max_version_level for each in answer.finalized_features or ()}
    return BrokerVersion(
        release=".".join(map(str, infer_broker_version_from_api_versions(keys))),
        supported=supported,
        # A feature that was never raised is not listed.
        finalized=None if epoch is None or epoch < 0 else dict.fromkeys(supported, 0) | finalized,
        epoch=-1 if epoch is None else epoch,
    )


def _describe_acls() -> Any:
    return DescribeAclsRequest(
        resource_type_filter=_ANY,
        resource_name_filter=None,
        pattern_type_filter=_ANY,
        principal_filter=None,
        host_filter=None,
        operation=_ANY,
        permission_type=_ANY,
    )


def _refusal(code: int, right: str) -> CollectorError:
    if code in NOT_PERMITTED:
        return RefusedError(f"not permitted: needs {right}")
    return CollectorError(reason(code) if code else "the broker answered with nothing")


def _bounded(found: Found, what: str) -> Found:
    count = sum(max(1, len(settings)) for settings in found.values())
    if count > MOST_SETTINGS:
        raise _too_many(count, what)
    return found


def _too_many(count: int, what: str) -> CollectorError:
    return CollectorError(f"{count} {what} are more than {MOST_SETTINGS}: none is kept")
