"""Alert scenarios with a known truth: each file here that has a function ``scenario`` is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pkgutil import iter_modules

from simulation.scenarios.model import Scenario


def families() -> Mapping[str, Callable[[int], Scenario]]:
    """Return every scenario by the name of its file: a variant's number to the scenario.

    Variant 0 is the usual case; the others draw rates, cadences and lengths.
    """
    found = {}
    for module in sorted(iter_modules(__path__), key=lambda one: one.name):
        make = getattr(import_module(f"{__name__}.{module.name}"), "scenario", None)
        if make is not None:
            found[module.name] = make
    return found
