"""Which kinds of notification targets there are: the one place that lists them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from alerting.notify.targets.alertmanager import AlertmanagerTarget
from alerting.notify.targets.apprise_services import AppriseTarget
from alerting.notify.targets.model import Target
from alerting.notify.targets.webhook import WebhookTarget
from config.alerting import TargetKind, TargetSettings

TARGETS: Mapping[TargetKind, Callable[[TargetSettings, str], Target]] = {
    "alertmanager": AlertmanagerTarget,
    "apprise": AppriseTarget,
    "webhook": WebhookTarget,
}
"""How a target is made of its settings and the dashboard's address, by ``kind``."""


def make_target(settings: TargetSettings, dashboard_url: str) -> Target:
    """Return the target that the settings describe."""
    return TARGETS[settings.kind](settings, dashboard_url)
