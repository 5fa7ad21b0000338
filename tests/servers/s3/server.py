"""A real S3-compatible server with credentials and conditional writes: S3Proxy, from Maven Central.

Its objects are files of a folder, so that a test can break one, and it can be killed, frozen and
started again on the same port.
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import SecretStr

from config.settings import LakeSettings
from runtime.errors import JarsError
from runtime.jars import IvyResolver, ensure
from runtime.jarsets import JarSet
from runtime.java import Java
from runtime.processes import Child, ProcessGroup, free_ports, wait_until
from tests.support import unavailable

S3PROXY = JarSet(
    name="s3proxy-4.1.0",
    modules=("org.gaul:s3proxy:4.1.0",),
    # Clients of other clouds, to which it could pass requests on.
    excluded=(
        "com.azure",
        "com.github.openstack4j.core",
        "com.google.api",
        "com.google.api.grpc",
        "com.google.apis",
        "com.google.auth",
        "com.google.cloud",
        "com.google.http-client",
        "com.google.oauth-client",
        "com.google.protobuf",
        "com.microsoft.azure",
        "com.squareup.okhttp3",
        "io.grpc",
        "io.netty",
        "io.opencensus",
        "io.projectreactor",
        "net.java.dev.jna",
        "org.apache.sshd",
        "org.conscrypt",
    ),
)

KEY, SECRET = "headroom-test", "hunter2-of-the-object-store"

_LOGBACK = """<configuration>
  <appender name="out" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %level %msg%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="out"/></root>
</configuration>
"""


class S3Server:
    """An S3 server on this machine; a context manager."""

    def __init__(self, java: Java, folder: Path) -> None:
        """Prepare.

        Args:
            java: What runs it.
            folder: For objects, settings and log.
        """
        self._java = java
        self._folder = folder
        self._port = free_ports(1)[0]
        self._processes = ProcessGroup(grace_seconds=0)
        self._child: Child | None = None
        self.objects = folder / "objects"
        (folder / "logback.xml").write_text(_LOGBACK)
        (folder / "s3proxy.properties").write_text(
            "s3proxy.authorization=aws-v2-or-v4\n"
            f"s3proxy.identity={KEY}\n"
            f"s3proxy.credential={SECRET}\n"
            f"s3proxy.endpoint={self.endpoint}\n"
            "jclouds.provider=filesystem-nio2\n"
            f"jclouds.filesystem.basedir={self.objects}\n"
        )

    def __enter__(self) -> S3Server:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._processes.close()

    @property
    def endpoint(self) -> str:
        """The server's address."""
        return f"http://127.0.0.1:{self._port}"

    def bucket(self, name: str) -> LakeSettings:
        """Make a bucket and return the settings of a lake in it."""
        (self.objects / name).mkdir(parents=True)
        return LakeSettings(
            uri=f"s3://{name}/lake",
            storage_options={
                "aws_endpoint_url": self.endpoint,
                "aws_access_key_id": KEY,
                "aws_secret_access_key": SecretStr(SECRET),
            },
        )

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self.objects.mkdir(exist_ok=True)
        command = [
            str(self._java.executable),
            *("-Xmx160m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
            f"-Dlogback.configurationFile={self._folder / 'logback.xml'}",
            *("-cp", f"{ensure(S3PROXY, IvyResolver(self._java))}/*"),
            *("org.gaul.s3proxy.Main", "--properties", str(self._folder / "s3proxy.properties")),
        ]
        self._child = self._processes.start("S3Proxy", command, log=self._folder / "s3proxy.log")
        wait_until(self._answers, timeout_seconds=30, waiting_for="S3", children=[self._child])

    def kill(self) -> None:
        """End it at once: connections are refused from now on."""
        if self._child is not None:
            self._processes.stop(self._child, grace_seconds=0)

    def freeze(self) -> None:
        """Let it answer no more, with its port still open."""
        if self._child is not None:
            self._child.signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let it go on."""
        if self._child is not None:
            self._child.signal(signal.SIGCONT)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self._port)) == 0


@contextmanager
def running_s3(java: Java, folder: Path) -> Iterator[S3Server]:
    """Yield a server; without its jars the test is left out (in CI: fails)."""
    try:
        ensure(S3PROXY, IvyResolver(java))
    except JarsError as error:
        unavailable(str(error))
    with S3Server(java, folder) as server:
        yield server
