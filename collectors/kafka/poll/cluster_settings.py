"""What administrators have set in a cluster, read anew when it is due."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from collectors.errors import (
    CollectorError,
    NoAnswerError,
    RefusedError,
    UnsupportedError,
)
from collectors.kafka.cluster.setting_changes import (
    ACL,
    BROKER_CONFIG,
    BROKER_VERSION,
    CLIENT_QUOTA,
    FEATURE,
    GROUP_CONFIG,
    SCRAM_USER,
)
from collectors.kafka.cluster.settings_reads import (
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
from collectors.kafka.protocol.poll_context import PollContext
from collectors.source import due
from collectors.source.due import Due
from config.settings import Feature

T = TypeVar("T")

TOGETHER_SECONDS = 1.0
"""Most that a poll spends on reading what administrators have set."""

SETTINGS: Mapping[str, Feature] = {
    BROKER_VERSION: "versions",
    FEATURE: "versions",
    BROKER_CONFIG: "broker_configs",
    GROUP_CONFIG: "group_configs",
    CLIENT_QUOTA: "client_quotas",
    ACL: "acls",
    SCRAM_USER: "scram_users",
}
"""Kinds of what administrators set, in the order of reading, and what switches each off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsFound:
    """What administrators have set, as far as it is known.

    Attributes:
        found: Kind: subject: what is set on it. A kind that is not known is missing.
        unknown: Kind: why it could not be read the last time.
        versions: Broker: what it said of its software. Not compared: what is written of it is in
            ``found``, and its epoch grows with the cluster's metadata, several times a second.
    """

    found: Mapping[str, Found]
    unknown: Mapping[str, str]
    versions: Mapping[int, BrokerVersion] = field(compare=False)


class SettingsReads:
    """What administrators have set, each kind read anew when it is due."""

    def __init__(self, found: Mapping[str, Found] | None = None) -> None:
        """Begin with what was known before a restart."""
        self._found = dict(found or {})
        self._unknown: dict[str, str] = {}
        self._versions: dict[int, BrokerVersion] = {}
        self._configs: dict[int, Mapping[str, tuple[str, bool]]] = {}
        self._due = Due()

    def read(
        self,
        context: PollContext,
        alive: Collection[int],
        remembered: Collection[int],
        switched_off: Collection[Feature],
        seconds: float = TOGETHER_SECONDS,
    ) -> SettingsFound:
        """Return what administrators have set, by kind.

        A kind is read anew every five minutes, after a failure that may pass every minute. Kinds
        are left to the next polls once reading some has taken a second: over a slow network a poll
        must not wait for all.

        Args:
            context: How the brokers are asked.
            alive: The brokers that are alive.
            remembered: Brokers that are not forgotten, alive or not.
            switched_off: What is not to be asked for.
            seconds: How long kinds may be read in this poll.
        """
        begun = time.monotonic()
        for kind, feature in SETTINGS.items():
            if time.monotonic() - begun > seconds:
                break
            if feature in switched_off:
                self._found.pop(kind, None)  # it may be known from before a restart
                self._unknown.pop(kind, None)
            elif self._due.is_due(kind, context.tick):
                again = self._read(kind, context, alive, remembered)
                self._due.was_tried(kind, context.tick, again_after=again)
        return SettingsFound(
            found=dict(self._found), unknown=dict(self._unknown), versions=dict(self._versions)
        )

    def _read(
        self, kind: str, context: PollContext, alive: Collection[int], remembered: Collection[int]
    ) -> float:
        """Read a kind; return after how many seconds it is due again."""
        self._unknown.pop(kind, None)
        try:
            self._found[kind] = self._ask(kind, context, alive, remembered)
        except UnsupportedError:
            self._found.pop(kind, None)  # it may be known from before a restart
        except CollectorError as error:
            self._unknown[kind] = str(error)
            if not isinstance(error, RefusedError):
                # Not left alone if only the poll's time was over.
                return due.EVERY_SECONDS if context.deadline.left_seconds > 0 else 0.0
        return due.CONFIGS_EVERY_SECONDS

    def _ask(
        self, kind: str, context: PollContext, alive: Collection[int], remembered: Collection[int]
    ) -> Found:
        wire, deadline = context.wire, context.deadline
        if kind == BROKER_VERSION:
            _update(self._versions, read_versions(wire, list(alive), deadline), remembered)
            return {
                str(broker): {"release": version.release}
                for broker, version in self._versions.items()
            }
        if kind == FEATURE:  # named by the same answers, which were read just before
            if not self._versions:
                raise CollectorError("no broker has told its version")
            return features(self._versions.values())
        if kind == BROKER_CONFIG:
            _update(self._configs, read_broker_configs(wire, list(alive), deadline), remembered)
            return set_on_brokers(self._configs)
        read = {
            GROUP_CONFIG: read_group_configs,
            CLIENT_QUOTA: read_client_quotas,
            ACL: read_acls,
            SCRAM_USER: read_scram_users,
        }
        return read[kind](wire, deadline)


def _update(
    known: dict[int, T], found: Mapping[int, T | CollectorError], remembered: Collection[int]
) -> None:
    """Take over what brokers told; of a silent one what it told before, until it is removed.

    Raises:
        CollectorError: None of them told anything.
    """
    told = {
        broker: value for broker, value in found.items() if not isinstance(value, CollectorError)
    }
    if not told:
        raise next(
            (error for error in found.values() if isinstance(error, CollectorError)),
            NoAnswerError("there is no broker"),
        )
    known.update(told)
    for gone in known.keys() - set(remembered):
        del known[gone]
