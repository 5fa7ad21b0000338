"""Data folders of the local cluster's brokers: written properties, formatted storage."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from demo.errors import ClusterError
from demo.kafka import broker as settings


def data_folder(folder: Path, broker: int) -> Path:
    """Return where a broker keeps its data."""
    return folder / f"broker-{broker}"


def properties_file(folder: Path, broker: int) -> Path:
    """Return the file with a broker's properties."""
    return folder / f"broker-{broker}.properties"


def prepare(
    folder: Path,
    ports: Mapping[int, settings.Ports],
    extra: Callable[[int], Mapping[str, str]],
    java_command: Callable[..., list[str]],
) -> str:
    """Give every broker its properties and a formatted data folder, where it has none yet.

    Kafka's tool runs once; the other brokers get a copy of the first metadata records, which are
    the same for all, and save its start of a second each.

    Returns:
        The cluster's id, that of the data where there was some already.
    """
    first = data_folder(folder, 1)
    known = settings.read_property(first / "meta.properties", "cluster.id")
    cluster = known or settings.cluster_id()
    for number in ports:
        data = data_folder(folder, number)
        data.mkdir(parents=True, exist_ok=True)
        content = settings.broker_properties(number, ports, data, extra(number))
        properties_file(folder, number).write_text(
            settings.properties_text(content), encoding="utf-8"
        )
    if known is None:
        _format(java_command, cluster, properties_file(folder, 1))
    for number in ports:
        mark = data_folder(folder, number) / "meta.properties"
        if not mark.exists():
            shutil.copy(first / "bootstrap.checkpoint", mark.parent)
            mark.write_text(settings.meta_properties(cluster, number), encoding="utf-8")
    return cluster


def _format(java_command: Callable[..., list[str]], cluster: str, properties: Path) -> None:
    answer = subprocess.run(  # noqa: S603 (Kafka's tool from jars whose digests were checked)
        java_command(
            "kafka.tools.StorageTool",
            "format",
            f"--cluster-id={cluster}",  # in one word, since an id may begin with a dash
            "--config",
            str(properties),
        ),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if answer.returncode != 0:
        said = [line.strip() for line in (answer.stderr + answer.stdout).splitlines()]
        reason = next((line for line in said if "xception" in line), " ".join(said[:1]))
        raise ClusterError(f"the storage could not be formatted: {reason}")
