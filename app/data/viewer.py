"""Who looks at the pages: the name, what they may see, whether they may act. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from config.app import AuthSettings, RoleSettings

_CLOCKS_DIFFER = 300.0

EVERYONE = "*"
"""The value of a claim that everyone has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Viewer:
    """Somebody who looks at the pages.

    Attributes:
        name: Signs what they do; None: there is no login, they say who they are.
        roles: What they have of the configured roles; None: there is no login, so everything.
    """

    name: str | None = None
    roles: tuple[RoleSettings, ...] | None = None

    @property
    def operates(self) -> bool:
        """Whether they may acknowledge and silence."""
        return self.roles is None or any(role.operator for role in self.roles)

    @property
    def key(self) -> str:
        """What is the same for two viewers if, and only if, they see the same."""
        if self.roles is None:
            return ""
        scopes = sorted(
            role.model_dump_json(include={"clusters", "topics", "groups"}) for role in self.roles
        )
        return sha256("\n".join(scopes).encode()).hexdigest()[:16]

    @property
    def sees_all(self) -> bool:
        """Whether one of the roles has no limits."""
        return self.roles is None or any(
            _is_all(role.clusters) and _is_all(role.topics) and _is_all(role.groups)
            for role in self.roles
        )

    def sees_all_of(self, cluster: str) -> bool:
        """Return whether one of the roles sees the whole of a cluster."""
        return self.roles is None or any(
            role.clusters.selects(cluster) and _is_all(role.topics) and _is_all(role.groups)
            for role in self.roles
        )

    def sees(
        self,
        cluster: str,
        *,
        group: str | None = None,
        topic: str | None = None,
    ) -> bool:
        """Return whether one role sees a cluster, and in it a group, a topic, or both together."""
        return self.roles is None or any(
            role.clusters.selects(cluster)
            and (group is None or role.groups.selects(group))
            and (topic is None or role.topics.selects(topic))
            for role in self.roles
        )


def _is_all(selection: Any) -> bool:
    return ".*" in selection.include and not selection.exclude


def viewer_of(claims: Mapping[str, Any], auth: AuthSettings) -> Viewer:
    """Return who has logged in, by the provider's claims; without a role they see nothing."""
    given = _claim(claims, auth.claim)
    values = {given} if isinstance(given, str) else set()
    if isinstance(given, list):
        values = {one for one in given if isinstance(one, str)}
    name = claims.get(auth.name_claim) or claims.get("sub")
    roles = tuple(
        role for role in auth.roles if EVERYONE in role.values or values & set(role.values)
    )
    return Viewer(name=str(name) if name else None, roles=roles if name else ())


def is_over(claims: Mapping[str, Any], auth: AuthSettings, now: float) -> bool:
    """Return whether a login is older than a session lasts, or does not say how old it is."""
    issued = claims.get("iat")
    if not isinstance(issued, int | float):
        return True
    return not 0 <= now - issued + _CLOCKS_DIFFER <= auth.session_hours * 3600 + _CLOCKS_DIFFER


def _claim(claims: Mapping[str, Any], name: str) -> Any:
    """Return a claim; a name with dots may be that of one inside others (Keycloak)."""
    if name in claims:
        return claims[name]
    found: Any = claims
    for part in name.split("."):
        found = found.get(part) if isinstance(found, Mapping) else None
    return found
