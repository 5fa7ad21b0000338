"""Whether each feature can work on a Schema Registry."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.errors import CollectorError
from collectors.schema_registry.answers import Subject
from collectors.schema_registry.client import RegistryClient
from collectors.source.answer import Odd
from collectors.source.http_client import NotFoundError
from collectors.source.model import Check
from config.integrations import RegistryFeature, SchemaRegistrySettings

_LEVELS: tuple[RegistryFeature, ...] = ("compatibility", "mode")


def run_checks(client: RegistryClient, settings: SchemaRegistrySettings) -> Sequence[Check]:
    """Try each feature once with the requests that the polls use."""
    try:
        names = client.names(Odd())
    except CollectorError as error:
        return [Check(feature="subjects", works=False, required=True, detail=str(error))]
    watched = [name for name in names if settings.subjects.selects(name)]
    noun = "subject is" if len(watched) == 1 else "subjects are"
    checks = [
        Check(
            feature="subjects", works=True, required=True, detail=f"{len(watched)} {noun} watched"
        )
    ]
    checks += [_level(client, feature) for feature in _LEVELS if client.is_asked_for(feature)]
    if client.is_asked_for("deleted"):
        checks.append(_deleted(client, names))
    return [*checks, _subject(client, watched)]


def _level(client: RegistryClient, feature: RegistryFeature) -> Check:
    what = f"the registry's {feature}"
    try:
        level = client.level(feature, Odd())
    except NotFoundError as error:
        if feature == "mode":
            return Check(
                feature=what, works=None, required=False, detail="this registry has no modes"
            )
        return Check(feature=what, works=False, required=False, detail=str(error))
    except CollectorError as error:
        return Check(feature=what, works=False, required=False, detail=str(error))
    return Check(
        feature=what, works=level is not None, required=False, detail=level or "it is not told"
    )


def _deleted(client: RegistryClient, listed: Sequence[str]) -> Check:
    try:
        number = len(set(client.names(Odd(), deleted=True)) - set(listed))
    except CollectorError as error:
        return Check(feature="deleted subjects", works=False, required=False, detail=str(error))
    return Check(
        feature="deleted subjects", works=True, required=False, detail=f"{number} are told"
    )


def _subject(client: RegistryClient, watched: Sequence[str]) -> Check:
    what = "versions and levels of subjects"
    if not watched:
        return Check(
            feature=what, works=None, required=False, detail="there is no subject to ask about"
        )
    name = watched[0]
    try:
        found = client.subject(name, Subject(), Odd())
    except CollectorError as error:
        return Check(feature=what, works=False, required=False, detail=f"{name}: {error}")
    return Check(
        feature=what,
        works=found.unknown_reason is None,
        required=False,
        detail=found.unknown_reason or f"of {name}",
    )
