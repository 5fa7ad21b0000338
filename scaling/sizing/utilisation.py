"""How far a consumer may be used: pure."""

from __future__ import annotations

from math import log

HIGHEST_UTILISATION = 0.95
LOWEST_UTILISATION = 0.6
UNKNOWN_UTILISATION = 0.8
"""Where the variation of the service rate is not known."""

EXCEEDED = 1e-2
"""Share of time in which some member may exceed its part of the objective."""


def allowed_utilisation(
    variability_seconds: float | None, members: int, objective_seconds: float
) -> float:
    """Return the utilisation at which some member rarely exceeds an objective.

    Heavy traffic (Kingman 1961): the work that waits before a server at utilisation u, whose work
    varies by v (variance a second, in seconds), is about exponential with mean v / (2 (1 - u)).
    For it to exceed the objective on any of n members with probability ``EXCEEDED`` at most,
    1 - u >= v ln(n / EXCEEDED) / (2 objective).

    Args:
        variability_seconds: v; None is unknown.
        members: n.
        objective_seconds: The time that may wait.
    """
    if variability_seconds is None:
        return UNKNOWN_UTILISATION
    spare = variability_seconds * log(max(1, members) / EXCEEDED) / (2 * objective_seconds)
    return min(HIGHEST_UTILISATION, max(LOWEST_UTILISATION, 1 - spare))
