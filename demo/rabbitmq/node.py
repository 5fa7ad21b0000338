"""A real RabbitMQ on this machine: one small node, asked over its management API.

The demo and the tests use it alike. Its daemon for Erlang's node names (epmd) runs as a child on a
port of its own, and the node may start no other, so that nothing is left behind.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from demo.errors import DemoError
from demo.rest import ask
from runtime.processes import free_ports
from runtime.services import Service

HOST = "127.0.0.1"
ADMINISTRATOR = "guest"
"""RabbitMQ's first user, who may come from this machine only; its password is its name."""

# Debian's program in the PATH is a wrapper that becomes another user; this is what it runs.
_DEBIAN = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")
_ANSWER_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RabbitPrograms:
    """What is installed."""

    server: Path
    epmd: Path


def find_rabbitmq() -> RabbitPrograms | None:
    """Return the installed RabbitMQ; None where there is none."""
    server = str(_DEBIAN) if _DEBIAN.exists() else shutil.which("rabbitmq-server")
    epmd = shutil.which("epmd")
    if server is None or epmd is None:
        return None
    return RabbitPrograms(server=Path(server), epmd=Path(epmd))


class RabbitApi:
    """What is asked of a node over its management API, as the administrator."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ready(self) -> bool:
        """Return whether it takes requests and messages."""
        try:
            self.ask("GET", "/api/health/checks/protocol-listener/amqp", timeout_seconds=2.0)
        except DemoError:
            return False
        return True

    def ask(
        self, method: str, path: str, body: Any = None, timeout_seconds: float = _ANSWER_SECONDS
    ) -> Any:
        """Send one request as the administrator; return the JSON of its answer, None if empty."""
        login = (ADMINISTRATOR, ADMINISTRATOR)
        return ask(method, self.url + path, body, login=login, timeout_seconds=timeout_seconds)

    def user(self, name: str, password: str, tags: str, virtual_hosts: Sequence[str]) -> None:
        """Create a user who may look at virtual hosts and change nothing there."""
        self.ask("PUT", f"/api/users/{name}", {"password": password, "tags": tags})
        nothing = {"configure": "^$", "write": "^$", "read": "^$"}
        for virtual_host in virtual_hosts:
            self.ask("PUT", f"/api/permissions/{part(virtual_host)}/{name}", nothing)

    def virtual_host(self, name: str) -> VirtualHost:
        """Return the way to a virtual host, which need not exist yet."""
        return VirtualHost(self, name)


class RabbitServer(RabbitApi):
    """A node by its addresses: the services that run it, and what is asked of it."""

    def __init__(
        self,
        folder: Path,
        programs: RabbitPrograms,
        *,
        settings: Mapping[str, str] | None = None,
        plugins: Sequence[str] = ("rabbitmq_management",),
    ) -> None:
        self._folder = folder.absolute()
        self._programs = programs
        self._plugins = tuple(plugins)
        self.amqp_port, port, self._epmd_port, self._node_port = free_ports(4, HOST)
        super().__init__(f"http://{HOST}:{port}")
        self._settings = {
            "listeners.tcp.1": f"{HOST}:{self.amqp_port}",
            "management.tcp.ip": HOST,
            "management.tcp.port": str(port),
            "log.console.level": "warning",
            **(settings or {}),
        }

    def services(self) -> tuple[Service, Service]:
        """Write its settings and return the programs that run it, in the order of their start."""
        self._folder.mkdir(parents=True, exist_ok=True)
        lines = [f"{key} = {value}" for key, value in self._settings.items()]
        self._write("rabbitmq.conf", "\n".join(lines))
        self._write("enabled_plugins", f"[{','.join(self._plugins)}].")
        self._write("environment", "")  # in place of the machine's own
        epmd = {"ERL_EPMD_PORT": str(self._epmd_port), "ERL_EPMD_ADDRESS": HOST}
        node = {
            **epmd,
            "ERL_AFLAGS": "-start_epmd false",
            "HOME": str(self._folder),  # of the cookie
            "RABBITMQ_ALLOW_INPUT": "1",  # the node itself instead of a shell that waits for it
            "RABBITMQ_CONF_ENV_FILE": str(self._folder / "environment"),
            "RABBITMQ_CONFIG_FILE": str(self._folder / "rabbitmq.conf"),
            "RABBITMQ_DIST_PORT": str(self._node_port),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "enabled_plugins"),
            "RABBITMQ_LOG_BASE": str(self._folder / "log"),
            "RABBITMQ_LOGS": "-",
            "RABBITMQ_MNESIA_BASE": str(self._folder / "data"),
            "RABBITMQ_NODENAME": f"headroom-{self.amqp_port}@localhost",
            # One scheduler that never spins: a node that is hardly noticed.
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-noinput +S 1:1 +sbwt none +sbwtdcpu none "
            "+sbwtdio none -kernel inet_dist_use_interface {127,0,0,1}",
        }
        return (
            Service(
                name="epmd",
                command=(str(self._programs.epmd), "-port", str(self._epmd_port)),
                environment=epmd,
            ),
            Service(name="rabbitmq", command=(str(self._programs.server),), environment=node),
        )

    def _write(self, name: str, content: str) -> None:
        (self._folder / name).write_text(content + "\n", encoding="utf-8")


class VirtualHost:
    """Makes things in one virtual host."""

    def __init__(self, api: RabbitApi, name: str) -> None:
        self.name = name
        self._api = api
        self._part = part(name)

    def create(self) -> None:
        """Create it."""
        self._api.ask("PUT", f"/api/vhosts/{self._part}", {})

    def queue(self, name: str, **arguments: Any) -> None:
        """Declare a durable queue; ``message_ttl=1`` becomes ``x-message-ttl``."""
        found = {f"x-{each.replace('_', '-')}": value for each, value in arguments.items()}
        body = {"durable": True, "arguments": found}
        self._api.ask("PUT", f"/api/queues/{self._part}/{part(name)}", body)

    def exchange(self, name: str, kind: str = "direct", **arguments: Any) -> None:
        """Declare a durable exchange; ``alternate_exchange`` becomes ``alternate-exchange``."""
        found = {each.replace("_", "-"): value for each, value in arguments.items()}
        body = {"type": kind, "durable": True, "arguments": found}
        self._api.ask("PUT", f"/api/exchanges/{self._part}/{part(name)}", body)

    def bind(self, source: str, destination: str, key: str = "", *, exchange: bool = False) -> None:
        """Bind a queue, or an exchange, to an exchange."""
        kind = "e" if exchange else "q"
        path = f"/api/bindings/{self._part}/e/{part(source)}/{kind}/{part(destination)}"
        self._api.ask("POST", path, {"routing_key": key, "arguments": {}})

    def policy(self, name: str, pattern: str, apply_to: str = "queues", **definition: Any) -> None:
        """Set a policy; ``message_ttl=1`` becomes ``message-ttl``."""
        found = {each.replace("_", "-"): value for each, value in definition.items()}
        body = {"pattern": pattern, "apply-to": apply_to, "definition": found}
        self._api.ask("PUT", f"/api/policies/{self._part}/{part(name)}", body)

    def publish(
        self, key: str, payload: str = "-", *, exchange: str = "amq.default", **properties: Any
    ) -> None:
        """Publish one message."""
        body = {
            "properties": {"delivery_mode": 2, **properties},
            "routing_key": key,
            "payload": payload,
            "payload_encoding": "string",
        }
        self._api.ask("POST", f"/api/exchanges/{self._part}/{part(exchange)}/publish", body)

    def take(self, queue: str, count: int, *, reject: bool = False) -> int:
        """Take messages off a queue and acknowledge or reject them; return how many there were."""
        body = {
            "count": count,
            "ackmode": "reject_requeue_false" if reject else "ack_requeue_false",
            "encoding": "auto",
            "truncate": 0,
        }
        answer = self._api.ask("POST", f"/api/queues/{self._part}/{part(queue)}/get", body)
        return len(answer)

    def depths(self) -> dict[str, int | None]:
        """Return what RabbitMQ says each queue holds; None where it does not say yet."""
        answer = self._api.ask("GET", f"/api/queues/{self._part}?columns=name,messages")
        return {each["name"]: each.get("messages") for each in answer}


def part(name: str) -> str:
    """Return a name as a part of a path."""
    return quote(name, safe="")
