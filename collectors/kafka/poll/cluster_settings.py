"""What administrators have set in a cluster, read anew when it is due."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from collectors.errors import (
    CollectorError,
    NoAnswerError,
    RefusedError,
    SwitchedOffError,
    UnsupportedError,
)
from collectors.kafka.cluster.setting_changes import (
    ACL,
    BROKER_CONFIG,
    BROKER_VERSION,
    CLIENT_QUOTA,
    FEATURE,
    SCRAM_USER,
)
from collectors.kafka.cluster.settings_reads import (
    BrokerVersion,
    Found,
    features,
    read_acls,
    read_broker_configs,
    read_client_quotas,
    read_scram_users,
    read_versions,
    set_on_brokers,
)
from collectors.kafka.poll import due
from collectors.kafka.protocol.broker_requests import Deadline, Wire
from config.settings import Feature

T = TypeVar("T")

_TOGETHER_SECONDS = 1.0

SETTINGS: Mapping[str, Feature] = {
    BROKER_VERSION: "versions",
    FEATURE: "versions",
    BROKER_CONFIG: "broker_configs",
    CLIENT_QUOTA: "client_quotas",
    ACL: "acls",
    SCRAM_USER: "scram_users",
}
"""Kinds of what administrators set, in the order of reading, and what switches each off."""


@dataclass(slots=True, kw_only=True)
class SettingsMemory:
    """What is kept of it from poll to poll.

    Attributes:
        found: What administrators have set, by kind, as far as it is known.
        unknown: Kind: why it could not be read the last time.
        seen: ``found`` at the poll before, for its events.
        written: What was last written of it, and when (monotonic seconds).
        versions: Broker: what it said of its software.
        broker_configs: Broker: setting: its value, and whether somebody set it.
        due: When each kind is read anew.
    """

    found: dict[str, Found] = field(default_factory=dict)
    unknown: dict[str, str] = field(default_factory=dict)
    seen: Mapping[str, Found] = field(default_factory=dict)
    written: tuple[object, float] | None = None
    versions: dict[int, BrokerVersion] = field(default_factory=dict)
    broker_configs: dict[int, Mapping[str, tuple[str, bool]]] = field(default_factory=dict)
    due: due.Due = field(default_factory=due.Due)


class SettingsReads:
    """The reads of one poll."""

    def __init__(
        self,
        *,
        wire: Wire,
        deadline: Deadline,
        memory: SettingsMemory,
        alive: Callable[[], Collection[int]],
        remembered: Collection[int],
        asked_for: Callable[[Feature], None],
        now: float,
    ) -> None:
        """Take what the reads need.

        Args:
            wire: Where to ask.
            deadline: The poll's.
            memory: What is kept from poll to poll; the reads change it.
            alive: Returns the brokers that are alive; raises CollectorError.
            remembered: Brokers that are not forgotten, alive or not.
            asked_for: Raises SwitchedOffError for what is not to be asked.
            now: When the poll began, in monotonic seconds.
        """
        self._wire = wire
        self._deadline = deadline
        self._memory = memory
        self._alive = alive
        self._remembered = remembered
        self._asked_for = asked_for
        self._now = now

    def read_all(self) -> Mapping[str, Found]:
        """Return what administrators have set, by kind, as far as it is known.

        ``SettingsMemory.unknown`` says what could not be read. Kinds are left to the next polls
        once reading some has taken a second: over a slow network a poll must not wait for all.
        """
        begun = time.monotonic()
        for kind in SETTINGS:
            if time.monotonic() - begun > _TOGETHER_SECONDS:
                break
            self.read(kind)
        return self._memory.found

    def read(self, kind: str) -> Found | None:
        """Return what administrators have set of a kind; None where that is not known.

        Read anew every five minutes, after a failure that may pass every minute.
        """
        memory = self._memory
        if not memory.due.is_due(kind, self._now):
            return memory.found.get(kind)
        again = due.CONFIGS_EVERY_SECONDS
        memory.found = dict(memory.found)
        memory.unknown = {other: why for other, why in memory.unknown.items() if other != kind}
        try:
            self._asked_for(SETTINGS[kind])
            memory.found[kind] = self._ask(kind)
        except (SwitchedOffError, UnsupportedError):
            memory.found.pop(kind, None)  # it may be known from before a restart
        except CollectorError as error:
            memory.unknown[kind] = str(error)
            if not isinstance(error, RefusedError):
                # Not left alone if only the poll's time was over.
                again = due.EVERY_SECONDS if self._deadline.left_seconds > 0 else 0.0
        memory.due.was_read(kind, self._now, again_after=again)
        return memory.found.get(kind)

    def _ask(self, kind: str) -> Found:
        reads: Mapping[str, Callable[[], Found]] = {
            BROKER_VERSION: self._versions,
            FEATURE: self._features,
            BROKER_CONFIG: self._broker_configs,
            CLIENT_QUOTA: partial(read_client_quotas, self._wire, self._deadline),
            ACL: partial(read_acls, self._wire, self._deadline),
            SCRAM_USER: partial(read_scram_users, self._wire, self._deadline),
        }
        return reads[kind]()

    def _versions(self) -> Found:
        versions = self._memory.versions
        self._update(versions, read_versions(self._wire, list(self._alive()), self._deadline))
        return {str(broker): {"release": version.release} for broker, version in versions.items()}

    def _features(self) -> Found:
        self.read(BROKER_VERSION)  # whose answers name the features too
        if not self._memory.versions:
            raise CollectorError("no broker has told its version")
        return features(self._memory.versions.values())

    def _broker_configs(self) -> Found:
        configs = self._memory.broker_configs
        self._update(configs, read_broker_configs(self._wire, list(self._alive()), self._deadline))
        return set_on_brokers(configs)

    def _update(self, known: dict[int, T], found: Mapping[int, T | CollectorError]) -> None:
        """Take over what brokers told; of a silent one what it told before, until it is removed.

        Raises:
            CollectorError: None of them told anything.
        """
        told = {
            broker: value
            for broker, value in found.items()
            if not isinstance(value, CollectorError)
        }
        if not told:
            raise next(
                (error for error in found.values() if isinstance(error, CollectorError)),
                NoAnswerError("there is no broker"),
            )
        known.update(told)
        for gone in known.keys() - set(self._remembered):
            del known[gone]
