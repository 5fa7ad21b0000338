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
        return [Check("reachable", False, True, str(error))]
    checks = [
        Check("reachable", True, True, f"RabbitMQ {overview.version} ({overview.cluster})"),
        _rights(client, settings),
    ]
    try:
        names = client.virtual_hosts()
    except CollectorError as error:
        return [*checks, Check("virtual hosts", False, True, str(error))]
    readable, problems = _readable(client, names)
    checks.append(
        Check("queues", bool(readable), True, f"virtual hosts: {', '.join(readable) or 'none'}")
    )
    if problems:
        checks.append(Check("every virtual host", False, False, "; ".join(problems)))
    return [*checks, _rates(overview), _dead_letters(client, readable)]


def _rights(client: RabbitClient, settings: RabbitMQSettings) -> Check:
    feature = "user's tag"
    try:
        tags = client.tags()
    except CollectorError as error:
        return Check(feature, None, False, str(error))
    said = ", ".join(tags) or "none"
    if _SEES_ALL & set(tags):
        return Check(feature, True, False, said)
    user = settings.username or "USER"
    return Check(
        feature,
        False,
        False,
        f"{said}: virtual hosts without a permission are not even named; "
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
        return Check("message rates", False, False, NO_RATES)
    return Check("message rates", True, False, f"rates_mode {overview.rates_mode}")


def _dead_letters(client: RabbitClient, names: Sequence[str]) -> Check:
    feature = "dead-letter routes"
    if not names:
        return Check(feature, None, False, "no virtual host can be read")
    try:
        client.routing(names[0])
    except CollectorError as error:
        return Check(feature, False, False, str(error))
    return Check(feature, True, False, "exchanges and bindings can be read")
