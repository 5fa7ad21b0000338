"""A real Prometheus for tests, and the exporters that it scrapes."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx

from runtime.processes import Child, ProcessGroup, free_ports
from tests.http_serving import serving
from tests.servers.prometheus.exporter_series import Line
from tests.support import eventually, unavailable


@contextmanager
def exporters(served: Mapping[str, Sequence[Line]], since: float) -> Iterator[int]:
    """Serve each name's lines under ``/<name>/<anything>`` of the port that is yielded.

    Args:
        served: Name: its lines.
        since: When they began to grow, in seconds since 1970.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            lines = served.get(self.path.split("/")[1], ())
            body = "\n".join(line.at(time.time() - since) for line in lines) + "\n"
            self.send_response(200)
            self.send_header("content-type", "text/plain; version=0.0.4")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), Handler)) as port:
        yield port


def history(
    lines: Sequence[Line],
    labels: Mapping[str, str],
    since: float,
    until: float,
    every_seconds: int = 15,
) -> Iterator[tuple[str, float, float]]:
    """Return what scrapes of an exporter would have given: series, time, value.

    Args:
        lines: The exporter's.
        labels: Those that Prometheus adds: job, instance.
        since: First scrape, in seconds since 1970; from then on the lines grow.
        until: No scrape later than this.
        every_seconds: Between scrapes.
    """
    added = ",".join(f'{name}="{text}"' for name, text in labels.items())
    for line in lines:
        own = f"{line.labels}," if line.labels else ""
        for number in range(int((until - since) // every_seconds) + 1):
            seconds = number * every_seconds
            value = line.value + line.per_second * seconds
            yield f"{line.name}{{{own}{added}}}", since + seconds, value


def create_blocks(samples: Iterable[tuple[str, float, float]], data: Path) -> None:
    """Write history into a data folder that no Prometheus uses yet.

    Args:
        samples: Series as the exposition format writes it, seconds since 1970, value.
        data: The folder.
    """
    tool = shutil.which("promtool") or unavailable("promtool is not installed")
    by_name: dict[str, list[str]] = {}
    for series, at, value in samples:
        name = series.partition("{")[0]
        by_name.setdefault(name, []).append(f"{series} {value!r} {at:.3f}")
    text = data.with_suffix(".om")
    with text.open("w", encoding="utf-8") as file:
        for name, rows in by_name.items():
            file.write(f"# TYPE {name} unknown\n")
            file.writelines(f"{row}\n" for row in rows)
        file.write("# EOF\n")
    command = [tool, "tsdb", "create-blocks-from", "openmetrics", str(text), str(data)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


class Prometheus:
    """A Prometheus on an ephemeral port.

    Attributes:
        url: Its address.
    """

    def __init__(
        self,
        processes: ProcessGroup,
        folder: Path,
        *,
        jobs: str = "",
        web_config: str | None = None,
        flags: Sequence[str] = (),
    ) -> None:
        """Start it and wait until it is ready.

        Args:
            processes: Where it runs.
            folder: For its configuration and data; blocks lie in ``data``.
            jobs: ``scrape_configs`` as YAML; every second they are scraped.
            web_config: Its web configuration as YAML: TLS and users.
            flags: Further flags.
        """
        program = shutil.which("prometheus") or unavailable("prometheus is not installed")
        port = free_ports(1)[0]
        config = folder / "prometheus.yml"
        config.write_text(
            f"global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\nscrape_configs:\n{jobs}",
            encoding="utf-8",
        )
        command = [
            program,
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}",
            "--storage.tsdb.retention.time=30d",
            f"--web.listen-address=127.0.0.1:{port}",
            *flags,
        ]
        if web_config is not None:
            web = folder / "web.yml"
            web.write_text(web_config, encoding="utf-8")
            command.append(f"--web.config.file={web}")
        self.child: Child = processes.start("prometheus", command, log=folder / "prometheus.log")
        scheme = "https" if "tls_server_config" in (web_config or "") else "http"
        self.url = f"{scheme}://127.0.0.1:{port}"
        eventually(self._is_ready, what="ready Prometheus")

    def _is_ready(self) -> bool:
        assert self.child.alive, self.child.exit_report()
        try:
            # 401: it serves, and asks for credentials.
            return httpx.get(f"{self.url}/-/ready", verify=False).status_code in (200, 401)  # noqa: S501
        except httpx.TransportError:
            return False


def job(name: str, port: int, paths: Mapping[str, str]) -> str:
    """Return a job of ``scrape_configs``.

    Args:
        name: The job's name.
        port: Where ``exporters`` serves.
        paths: Instance: the path under which it is served.
    """
    lines = [f"  - job_name: {name}", "    static_configs:"]
    for instance, path in paths.items():
        lines += [
            f"      - targets: ['127.0.0.1:{port}']",
            f"        labels: {{instance: '{instance}', __metrics_path__: '{path}'}}",
        ]
    return "\n".join(lines) + "\n"
