"""The checks: what rules can look at. Each module beside this one says which it has."""

from __future__ import annotations

from alerting.checks import cluster, dead_letters, groups, integrations, monitor
from alerting.checks.model import Check

CHECKS: dict[str, Check] = {
    check.name: check
    for module in (groups, cluster, dead_letters, integrations, monitor)
    for check in module.CHECKS
}
"""All checks by name."""
