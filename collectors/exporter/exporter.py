"""``/metrics``, ``/healthz``, ``/readyz`` of a polling service, and deploy marks by ``/marks``."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from http import HTTPStatus

from collectors.exporter.live import live_registry
from collectors.exporter.page import Page
from collectors.exporter.server import Answer, ExporterServer, Respond
from collectors.exporter.text import CONTENT_TYPE
from collectors.service.cluster import ClusterState
from collectors.service.polling import Service
from collectors.service.snapshot import OUTDATED_INTERVALS, Snapshots, SourceState
from collectors.service.writer import WriterState
from config.settings import ExporterSettings, LakeSettings
from lake import deploy_marks
from lake.errors import LakeError
from lake.storage.store import Lake

log = logging.getLogger(__name__)


def make_exporter(
    settings: ExporterSettings,
    port: int,
    snapshots: Snapshots,
    service: Service,
    settings_problem: Callable[[], str | None],
    lake: LakeSettings,
) -> ExporterServer:
    """Return the server, bound to its port."""
    registry = live_registry(
        snapshots,
        service.writer_state,
        service.clusters,
        settings_problem,
        kminion="kminion" in settings.names,
    )
    page = Page(settings, snapshots, registry)

    def metrics(gzip: bool) -> Answer:
        parts = page.packed() if gzip else page.plain()
        return Answer(parts=parts, content_type=CONTENT_TYPE, packed=gzip)

    def healthz(_: bool) -> Answer:
        dead = service.dead_threads()
        return _health({"dead": dead} if dead else {})

    def readyz(_: bool) -> Answer:
        reasons = unready(
            snapshots.states(), snapshots.clock(), service.writer_state(), service.clusters()
        )
        return _health({"reasons": reasons} if reasons else {})

    def mark(content: bytes) -> Answer:
        # A lake of its own: the one that polls are appended through is another thread's.
        return marked(content, Lake(lake), list(service.clusters()))

    paths: dict[str, Respond] = {"/metrics": metrics, "/healthz": healthz, "/readyz": readyz}
    tokens = {"/metrics": settings.token, "/marks": settings.mark_token}
    return ExporterServer(
        settings.address,
        port,
        paths,
        tokens={path: one.get_secret_value() for path, one in tokens.items() if one is not None},
        takes={} if settings.mark_token is None else {"/marks": mark},
    )


def marked(content: bytes, lake: Lake, clusters: Sequence[str]) -> Answer:
    """Write the deploy mark that a request brings, and answer with what was written."""
    try:
        mark = deploy_marks.from_json(content, clusters, datetime.now(UTC))
        deploy_marks.write(lake, mark)
    except ValueError as error:
        return Answer.of_object({"error": str(error)}, HTTPStatus.BAD_REQUEST)
    except LakeError as error:
        log.error("a deploy mark was not written: %s", error)
        said = "it could not be written; the service's log says why"
        return Answer.of_object({"error": said}, HTTPStatus.SERVICE_UNAVAILABLE)
    return Answer.of_object({**asdict(mark), "at": mark.at.isoformat()}, HTTPStatus.CREATED)


def _health(wrong: dict[str, list[str]]) -> Answer:
    if wrong:
        return Answer.of_object({"status": "failing", **wrong}, HTTPStatus.SERVICE_UNAVAILABLE)
    return Answer.of_object({"status": "ok"})


def unready(
    states: Sequence[SourceState],
    clock: float,
    writer: WriterState,
    clusters: Mapping[str, ClusterState],
) -> list[str]:
    """Return why the service does not do its work; nothing where it does.

    A source that cannot be reached does not count: its sections say that they failed. Otherwise one
    cluster that is down would hide the metrics of the others. Nor does a cluster that another
    process polls: to wait for it is this one's work.
    """
    reasons = [
        f"cluster {name}: {cluster.problem}"
        for name, cluster in clusters.items()
        if cluster.problem is not None
    ]
    for state in states:
        if clusters.get(state.cluster, ClusterState()).waits_for is not None:
            continue
        name = f"cluster {state.cluster}, source {state.source}"
        if state.polled_at is None:
            reasons.append(f"{name}: not polled yet")
        elif clock - state.polled_at > OUTDATED_INTERVALS * state.interval_seconds:
            reasons.append(
                f"{name}: the last poll ended {clock - state.polled_at:.0f} s ago, it is due "
                f"every {state.interval_seconds:g} s"
            )
    if writer.losing_because is not None:
        reasons.append(f"rows are being lost: {writer.losing_because}")
    return reasons
