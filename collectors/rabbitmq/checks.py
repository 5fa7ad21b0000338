"""Which features of a RabbitMQ can work with the rights and settings there are."""

from __future__ import annotations

from collections.abc import Sequence

from collectors.errors import CollectorError
from collectors.rabbitmq.answers import NO_RATES, Overview
from collectors.rabbitmq.client import RabbitClient
from collectors.source.http_client import NotPermittedError
from collectors.source.model import Check
from config.integrations import RabbitMQSettings

_SEES_ALL = frozenset({"monitoring", "administrator"})


def check(client: RabbitClient, settings: RabbitMQSettings) -> Sequence[Check]:
    """Try each feature once."""
    try:
        overview = client.overview()
    except CollectorError as error:
        return [Check(feature="reachable", works=False, required=True, detail=str(error))]
    checks = [
        Check(
            feature="reachable",
            works=True,
            required=True,
            detail=f"RabbitMQ {overview.version} ({overview.cluster})",
        ),
        _rights(client, settings),
    ]
    try:
        names = client.virtual_hosts()
    except CollectorError as error:
        return [
            *checks,
            Check(feature="virtual hosts", works=False, required=True, detail=str(error)),
        ]
    readable, problems = _readable(client, names)
    checks.append(
        Check(
            feature="queues",
            works=bool(readable),
            required=True,
            detail=f"virtual hosts: {', '.join(readable) or 'none'}",
        )
    )
    if problems:
        checks.append(
            Check(
                feature="every virtual host",
                works=False,
                required=False,
                detail="; ".join(problems),
            )
        )
    return [*checks, _rates(overview), _dead_letters(client, readable)]


def _rights(client: RabbitClient, settings: RabbitMQSettings) -> Check:
    feature = "user's tag"
    try:
        tags = client.tags()
    except CollectorError as error:
        return Check(feature=feature, works=None, required=False, detail=str(error))
    said = ", ".join(tags) or "none"
    if _SEES_ALL & set(tags):
        return Check(feature=feature, works=True, required=False, detail=said)
    user = settings.username or "USER"
    return Check(
        feature=feature,
        works=False,
        required=False,
        detail=f"{said}: virtual hosts without a permission are not even named; "
        f"rabbitmqctl set_user_tags {user} monitoring",
    )


def _readable(client: RabbitClient, names: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the virtual hosts whose queues can be read, and why others cannot."""
    readable, problems = [], []
    for name in names:
        try:
            client.first_queues(name)
        except NotPermittedError:
            problems.append(client.not_permitted(name))
        except CollectorError as error:
            problems.append(f"virtual host {name}: {error}")
        else:
            readable.append(name)
    return readable, problems


def _rates(overview: Overview) -> Check:
    if not overview.has_rates:
        return Check(feature="message rates", works=False, required=False, detail=NO_RATES)
    return Check(
        feature="message rates",
        works=True,
        required=False,
        detail=f"rates_mode {overview.rates_mode}",
    )


def _dead_letters(client: RabbitClient, names: Sequence[str]) -> Check:
    feature = "dead-letter routes"
    if not names:
        return Check(
            feature=feature, works=None, required=False, detail="no virtual host can be read"
        )
    try:
        client.routing(names[0])
    except CollectorError as error:
        return Check(feature=feature, works=False, required=False, detail=str(error))
    return Check(
        feature=feature, works=True, required=False, detail="exchanges and bindings can be read"
    )
