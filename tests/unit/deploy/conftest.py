"""Kustomize, as a tool of the tests of manifests."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from runtime.cache import cache_folder, exclusive
from tests.support import unavailable

VERSION = "v5.8.1"
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="session")
def kustomize() -> Path:
    """The program, from PATH or built by Go once; without either the test is left out."""
    if (found := shutil.which("kustomize")) is not None:
        return Path(found)
    program = cache_folder() / "tools" / VERSION / "kustomize"
    with exclusive(program.with_suffix(".lock")):
        if not program.exists():
            if shutil.which("go") is None:
                unavailable("neither kustomize nor Go is installed")
            module = f"sigs.k8s.io/kustomize/kustomize/v5@{VERSION}"
            built = subprocess.run(
                ["go", "install", module],
                env={**os.environ, "GOBIN": str(program.parent), "GOFLAGS": "-mod=mod"},
                capture_output=True,
                text=True,
                check=False,
            )
            if built.returncode != 0:
                unavailable(f"kustomize cannot be built: {built.stderr[-300:]}")
    return program


@pytest.fixture(scope="session")
def built(kustomize: Path) -> Callable[[str], list[dict[str, Any]]]:
    """Return the objects of an overlay."""

    def build(overlay: str) -> list[dict[str, Any]]:
        done = subprocess.run(
            [kustomize, "build", ROOT / "deploy" / "kubernetes" / overlay],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return list(yaml.safe_load_all(done.stdout))

    return build
