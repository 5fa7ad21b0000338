"""``/metrics``, ``/healthz`` and ``/readyz`` of a polling service, put together."""

from __future__ import annotations

from http import HTTPStatus

from collectors.exporter.health import unready
from collectors.exporter.live import live_registry
from collectors.exporter.page import Page
from collectors.exporter.server import Answer, ExporterServer, Respond
from collectors.exporter.text import CONTENT_TYPE
from collectors.service.polling import Service
from collectors.service.snapshot import Snapshots
from config.settings import ExporterSettings


def make_exporter(
    settings: ExporterSettings, port: int, snapshots: Snapshots, service: Service
) -> ExporterServer:
    """Return the server, bound to its port.

    Raises:
        ServeError: The address cannot be served.
    """
    registry = live_registry(snapshots, service.writer_state, "kminion" in settings.names)
    page = Page(settings, snapshots, registry)

    def metrics(gzip: bool) -> Answer:
        parts = page.packed() if gzip else page.plain()
        return Answer(parts, CONTENT_TYPE, packed=gzip)

    def healthz(_: bool) -> Answer:
        dead = service.dead_threads()
        return _verdict({"dead": dead} if dead else {})

    def readyz(_: bool) -> Answer:
        reasons = unready(snapshots.states(), snapshots.clock(), service.writer_state())
        return _verdict({"reasons": reasons} if reasons else {})

    paths: dict[str, Respond] = {"/metrics": metrics, "/healthz": healthz, "/readyz": readyz}
    return ExporterServer(settings.address, port, paths)


def _verdict(wrong: dict[str, list[str]]) -> Answer:
    if wrong:
        return Answer.of_object({"status": "failing", **wrong}, HTTPStatus.SERVICE_UNAVAILABLE)
    return Answer.of_object({"status": "ok"})
