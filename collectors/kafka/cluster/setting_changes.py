"""What changed in settings from one read to the next: pure rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from collectors.kafka.cluster.changes import ClusterEvent
from collectors.source.excerpt import storable
from config.settings import SECRET_PROPERTY

Settings = Mapping[str, str]
"""Setting: its value; empty where the name says it all."""

TOPIC_CONFIG = "topic configuration"
FEATURE = "feature"
BROKER_VERSION = "broker version"
BROKER_CONFIG = "broker configuration"
CLIENT_QUOTA = "client quota"
GROUP_CONFIG = "group configuration"
ACL = "acl"
SCRAM_USER = "scram user"

_COME_AND_GO = frozenset({FEATURE, GROUP_CONFIG, CLIENT_QUOTA, ACL, SCRAM_USER})
"""Kinds of which a subject that is new or gone is a change, too."""


DEFAULT = " (default)"
"""What follows a value that nobody set."""

_VALUE_LENGTH = 256
_LISTED = 20  # settings that an event names


def cut(text: str | None, length: int = _VALUE_LENGTH) -> str:
    """Return a text of others as the lake can hold it, cut to a length."""
    clean = storable(text or "")
    return clean if len(clean) <= length else f"{clean[: length - 1]}…"


def is_secret(name: str) -> bool:
    """Return whether the value of a setting must not be kept, whatever the broker says of it."""
    return SECRET_PROPERTY.search(name) is not None


def changed(kind: str, subject: str, before: Settings, after: Settings) -> Iterator[ClusterEvent]:
    """Return the event of settings that differ; none where all are the same.

    Args:
        kind: What they are settings of.
        subject: Of which one.
        before: Setting: its value; empty where the name says it all.
        after: The same, later.
    """
    names = sorted(
        name
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
        and not (_is_default(before.get(name)) and _is_default(after.get(name)))
    )
    if names:
        yield ClusterEvent(
            kind=f"{kind} changed",
            subject=subject,
            before=_text(before, names),
            after=_text(after, names),
            topic=subject if kind == TOPIC_CONFIG else None,
        )


def topic_config_changes(
    before: Mapping[str, Mapping[str, tuple[str | None, bool]]],
    now: Mapping[str, Mapping[str, tuple[str | None, bool]]],
) -> Iterator[ClusterEvent]:
    """Return the topics of which settings were set, altered or given back to the default.

    A default of the brokers that changes is no change of each topic.

    Args:
        before: Topic: setting: its value, and whether it was set on the topic itself.
        now: The same, later; a topic that is in one of them alone has no event.
    """
    for topic, config in sorted(now.items()):
        known = before.get(topic)
        if known is None or known is config or known == config:
            continue
        own = {
            name
            for each in (known, config)
            for name, (_, is_own) in each.items()
            if is_own and not is_secret(name)
        }
        yield from changed(TOPIC_CONFIG, topic, _shown(known, own), _shown(config, own))


def setting_changes(
    before: Mapping[str, Mapping[str, Settings]], now: Mapping[str, Mapping[str, Settings]]
) -> Iterator[ClusterEvent]:
    """Return what administrators changed between two reads.

    Args:
        before: Kind: subject: its settings; a kind that lacks was not known.
        now: The same, later.
    """
    for kind in now:
        known, found = before.get(kind), now[kind]
        if known is None or known is found:
            continue
        subjects = known.keys() & found.keys()
        if kind in _COME_AND_GO:
            subjects = known.keys() | found.keys()
        for subject in sorted(subjects):
            yield from changed(kind, subject, known.get(subject, {}), found.get(subject, {}))


def _shown(config: Mapping[str, tuple[str | None, bool]], names: set[str]) -> Settings:
    return {
        name: cut(value) + ("" if is_own else DEFAULT)
        for name, (value, is_own) in config.items()
        if name in names
    }


def _is_default(value: str | None) -> bool:
    """Return whether nobody set a value: then another one is the work of another release."""
    return value is None or value.endswith(DEFAULT)


def _text(settings: Settings, names: Sequence[str]) -> str | None:
    held = [name for name in names if name in settings]
    listed = [f"{name}={settings[name]}" if settings[name] else name for name in held[:_LISTED]]
    if len(held) > _LISTED:
        listed.append(f"{len(held) - _LISTED} more")
    return ", ".join(listed) or None
