"""What is installed here, as a CycloneDX document: Python packages and jars, with licences.

The format: https://cyclonedx.org/docs/1.6/json/
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any

from runtime.jars import artifact_of

_CLASSIFIER = "License :: "
_LONGEST_LICENCE = 100  # some packages put the whole text there


def document(
    jars: Iterable[Path], packages: Iterable[Distribution] | None = None
) -> dict[str, Any]:
    """Return the bill of materials.

    Args:
        jars: Paths of jars.
        packages: Installed packages; by default all that Python finds.
    """
    found = distributions() if packages is None else packages
    named = {each.name.lower(): each for each in found}
    components = [_package(named[name]) for name in sorted(named)]
    components += [_jar(jar) for jar in sorted(jars, key=lambda jar: jar.name)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": "headroom"}},
        "components": components,
    }


def licence_of(package: Distribution) -> str:
    """Return a package's licence as it declares it; an empty text where it does not."""
    declared = (package.metadata.get_all("License-Expression") or [""])[0]
    if declared:
        return str(declared)
    classified = [
        value.rpartition(" :: ")[2]
        for value in package.metadata.get_all("Classifier") or []
        if value.startswith(_CLASSIFIER) and not value.endswith("OSI Approved")
    ]
    free_text = (package.metadata.get_all("License") or [""])[0].strip()
    short = free_text if 0 < len(free_text) <= _LONGEST_LICENCE else ""
    return " AND ".join(classified) or short


def _package(package: Distribution) -> dict[str, Any]:
    name = re.sub(r"[-_.]+", "-", package.name).lower()
    component: dict[str, Any] = {
        "type": "library",
        "name": name,
        "version": package.version,
        "purl": f"pkg:pypi/{name}@{package.version}",
    }
    if licence := licence_of(package):
        component["licenses"] = [{"license": {"name": licence}}]
    return component


def _jar(jar: Path) -> dict[str, Any]:
    artifact = artifact_of(jar.name)
    version = jar.name.removesuffix(".jar").removeprefix(f"{artifact}-")
    return {"type": "library", "name": artifact, "version": version}
