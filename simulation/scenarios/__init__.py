"""Alert scenarios with a known truth: each file below that has a function ``scenario`` is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import walk_packages

from simulation.scenarios.model import Scenario


def families() -> Mapping[str, Callable[[int], Scenario]]:
    """Return every scenario by the name of its file: a variant's number to the scenario.

    Variant 0 is the usual case; the others draw rates, cadences and lengths.
    """
    found = {}
    for module in walk_packages(__path__, f"{__name__}."):
        make = getattr(import_module(module.name), "scenario", None)
        if make is not None:
            found[module.name.rpartition(".")[2]] = make
    return dict(sorted(found.items()))
